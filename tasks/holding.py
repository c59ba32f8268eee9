"""A worktree that is held: whatever is done to it meanwhile, it is as it was afterwards, byte for byte.

Unlike `restore`, which goes back to a commit, this goes back to what lay there uncommitted: files of any content and mode, links,
empty folders, git's index and HEAD. What is ignored stays as it is left. Contents are kept as git's blobs, which costs nothing
for what the repository has, but outside of it and past its filters, which would change line endings.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from helmsman.errors import HelmsmanError, WorldError
from tasks.git import commit_and_tree, current_branch, git, git_bytes
from tasks.staging import NO_WORK, open_up
from tasks.worktree import hold_branch

LARGEST_TREE = 4 * 2**30
"""Bytes of files that are not ignored; more would take longer to hold than a check takes."""
RULES = ".gitignore", ".git"
"""Names of what decides, in a folder, which of its files git sees."""
FAULTS = HelmsmanError, OSError, ValueError, RecursionError
"""What a full disk, a weird tree or a broken repository may raise."""
PATHS_SHOWN = 5


class Lying(NamedTuple):
    """What lay at a path."""

    stat: os.stat_result
    content: str = ""
    """Of a file the id of its content in the store, of a link where it leads."""

    @property
    def kind(self) -> int:
        return stat.S_IFMT(self.stat.st_mode)


@dataclass(frozen=True)
class Tree:
    """A worktree at one instant: files, folders, links, and git's index and HEAD."""

    root: Path
    store: dict[str, str]
    """Variables by which git keeps what it is given outside of the repository."""
    lying: dict[str, Lying]
    """By path, folders before what is in them."""
    ignored: frozenset[str]
    index: Path
    staged: bytes | None
    index_stat: os.stat_result | None
    branch: str
    commit: str


@contextmanager
def held(root: Path) -> Generator[None]:
    """Whatever happens to the worktree meanwhile, it is put back. Raises where it cannot be held, or not be put back."""
    store = Path(tempfile.mkdtemp(prefix="helmsman-"))
    try:
        tree = _hold(root, store)
    except BaseException:
        shutil.rmtree(store, ignore_errors=True)
        raise
    try:
        yield
    finally:
        left = put_back(tree)
        if left:  # the store may be all that is left of the agent's work
            shown = ", ".join(left[:PATHS_SHOWN])
            raise WorldError("what the checks changed could not all be put back", found=f"{shown}; a copy is in {store}")
        shutil.rmtree(store, ignore_errors=True)


def _hold(root: Path, store: Path) -> Tree:
    index = _place(root, "index")
    if index.with_name("index.lock").exists():
        raise WorldError("a git command is at work in the worktree, or was killed there")
    variables = {
        "GIT_OBJECT_DIRECTORY": str(store),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.fsdecode(_quoted(str(_place(root, "objects")))),
    }
    ignored = _ignored(root)
    seen = {name: Lying(found) for name, found in _walk(root, ignored)}
    _require_plain(seen)
    files = [name for name, one in seen.items() if one.kind == stat.S_IFREG]
    links = [name for name, one in seen.items() if one.kind == stat.S_IFLNK]
    contents = dict(zip(files, _contents(root, files, variables, "-w"), strict=True))
    contents |= {name: os.readlink(root / name) for name in links}  # noqa: PTH115 - a Path would tidy the target up
    return Tree(
        root=root,
        store=variables,
        lying={name: Lying(one.stat, contents.get(name, "")) for name, one in seen.items()},
        ignored=ignored,
        index=index,
        staged=_read(index),
        index_stat=index.stat() if index.exists() else None,
        branch=current_branch(root),
        commit=commit_and_tree(root)[0],
    )


def _require_plain(seen: dict[str, Lying]) -> None:
    inner = next((name for name in seen if name.endswith("/.git")), None)
    if inner is not None:
        raise WorldError(f"a repository lies in the worktree: {inner.removesuffix('/.git')}")
    if sum(one.stat.st_size for one in seen.values()) > LARGEST_TREE:
        raise WorldError("the files in the worktree are too large to be held")


