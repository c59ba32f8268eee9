"""What a change added, as lines: in the tree as it is now, and in each of its commits, where a line may have come and gone.

Names of new files and messages of commits are lines as well: whoever fetches the branch reads them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from helmsman.records.agent import Change
from helmsman.verify.diff import Line
from tasks.repository.diffs import Entry, changed_files
from tasks.repository.git import current_branch, git, git_bytes
from tasks.repository.objects import read_objects, read_sizes

MOST_COMMITS = 50
MOST_FILES = 2000
MOST_TEXT = 5_000_000  # characters of added lines in all
LARGEST_FILE = 5_000_000  # bytes
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
    """All parts, and what the bounds cut off, in words. Binary files are passed over without a word.

    Read from git's objects: no attribute and no setting hides a line.
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
    fit = [edit for edit in ordered if sizes.get(edit.after, 0) <= LARGEST_FILE]
    room, text, left = MOST_READ, MOST_TEXT, len(fit)
    for edit in fit[:MOST_FILES]:
        wanted = [name for name in edit.ids if sizes.get(name, LARGEST_FILE + 1) <= LARGEST_FILE]
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
    told = [f"{large} files above {LARGEST_FILE / 1e6:g} MB"] if large else []
    more = f"{left} files beyond {MOST_FILES:,} files or {MOST_TEXT / 1e6:g} MB of new lines"
    return [*told, more] if left else told


def _lines(content: bytes) -> list[str]:
    """None for a binary file."""
    marked = next((encoding for mark, encoding in _MARKS if content.startswith(mark)), "")
    if not marked and b"\0" in content[:8000]:
        return []
    return content.decode(marked or "utf-8", errors="replace").splitlines()
