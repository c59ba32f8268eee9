"""Isolated repository for a sandbox: the branch with its history, read-only, and no write access to the real one.

It is mounted at the path of the real git folder. Objects of the real one are a read-only alternate; commits made inside are
stored here, and imported afterwards by content. References, index and configuration of the real one are out of reach.
"""

import itertools
import logging
import os
import re
import shutil
import stat
from pathlib import Path

from helmsman.errors import TransientError
from helmsman.sandbox import OBJECTS, Mount, config_text, parse_config_list
from tasks.repository.git import GitError, Repository, git, git_bytes, open_repository, read_ref
from tasks.system.faults import MACHINE_MESSAGES
from tasks.system.files import open_up, read_within

_log = logging.getLogger(__name__)

COPIED = "index", "sharedindex.*", "info/sparse-checkout"  # from the checkout's own folder
SHARED = "shallow", "info/exclude", "info/attributes"  # from the folder that worktrees share
LARGEST_REF = 4096
LARGEST_LIST = 64 * 1024 * 1024
BORROWED = "borrowed"
"""Folder with the alternates for inside; outside, git uses no alternates that the agent names."""
_HEX = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SYMBOLIC = re.compile(r"ref: (refs/[\w./@+-]+)")


def make_git(worktree: Path, folder: Path) -> list[Mount]:
    """Create it for a checkout, in a new folder, and return its mounts. Raises GitError, OperatorError.

    The object store is a separate mount, which cannot be replaced from inside.
    """
    repository = open_repository(worktree)
    own_folder = Path(os.fsdecode(git_bytes(worktree, "rev-parse", "--absolute-git-dir").removesuffix(b"\n")))
    kind = git(worktree, "rev-parse", "--show-object-format").strip()
    git(folder.parent, "init", "--quiet", "--bare", "--template=", f"--object-format={kind}", str(folder))
    settings = parse_config_list(git(worktree, "config", "--list", "-z", "--includes", "--show-scope"))
    with (folder / "config").open("a", encoding="utf-8", errors="surrogateescape") as config:
        config.write("[core]\n\tbare = false\n" + config_text(settings))
    _copy_files(own_folder, folder, COPIED)
    _copy_files(repository.common, folder, SHARED)
    shutil.copyfile(own_folder / "HEAD", folder / "HEAD")
    (folder / "packed-refs").write_bytes(_references(worktree))
    (folder / BORROWED).mkdir()
    objects = repository.common / "objects"
    alternates = _list_alternates(repository.common)
    (folder / BORROWED / "alternates").write_text("".join(f"{path}\n" for path in (OBJECTS, *alternates)))
    (folder / "objects" / "info").mkdir(exist_ok=True)
    for name in ("hooks", "modules"):
        (folder / name).mkdir(exist_ok=True)
    further = (("hooks", repository.common / "hooks"), ("modules", own_folder / "modules"))
    return [
        Mount(str(own_folder), "write", str(folder)),
        Mount(f"{own_folder}/objects", "write", str(folder / "objects")),
        Mount(f"{own_folder}/objects/info", "read", str(folder / BORROWED)),
        Mount(OBJECTS, "read", str(objects)),
        *(Mount(str(path)) for path in alternates),
        *(Mount(f"{own_folder}/{name}", "read", str(path)) for name, path in further if path.is_dir()),
    ]


