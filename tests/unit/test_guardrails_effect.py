"""Whether a guardrail helps is counted before and after, judged with small numbers in mind, and what is no good goes."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.memory.guardrail_effect import UNNEEDED, Verdict, after_iteration, after_loop, effect_text, verdict
from helmsman.records.control import Movement
from helmsman.records.lessons import Guardrail, Subject, TaskType
from tests.unit.builders import NOW
from tests.unit.guardrail_cases import PROJECT, TEST, TYPES, episode, failure, guardrail

pytestmark = pytest.mark.feature("L5")
CARRIED: dict[str, Any] = {"guarded": ("g0000000a",)}
DAY = timedelta(days=1)


def told(before: tuple[int, int], after: tuple[int, int], loops: int = 3, **fields: Any) -> Guardrail:
    counts = {"before_seen": before[0], "before_of": before[1], "after_seen": after[0], "after_of": after[1]}
    return guardrail(**counts, loops=loops, **fields)


# --- counting -----------------------------------------------------------------------------------------------------


def test_an_iteration_that_was_told_counts_and_its_failure_does() -> None:
    failed = episode(1, failure(), **CARRIED)
    fine = episode(2, failure(TYPES), **CARRIED)
    found = after_iteration(after_iteration(guardrail(), failed), fine)
    assert (found.after_seen, found.after_of) == (1, 2)
    assert found.loaded_at == fine.at


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.sampled_from(Movement)), max_size=30))
def test_failures_are_never_more_than_iterations(lived: list[tuple[bool, bool, Movement]]) -> None:
    found = guardrail()
    for number, (fails, checked, movement) in enumerate(lived):
        errors = (failure(),) if fails else ()
        found = after_iteration(found, episode(number, *errors, checked=checked, movement=movement, **CARRIED))
    assert 0 <= found.after_seen <= found.after_of <= len(lived)


# --- verdicts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((3, 3), (0, 8), Verdict.EFFECTIVE),
        ((3, 6), (0, 10), Verdict.EFFECTIVE),
        ((30, 60), (3, 30), Verdict.EFFECTIVE),
        ((5000, 10000), (2000, 10000), Verdict.EFFECTIVE),
        ((3, 3), (8, 8), Verdict.INEFFECTIVE),
        ((3, 6), (7, 10), Verdict.INEFFECTIVE),
        ((10, 100), (10, 100), Verdict.INEFFECTIVE),
        ((5000, 10000), (5000, 10000), Verdict.INEFFECTIVE),
        ((3, 6), (2, 8), Verdict.OPEN),
        ((3, 100), (0, 8), Verdict.OPEN),
        ((3, 100), (1, 8), Verdict.OPEN),
        ((0, 0), (8, 8), Verdict.OPEN),
    ],
)
def test_a_verdict_rests_on_both_counts(before: tuple[int, int], after: tuple[int, int], expected: Verdict) -> None:
    assert verdict(told(before, after)) is expected


@given(st.data())
def test_more_failures_never_make_the_verdict_better(data: st.DataObject) -> None:
    of, after_of = data.draw(st.integers(1, 60)), data.draw(st.integers(8, 60))
    seen, after_seen = data.draw(st.integers(0, of)), data.draw(st.integers(0, after_of - 1))
    rank = (Verdict.EFFECTIVE, Verdict.OPEN, Verdict.INEFFECTIVE)
    fewer, more = (verdict(told((seen, of), (times, after_of))) for times in (after_seen, after_seen + 1))
    assert rank.index(fewer) <= rank.index(more)


@given(st.data())
def test_what_fails_more_often_than_before_is_never_effective_and_what_never_fails_never_ineffective(data: st.DataObject) -> None:
    of, after_of = data.draw(st.integers(1, 200)), data.draw(st.integers(8, 200))
    seen, after_seen = data.draw(st.integers(0, of)), data.draw(st.integers(0, after_of))
    found = verdict(told((seen, of), (after_seen, after_of)))
    if after_seen * of >= seen * after_of:
        assert found is not Verdict.EFFECTIVE
    if after_seen == 0:
        assert found is not Verdict.INEFFECTIVE


def test_the_effect_is_told_with_its_counts() -> None:
    text = effect_text(told((3, 7), (1, 20)))
    assert (
        text == "effective: test failures in 3 of 7 checked iterations before, in 1 of 20 since it is told; told in 3 ended loops"
    )


# --- the end ------------------------------------------------------------------------------------------------------


def test_an_ineffective_one_is_retired_at_the_end_of_a_loop_with_its_counts() -> None:
    found = after_loop(told((3, 3), (8, 8)), [episode(1, failure(), **CARRIED)], NOW)
    assert found.retired.startswith("ineffective: test failures in 3 of 3 checked iterations before, in 8 of 8 since")
    assert (found.retired_at, found.loops) == (NOW, 4)


@pytest.mark.parametrize("fields", [{"edited": True}, {"by": "person"}])
def test_a_persons_own_is_never_retired_but_told_to_be_ineffective(fields: dict[str, Any]) -> None:
    hers = told((3, 3), (8, 8), **fields)
    found = after_loop(hers, [episode(1, failure(), **CARRIED)], NOW + 400 * DAY)
    assert found.retired == ""
    assert "ineffective" in effect_text(found)
    assert "until a person deletes it" in effect_text(found)


def lived_through(one: Guardrail, loops: int, **fields: Any) -> Guardrail:
    for _ in range(loops):
        one = after_loop(one, [episode(1, **CARRIED, **fields)], NOW)
    return one


def test_one_that_nothing_needed_in_many_loops_goes() -> None:
    assert lived_through(guardrail(), UNNEEDED - 1).retired == ""
    gone = lived_through(guardrail(), UNNEEDED)
    assert gone.retired.startswith("unneeded")
    assert verdict(gone) is Verdict.UNNEEDED


@pytest.mark.parametrize(
    "fields",
    [
        {"errors": (failure(),)},
        {"troubles": (failure(),)},
        {"subject": Subject(project=PROJECT, task_type=TaskType.BUGFIX, text="mend", failures=(TEST,))},
    ],
)
def test_a_loop_in_which_its_class_was_near_begins_the_count_anew(fields: dict[str, Any]) -> None:
    almost = lived_through(guardrail(), UNNEEDED - 1)
    assert lived_through(almost, 1, **fields).unneeded == 0
