"""What counts as getting on, and what does not."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.oversee.progress import BASE, TRUSTED, movement
from helmsman.records.agent import BROKEN_OFF, NEVER_AT_WORK, AgentOutcome, ErrorVector, FailureClass
from helmsman.records.control import IterationSummary, Movement
from tests.unit.builders import NOW

pytestmark = pytest.mark.feature("V4")
FORWARD, SIDEWAYS, STILL, BACK = Movement.FORWARD, Movement.SIDEWAYS, Movement.STILL, Movement.BACK
REMEMBERED = 50


def moment(tree: str = "t", **fields: Any) -> IterationSummary:
    usual = {"iteration": 1, "at": NOW, "outcome": AgentOutcome.FINISHED, "movement": STILL, "completion": 0.5}
    return IterationSummary.model_validate({**usual, "tree": tree, "files_changed": 1, **fields})


def error(where: str, message: str = "assert 1 == 2", kind: FailureClass = FailureClass.TEST, extent: int = 0) -> ErrorVector:
    return ErrorVector(kind=kind, where=where, message=message, extent=extent)


def failing(*wheres: str, extent: int = 0, kind: FailureClass = FailureClass.TEST) -> dict[str, Any]:
    return {"errors": tuple(error(where, kind=kind, extent=extent) for where in wheres)}


def counts(passing: int, failed: int) -> dict[str, Any]:
    """As `progress_of` would have it where one check runs tests."""
    return {"passing_tests": passing, "failing_tests": failed, "completion": passing / (passing + failed) / 2}


def moved(drafts: Sequence[IterationSummary], remembered: int = REMEMBERED) -> list[Movement]:
    """Movement by movement, each draft with its own tree where it has none."""
    history: list[IterationSummary] = []
    for number, draft in enumerate(drafts):
        one = draft.model_copy(update={"tree": f"t{number}"} if draft.tree == "t" else {})
        history.append(one.model_copy(update={"movement": movement(history[-remembered:], one)}))
    return [one.movement for one in history]


def last(*drafts: IterationSummary) -> Movement:
    return moved(drafts)[-1]


def test_an_agent_that_never_got_to_work_waited() -> None:
    for outcome in sorted(NEVER_AT_WORK):
        assert last(moment(completion=0.2), moment(completion=0.9, outcome=outcome)) is Movement.WAITED


@pytest.mark.feature("S7")
def test_a_call_that_the_world_broke_off_is_held_against_the_agent_only_where_it_left_something() -> None:
    for outcome in sorted(BROKEN_OFF):
        assert last(moment(completion=0.2), moment(outcome=outcome, files_changed=0)) is Movement.WAITED
        assert last(moment(completion=0.2), moment(outcome=outcome, completion=0.9)) is FORWARD


def test_what_waited_is_compared_with_nothing() -> None:
    waited = moment(outcome=AgentOutcome.USAGE_LIMIT, completion=0.9, passing_tests=99, checked=False, files_changed=0)
    assert moved([waited, moment(completion=0)]) == [Movement.WAITED, SIDEWAYS]
    assert last(moment(completion=0.5), waited, moment(completion=0.6)) is FORWARD


def test_the_first_moment() -> None:
    cases = {
        "something passes": (moment(completion=0.1, files_changed=0), FORWARD),
        "a test passes": (moment(completion=0, passing_tests=1), FORWARD),
        "changed": (moment(completion=0), SIDEWAYS),
        "nothing": (moment(completion=0, files_changed=0), STILL),
    }
    for case, (draft, expected) in cases.items():
        assert movement((), draft) is expected, case


def test_more_than_the_best_is_forward_and_as_much_is_not() -> None:
    climb = [0.2, 0.6, 0.3, 0.5, 0.6, 0.61]
    assert moved([moment(completion=share) for share in climb]) == [FORWARD, FORWARD, BACK, SIDEWAYS, SIDEWAYS, FORWARD]


def test_more_passing_tests_than_ever_are_forward_though_the_share_is_smaller() -> None:
    assert last(moment(**counts(90, 10)), moment(**counts(100, 100))) is FORWARD


def test_new_tests_that_fail_are_no_step_back() -> None:
    assert last(moment(**counts(10, 0), green=True), moment(**counts(10, 5), **failing("a"))) is SIDEWAYS


def test_fewer_failing_tests_are_counted_anew_when_tests_are_added() -> None:
    green, red, better = moment(**counts(90, 0)), moment(**counts(60, 40)), moment(**counts(70, 30))
    assert moved([green, red, better, better]) == [FORWARD, BACK, FORWARD, SIDEWAYS]


def test_fewer_failing_tests_are_no_gain_where_fewer_ran() -> None:
    assert last(moment(**counts(60, 40)), moment(completion=0.3, passing_tests=60, failing_tests=20)) is SIDEWAYS


def test_deleting_the_tests_that_fail_is_no_step_forward() -> None:
    honest = moment(completion=0.3, passing_tests=60, failing_tests=40, **failing("test_a", extent=40))
    fewer = moment(completion=0.3, passing_tests=60, failing_tests=39, **failing("test_b", extent=39))
    none = moment(completion=0.6, passing_tests=60, green=True)
    assert moved([honest, fewer, none]) == [FORWARD, SIDEWAYS, SIDEWAYS]


def test_tests_that_were_only_added_are_no_step_forward_while_what_failed_fails() -> None:
    red = moment(**counts(10, 2), **failing("test_a"))
    padded = counts(30, 2) | failing("test_a")
    assert last(red, moment(**padded, test_only=True)) is SIDEWAYS
    assert last(red, moment(**padded)) is FORWARD
    assert last(red, moment(**counts(11, 1), **failing("test_a"), test_only=True)) is FORWARD
    more = moment(**counts(30, 0), green=True, test_only=True)
    assert last(red, more) is last(moment(**counts(20, 0), green=True), more) is FORWARD


def test_a_build_error_that_is_got_past_is_forward_though_no_test_runs_yet() -> None:
    broken = [moment(completion=0, **failing(f"src/{name}.c:3", kind=FailureClass.BUILD)) for name in "abb"]
    assert moved([moment(**counts(60, 0), green=True), *broken]) == [FORWARD, BACK, FORWARD, SIDEWAYS]


def test_a_build_that_breaks_where_tests_ran_hides_what_was_lost() -> None:
    before, deleted = moment(**counts(60, 5), **failing("test_a")), moment(**counts(50, 5), **failing("test_b"))
    assert last(before, moment(completion=0, **failing("a.c", kind=FailureClass.BUILD)), deleted) is not FORWARD


def test_what_was_taken_off_the_branch_is_not_compared_with_and_its_trees_are_not_new() -> None:
    first, undone = moment("a", completion=0.5), moment("b", completion=0.3, undone=True)
    record = moment("c", completion=0.9, undone=True)
    assert movement([first, undone], moment("d", completion=0.4)) is BACK
    assert movement([first, record], moment("d", completion=0.6)) is FORWARD
    assert movement([first, undone], moment("b", completion=0.5)) is STILL


def test_a_smaller_extent_is_forward_wherever_the_first_failure_now_is() -> None:
    steps = [
        failing(f"src/{name}.ts:1", extent=extent, kind=FailureClass.TYPES) for name, extent in (("a", 20), ("b", 18), ("a", 19))
    ]
    assert moved([moment(**step) for step in steps]) == [FORWARD, FORWARD, SIDEWAYS]


def test_a_smaller_extent_on_a_tree_that_was_there_before_is_chance() -> None:
    first, second = (moment("x", **failing("a", extent=extent, kind=FailureClass.NETWORK)) for extent in (5, 3))
    assert last(first, second) is STILL


def test_a_failure_that_was_got_past_is_forward() -> None:
    assert last(moment(**failing("src/a.c:1")), moment(**failing("src/b.c:9"))) is FORWARD
    assert last(moment(**counts(0, 1), **failing("t")), moment(**counts(0, 1), errors=(error("t", "no such route"),))) is FORWARD


def test_a_failure_whose_line_or_numbers_move_is_the_same() -> None:
    same = [moment(errors=(error(f"src/a.py:{line}", f"assert 0.{line} < 0.5"),)) for line in (3, 14, 15)]
    assert moved(same) == [FORWARD, SIDEWAYS, SIDEWAYS]


def test_failures_that_nothing_counts_are_got_past_until_a_number_has_to_be_better() -> None:
    endless = [moment(**failing(f"src/{chr(97 + number)}.c:1")) for number in range(15)]
    assert moved(endless) == [FORWARD] * (TRUSTED + 1) + [SIDEWAYS] * (14 - TRUSTED)
    better = [one.model_copy(update={"completion": 0.6}) if number >= 12 else one for number, one in enumerate(endless)]
    assert moved(better)[12:] == [FORWARD] * 3


def says(word: str, **fields: Any) -> IterationSummary:
    return moment(errors=(error("t", f"no such {word}"),), **fields)


def test_a_failure_that_was_there_before_is_none_that_was_got_past() -> None:
    assert moved([says(word) for word in "abc"])[1:] == [FORWARD, FORWARD]
    assert moved([says(word) for word in "abac"])[1:] == [FORWARD, SIDEWAYS, FORWARD]


def base(**fields: Any) -> IterationSummary:
    return moment("base", iteration=BASE, movement=Movement.WAITED, **fields)


def test_the_first_iteration_is_compared_with_the_tree_that_the_loop_began_with() -> None:
    cases = {
        "as many": (counts(5, 5), SIDEWAYS),
        "more": (counts(6, 4), FORWARD),
        "fewer": (counts(4, 6), BACK),
    }
    for case, (first, expected) in cases.items():
        assert movement([base(**counts(5, 5))], moment(**first)) is expected
        assert movement([], moment(**first)) is FORWARD, case


def test_a_tree_that_was_there_before_is_still_and_a_new_one_sideways() -> None:
    trees = ["a", "b", "a", "b", "c"]
    assert moved([moment(tree) for tree in trees]) == [FORWARD, SIDEWAYS, STILL, STILL, SIDEWAYS]


def test_what_changed_nothing_made_nothing_worse() -> None:
    wavering = moment("a", completion=0.2, files_changed=0)
    assert last(moment("a", completion=0.9), wavering) is STILL
    assert last(moment("a", completion=0.9), moment("b", completion=0.2)) is BACK


def test_not_asking_again_after_completion_was_proven_is_no_step_back() -> None:
    proven = moment(completion=1, green=True, passing_tests=5)
    assert last(proven, moment(completion=0.95, green=True, passing_tests=5)) is SIDEWAYS
    assert last(proven, moment(completion=0.95, green=True, passing_tests=4)) is BACK
    assert last(proven, moment(completion=0.6, passing_tests=5)) is BACK


def test_a_long_refactor_with_falling_failures_goes_forward_and_so_does_a_second_one() -> None:
    green = moment(**counts(100, 0), green=True)
    red = [moment(**counts(100 - failed, failed), **failing("test_a", extent=failed)) for failed in (40, 30, 20, 10)]
    assert moved([green, *red, green, *red]) == [FORWARD, BACK, *[FORWARD] * 3, SIDEWAYS, BACK, *[FORWARD] * 3]


def test_an_agent_that_breaks_and_mends_for_ever_is_not_for_ever_forward() -> None:
    swing = [moment(**counts(100, 0))] + [moment(**counts(100 - n, n), **failing("test_a", extent=n)) for n in (40, 30)]
    found = moved(swing * 40)
    assert all(found[at : at + REMEMBERED].count(FORWARD) <= TRUSTED + 1 for at in range(60))


@given(seed=st.integers(0, 2**32), broken=st.integers(1, 5), tests=st.integers(6, 1000))
def test_another_set_of_as_many_failing_tests_each_time_is_forward_once(seed: int, broken: int, tests: int) -> None:
    chance = Random(seed)
    sets = [chance.sample(range(tests), broken) for _ in range(60)]
    drafts = [moment(**counts(tests - broken, broken), **failing(f"test_{min(one)}", extent=broken)) for one in sets]
    assert moved(drafts)[1:].count(FORWARD) == 0
