"""Reading what differs between two commits: changed files whole, test files that did not change, and what was added, as lines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from helmsman.parsers.test_files import is_test_file
from helmsman.records.agent import Change
from helmsman.verify.diff import FileDiff, Line, TreeDiff
from tasks.repository.git import current_branch, git, git_bytes
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
    texts = _texts(cwd, [name for entry in order for name in entry.ids])
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
    return TreeDiff(files=tuple(files), left_out=(*unread, *(entry.path for entry in beyond)))


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
    texts = _texts(cwd, [blob.id for blob in tests])
    return {blob.path: texts[blob.id] for blob in tests if blob.id in texts}


def read_texts(cwd: Path, tree: Sequence[Blob], paths: Sequence[str]) -> list[tuple[str, str | None]]:
    """Those of these files that are in a tree, in their order; None for what is no text, or too large."""
    blobs = {blob.path: blob for blob in tree}
    wanted = [blobs[path] for path in dict.fromkeys(paths) if path in blobs]
    texts = _texts(cwd, [blob.id for blob in wanted])
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


def _texts(cwd: Path, names: Sequence[str]) -> dict[str, str]:
    """Texts of those blobs that are text, and of a size that somebody writes: the first ones, until there is enough of it."""
    chosen, room, unique = list[str](), LARGEST_DIFF, list(dict.fromkeys(names))
    for name, size in zip(unique, read_sizes(cwd, unique), strict=True):
        if size is None:
            raise missing_object(cwd, name)
        if size <= min(room, LARGEST_FILE):
            chosen.append(name)
            room -= size
    found = filter(None, read_objects(cwd, chosen))
    return {name: content.decode(errors="replace") for name, content in found if BINARY not in content[:8000]}


# --- what was added, as lines --------------------------------------------------------------------------------------------

MOST_COMMITS = 50
MOST_TEXT = 5_000_000  # characters of added lines in all
LARGEST_SEARCHED = 5_000_000  # bytes of a file
MOST_READ = 32_000_000  # bytes of all files, as they are and as they were before
MESSAGE = "commit message"
_RAW = ("--raw", "-z", "-r", "-M", "--no-abbrev", "--no-ext-diff")
_COMMIT = "%H %P%n%an <%ae>, %cn <%ce>%n%B"
_MARKS = ((b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
"""Byte order marks. Without one, a NUL among the first 8,000 bytes is what tells git a binary file too."""


class Part(NamedTuple):
    """Lines that one file did not hold before, in whatever place; its name as line 0; or the message of a commit."""

    path: str  # MESSAGE for the message of a commit
    commit: str  # where only the history holds them; empty where the tree does as it is now
    lines: Sequence[Line]


def added_text(worktree: Path, change: Change) -> tuple[list[Part], str]:
    """What a change added, as lines: in the tree as it is now, and in each of its commits, where a line may have come and gone.

    Names of new files and messages of commits are lines as well: whoever fetches the branch reads them. Also what the bounds cut
    off, in words; binary files are passed over without a word. Read from git's objects: no attribute and no setting hides a line.
    """
    now = _edits(git_bytes(worktree, "diff", *_RAW, change.start, change.commit, "--"))
    commits = _commits(worktree, change)
    newest = commits[:MOST_COMMITS]
    listed = [ids for ids, _ in newest]
    if listed == [f"{change.commit} {change.start}"]:  # the change as a whole is what its only commit changed
        listed = []
    asked = "".join(f"{commit}\n" for commit in listed).encode()
    history = git_bytes(worktree, "diff-tree", "--stdin", "--root", *_RAW, stdin=asked) if listed else b""
    known = {(edit.path, edit.after) for edit in now}
    past = [edit for edit in _edits(history) if (edit.path, edit.after) not in known]
    # names that were not there before
    new = (edit for edit in (*now, *past) if edit.path != edit.old_path or edit.status.startswith("A"))
    parts = [Part(edit.path, edit.commit, (Line(0, edit.path),)) for edit in new]
    for ids, text in newest:
        parts.append(Part(MESSAGE, ids.split()[0], [Line(*line) for line in enumerate(text.splitlines())]))
    unread = [f"commits before the newest {MOST_COMMITS}"] if len(commits) > MOST_COMMITS else []
    unread += _read(worktree, now, past, parts)
    told = f"not all that is new was searched for secrets: {', '.join(unread)} left out" if unread else ""
    return parts, told


def _commits(worktree: Path, change: Change) -> list[tuple[str, str]]:
    """The session's commits, newest first: id and first parent, as `diff-tree` takes them, then who made it, and its message.

    What others have published already, in a branch that was merged, is not its own.
    """
    foreign = ("--not", f"--exclude=*/{current_branch(worktree)}", "--remotes")
    most = f"--max-count={MOST_COMMITS + 1}"
    told = ("log", "-z", "--no-show-signature", "--no-color", "--no-notes", "--encoding=UTF-8", f"--format=format:{_COMMIT}")
    listed = git(worktree, *told, most, f"{change.start}..{change.commit}", *foreign, "--")
    found = (one.partition("\n") for one in listed.split("\0") if one)
    return [(" ".join(ids.split()[:2]), text) for ids, _, text in found]


def _edits(raw: bytes) -> list[Entry]:
    """Files that are there afterwards."""
    return [entry for entry in changed_files(raw) if entry.after]


def _read(worktree: Path, now: Sequence[Entry], past: Sequence[Entry], parts: list[Part]) -> list[str]:
    """Add the new lines of files. Returns, in words, what there was no room for.

    Small files first, so that a large one takes no other's room; the tree before what is only history.
    """
    names = sorted({name for edit in (*now, *past) for name in edit.ids})
    sizes = {name: size for name, size in zip(names, read_sizes(worktree, names), strict=True) if size is not None}
    ordered = [edit for edits in (now, past) for edit in sorted(edits, key=lambda edit: sizes.get(edit.after, 0))]
    fit = [edit for edit in ordered if sizes.get(edit.after, 0) <= LARGEST_SEARCHED]
    room, text, left = MOST_READ, MOST_TEXT, len(fit)
    for edit in fit[:MOST_FILES]:
        wanted = [name for name in edit.ids if sizes.get(name, LARGEST_SEARCHED + 1) <= LARGEST_SEARCHED]
        room -= sum(sizes[name] for name in wanted)
        if room < 0:
            break
        found = dict(filter(None, read_objects(worktree, wanted)))
        before = set(_lines(found.get(edit.before, b"")))
        lines = [Line(*line) for line in enumerate(_lines(found.get(edit.after, b"")), start=1) if line[1] not in before]
        text -= sum(len(line.text) for line in lines)
        if text < 0:
            break
        parts += [Part(edit.path, edit.commit, lines)] if lines else []
        left -= 1
    large = len(ordered) - len(fit)
    told = [f"{large} files above {LARGEST_SEARCHED / 1e6:g} MB"] if large else []
    more = f"{left} files beyond {MOST_FILES:,} files or {MOST_TEXT / 1e6:g} MB of new lines"
    return [*told, more] if left else told


def _lines(content: bytes) -> list[str]:
    """None of a binary file."""
    marked = next((encoding for mark, encoding in _MARKS if content.startswith(mark)), "")
    if not marked and b"\0" in content[:8000]:
        return []
    return content.decode(marked or "utf-8", errors="replace").splitlines()