def import_commits(repository: Repository, worktree: Path, branch: str, folder: Path) -> None:
    """Import the commits made inside into the repository, update the worktree's branch, HEAD and index, and remove the folder.

    No process may be left inside. Incomplete commits are moved aside, not imported: the worktree still has the files.
    Nothing of the folder is executed or trusted: names are read as text, contents by their hashes.
    Raises TransientError if the disk is full, or git takes too long: the folder stays, to be imported later.
    """
    if not folder.exists():
        return
    open_up(folder)  # an agent may have removed the permissions of its folders
    # git would follow a link into any other repository
    modes = (Path(current, name).lstat().st_mode for current, folders, files in os.walk(folder) for name in (*folders, *files))
    if not all(stat.S_ISREG(mode) or stat.S_ISDIR(mode) for mode in modes):
        _move_aside(folder, "its folder contains a link or a special file")
        return
    full = f"refs/heads/{branch}"
    tip, text = _read_ref(folder, full), _read_text(folder, "HEAD")
    symbolic = _SYMBOLIC.fullmatch(text)
    head = _read_ref(folder, symbolic[1]) if symbolic else _as_commit_id(text)
    commits = {commit for commit in (tip, head) if commit}
    imported = {commit for commit in commits if _import_commit(repository, folder, commit)}
    if tip in imported and tip != read_ref(worktree, full):
        git(worktree, "update-ref", full, tip)
    if head in imported:
        if head != git(worktree, "rev-parse", "HEAD").strip():
            git(worktree, "update-ref", "--no-deref", "HEAD", head)
        git(worktree, "reset", "--quiet", "--mixed", head)
    if not commits or imported != commits:
        _move_aside(folder, "they are incomplete")
        return
    removed = folder.with_name("taken")  # a partly removed folder with its name could show an old position of the branch
    shutil.rmtree(removed, ignore_errors=True)
    folder.rename(removed)
    shutil.rmtree(removed)


def _move_aside(folder: Path, why: str) -> None:
    """Rename the folder, as it may contain the only copy of a commit."""
    numbers = (folder.with_name(f"left-{number}") for number in itertools.count(1))
    target = next(path for path in numbers if not path.exists())
    folder.rename(target)
    _log.warning("commits made in the sandbox were not imported (%s); they are kept in %s", why, target)


def _import_commit(repository: Repository, folder: Path, commit: str) -> bool:
    """Import a commit with its objects; returns whether it is complete in the repository."""
    own, alternate = str(folder / "objects"), str(repository.common / "objects")
    env = {"GIT_OBJECT_DIRECTORY": own, "GIT_ALTERNATE_OBJECT_DIRECTORIES": alternate}
    existing = {line.partition(b" ")[0] for line in _references(repository.common).splitlines()}
    stdin = b"".join([commit.encode(), b"\n", *(b"^%s\n" % commit_id for commit_id in sorted(existing))])
    try:
        pack = git_bytes(repository.common, "pack-objects", "--revs", "--stdout", "-q", stdin=stdin, env=env)
        git_bytes(repository.common, "unpack-objects", "-q", "--strict", stdin=pack)
        git(repository.common, "rev-list", "--quiet", "--objects", commit, "--not", "--all")
    except GitError as error:
        if error.code < 0 or any(message in error.stderr for message in MACHINE_MESSAGES):
            raise TransientError(
                "commits made in the sandbox cannot be imported yet",
                found=error.stderr or str(error),
                remedy=f"free space on the disk and resume; to continue without them, move {folder} elsewhere",
            ) from error
        return False
    return True


def _references(worktree: Path) -> bytes:
    """Branches, tags and remote-tracking branches, without the loops' own references."""
    return git_bytes(worktree, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags", "refs/remotes")


def _copy_files(source: Path, target: Path, names: tuple[str, ...]) -> None:
    for path in (path for name in names for path in source.glob(name)):
        copied = target / path.relative_to(source)
        copied.parent.mkdir(exist_ok=True)
        shutil.copy2(path, copied)


def _list_alternates(common: Path) -> list[Path]:
    """Alternates of the repository, including indirect ones."""
    lines = git(common, "count-objects", "--verbose").splitlines()
    return [Path(line.removeprefix("alternate: ")) for line in lines if line.startswith("alternate: ")]


def _read_ref(folder: Path, name: str) -> str | None:
    if ".." in name:
        return None
    lines = (line.split(" ") for line in _read_text(folder, "packed-refs", most=LARGEST_LIST).splitlines())
    packed = (_as_commit_id(line[0]) for line in lines if line[1:] == [name])
    return _as_commit_id(_read_text(folder, name)) or next(packed, None)


def _as_commit_id(text: str) -> str | None:
    return text if _HEX.fullmatch(text) else None


def _read_text(folder: Path, name: str, most: int = LARGEST_REF) -> str:
    """Text of a regular file; a pipe would block, and a link may lead anywhere."""
    return (read_within(folder, name, most) or b"").decode(errors="replace").strip()
