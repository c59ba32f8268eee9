"""A worktree at one instant, as it is kept in a folder: what lay at each path, git's index and HEAD, and the contents.

Contents are kept as blobs in a repository of the store's own, which borrows from the one of the worktree: what that has costs
nothing, and it never hears of the rest. No filter of git's is asked, as it would change line endings.
"""

import base64
import hashlib
import json
import os
import stat
from collections.abc import Collection, Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from helmsman.errors import HelmsmanError
from tasks.repository.git import git, git_bytes
from tasks.whole_files import write_whole
from tasks.worktrees.staging import NO_WORK

FAULTS = HelmsmanError, OSError, ValueError, RecursionError
"""What a full disk, a weird tree or a broken repository may raise."""
QUICKLY = "-c", "core.compression=0", "-c", "core.looseCompression=0"
"""What is kept for some minutes is not worth packing tight."""


class Lying(NamedTuple):
    """What lay at a path."""

    mode: int
    inode: int
    size: int
    accessed: int
    modified: int
    changed: int
    content: str = ""
    """Of a file the id of its content in the store, of a link where it leads."""

    @classmethod
    def of(cls, found: os.stat_result) -> Self:
        times = found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns
        return cls(found.st_mode, found.st_ino, found.st_size, *times)

    @property
    def kind(self) -> int:
        return stat.S_IFMT(self.mode)

    def is_at(self, path: Path) -> bool:
        """Whether nothing has happened to it, by what the system keeps: nothing can be written without a new time of change."""
        try:
            now = Lying.of(path.lstat())
        except OSError:
            return False
        if self.kind == stat.S_IFDIR:
            return now.mode == self.mode
        return (now.mode, now.inode, now.size, now.modified, now.changed) == (
            self.mode, self.inode, self.size, self.modified, self.changed,
        )  # fmt: skip


@dataclass(frozen=True)
class Tree:
    """A worktree at one instant: files, folders, links, and git's index and HEAD."""

    root: Path
    store: Path
    lying: dict[str, Lying]
    """By path, folders before what is in them."""
    ignored: frozenset[str]
    index: Path
    staged: bytes | None
    """What the index held; None where there was none."""
    index_as: Lying | None
    branch: str
    commit: str
    link: bytes | None
    """What the worktree's `.git` says; None where the repository itself lies there."""
    own: str
    """Where git keeps index and HEAD."""

    def of_kind(self, kind: int) -> list[str]:
        return [name for name, one in self.lying.items() if one.kind == kind]


def write_tree(tree: Tree, path: Path) -> None:
    """Durably, and whole or not at all."""
    told = {"lying": tree.lying, "ignored": sorted(tree.ignored), "staged": _packed(tree.staged), "index_as": tree.index_as}
    text = json.dumps({**told, "branch": tree.branch, "commit": tree.commit, "link": _packed(tree.link), "own": tree.own})
    write_whole(path, f"{_digest(text)}\n{text}")


def read_tree(path: Path, root: Path, store: Path) -> Tree | None:
    """What was written for that worktree, or None where it is damaged."""
    index = own_file(root, "index")
    try:
        digest, _, text = path.read_text(encoding="utf-8").partition("\n")
        told: dict[str, Any] = json.loads(text) if digest == _digest(text) else {}
        return Tree(
            root=root,
            store=store,
            lying={name: Lying(*one) for name, one in told["lying"].items()},
            ignored=frozenset(told["ignored"]),
            index=index,
            staged=_unpacked(told["staged"]),
            index_as=Lying(*told["index_as"]) if told["index_as"] else None,
            branch=told["branch"],
            commit=told["commit"],
            link=_unpacked(told["link"]),
            own=told["own"],
        )
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None


def _packed(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode()


def _unpacked(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def make_store(root: Path, store: Path) -> None:
    """A repository beside that of the worktree, which finds there what it does not have itself."""
    form = git(root, "rev-parse", "--show-object-format").strip()
    git(store, "init", "--quiet", "--template=", f"--object-format={form}")
    borrowed = store / ".git" / "objects" / "info" / "alternates"
    borrowed.parent.mkdir(exist_ok=True)
    borrowed.write_bytes(_quoted(own_file(root, "objects").absolute()) + b"\n")


def content_ids(root: Path, store: Path, files: Iterable[str], *how: str) -> list[str]:
    """Ids of what files hold."""
    names = b"".join(_quoted(root.absolute() / name) + b"\n" for name in files)
    return git(store, *QUICKLY, "hash-object", "--no-filters", *how, "--stdin-paths", stdin=names).split()


def own_file(root: Path, name: str) -> Path:
    """Where git has a file of its own."""
    return root / os.fsdecode(git_bytes(root, "rev-parse", "--git-path", name).removesuffix(b"\n"))


def read_file(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def ignored_paths(root: Path) -> frozenset[str]:
    """Topmost paths that are ignored and not tracked; junk and the loop's own files are, whatever the repository says."""
    rules = (f"--exclude=/{pattern.removesuffix('/**')}" for pattern in NO_WORK)
    listed = git_bytes(root, "ls-files", "-z", "--others", "--ignored", "--directory", "--exclude-standard", *rules)
    return frozenset(os.fsdecode(name.rstrip(b"/")) for name in listed.split(b"\0") if name)


def walk(
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


def _quoted(path: Path) -> bytes:
    inner = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"%s"' % inner
