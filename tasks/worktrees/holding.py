"""A worktree that is held: whatever is done to it meanwhile, it is as it was afterwards, byte for byte.

Unlike `restore`, which goes back to a commit, this goes back to what lay there uncommitted: files of any content and mode, links,
empty folders, git's index and HEAD. What is ignored stays as it is left. What lay there is on disk before anything is done to it,
so that another process can put it back when this one is killed.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from helmsman.errors import WorldError
from tasks.repository.git import commit_and_tree, current_branch
from tasks.worktrees.held_tree import (
    Lying,
    Tree,
    content_ids,
    ignored_paths,
    make_store,
    own_file,
    read_file,
    read_tree,
    walk,
    write_tree,
)
from tasks.worktrees.putting_back import put_back
from tasks.worktrees.worktree import own_git

MOST_PATHS = 100_000
"""Files and folders that are not ignored. All of them are put back in half of the time that the CLI waits beyond the checks."""
LARGEST_TREE = 2**30
"""Bytes of files that are not ignored; likewise."""
MANIFEST = "manifest.json"
"""Of a store: what lay where. While it is there, the worktree is not known to be as it was."""
LEFT = "left.json"
"""What the manifest becomes where not all could be put back: the store is for people then."""
PATHS_SHOWN = 5


@contextmanager
def held(root: Path, folder: Path) -> Generator[Callable[[], None]]:
    """Whatever happens to the worktree meanwhile, it is put back; what is yielded does so at once.

    What lay there is kept in a folder that nobody else uses. Raises where the worktree cannot be held, or not be put back.
    """
    folder.mkdir(parents=True, exist_ok=True)
    store = Path(tempfile.mkdtemp(dir=folder))
    try:
        tree = _hold(root, store)
        write_tree(tree, store / MANIFEST)
    except BaseException:
        _remove(store)
        raise
    try:
        yield lambda: _require(put_back(tree), store)
    finally:
        _require(_settle(store, put_back(tree)), store)


def finish_held(root: Path, folder: Path) -> list[str]:
    """Put back what a process held that was killed meanwhile; returns what could not be, in words. Twice does no harm."""
    stores = sorted(folder.iterdir()) if folder.is_dir() else []
    return [problem for store in stores for problem in _finish(root, store)]


def _finish(root: Path, store: Path) -> list[str]:
    if (store / MANIFEST).exists():
        tree = read_tree(store / MANIFEST, root, store)
        return _settle(store, put_back(tree) if tree else [f"what is kept in {store} cannot be read"])
    if not (store / LEFT).exists():  # killed before anything was done to the worktree, or after all was put back
        _remove(store)
    return []


def _settle(store: Path, problems: list[str]) -> list[str]:
    """The store goes where it is not needed any more; else it may be all that is left of the agent's work."""
    if problems:
        with suppress(FileNotFoundError):  # a check reached it
            (store / MANIFEST).replace(store / LEFT)
    else:
        (store / MANIFEST).unlink(missing_ok=True)
        _remove(store)
    return problems


def _remove(store: Path) -> None:
    shutil.rmtree(store, ignore_errors=True)
    with suppress(OSError):  # another store is in it
        store.parent.rmdir()


def _require(problems: Sequence[str], store: Path) -> None:
    if problems:
        shown = ", ".join(problems[:PATHS_SHOWN])
        raise WorldError("what the checks changed could not all be put back", found=f"{shown}; a copy is in {store}")


def _hold(root: Path, store: Path) -> Tree:
    index = own_file(root, "index")
    if index.with_name("index.lock").exists():
        raise WorldError("a git command is at work in the worktree, or was killed there")
    make_store(root, store)
    ignored = ignored_paths(root)
    seen = {name: Lying.of(found) for name, found in islice(walk(root, ignored), MOST_PATHS + 1)}
    _require_plain(seen)
    contents, commit, link = _contents(root, store, seen), commit_and_tree(root)[0], root / ".git"
    return Tree(
        root=root,
        store=store,
        lying={name: one._replace(content=contents.get(name, "")) for name, one in seen.items()},
        ignored=ignored,
        index=index,
        staged=read_file(index),
        index_as=Lying.of(index.stat()) if index.exists() else None,
        branch=current_branch(root),
        commit=commit,
        link=None if link.is_dir() or link.is_symlink() else link.read_bytes(),
        own=str(own_git(root, commit)),
    )


def _contents(root: Path, store: Path, seen: dict[str, Lying]) -> dict[str, str]:
    files = [name for name, one in seen.items() if one.kind == stat.S_IFREG]
    links = [name for name, one in seen.items() if one.kind == stat.S_IFLNK]
    kept = dict(zip(files, content_ids(root, store, files, "-w"), strict=True))
    return kept | {name: os.readlink(root / name) for name in links}  # noqa: PTH115 - a Path would tidy the target up


def _require_plain(seen: dict[str, Lying]) -> None:
    inner = next((name for name in seen if name.endswith("/.git")), None)
    if inner is not None:
        raise WorldError(f"a repository lies in the worktree: {inner.removesuffix('/.git')}")
    if len(seen) > MOST_PATHS:
        raise WorldError(f"more than {MOST_PATHS:,} files are in the worktree, too many to be put back in time")
    if sum(one.size for one in seen.values()) > LARGEST_TREE:
        raise WorldError(f"more than {LARGEST_TREE:,} bytes are in the worktree, too many to be put back in time")
