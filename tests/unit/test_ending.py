"""Best, not last: which tree an ended loop is left at, how it stands there, and what people and the agent are told."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.orient.brief import brief
from helmsman.oversee.best import best_to_restore, describe_best, has_only_own_commits, restore_best
from helmsman.records.advance import reopen
from helmsman.records.checks import Finding, Weight
from helmsman.records.control import Checkpoint, IterationSummary, Oversight, RolledBack
from helmsman.records.decision import Decision, Outcome
from helmsman.records.plan import ItemSketch, PlanProgress
from helmsman.records.result import result_of
from helmsman.records.state import LoopState
from helmsman.texts import result_lines
from tests.unit.builders import NOW, check, orientation, report, state
from tests.unit.histories import history, step

pytestmark = pytest.mark.feature("S19")

KEPT = RolledBack(
    iteration=3, ref="refs/helmsman/mend-it/later/3", commit="commit3", back_to="commit1", why="iteration 1 measured best"
)


def best_of(moments: Sequence[IterationSummary]) -> Checkpoint:
    """As the overseer keeps it: of equals the latest."""
    best = max(moments, key=lambda moment: (moment.completion, moment.iteration))
    return Checkpoint(iteration=best.iteration, commit=best.commit, tree=best.tree, completion=best.completion)


def ended(*shares: float, outcome: Outcome = Outcome.STOPPED, **fields: Any) -> LoopState:
    """A loop whose iterations measured so."""
    moments = fields.pop("history", None) or history(*(step(completion=share) for share in shares))
    ending = Decision(kind="stop", rule="limits.iterations", reason="30 of 30 iterations used", at=NOW, outcome=outcome)
    known = {"history": moments, "iteration": len(moments), "head": moments[-1].commit, "ending": ending}
    return state(fields.pop("of", None), **{**known, "oversight": Oversight(best=best_of(moments)), **fields})


@pytest.mark.parametrize(
    ("shares", "left"),
    [((0.3, 0.9, 0.5), "commit2"), ((0.9, 0.5, 0.9), None), ((0.1, 0.2, 0.3), None), ((0.9, 0.1, 0.2), "commit1")],
    ids=["in the middle", "the later of equals", "the last", "the first"],
)
def test_a_loop_is_left_at_the_tree_that_measured_best(shares: tuple[float, ...], left: str | None) -> None:
    best = best_to_restore(ended(*shares))
    assert (best.commit if best else None) == left


def test_only_a_loop_that_ends_without_completion_and_waits_for_nobody_is_put_back() -> None:
    for outcome in Outcome:
        puts_back = outcome in {Outcome.STOPPED, Outcome.FAILED, Outcome.CANCELLED, Outcome.EJECTED}
        assert (best_to_restore(ended(0.9, 0.1, outcome=outcome)) is not None) == puts_back


def test_work_with_a_finding_against_it_that_measures_better_is_left_for_a_person_where_there_is_nothing_else() -> None:
    base = Oversight(best=Checkpoint(iteration=0, commit="commit0", tree="t", completion=0.4))
    assert best_to_restore(ended(0.5, 0.9, oversight=base)) is None
    assert best_to_restore(ended(0.5, 0.3, oversight=base)) == base.best
    honest = Oversight(best=Checkpoint(iteration=1, commit="commit1", tree="t", completion=0.5))
    assert best_to_restore(ended(0.5, 0.9, oversight=honest)) == honest.best
    denied = ended(0.5, 0.9, oversight=honest)
    assert denied.ending is not None
    asked = denied.ending.model_copy(update={"rule": "completion.denied"})
    assert best_to_restore(denied.model_copy(update={"ending": asked})) is None


def test_what_a_person_committed_in_between_is_not_taken_off() -> None:
    theirs = history(step(completion=0.9), step(completion=0.5, start="theirs"))
    assert best_to_restore(ended(history=theirs)) is None
    assert best_to_restore(ended(0.9, 0.5, head="theirs")) is None


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_whatever_was_measured_nothing_that_measured_better_is_left_behind_and_done_twice_it_is_done_once(
    of_five: list[int],
) -> None:
    before = ended(*(share / 5 for share in of_five))
    best = best_to_restore(before)
    after = restore_best(before, best, KEPT.model_copy(update={"back_to": best.commit})) if best else before
    standing = [moment for moment in after.history if not moment.undone]
    assert standing[-1].commit == after.head
    assert standing[-1].completion == max(moment.completion for moment in before.history)
    assert best_to_restore(after) is None
    assert has_only_own_commits(after.history, after.head, after.head)


def test_a_loop_stands_at_its_best_as_if_it_had_ended_there() -> None:
    plan = PlanProgress(
        total=3,
        done=2,
        ticked={"a": 1, "b": 3},
        sketch=(ItemSketch(id="a", title="A", done=True), ItemSketch(id="b", title="B", done=True)),
    )
    gamed = Finding(rule="tests.deleted", weight=Weight.BLOCK, path="t.py", message="test_a was deleted", honest="")
    good, bad = report(check(passed=True)), report(check(passed=False))
    before = ended(0.9, 0.5, 0.9, checks=bad, best_checks=good, findings=(gamed,), plan=plan)
    best = Checkpoint(iteration=1, commit="commit1", tree="tree1", completion=0.9, green=True)
    before = before.model_copy(update={"oversight": Oversight(best=best)})
    assert describe_best(before, best) == (
        "iteration 1 measured best (90%); iteration 3, the last, measured 90%, with tests.deleted against it (test_a was deleted)"
    )
    after = restore_best(before, best, KEPT)
    assert (after.head, after.checks, after.findings) == ("commit1", good, ())
    assert [moment.undone for moment in after.history] == [False, True, True]
    assert (after.plan.done, after.plan.ticked, [one.done for one in after.plan.sketch]) == (1, {"a": 1}, [True, False])
    assert after.outcome is Outcome.STOPPED


def test_people_are_told_why_and_how_to_get_at_what_came_after() -> None:
    after = restore_best(ended(0.9, 0.5, 0.4), best_of(ended(0.9, 0.5, 0.4).history), KEPT)
    result = result_of(after, "refs/helmsman/mend-it/state")
    lines = "\n".join(result_lines(result))
    assert "30 of 30 iterations used; the branch is left at commit1: iteration 1 measured best" in lines
    assert f"later      git diff commit1 {KEPT.ref}; git branch mend-it-later {KEPT.ref}" in lines
    assert result.later == KEPT.ref


def test_the_next_iteration_is_told_that_it_goes_on_from_the_best_and_where_the_rest_is() -> None:
    after = restore_best(
        ended(0.9, 0.5, 0.4), best_of(ended(0.9, 0.5, 0.4).history), KEPT.model_copy(update={"files": ("src/x.py",)})
    )
    going_on = reopen(after, after.config, NOW)
    prompt = brief(going_on, orientation()).prompt
    assert "Your tree is the best one, commit commit1." in prompt
    assert "`git diff commit1 commit3`" in prompt
    assert "src/x.py" in prompt
    assert "was taken off" not in prompt
    assert result_of(going_on, "x").later == ""
