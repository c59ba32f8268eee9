"""What changed in a worktree: read from commits, between the one that an iteration began with and the one that it ended with."""

from pathlib import Path

from helmsman.records.evidence import Change, Commit
from tasks.repository.git import git

COMMITS_SHOWN = 50
FILES_SHOWN = 200
SUBJECT_SHOWN = 200
LEFTOVERS = "helmsman: keep what"
"""How the subject begins of a commit that we make of an agent's uncommitted work."""


def measure_change(path: Path, start: str) -> Change:
    """Compare HEAD with the commit that an iteration began with."""
    (commit, tree, _), *_ = line = first_line(path, "HEAD", COMMITS_SHOWN, but=f"{start}^@")
    commits = tuple(Commit(id=name, subject=subject) for name, _, subject in line if name != start)
    numbers = git(path, "diff", "--numstat", "-z", "--no-renames", start, commit, "--")
    rows = [row.split("\t", 2) for row in numbers.split("\0") if row]
    return Change(
        start=start,
        commit=commit,
        tree=tree,
        commits=commits,
        files=tuple(name for _, _, name in rows[:FILES_SHOWN]),
        files_changed=len(rows),
        insertions=sum(int(added) for added, _, _ in rows if added.isdigit()),
        deletions=sum(int(removed) for _, removed, _ in rows if removed.isdigit()),
        leftovers_committed=any(commit.subject.startswith(LEFTOVERS) for commit in commits[:1]),
    )


def commits_between(path: Path, start: str, commit: str, limit: int) -> tuple[Commit, ...]:
    """Commits of the first line of descent after `start`, newest first."""
    return tuple(Commit(id=name, subject=subject) for name, _, subject in first_line(path, commit, limit, but=start))


def first_line(path: Path, tip: str, limit: int, *, but: str) -> list[tuple[str, str, str]]:
    """Commit, tree and subject of the first line of descent, newest first, without what can be reached from `but`."""
    log = git(path, "log", "-z", "--first-parent", "--format=%H %T %s", f"--max-count={limit}", tip, "--not", but, "--")
    commits = (entry.split(" ", 2) for entry in log.split("\0") if entry)
    return [(name, tree, subject[:SUBJECT_SHOWN]) for name, tree, subject in commits]
