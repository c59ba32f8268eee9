"""State changes of merging: when a merge is due, and what follows if it fails, is prevented, or succeeds."""

from datetime import datetime
from typing import Any

from helmsman.oversee.limits import reached_limits
from helmsman.oversee.summary import with_new_base
from helmsman.records.advance import end
from helmsman.records.checks import CheckReport
from helmsman.records.decision import Decision, Outcome
from helmsman.records.gates import GATE, GateKind
from helmsman.records.proof import DoneSignals
from helmsman.records.state import LoopState
from helmsman.records.tracking import Merged, MergeProblem, Merging, PreparedMerge
from helmsman.texts import plural

MERGE_TRIES = 3  # merges that may fail, through conflicts or checks, before a person is asked
MERGE = "merge."  # prefix of rules of endings caused by merging
NOT_MERGED = "the work is verified and not merged"
LEFT_UNMERGED = f"{GATE}{GateKind.UNMERGED}"  # rule for proven work that a person leaves unmerged


def is_merge_due(state: LoopState) -> bool:
    """Whether proven work awaits its merge."""
    if not state.config.merge.into or state.merged or state.gate:
        return False
    if state.ending is None:
        return state.merging.proven is not None
    return state.ending.outcome is Outcome.COMPLETED and state.ending.rule != LEFT_UNMERGED


def start_merge(state: LoopState) -> LoopState:
    """The loop while merging. It stays proven even if its driver is cancelled or killed."""
    before = state.merging
    ending = state.ending or before.proven
    changes = {"proven": ending, "work": before.work if ending == before.proven else state.head}
    return state.model_copy(update={"ending": ending, "merging": before.model_copy(update=changes)})


def is_still_proven(state: LoopState, tip: str | None) -> bool:
    """Whether the branch contains exactly the proven work."""
    return state.merging.work == state.head == tip


def require_new_proof(state: LoopState, now: datetime) -> LoopState:
    """Someone has committed to the branch: the next iteration verifies it."""
    again = state.model_copy(update={"ending": None, "merging": state.merging.without_proof(), "updated_at": now})
    why = f"{NOT_MERGED}: its branch has" if state.config.merge.into else "its branch has unverified,"
    return stop_at_limit(again, f"{why} new commits", now)


def with_prepared_merge(state: LoopState, prepared: PreparedMerge) -> LoopState:
    return state.model_copy(update={"merging": state.merging.model_copy(update={"prepared": prepared})})


def handle_failed_merge(state: LoopState, trouble: MergeProblem, report: CheckReport | None, now: datetime) -> LoopState:
    """Continue from work that contains both sides, with the trouble as its task; after too many failures, ask a person."""
    failed = state.merging.failed + 1
    needs_person = failed >= MERGE_TRIES
    merging = Merging(failed=0 if needs_person else failed, trouble=trouble)
    moved: dict[str, Any] = {"ending": None, "merging": merging, "head": trouble.head, "base_commit": trouble.base}
    reset: dict[str, Any] = {"done": DoneSignals(), "session": None, "verified": "", "updated_at": now}
    reset["green_at_start"] = None  # the work was proven against its old base; the other branch may contain the same by now
    after = with_new_base(state.model_copy(update=moved | reset), report)
    if not needs_person:
        return stop_at_limit(after, f"{NOT_MERGED}: {trouble.why}", now)
    reason = (
        f"{plural(failed, 'merge')} into {trouble.into} failed ({MERGE_TRIES} allowed), the last because {trouble.why}; "
        "a person has to resolve what both sides change"
    )
    return _ended(after, f"{MERGE}tries", reason, Outcome.WAITING, now)


def wait_for_person(state: LoopState, rule: str, reason: str, now: datetime) -> LoopState:
    """The work is fine but cannot be merged until a person acts. It stays proven."""
    return _ended(state, f"{MERGE}{rule}", reason, Outcome.WAITING, now)


def with_merge(state: LoopState, merged: Merged, base_commit: str) -> LoopState:
    changes = {"merged": merged, "merging": Merging(), "head": merged.head, "base_commit": base_commit, "updated_at": merged.at}
    return state.model_copy(update=changes)


def is_merge_blocked(state: LoopState) -> bool:
    """Whether a person must remove an obstacle to merging proven work."""
    ending = state.ending
    is_waiting = ending is not None and ending.outcome is Outcome.WAITING and ending.rule.startswith(MERGE)
    return is_waiting and state.merging.proven is not None


def stop_at_limit(state: LoopState, why: str, now: datetime) -> LoopState:
    """Continuing costs: if no budget is left, stop the loop instead."""
    exceeded = reached_limits(state.config.limits, state.spending, state.iteration)
    return _ended(state, exceeded[0].rule, f"{exceeded[0].message}; {why}", Outcome.STOPPED, now) if exceeded else state


def _ended(state: LoopState, rule: str, reason: str, outcome: Outcome, now: datetime) -> LoopState:
    return end(state, Decision(kind="stop", rule=rule, reason=reason, at=now, outcome=outcome), now)
