"""The repository that a box sees: the branch, its history to read, and nothing of the real one to write.

Its folder takes the place of the real one's at the same path. Objects of the real one are borrowed, read-only; what is committed
inside lies here, and is taken over afterwards by content. References, index and settings of the real one are out of reach.
"""

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from helmsman.sandbox.box import OBJECTS, Mount
from helmsman.sandbox.git_config import config_text, listed
from tasks.git import GitError, Repository, git, git_bytes, open_repository, read_ref
from tasks.staging import open_up

COPIED = "index", "sharedindex.*", "info/sparse-checkout"
"""Of the checkout's own folder."""
SHARED = "shallow", "info/exclude", "info/attributes"
"""Of the folder that worktrees share."""
LARGEST_REF = 4096
LARGEST_LIST = 64 * 1024 * 1024
BORROWED = "borrowed"
"""Folder with the names of the object stores as they are seen inside; outside, git looks into none that the agent names."""
_HEX = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LINKED = re.compile(r"ref: (refs/[\w./@+-]+)")


@dataclass(frozen=True)
class OwnGit:
    """Where it lies outside, and the path that it lies at inside."""

    folder: Path
    seen_at: Path
    common: Path

    def mounts(self) -> Iterator[Mount]:
        """The object store is a mount of its own, as nobody can put another in the place of one."""
        seen, objects = str(self.seen_at), self.folder / "objects"
        yield Mount(seen, "write", str(self.folder))
        yield Mount(f"{seen}/objects", "write", str(objects))
        yield Mount(f"{seen}/objects/info", "read", str(self.folder / BORROWED))
        yield Mount(OBJECTS, "read", str(self.common / "objects"))
        yield from (Mount(str(path)) for path in _lent_to(self.common / "objects"))
        yield from (
            Mount(f"{seen}/{name}", "read", str(path))
            for name, path in (("hooks", self.common / "hooks"), ("modules", self.seen_at / "modules"))
            if path.is_dir()
        )


def make_git(worktree: Path, folder: Path) -> OwnGit:
    """Make it for a checkout, in a folder that is not there yet. Raises GitError, OperatorError."""
    repository, own = open_repository(worktree), _own_folder(worktree)
    kind = git(worktree, "rev-parse", "--show-object-format").strip()
    git(folder.parent, "init", "--quiet", "--bare", "--template=", f"--object-format={kind}", str(folder))
    settings = listed(git(worktree, "config", "--list", "-z", "--includes", "--show-scope"))
    with (folder / "config").open("a", encoding="utf-8", errors="surrogateescape") as config:
        config.write("[core]\n\tbare = false\n" + config_text(settings))
    _copy(own, folder, COPIED)
    _copy(repository.common, folder, SHARED)
    shutil.copyfile(own / "HEAD", folder / "HEAD")
    (folder / "packed-refs").write_bytes(_references(worktree))
    (folder / BORROWED).mkdir()
    lent = [OBJECTS, *map(str, _lent_to(repository.common / "objects"))]
    (folder / BORROWED / "alternates").write_text("".join(f"{path}\n" for path in lent))
    (folder / "objects" / "info").mkdir(exist_ok=True)
    for name in ("hooks", "modules"):
        (folder / name).mkdir(exist_ok=True)
    return OwnGit(folder, own, repository.common)


def take_over(repository: Repository, worktree: Path, branch: str, folder: Path) -> None:
    """Bring what was committed inside into the repository, and the worktree's branch, HEAD and index up to it; remove the folder.

    No process may be left inside. What is not whole is not taken: the files in the worktree are there all the same. Nothing
    of the folder is run or believed: names are read as text, contents by their hashes.
    """
    if not folder.exists():
        return
    full = f"refs/heads/{branch}"
    tip, head = _ref(folder, full), _head(folder)
    wanted = [commit for commit in dict.fromkeys((tip, head)) if commit]
    if _bring(repository, folder, wanted):
        _move(worktree, full, tip, head)
    _remove(folder)


def _bring(repository: Repository, folder: Path, commits: list[str]) -> bool:
    """Whether those commits are in the repository now, with all that they need."""
    if not commits:
        return False
    own, real = str(folder / "objects"), str(repository.common / "objects")
    lent = {"GIT_OBJECT_DIRECTORY": own, "GIT_ALTERNATE_OBJECT_DIRECTORIES": real}
    known = {line.split()[0] for line in _references(repository.common).decode().splitlines()}
    asked = "".join([*(f"{commit}\n" for commit in commits), *(f"^{commit}\n" for commit in sorted(known))])
    try:
        pack = git_bytes(repository.common, "pack-objects", "--revs", "--stdout", "-q", stdin=asked.encode(), env=lent)
        git_bytes(repository.common, "unpack-objects", "-q", "--strict", stdin=pack)
        git(repository.common, "rev-list", "--quiet", "--objects", *commits, "--not", "--all")
    except GitError:
        return False
    return True


def _move(worktree: Path, full: str, tip: str | None, head: str | None) -> None:
    if tip and tip != read_ref(worktree, full):
        git(worktree, "update-ref", full, tip)
    if head is None:
        return
    if head != git(worktree, "rev-parse", "HEAD").strip():
        git(worktree, "update-ref", "--no-deref", "HEAD", head)
    git(worktree, "reset", "--quiet", "--mixed", head)


def _references(worktree: Path) -> bytes:
    """Branches, tags and what remotes had. The loops' own references are nobody's business inside."""
    return git_bytes(worktree, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags", "refs/remotes")


def _copy(source: Path, target: Path, names: tuple[str, ...]) -> None:
    for path in (path for name in names for path in source.glob(name)):
        there = target / path.relative_to(source)
        there.parent.mkdir(exist_ok=True)
        shutil.copy2(path, there)


def _lent_to(objects: Path) -> list[Path]:
    """Other stores that the repository itself borrows from."""
    listing = objects / "info" / "alternates"
    lines = listing.read_text(errors="surrogateescape").splitlines() if listing.is_file() else []
    paths = (Path(os.path.normpath(objects / line)) for line in lines if line and not line.startswith("#"))
    return [path for path in paths if path.is_dir()]


def _head(folder: Path) -> str | None:
    text = _text(folder / "HEAD")
    linked = _LINKED.fullmatch(text)
    return _ref(folder, linked[1]) if linked else _hex(text)


def _ref(folder: Path, name: str) -> str | None:
    if ".." in name:
        return None
    return _hex(_text(folder / name)) or _packed(folder, name)


def _packed(folder: Path, name: str) -> str | None:
    lines = (line.split(" ") for line in _text(folder / "packed-refs", most=LARGEST_LIST).splitlines())
    return next((_hex(line[0]) for line in lines if line[1:] == [name]), None)


def _hex(text: str) -> str | None:
    return text if _HEX.fullmatch(text) else None


def _text(path: Path, most: int = LARGEST_REF) -> str:
    """Of a plain file; a pipe would keep us waiting, and a link leads anywhere."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:  # noqa: PTH123 - a descriptor
            return file.read(most).decode(errors="replace").strip()
    except OSError:
        return ""


def _own_folder(worktree: Path) -> Path:
    return Path(os.fsdecode(git_bytes(worktree, "rev-parse", "--absolute-git-dir").removesuffix(b"\n")))


def _remove(folder: Path) -> None:
    """An agent may have taken the rights to its folders away from itself, and from us."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        open_up(folder)
        shutil.rmtree(folder)
