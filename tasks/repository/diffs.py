"""Read the difference of two commits: changed files with their texts, unchanged test files, and added lines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from helmsman.parsers.source import is_test_file
from helmsman.records.agent import Change
from helmsman.verify.diff import FileDiff, Line, TreeDiff
from tasks.repository.git import current_branch, git, git_bytes
from tasks.repository.objects import missing_object, read_objects, read_sizes

LARGEST_FILE = 512 * 1024  # bytes; larger files are generated, or data
LARGEST_DIFF = 32 * 1024 * 1024  # total bytes of the texts on both sides
MOST_FILES = 2000
MOST_TESTS = 500  # maximum of unchanged test files to read
BINARY = b"\0"
REGULAR = b"100"  # prefix of the mode of a regular file, neither a link nor a submodule


@dataclass(frozen=True)
class Blob:
    """A file as a tree lists it."""

    path: str
    id: str
    size: int


@dataclass(frozen=True)
class Entry:
    """A changed file as git lists it; the id of a side is empty if it has no regular file."""

    status: str
    old_path: str
    path: str
    before: str
    after: str
    commit: str = ""  # the commit with the change, if git lists several

    @property
    def ids(self) -> tuple[str, ...]:
        """Object ids of the sides with a regular file."""
        return tuple(name for name in (self.before, self.after) if name)


def read_diff(cwd: Path, start: str, commit: str) -> TreeDiff:
    """Everything that differs between two commits, with renames. Never runs a program that the repository configures."""
    raw = git_bytes(cwd, "diff", "--raw", "-z", "-M", "--no-abbrev", "--no-ext-diff", start, commit, "--")
    entries = list(changed_files(raw))
    first, beyond = entries[:MOST_FILES], entries[MOST_FILES:]
    # existing tests first: files that the agent adds must not use up their share of the limit
    order = sorted(first, key=lambda entry: (not (is_test_file(entry.path) or is_test_file(entry.old_path)), not entry.before))
    texts = _read_blob_texts(cwd, [name for entry in order for name in entry.ids])
    files = [
        FileDiff(
            path=entry.path,
            before=texts.get(entry.before),
            after=texts.get(entry.after),
            status=entry.status,
            old_path=entry.old_path if entry.old_path != entry.path else "",
        )
        for entry in first
    ]
    unread = [entry.path for entry in first if any(name not in texts for name in entry.ids)]
    return TreeDiff(files=tuple(files), left_out=(*unread, *(entry.path for entry in beyond)))


def tree_of(cwd: Path, commit: str) -> tuple[Blob, ...]:
    """Every regular file of a commit."""
    blobs = list[Blob]()
    for line in git_bytes(cwd, "ls-tree", "-r", "-z", "--long", commit).split(b"\0"):
        if line.startswith(REGULAR):
            head, _, path = line.partition(b"\t")
            _, _, name, size = head.split()
            if not size.isdigit():  # git writes BAD
                raise missing_object(cwd, f"{name.decode()} ({_decode_path(path)})")
            blobs.append(Blob(_decode_path(path), name.decode(), int(size)))
    return tuple(blobs)


def unchanged_tests(cwd: Path, tree: Sequence[Blob], diff: TreeDiff) -> dict[str, str]:
    """Texts of the test files that a diff does not touch, by path."""
    changed = {file.path for file in diff}
    tests = [blob for blob in tree if blob.path not in changed and is_test_file(blob.path)][:MOST_TESTS]
    texts = _read_blob_texts(cwd, [blob.id for blob in tests])
    return {blob.path: texts[blob.id] for blob in tests if blob.id in texts}


def read_texts(cwd: Path, tree: Sequence[Blob], paths: Sequence[str]) -> list[tuple[str, str | None]]:
    """Texts of the given files that exist in the tree, in order; None for binary or oversized files."""
    blobs = {blob.path: blob for blob in tree}
    present = [blobs[path] for path in dict.fromkeys(paths) if path in blobs]
    texts = _read_blob_texts(cwd, [blob.id for blob in present])
    return [(blob.path, texts.get(blob.id)) for blob in present]


def changed_files(raw: bytes) -> Iterator[Entry]:
    """Parse the output of `--raw -z --no-abbrev`, with an id before each commit if there are several."""
    parts, commit = iter(raw.split(b"\0")), ""
    for head in parts:
        if not head.startswith(b":"):
            commit = head.decode()
            continue
        old_mode, mode, before, after, status = head.lstrip(b":").split(b" ")
        old_path = _decode_path(next(parts))
        path = _decode_path(next(parts)) if status[:1] in b"RC" else old_path
        yield Entry(status[:1].decode(), old_path, path, _regular_id(old_mode, before), _regular_id(mode, after), commit)


def _regular_id(mode: bytes, name: bytes) -> str:
    return name.decode() if mode.startswith(REGULAR) else ""


def _decode_path(path: bytes) -> str:
    return path.decode(errors="replace")


def _read_blob_texts(cwd: Path, names: Sequence[str]) -> dict[str, str]:
    """Texts of the blobs by id, without binary and oversized ones, up to the total limit."""
    chosen, bytes_left, unique = list[str](), LARGEST_DIFF, list(dict.fromkeys(names))
    for name, size in zip(unique, read_sizes(cwd, unique), strict=True):
        if size is None:
            raise missing_object(cwd, name)
        if size <= min(bytes_left, LARGEST_FILE):
            chosen.append(name)
            bytes_left -= size
    objects = filter(None, read_objects(cwd, chosen))
    return {name: content.decode(errors="replace") for name, content in objects if BINARY not in content[:8000]}


# --- what was added, as lines --------------------------------------------------------------------------------------------

MOST_COMMITS = 50
MOST_TEXT = 5_000_000  # total characters of added lines
LARGEST_SEARCHED = 5_000_000  # bytes of a file
MOST_READ = 32_000_000  # total bytes of all files, before and after
MESSAGE = "commit message"
_RAW = ("--raw", "-z", "-r", "-M", "--no-abbrev", "--no-ext-diff")
_COMMIT = "%H %P%n%an <%ae>, %cn <%ce>%n%B"
_BYTE_ORDER_MARKS = ((b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
"""Byte order marks. Without one, a NUL in the first 8,000 bytes marks a binary file, as for git."""


class Part(NamedTuple):
    """Lines that are new in a file, wherever they are, with its name as line 0; or the message of a commit."""

    path: str  # MESSAGE for the message of a commit
    commit: str  # set if only the history contains the lines; empty if the current tree does
    lines: Sequence[Line]


def added_text(worktree: Path, change: Change) -> tuple[list[Part], str]:
    """Lines that a change added: in the current tree, and in each of its commits, which may contain lines that are gone again.

    Includes names of new files and commit messages, as everyone who fetches the branch can read them. Also returns a message on
    what the limits left out, except binary files. Reads git's objects: no attribute or setting hides a line.
    """
    now = _remaining_files(git_bytes(worktree, "diff", *_RAW, change.start, change.commit, "--"))
    commits = _list_commits(worktree, change)
    newest = commits[:MOST_COMMITS]
    listed = [ids for ids, _ in newest]
    if listed == [f"{change.commit} {change.start}"]:  # the only commit is the whole change
        listed = []
    stdin = "".join(f"{commit}\n" for commit in listed).encode()
    history = git_bytes(worktree, "diff-tree", "--stdin", "--root", *_RAW, stdin=stdin) if listed else b""
    current = {(edit.path, edit.after) for edit in now}
    past = [edit for edit in _remaining_files(history) if (edit.path, edit.after) not in current]
    # new file names
    new = (edit for edit in (*now, *past) if edit.path != edit.old_path or edit.status.startswith("A"))
    parts = [Part(edit.path, edit.commit, (Line(0, edit.path),)) for edit in new]
    for ids, text in newest:
        parts.append(Part(MESSAGE, ids.split()[0], [Line(*line) for line in enumerate(text.splitlines())]))
    unread = [f"commits before the newest {MOST_COMMITS}"] if len(commits) > MOST_COMMITS else []
    unread += _add_new_lines(worktree, now, past, parts)
    message = f"not all new text was searched for secrets: {', '.join(unread)} left out" if unread else ""
    return parts, message


def _list_commits(worktree: Path, change: Change) -> list[tuple[str, str]]:
    """The session's commits, newest first: id and first parent, as `diff-tree` takes them, then author and message.

    Excludes published commits of others, as from a merged branch.
    """
    published = ("--not", f"--exclude=*/{current_branch(worktree)}", "--remotes")
    most = f"--max-count={MOST_COMMITS + 1}"
    log = ("log", "-z", "--no-show-signature", "--no-color", "--no-notes", "--encoding=UTF-8", f"--format=format:{_COMMIT}")
    listed = git(worktree, *log, most, f"{change.start}..{change.commit}", *published, "--")
    entries = (entry.partition("\n") for entry in listed.split("\0") if entry)
    return [(" ".join(ids.split()[:2]), text) for ids, _, text in entries]


def _remaining_files(raw: bytes) -> list[Entry]:
    """Entries of files that exist after the change."""
    return [entry for entry in changed_files(raw) if entry.after]


def _add_new_lines(worktree: Path, now: Sequence[Entry], past: Sequence[Entry], parts: list[Part]) -> list[str]:
    """Append the new lines of files to `parts`. Returns descriptions of what the limits left out.

    Small files first, so that a large one does not use up the limit; the current tree before the history.
    """
    names = sorted({name for edit in (*now, *past) for name in edit.ids})
    sizes = {name: size for name, size in zip(names, read_sizes(worktree, names), strict=True) if size is not None}
    ordered = [edit for edits in (now, past) for edit in sorted(edits, key=lambda edit: sizes.get(edit.after, 0))]
    within_limit = [edit for edit in ordered if sizes.get(edit.after, 0) <= LARGEST_SEARCHED]
    bytes_left, characters_left, unread = MOST_READ, MOST_TEXT, len(ordered)
    for edit in within_limit[:MOST_FILES]:
        ids = [name for name in edit.ids if sizes.get(name, LARGEST_SEARCHED + 1) <= LARGEST_SEARCHED]
        bytes_left -= sum(sizes[name] for name in ids)
        if bytes_left < 0:
            break
        contents = dict(filter(None, read_objects(worktree, ids)))
        before = set(_text_lines(contents.get(edit.before, b"")))
        lines = [Line(*line) for line in enumerate(_text_lines(contents.get(edit.after, b"")), start=1) if line[1] not in before]
        characters_left -= sum(len(line.text) for line in lines)
        if characters_left < 0:
            break
        parts += [Part(edit.path, edit.commit, lines)] if lines else []
        unread -= 1
    limits = f"above {LARGEST_SEARCHED / 1e6:g} MB, or beyond {MOST_FILES:,} files or {MOST_TEXT / 1e6:g} MB of new lines"
    return [f"{unread} files {limits}"] if unread else []


def _text_lines(content: bytes) -> list[str]:
    """Lines of a text file; empty for a binary file."""
    marked = next((encoding for mark, encoding in _BYTE_ORDER_MARKS if content.startswith(mark)), "")
    if not marked and b"\0" in content[:8000]:
        return []
    return content.decode(marked or "utf-8", errors="replace").splitlines()
