"""Making a worktree what it was when it was held."""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from helmsman.errors import WorldError
from tasks.repository.git import commit_and_tree, current_branch, git, read_objects
from tasks.worktrees.held_tree import FAULTS, Lying, Tree, content_ids, ignored_paths, read_file, walk
from tasks.worktrees.staging import open_up
from tasks.worktrees.worktree import hold_branch, own_git

RULES = ".gitignore", ".git"
"""Names of what decides, in a folder, which of its files git sees."""
READ_FILES = 1000
READ_BYTES = 2**26
"""What is read from the store at once, but for a file that is larger by itself."""


def put_back(tree: Tree) -> list[str]:
    """Make the worktree what it was. Returns what could not be put back, in words; all else is."""
    back = _Back(tree)
    back.attempt("git's link", back.link_to_git)
    if back.problems:  # git would take another repository for this one
        return back.problems
    back.attempt("git's index", back.index)
    back.attempt("git's HEAD", back.head)
    altered = {name for name in tree.of_kind(stat.S_IFDIR) if back.folder_differs(name)}
    changed = [name for name, one in tree.lying.items() if one.kind != stat.S_IFDIR and not one.is_at(tree.root / name)]
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

    def link_to_git(self) -> None:
        """First of all: without it git would change whatever repository lies above, and so would the agent."""
        path, tree = self.tree.root / ".git", self.tree
        if str(own_git(tree.root, tree.commit)) == tree.own:
            return
        if tree.link is not None:
            _remove(path)
            path.write_bytes(tree.link)
        if str(own_git(tree.root, tree.commit)) != tree.own:
            raise WorldError("the worktree is cut off from its repository")

    def index(self) -> None:
        index, staged = self.tree.index, self.tree.staged
        index.with_name("index.lock").unlink(missing_ok=True)  # of a git that was ended with its check
        if read_file(index) == staged:
            return
        if staged is None or self.tree.index_as is None:
            index.unlink()
        else:
            _replace(index, staged, self.tree.index_as)

    def head(self) -> None:
        root, branch, commit = self.tree.root, self.tree.branch, self.tree.commit
        if branch:
            hold_branch(root, branch, commit)
        elif current_branch(root) or commit_and_tree(root)[0] != commit:
            git(root, "update-ref", "--no-deref", "HEAD", commit)

    def folder_differs(self, name: str) -> bool:
        """Put it back at once: what is said of the folders in it may be true of whatever took its place."""
        if self.tree.lying[name].is_at(self.tree.root / name):
            return False
        self.attempt(name, partial(self.folder, name))
        return True

    def folder(self, name: str) -> None:
        """Write to it, too: it may have been closed."""
        path = self.tree.root / name
        if not stat.S_ISDIR(_mode(path)):
            _remove(path)
            path.mkdir()
        path.chmod(stat.S_IMODE(self.tree.lying[name].mode) | stat.S_IRWXU)

    def close(self, name: str) -> None:
        (self.tree.root / name).chmod(stat.S_IMODE(self.tree.lying[name].mode))

    def entries(self, names: Sequence[str]) -> None:
        """Sockets and pipes cannot be kept."""
        kinds = {name: self.tree.lying[name].kind for name in names}
        files = [name for name in names if kinds[name] == stat.S_IFREG]
        touched = _touched(self.tree, files)
        for name in touched:
            self.attempt(name, partial(self.touch, name))
        self.files([name for name in files if name not in touched])
        for name in names:
            if kinds[name] == stat.S_IFLNK:
                self.attempt(name, partial(self.link, name))

    def touch(self, name: str) -> None:
        _set(self.tree.root / name, self.tree.lying[name])

    def files(self, names: Iterable[str]) -> None:
        """Many by one process of git's. Where that fails, one by one: what is damaged must not keep back the others."""
        for batch in _batches(self.tree, names):
            try:
                found = self.read(batch)
            except FAULTS:
                for name in batch:
                    self.attempt(name, partial(self.file_alone, name))
            else:
                for name, kept in zip(batch, found, strict=True):
                    self.attempt(name, partial(self.file, name, kept))

    def read(self, names: Iterable[str]) -> list[tuple[str, bytes] | None]:
        return read_objects(self.tree.store, [self.tree.lying[name].content for name in names])

    def file_alone(self, name: str) -> None:
        self.file(name, *self.read([name]))

    def file(self, name: str, kept: tuple[str, bytes] | None) -> None:
        path, one = self.tree.root / name, self.tree.lying[name]
        if kept is None:
            raise WorldError("its content is gone")
        if stat.S_ISDIR(_mode(path)):
            _remove(path)
        if _rewritten(path, kept[1], one.inode):
            _set(path, one)
        else:
            _replace(path, kept[1], one)

    def link(self, name: str) -> None:
        path = self.tree.root / name
        _remove(path)
        path.symlink_to(self.tree.lying[name].content)

    def remove_added(self) -> None:
        """What is ignored is told by the rules as they were: new ones could hide anything, and so could a new repository.

        What was ignored stays even where its rule is gone: a virtual environment is ignored by a file in itself.
        """
        tree = self.tree
        places = ["", *(f"{name}/" for name in tree.of_kind(stat.S_IFDIR))]
        rules = {f"{place}{name}" for place in places for name in RULES} - {".git", *tree.lying, *tree.ignored}
        for name in rules:
            _remove(tree.root / name)
        ignored = tree.ignored | ignored_paths(tree.root)
        added = [one for one in walk(tree.root, ignored, open_but=tree.lying) if one[0] not in tree.lying]
        for name, found in reversed(added):  # what is in a folder before the folder
            path = tree.root / name
            if not stat.S_ISDIR(found.st_mode):
                path.unlink()
            elif not any(path.iterdir()):  # else something ignored is in it
                path.rmdir()


def _touched(tree: Tree, files: Iterable[str]) -> set[str]:
    """Of changed files those that hold what they held."""
    there = [name for name in files if stat.S_ISREG(_mode(tree.root / name))]
    try:
        now = content_ids(tree.root, tree.store, there)
    except FAULTS:
        return set()  # one cannot be read: write them all
    return {name for name, content in zip(there, now, strict=True) if content == tree.lying[name].content}


def _batches(tree: Tree, names: Iterable[str]) -> Generator[list[str]]:
    batch: list[str] = []
    size = 0
    for name in names:
        batch.append(name)
        size += tree.lying[name].size
        if len(batch) == READ_FILES or size >= READ_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


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


def _rewritten(path: Path, content: bytes, inode: int) -> bool:
    """Write into the file where it is still the same one: a process that has it open goes on writing to it.

    Into another one too where that has no other name: to remove files that were just written takes ten times as long.
    It is cut at its end only, so that on a full disk it does not lose what it has room for.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # it is gone, closed, or a program that runs
        return False
    with os.fdopen(handle, "wb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or (found.st_ino != inode and found.st_nlink > 1):
            return False
        file.write(content)
        file.truncate()
    return True


def _replace(path: Path, content: bytes, like: Lying) -> None:
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


def _set(path: Path, like: Lying) -> None:
    path.chmod(stat.S_IMODE(like.mode))
    os.utime(path, ns=(like.accessed, like.modified))
