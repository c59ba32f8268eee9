"""Merging as the loop's state sees it: when it is due, and what follows where it fails, is hindered, or is done."""

from datetime import datetime
from typing import Any

from helmsman.oversee.limits import reached
from helmsman.oversee.summary import with_new_base
from helmsman.records.advance import end
from helmsman.records.checks import CheckReport
from helmsman.records.decision import Decision, Outcome
from helmsman.records.gates import GATE, GateKind
from helmsman.records.proof import DoneSignals
from helmsman.records.state import LoopState
from helmsman.records.tracking import Merged, Merging, Prepared, Trouble
from helmsman.texts import plural

MERGE_TRIES = 3  # merges that may fail, by a conflict or by checks, before a person is asked
MERGE = "merge."  # how the rules begin of endings that merging brought about
NOT_MERGED = "the work is verified and not merged"
LEFT = f"{GATE}{GateKind.UNMERGED}"  # the rule under which a person leaves proven work unmerged


def landing_due(state: LoopState) -> bool:
    """Whether proven work waits to be merged."""
    if not state.config.merge.into or state.merged or state.gate:
        return False
    if state.ending is None:
        return state.merging.proven is not None
    return state.ending.outcome is Outcome.COMPLETED and state.ending.rule != LEFT


def landing(state: LoopState) -> LoopState:
    """The loop on its way. It stays proven, whoever cancels or kills its driver."""
    before = state.merging
    ending = state.ending or before.proven
    known = {"proven": ending, "work": before.work if ending == before.proven else state.head}
    return state.model_copy(update={"ending": ending, "merging": before.model_copy(update=known)})


def still_proven(state: LoopState, tip: str | None) -> bool:
    """Whether the branch holds what was proven, and nothing on top of it."""
    return state.merging.work == state.head == tip


def to_be_proven(state: LoopState, now: datetime) -> LoopState:
    """Somebody has committed on the branch since: the next iteration finds out what that is worth."""
    again = state.model_copy(update={"ending": None, "merging": state.merging.unproven(), "updated_at": now})
    return limited(again, f"{NOT_MERGED}: its branch moved on", now)


def ready(state: LoopState, prepared: Prepared) -> LoopState:
    return state.model_copy(update={"merging": state.merging.model_copy(update={"prepared": prepared})})


def troubled(state: LoopState, trouble: Trouble, report: CheckReport | None, now: datetime) -> LoopState:
    """The loop goes on from work that holds both sides, with the trouble as its task; after too many, a person is asked."""
    failed = state.merging.failed + 1
    asks = failed >= MERGE_TRIES
    merging = Merging(failed=0 if asks else failed, trouble=trouble)
    moved: dict[str, Any] = {"ending": None, "merging": merging, "head": trouble.head, "base_commit": trouble.base}
    anew: dict[str, Any] = {"done": DoneSignals(), "session": None, "verified": "", "updated_at": now}
    anew["green_at_start"] = None  # the work was shown against the start that it had; the other branch may hold the like by now
    after = with_new_base(state.model_copy(update=moved | anew), report)
    if not asks:
        return limited(after, f"{NOT_MERGED}: {trouble.why}", now)
    reason = (
        f"{plural(failed, 'merge')} into {trouble.into} failed ({MERGE_TRIES} allowed), the last because {trouble.why}; "
        "a person has to decide what both sides want"
    )
    return _ended(after, f"{MERGE}tries", reason, Outcome.WAITING, now)


def hindered(state: LoopState, rule: str, reason: str, now: datetime) -> LoopState:
    """Nothing is wrong with the work, and it cannot be merged until a person has done something. It stays proven."""
    return _ended(state, f"{MERGE}{rule}", reason, Outcome.WAITING, now)


def arrived(state: LoopState, merged: Merged, base_commit: str) -> LoopState:
    known = {"merged": merged, "merging": Merging(), "head": merged.head, "base_commit": base_commit, "updated_at": merged.at}
    return state.model_copy(update=known)


def is_hindered(state: LoopState) -> bool:
    """Whether a person has to clear the way for work that is proven."""
    ending = state.ending
    waits = ending is not None and ending.outcome is Outcome.WAITING and ending.rule.startswith(MERGE)
    return waits and state.merging.proven is not None


def limited(state: LoopState, why: str, now: datetime) -> LoopState:
    """Going on costs: where nothing is left to spend, the loop stops instead."""
    blown = reached(state.config.limits, state.spending, state.iteration)
    return _ended(state, blown[0].rule, f"{blown[0].message}; {why}", Outcome.STOPPED, now) if blown else state


def _ended(state: LoopState, rule: str, reason: str, outcome: Outcome, now: datetime) -> LoopState:
    return end(state, Decision(kind="stop", rule=rule, reason=reason, at=now, outcome=outcome), now)
