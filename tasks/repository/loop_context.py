"""Where a step works: repository, worktree and folder of its loop, found again from two strings in every process."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from helmsman.records.state import LoopState
from tasks.repository.folders import loop_folder, worktree_of
from tasks.repository.git import Repository, open_repository
from tasks.system.paths import LoopFolder


@dataclass(frozen=True)
class LoopContext:
    repository: Repository
    worktree: Path
    folder: LoopFolder

    def tag(self, state: LoopState) -> str:
        """What every process of this loop carries in its environment."""
        return f"{state.uid}/{state.due}-{state.attempt}"


def loop_context(repository: str, state: LoopState) -> LoopContext:
    found = _open(repository)
    return LoopContext(
        repository=found,
        worktree=worktree_of(found, state.loop, state.config.workspace),
        folder=loop_folder(found, state.loop),
    )


def is_finished(repository: str, state: LoopState) -> bool:
    """Whether a loop that has completed is through with all that it leaves: its worktree goes last.

    One that works in place has none of its own: it leaves again, which changes nothing.
    """
    context = loop_context(repository, state)
    return state.gate is None and context.folder.root.exists() and not context.worktree.exists()


def mark_finished(context: LoopContext, state: LoopState) -> None:
    """Before the worktree goes: one that could not be removed is told from one whose loop was killed before it had left."""
    context.folder.left.parent.mkdir(parents=True, exist_ok=True)
    context.folder.left.write_text(_end_of(state))


def is_marked_finished(context: LoopContext, state: LoopState) -> bool:
    """Whether this machine has seen this very end of the loop through."""
    return context.folder.left.exists() and context.folder.left.read_text() == _end_of(state)


def _end_of(state: LoopState) -> str:
    return f"{state.uid} {state.ending.at.isoformat() if state.ending else ''}"


@lru_cache(maxsize=64)
def _open(repository: str) -> Repository:
    """A repository does not move while a process works in it; asking git once is enough."""
    return open_repository(Path(repository))
