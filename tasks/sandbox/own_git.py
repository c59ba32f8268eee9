"""The repository that a box sees: the branch, its history to read, and nothing of the real one to write.

Its folder takes the place of the real one's at the same path. Objects of the real one are borrowed, read-only; what is committed
inside lies here, and is taken over afterwards by content. References, index and settings of the real one are out of reach.
"""

import errno
import itertools
import logging
import os
import re
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from helmsman.errors import TransientError
from helmsman.sandbox.box import OBJECTS, Mount
from helmsman.sandbox.git_config import config_text, listed
from tasks.repository.git import GitError, Repository, git, git_bytes, open_repository, read_ref
from tasks.repository.staging import open_up
from tasks.system.faults import EXHAUSTED, OF_A_DISK
from tasks.system.files import read_within

_log = logging.getLogger(__name__)

COPIED = "index", "sharedindex.*", "info/sparse-checkout"
"""Of the checkout's own folder."""
SHARED = "shallow", "info/exclude", "info/attributes"
"""Of the folder that worktrees share."""
LARGEST_REF = 4096
LARGEST_LIST = 64 * 1024 * 1024
OF_THE_WORLD = tuple(map(os.strerror, (*OF_A_DISK, *EXHAUSTED, errno.EFBIG)))
"""In git's words, what says nothing of the commits."""
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

    No process may be left inside. What is not whole is not taken but put aside: the files in the worktree are there all the same.
    Nothing of the folder is run or believed: names are read as text, contents by their hashes.
    Raises TransientError where the disk is full, or git takes too long: the folder stays where it is, to be taken over then.
    """
    if not folder.exists():
        return
    open_up(folder)  # an agent may have taken the rights to its folders away from itself, and from us
    if not _is_plain(folder):
        _put_aside(folder, "something in it leads elsewhere")
        return
    full = f"refs/heads/{branch}"
    tip, head = _ref(folder, full), _head(folder)
    wanted = {commit for commit in (tip, head) if commit}
    brought = {commit for commit in wanted if _bring(repository, folder, commit)}
    if brought:
        _move(worktree, full, tip if tip in brought else None, head if head in brought else None)
    if wanted and brought == wanted:
        _remove(folder)
    else:
        _put_aside(folder, "they are not whole")


def _remove(folder: Path) -> None:
    """Under another name: half removed, it would say that the branch is where it was."""
    gone = folder.with_name("taken")
    shutil.rmtree(gone, ignore_errors=True)
    folder.rename(gone)
    shutil.rmtree(gone)


def _is_plain(folder: Path) -> bool:
    """Whether files and folders are all there is. Git follows a link, and would bring what lies in any other repository."""
    found = (Path(at, name).lstat().st_mode for at, folders, files in os.walk(folder) for name in (*folders, *files))
    return all(stat.S_ISREG(mode) or stat.S_ISDIR(mode) for mode in found)


def _put_aside(folder: Path, why: str) -> None:
    """It may hold the only copy of a commit."""
    numbers = (folder.with_name(f"left-{number}") for number in itertools.count(1))
    kept = next(path for path in numbers if not path.exists())
    folder.rename(kept)
    _log.warning("commits made in the sandbox were not taken over (%s); they are kept in %s", why, kept)


def _bring(repository: Repository, folder: Path, commit: str) -> bool:
    """Whether that commit is in the repository now, with all that it needs."""
    own, real = str(folder / "objects"), str(repository.common / "objects")
    lent = {"GIT_OBJECT_DIRECTORY": own, "GIT_ALTERNATE_OBJECT_DIRECTORIES": real}
    known = {line.partition(b" ")[0] for line in _references(repository.common).splitlines()}
    asked = b"".join([commit.encode(), b"\n", *(b"^%s\n" % one for one in sorted(known))])
    try:
        pack = git_bytes(repository.common, "pack-objects", "--revs", "--stdout", "-q", stdin=asked, env=lent)
        git_bytes(repository.common, "unpack-objects", "-q", "--strict", stdin=pack)
        git(repository.common, "rev-list", "--quiet", "--objects", commit, "--not", "--all")
    except GitError as error:
        if error.code < 0 or any(words in error.stderr for words in OF_THE_WORLD):
            raise _not_now(folder, error) from error
        return False
    return True


def _not_now(folder: Path, error: GitError) -> TransientError:
    return TransientError(
        "commits made in the sandbox could not be taken over yet",
        found=error.stderr or str(error),
        remedy=f"free space on the disk and resume; to go on without them, move {folder} elsewhere",
    )


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
    """Other stores that the repository itself borrows from, and those that these borrow from."""
    found, looked_at = dict[Path, None](), [objects]
    for store in looked_at:
        listing = store / "info" / "alternates"
        lines = listing.read_text(errors="surrogateescape").split("\n") if listing.is_file() else []
        paths = [Path(os.path.normpath(store / line)) for line in lines if line and not line.startswith("#")]
        new = [path for path in paths if path.is_dir() and path not in {objects, *found}]
        looked_at += new
        found |= dict.fromkeys(new)
    return list(found)


def _head(folder: Path) -> str | None:
    text = _text(folder, "HEAD")
    linked = _LINKED.fullmatch(text)
    return _ref(folder, linked[1]) if linked else _hex(text)


def _ref(folder: Path, name: str) -> str | None:
    if ".." in name:
        return None
    return _hex(_text(folder, name)) or _packed(folder, name)


def _packed(folder: Path, name: str) -> str | None:
    lines = (line.split(" ") for line in _text(folder, "packed-refs", most=LARGEST_LIST).splitlines())
    return next((_hex(line[0]) for line in lines if line[1:] == [name]), None)


def _hex(text: str) -> str | None:
    return text if _HEX.fullmatch(text) else None


def _text(folder: Path, name: str, most: int = LARGEST_REF) -> str:
    """Of a plain file; a pipe would keep us waiting, and a link leads anywhere."""
    return (read_within(folder, name, most) or b"").decode(errors="replace").strip()


def _own_folder(worktree: Path) -> Path:
    return Path(os.fsdecode(git_bytes(worktree, "rev-parse", "--absolute-git-dir").removesuffix(b"\n")))
