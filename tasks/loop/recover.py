"""Recovery: what a driver that died left in flight (processes, the agent's box, its work), and a loop's end from outside."""

from datetime import datetime

from helmsman.errors import HelmsmanError
from helmsman.records.advance import end, interrupt
from helmsman.records.agent import Interrupted, Salvage
from helmsman.records.decision import Decision, Outcome
from helmsman.records.events import AttemptInterrupted
from helmsman.records.state import LoopState
from helmsman.texts import plural
from tasks.agents.call_folder import CallFolder, interrupted_call
from tasks.repository.loop_context import LoopContext
from tasks.repository.state_ref import replace_state
from tasks.repository.worktree import ensure_worktree, salvage
from tasks.sandbox.enter import take_over_work
from tasks.system.journal import publish
from tasks.system.process import end_tagged


def end_processes(state: LoopState) -> None:
    """Whatever still runs of the loop on this machine. The caller holds the lock: none of it is a driver's who lives."""
    end_tagged(f"{state.uid}/", prefix=True)


def keep_work(context: LoopContext, state: LoopState, start: str) -> Salvage | None:
    """What the agent did since `start`, in its box or beside it, on a ref; the worktree is as it was then, afterwards."""
    take_over_work(context, state)
    return salvage(context.repository, context.worktree, state, start)


def repair(context: LoopContext, state: LoopState) -> LoopState:
    """Make the loop ready to go on, whatever happened to its last driver. The caller holds the lock."""
    end_processes(state)
    if state.ending is not None:
        return state
    ensure_worktree(context.repository, context.worktree, state.branch, state.head, state.base_commit)
    return mark_interrupted(context, state)


def mark_interrupted(context: LoopContext, state: LoopState) -> LoopState:
    """When an agent call began and never ended: keep its work on a ref and make the next attempt due."""
    folder = CallFolder(context.folder.call(state.due, state.attempt), state.uid)
    attempt = interrupted_call(folder)
    if attempt is None:
        return state
    kept = keep_work(context, state, attempt.start)
    after = interrupt(state, attempt, kept)
    where = f"work kept at {kept.ref} ({plural(kept.files, 'file')})" if kept else "nothing to keep"
    what = f"iteration {state.due} attempt {state.attempt} was interrupted: {where}"
    publish(AttemptInterrupted(what=what))
    return replace_state(context.repository, state, after, what)


def lost_elsewhere(context: LoopContext, state: LoopState, now: datetime) -> LoopState:
    """A call of the agent began on a machine that is gone, and nobody knows how it ended: the next attempt is due."""
    kept = salvage(context.repository, context.worktree, state, state.head)
    after = interrupt(state, Interrupted(start=state.head, started_at=now, ended_at=now), kept)
    what = f"work kept at {kept.ref}" if kept else "its work stays there"
    told = f"iteration {state.due} attempt {state.attempt} was cut off with {state.host or 'its machine'}: {what}"
    return replace_state(context.repository, state, after, told)


def close(context: LoopContext, state: LoopState, why: BaseException, now: datetime) -> LoopState:
    """End a loop from outside an iteration: cancelled, or broken by an error that no retry repairs. The caller holds the lock."""
    end_processes(state)
    state = mark_interrupted(context, state)
    fault = why.fault if isinstance(why, HelmsmanError) and why.fault != "nobody" else ""
    decision = Decision(
        kind="stop",
        rule=f"error.{fault}" if fault else "cancelled",
        reason=f"{str(why) or 'asked to stop'}; go on with: helmsman resume {state.loop}",
        at=now,
        outcome=Outcome.FAILED if fault else Outcome.CANCELLED,
        fault=fault,
    )
    return replace_state(context.repository, state, end(state, decision, now), f"end: {decision.rule}")
