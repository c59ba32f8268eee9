"""What a driver that died left in flight: processes, the agent's box, its work."""

from helmsman.records.evidence import Salvage
from helmsman.records.state import LoopState
from tasks.processes.process import end_tagged
from tasks.sandbox.taking import take_over_work
from tasks.worktrees.workplace import Workplace
from tasks.worktrees.worktree import salvage


def end_processes(state: LoopState) -> None:
    """Whatever still runs of the loop on this machine. The caller holds the lock: none of it is a driver's who lives."""
    end_tagged(f"{state.uid}/", prefix=True, grace=state.config.claude.stop_grace_seconds)


def keep_work(place: Workplace, state: LoopState, start: str) -> Salvage | None:
    """What the agent did since `start`, in its box or beside it, on a ref; the worktree is as it was then, afterwards."""
    take_over_work(place, state)
    return salvage(place.repository, place.worktree, state, start)