def _place(root: Path, name: str) -> Path:
    """Where git has a file of its own."""
    return root / os.fsdecode(git_bytes(root, "rev-parse", "--git-path", name).removesuffix(b"\n"))


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _ignored(root: Path) -> frozenset[str]:
    """Topmost paths that are ignored and not tracked; junk and the loop's own files are, whatever the repository says."""
    rules = (f"--exclude=/{pattern.removesuffix('/**')}" for pattern in NO_WORK)
    listed = git_bytes(root, "ls-files", "-z", "--others", "--ignored", "--directory", "--exclude-standard", *rules)
    return frozenset(os.fsdecode(name.rstrip(b"/")) for name in listed.split(b"\0") if name)


def _walk(
    root: Path, ignored: Collection[str], *, open_but: Collection[str] | None = None
) -> Generator[tuple[str, os.stat_result]]:
    """What lies there and is not ignored, folders before what is in them. Closed ones are opened, but for those named, if any."""
    folders = [""]
    while folders:
        below = folders.pop()
        with os.scandir(root / below) as entries:
            for entry in entries:
                name, found = f"{below}{entry.name}", entry.stat(follow_symlinks=False)
                if name == ".git" or name in ignored:
                    continue
                yield name, found
                if stat.S_ISDIR(found.st_mode):
                    folders.append(f"{name}/")
                    if open_but is not None and name not in open_but:
                        (root / name).chmod(stat.S_IMODE(found.st_mode) | stat.S_IRWXU)


def _contents(root: Path, files: Iterable[str], store: dict[str, str], *how: str) -> list[str]:
    """Ids of contents as they are: no filter of git's has changed a line ending."""
    names = b"".join(_quoted(name) + b"\n" for name in files)
    return git(root, "hash-object", "--no-filters", *how, "--stdin-paths", stdin=names, env=store).split()


def _quoted(name: str) -> bytes:
    inner = os.fsencode(name).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"%s"' % inner


def put_back(tree: Tree) -> list[str]:
    """Make the worktree what it was. Returns what could not be put back, in words; all else is."""
    back = _Back(tree)
    back.attempt("git's index", back.index)
    back.attempt("git's HEAD", back.head)
    folders = [name for name, one in tree.lying.items() if one.kind == stat.S_IFDIR]
    altered = {name for name in folders if back.folder_differs(name)}
    changed = [name for name, one in tree.lying.items() if one.kind != stat.S_IFDIR and _differs(tree.root / name, one)]
    opened = {os.path.dirname(name) for name in changed} - {"", *altered}  # noqa: PTH120 - names, not places
    for name in opened:
        back.attempt(name, partial(back.folder, name))
    back.entries(changed)
    back.attempt("what was added", back.remove_added)
    for name in altered | opened:
        back.attempt(name, partial(back.close, name))
    return back.problems


