"""What a driver that died left in flight: processes, the agent's files as a check changed them, its box, its work."""

from helmsman.plain import clean
from helmsman.records.evidence import Salvage
from helmsman.records.state import LoopState
from tasks.agents.call_folder import CallFolder
from tasks.processes.process import end_tagged
from tasks.sandbox.taking import take_over_work
from tasks.worktrees.holding import finish_held
from tasks.worktrees.workplace import Workplace
from tasks.worktrees.worktree import recover, salvage


def end_processes(state: LoopState) -> None:
    """Whatever still runs of the loop on this machine. The caller holds the lock: none of it is a driver's who lives."""
    end_tagged(f"{state.uid}/", prefix=True, grace=state.config.claude.stop_grace_seconds)


def undo_checks(place: Workplace, state: LoopState) -> list[str]:
    """A driver that died while checks ran at a stop left the agent's files as those made them. Returns what is lost, in words."""
    held = CallFolder(place.folder.call(state.due, state.attempt)).held
    if not held.exists():
        return []
    recover(place.repository, place.worktree, state.branch)
    return [
        f"what the checks of a stop changed could not be put back: {clean(problem)}"
        for problem in finish_held(place.worktree, held)
    ]


def keep_work(place: Workplace, state: LoopState, start: str) -> Salvage | None:
    """What the agent did since `start`, in its box or beside it, on a ref; the worktree is as it was then, afterwards."""
    take_over_work(place, state)
    return salvage(place.repository, place.worktree, state, start)
