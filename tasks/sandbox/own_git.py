"""The repository that a box sees: the branch, its history to read, and nothing of the real one to write.

Its folder takes the place of the real one's at the same path. Objects of the real one are borrowed, read-only; what is committed
inside lies here, and is taken over afterwards by content. References, index and settings of the real one are out of reach.
"""

import itertools
import logging
import os
import re
import shutil
import stat
from pathlib import Path

from helmsman.errors import TransientError
from helmsman.sandbox.box import OBJECTS, Mount
from helmsman.sandbox.git_config import config_text, listed
from tasks.repository.git import GitError, Repository, git, git_bytes, open_repository, read_ref
from tasks.system.faults import OF_THE_MACHINE
from tasks.system.files import open_up, read_within

_log = logging.getLogger(__name__)

COPIED = "index", "sharedindex.*", "info/sparse-checkout"  # of the checkout's own folder
SHARED = "shallow", "info/exclude", "info/attributes"  # of the folder that worktrees share
LARGEST_REF = 4096
LARGEST_LIST = 64 * 1024 * 1024
BORROWED = "borrowed"
"""Folder with the names of the object stores as they are seen inside; outside, git looks into none that the agent names."""
_HEX = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LINKED = re.compile(r"ref: (refs/[\w./@+-]+)")


def make_git(worktree: Path, folder: Path) -> list[Mount]:
    """Make it for a checkout, in a folder that is not there yet, and return how it is mounted. Raises GitError, OperatorError.

    The object store is a mount of its own, as nobody can put another in the place of one.
    """
    repository = open_repository(worktree)
    own = Path(os.fsdecode(git_bytes(worktree, "rev-parse", "--absolute-git-dir").removesuffix(b"\n")))
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
    objects = repository.common / "objects"
    lent = _lent_to(objects)
    (folder / BORROWED / "alternates").write_text("".join(f"{path}\n" for path in (OBJECTS, *lent)))
    (folder / "objects" / "info").mkdir(exist_ok=True)
    for name in ("hooks", "modules"):
        (folder / name).mkdir(exist_ok=True)
    kept = (("hooks", repository.common / "hooks"), ("modules", own / "modules"))
    return [
        Mount(str(own), "write", str(folder)),
        Mount(f"{own}/objects", "write", str(folder / "objects")),
        Mount(f"{own}/objects/info", "read", str(folder / BORROWED)),
        Mount(OBJECTS, "read", str(objects)),
        *(Mount(str(path)) for path in lent),
        *(Mount(f"{own}/{name}", "read", str(path)) for name, path in kept if path.is_dir()),
    ]


def take_over(repository: Repository, worktree: Path, branch: str, folder: Path) -> None:
    """Bring what was committed inside into the repository, and the worktree's branch, HEAD and index up to it; remove the folder.

    No process may be left inside. What is not whole is not taken but put aside: the files in the worktree are there all the same.
    Nothing of the folder is run or believed: names are read as text, contents by their hashes.
    Raises TransientError where the disk is full, or git takes too long: the folder stays where it is, to be taken over then.
    """
    if not folder.exists():
        return
    open_up(folder)  # an agent may have taken the rights to its folders away from itself, and from us
    # git follows a link, and would bring what lies in any other repository
    found = (Path(at, name).lstat().st_mode for at, folders, files in os.walk(folder) for name in (*folders, *files))
    if not all(stat.S_ISREG(mode) or stat.S_ISDIR(mode) for mode in found):
        _put_aside(folder, "something in it leads elsewhere")
        return
    full = f"refs/heads/{branch}"
    tip, text = _ref(folder, full), _text(folder, "HEAD")
    linked = _LINKED.fullmatch(text)
    head = _ref(folder, linked[1]) if linked else _hex(text)
    wanted = {commit for commit in (tip, head) if commit}
    brought = {commit for commit in wanted if _bring(repository, folder, commit)}
    if tip in brought and tip != read_ref(worktree, full):
        git(worktree, "update-ref", full, tip)
    if head in brought:
        if head != git(worktree, "rev-parse", "HEAD").strip():
            git(worktree, "update-ref", "--no-deref", "HEAD", head)
        git(worktree, "reset", "--quiet", "--mixed", head)
    if not wanted or brought != wanted:
        _put_aside(folder, "they are not whole")
        return
    gone = folder.with_name("taken")  # half removed under its own name, it would say that the branch is where it was
    shutil.rmtree(gone, ignore_errors=True)
    folder.rename(gone)
    shutil.rmtree(gone)


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
        if error.code < 0 or any(words in error.stderr for words in OF_THE_MACHINE):
            raise TransientError(
                "commits made in the sandbox could not be taken over yet",
                found=error.stderr or str(error),
                remedy=f"free space on the disk and resume; to go on without them, move {folder} elsewhere",
            ) from error
        return False
    return True


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


def _ref(folder: Path, name: str) -> str | None:
    if ".." in name:
        return None
    lines = (line.split(" ") for line in _text(folder, "packed-refs", most=LARGEST_LIST).splitlines())
    packed = (_hex(line[0]) for line in lines if line[1:] == [name])
    return _hex(_text(folder, name)) or next(packed, None)


def _hex(text: str) -> str | None:
    return text if _HEX.fullmatch(text) else None


def _text(folder: Path, name: str, most: int = LARGEST_REF) -> str:
    """Of a plain file; a pipe would keep us waiting, and a link leads anywhere."""
    return (read_within(folder, name, most) or b"").decode(errors="replace").strip()