@dataclass(frozen=True)
class _Back:
    """The steps of putting back, none of which keeps the others from being taken."""

    tree: Tree
    problems: list[str] = field(default_factory=list[str])

    def attempt(self, what: str, step: Callable[[], object]) -> None:
        try:
            step()
        except FAULTS as error:
            self.problems.append(f"{what}: {error}")

    def index(self) -> None:
        index, staged = self.tree.index, self.tree.staged
        index.with_name("index.lock").unlink(missing_ok=True)  # of a git that was ended with its check
        if _read(index) == staged:
            return
        if staged is None or self.tree.index_stat is None:
            index.unlink()
        else:
            _write(index, staged, self.tree.index_stat)

    def head(self) -> None:
        root, branch, commit = self.tree.root, self.tree.branch, self.tree.commit
        if branch:
            hold_branch(root, branch, commit)
        elif current_branch(root) or commit_and_tree(root)[0] != commit:
            git(root, "update-ref", "--no-deref", "HEAD", commit)

    def folder_differs(self, name: str) -> bool:
        """Put it back at once: what is said of the folders in it may be true of whatever took its place."""
        if not _differs(self.tree.root / name, self.tree.lying[name]):
            return False
        self.attempt(name, partial(self.folder, name))
        return True

    def entries(self, names: Sequence[str]) -> None:
        touched = _touched(self.tree, [name for name in names if self.tree.lying[name].kind == stat.S_IFREG])
        steps = {stat.S_IFREG: self.file, stat.S_IFLNK: self.link}
        for name in names:
            step = self.touch if name in touched else steps.get(self.tree.lying[name].kind)
            if step is not None:  # sockets and pipes cannot be kept
                self.attempt(name, partial(step, name))

    def folder(self, name: str) -> None:
        """Write to it, too: it may have been closed."""
        path = self.tree.root / name
        if not stat.S_ISDIR(_mode(path)):
            _remove(path)
            path.mkdir()
        path.chmod(stat.S_IMODE(self.tree.lying[name].stat.st_mode) | stat.S_IRWXU)

    def close(self, name: str) -> None:
        (self.tree.root / name).chmod(stat.S_IMODE(self.tree.lying[name].stat.st_mode))

    def file(self, name: str) -> None:
        path, one = self.tree.root / name, self.tree.lying[name]
        content = git_bytes(self.tree.root, "cat-file", "blob", one.content, env=self.tree.store)
        if stat.S_ISDIR(_mode(path)):
            _remove(path)
        _write(path, content, one.stat)

    def touch(self, name: str) -> None:
        _set(self.tree.root / name, self.tree.lying[name].stat)

    def link(self, name: str) -> None:
        path = self.tree.root / name
        _remove(path)
        path.symlink_to(self.tree.lying[name].content)

    def remove_added(self) -> None:
        """What is ignored is told by the rules as they were: new ones could hide anything, and so could a new repository.

        What was ignored stays even where its rule is gone: a virtual environment is ignored by a file in itself.
        """
        tree = self.tree
        places = ["", *(f"{name}/" for name, one in tree.lying.items() if one.kind == stat.S_IFDIR)]
        rules = {f"{place}{name}" for place in places for name in RULES} - {".git", *tree.lying, *tree.ignored}
        for name in rules:
            _remove(tree.root / name)
        ignored = tree.ignored | _ignored(tree.root)
        added = [one for one in _walk(tree.root, ignored, open_but=tree.lying) if one[0] not in tree.lying]
        for name, found in reversed(added):  # what is in a folder before the folder
            path = tree.root / name
            if not stat.S_ISDIR(found.st_mode):
                path.unlink()
            elif not any(path.iterdir()):  # else something ignored is in it
                path.rmdir()


def _differs(path: Path, one: Lying) -> bool:
    """By what the system keeps: nothing can be written without a new time of change."""
    try:
        now = path.lstat()
    except OSError:
        return True
    if one.kind == stat.S_IFDIR:
        return now.st_mode != one.stat.st_mode
    return _signature(now) != _signature(one.stat)


def _signature(found: os.stat_result) -> tuple[int, ...]:
    return found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _touched(tree: Tree, files: Iterable[str]) -> set[str]:
    """Of changed files those that hold what they held."""
    there = [name for name in files if stat.S_ISREG(_mode(tree.root / name))]
    try:
        now = _contents(tree.root, there, tree.store)
    except FAULTS:
        return set()  # one cannot be read: write them all
    return {name for name, content in zip(there, now, strict=True) if content == tree.lying[name].content}


def _mode(path: Path) -> int:
    """0 where nothing lies."""
    try:
        return path.lstat().st_mode
    except OSError:
        return 0


def _remove(path: Path) -> None:
    if stat.S_ISDIR(_mode(path)):
        open_up(path)
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _write(path: Path, content: bytes, like: os.stat_result) -> None:
    """In one step: a full disk must not leave half a file in the place of a whole one."""
    handle, name = tempfile.mkstemp(prefix=".helmsman-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        _set(Path(name), like)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _set(path: Path, like: os.stat_result) -> None:
    path.chmod(stat.S_IMODE(like.st_mode))
    os.utime(path, ns=(like.st_atime_ns, like.st_mtime_ns))
