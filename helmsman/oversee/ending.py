"""Best, not last: which tree a loop that ends without completion is left at, and how it stands there.

What was measured is completion, from tests, checks, criteria and items (`progress`); of equals the later one counts, and a tree
that games its checks or hurts is never the best (`Oversight.best`).
"""

from collections.abc import Sequence

from helmsman.plain import clean
from helmsman.records.findings import Weight
from helmsman.records.folds import most_tests, taken_back, undone_after
from helmsman.records.moments import Moment
from helmsman.records.oversight import LATER, Checkpoint, Failed
from helmsman.records.plan_folds import without
from helmsman.records.state import LoopState
from helmsman.records.verdict import Outcome

ENDS = frozenset({Outcome.STOPPED, Outcome.FAILED, Outcome.CANCELLED, Outcome.EJECTED})
"""Ends without completion. A loop that waits for a person is shown as it is."""


def better_to_leave(state: LoopState) -> Checkpoint | None:
    """The tree to leave an ended loop at; None where its last one is the best, or where not all that came after is the loop's."""
    best, steers = state.oversight.best, state.config.ladder.act and state.config.ladder.rollback
    if state.outcome not in ENDS or best is None or best.commit == state.head or not steers or _shown_as_it_is(state, best):
        return None
    last = _last(state)
    same_tree = last is not None and last.tree == best.tree
    return None if same_tree or not all_ours(state.history, best.commit, state.head) else best


def _shown_as_it_is(state: LoopState, best: Checkpoint) -> bool:
    """Work that measures better and has a finding against it is no best. Yet a person may find it honest, so it stays where the
    loop ended for just that, and where going back would leave nothing of the loop's work at all.
    """
    last = _last(state)
    nothing_else = best.iteration == 0 and last is not None and last.checked and last.completion >= best.completion
    return nothing_else or (state.ending is not None and state.ending.rule == "completion.denied")


def _last(state: LoopState) -> Moment | None:
    return next((moment for moment in reversed(state.history) if not moment.undone), None)


def all_ours(history: Sequence[Moment], back: str, now: str) -> bool:
    """Whether nothing but the loop's iterations lies between a commit and now: what a person committed is not ours to take."""
    moments = [moment for moment in history if not moment.undone]
    starts = [at for at, moment in enumerate(moments) if moment.commit == back]
    chain = [moment.commit for moment in moments[starts[-1] :]] if starts else [back, *(moment.commit for moment in moments)]
    begins = [*(moment.start for moment in (moments[starts[-1] + 1 :] if starts else moments)), now]
    return chain == begins or now == back


def why_left(state: LoopState, best: Checkpoint) -> str:
    """In a clause, with the numbers."""
    whose = f"iteration {best.iteration}" if best.iteration else "the tree that it began with"
    last = _last(state)
    if last is None or not last.checked:
        after = "what came after was not measured"
    else:
        gamed = next((one for one in state.findings if one.weight is Weight.BLOCK), None)
        against = f", with {gamed.rule} against it ({clean(gamed.message)[:80]})" if gamed else ""
        after = f"iteration {last.iteration}, the last, measured {last.completion:.0%}{against}"
    return f"{whose} measured best ({best.completion:.0%}); {after}"


def left_at(state: LoopState, best: Checkpoint, kept: Failed) -> LoopState:
    """The ended loop on its best tree. What came after is told to whoever goes on, and stands against nothing."""
    moments = undone_after(state.history, best.commit)
    gone = {moment.iteration for moment in moments if moment.undone}
    report = state.best_checks or state.checks
    told = f"the branch is left at {best.commit[:10]}: {kept.why}"
    ending = state.ending and state.ending.model_copy(update={"reason": f"{state.ending.reason}; {told}", "back_to": best.commit})
    return state.model_copy(
        update={
            "ending": ending,
            "head": best.commit,
            "failed": kept.model_copy(update={"rule": LATER}),
            "checks": report,
            "findings": (),
            "contradictions": (),
            "most_tests": most_tests({}, report),
            "oversight": taken_back(state.oversight, kept),
            "history": moments,
            "plan": without(state.plan, gone),
            "session": None,
        }
    )
