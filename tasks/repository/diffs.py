"""Reading the structured diff between two commits: changed files whole, and the test files that did not change."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from helmsman.parsers.test_files import is_test_file
from helmsman.verify.diff import FileDiff, TreeDiff
from tasks.repository.git import git_bytes
from tasks.repository.objects import missing_object, read_objects, read_sizes

LARGEST_FILE = 512 * 1024  # bytes; a larger one is generated, or data
LARGEST_DIFF = 32 * 1024 * 1024  # bytes of all texts on both sides
MOST_FILES = 2000
MOST_TESTS = 500  # unchanged test files that are read
BINARY = b"\0"
REGULAR = b"100"  # how the mode of a file begins that is neither a link nor a submodule


@dataclass(frozen=True)
class Blob:
    """A file as a tree lists it."""

    path: str
    id: str
    size: int


@dataclass(frozen=True)
class Entry:
    """A changed file as git lists it; an id is empty on the side where there is no file that we read."""

    status: str
    old_path: str
    path: str
    before: str
    after: str
    commit: str = ""  # whose change it is, where git tells of several

    @property
    def ids(self) -> tuple[str, ...]:
        """Of the sides that we read."""
        return tuple(name for name in (self.before, self.after) if name)


def read_diff(cwd: Path, start: str, commit: str) -> TreeDiff:
    """Everything that differs between two commits, renames found. Never runs a program that the repository names."""
    raw = git_bytes(cwd, "diff", "--raw", "-z", "-M", "--no-abbrev", "--no-ext-diff", start, commit, "--")
    entries = list(changed_files(raw))
    read, beyond = entries[:MOST_FILES], entries[MOST_FILES:]
    # tests that were there before come first: what the agent adds beside them shall not take their room
    order = sorted(read, key=lambda one: (not (is_test_file(one.path) or is_test_file(one.old_path)), not one.before))
    texts, unfit = _texts(cwd, [name for entry in order for name in entry.ids])
    files = [
        FileDiff(
            path=entry.path,
            before=texts.get(entry.before),
            after=texts.get(entry.after),
            status=entry.status,
            old_path=entry.old_path if entry.old_path != entry.path else "",
        )
        for entry in read
    ]
    unread = [entry.path for entry in read if any(name not in texts for name in entry.ids)]
    no_room = [entry.path for entry in read if not unfit.isdisjoint(entry.ids)]
    return TreeDiff(files=tuple(files), left_out=(*unread, *(entry.path for entry in beyond)), no_room=tuple(no_room))


def tree_of(cwd: Path, commit: str) -> tuple[Blob, ...]:
    """Every file of a commit."""
    found = list[Blob]()
    for line in git_bytes(cwd, "ls-tree", "-r", "-z", "--long", commit).split(b"\0"):
        if line.startswith(REGULAR):
            head, _, path = line.partition(b"\t")
            _, _, name, size = head.split()
            if not size.isdigit():  # git writes BAD
                raise missing_object(cwd, f"{name.decode()} ({_name(path)})")
            found.append(Blob(_name(path), name.decode(), int(size)))
    return tuple(found)


def unchanged_tests(cwd: Path, tree: Sequence[Blob], diff: TreeDiff) -> dict[str, str]:
    """Texts of the test files that a diff does not touch, by path."""
    changed = {file.path for file in diff}
    tests = [blob for blob in tree if blob.path not in changed and is_test_file(blob.path)][:MOST_TESTS]
    texts, _ = _texts(cwd, [blob.id for blob in tests])
    return {blob.path: texts[blob.id] for blob in tests if blob.id in texts}


def read_texts(cwd: Path, tree: Sequence[Blob], paths: Sequence[str]) -> list[tuple[str, str | None]]:
    """Those of these files that are in a tree, in their order; None for what is no text, or too large."""
    blobs = {blob.path: blob for blob in tree}
    wanted = [blobs[path] for path in dict.fromkeys(paths) if path in blobs]
    texts, _ = _texts(cwd, [blob.id for blob in wanted])
    return [(blob.path, texts.get(blob.id)) for blob in wanted]


def changed_files(raw: bytes) -> Iterator[Entry]:
    """What git says by `--raw -z --no-abbrev`; of several commits, before each its id."""
    parts, commit = iter(raw.split(b"\0")), ""
    for head in parts:
        if not head.startswith(b":"):
            commit = head.decode()
            continue
        old_mode, mode, before, after, status = head.lstrip(b":").split(b" ")
        old_path = _name(next(parts))
        path = _name(next(parts)) if status[:1] in b"RC" else old_path
        yield Entry(status[:1].decode(), old_path, path, _id(old_mode, before), _id(mode, after), commit)


def _id(mode: bytes, name: bytes) -> str:
    return name.decode() if mode.startswith(REGULAR) else ""


def _name(path: bytes) -> str:
    return path.decode(errors="replace")


def _texts(cwd: Path, names: Sequence[str]) -> tuple[dict[str, str], set[str]]:
    """Texts of those blobs that are text, and of a size that somebody writes: the first ones first, until there is enough of it.

    Also those that would be read if there were fewer of them.
    """
    chosen, no_room = list[str](), set[str]()
    room, unique = LARGEST_DIFF, list(dict.fromkeys(names))
    for name, size in zip(unique, read_sizes(cwd, unique), strict=True):
        if size is None:
            raise missing_object(cwd, name)
        if size > room and size <= LARGEST_FILE:
            no_room.add(name)
        elif size <= LARGEST_FILE:
            chosen.append(name)
            room -= size
    found = filter(None, read_objects(cwd, chosen))
    return {name: content.decode(errors="replace") for name, content in found if BINARY not in content[:8000]}, no_room
