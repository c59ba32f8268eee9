"""How many iterations it may still take, read from the pace of the last ones."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.oversee.progress import UNPROVEN
from helmsman.render.dashboard import LEAST, SLOWEST, outlook
from tests.unit.histories import green, history, step, waited


def climb(*completions: float) -> list[dict[str, object]]:
    return [step(completion=completion) for completion in completions]


@pytest.mark.feature("H5")
@given(st.floats(0, 0.5), st.floats(0.01, 0.05), st.integers(3, 8))
def test_a_steady_climb_is_told_to_the_iteration(begin: float, pace: float, count: int) -> None:
    seen = outlook(history(*climb(*(begin + pace * number for number in range(count)))))
    last = begin + pace * (count - 1)
    assert seen.left == pytest.approx(math.ceil((UNPROVEN - last) / pace), abs=1)
    assert seen.pace == pytest.approx(pace)


@given(st.lists(st.floats(0, 0.94), min_size=LEAST, max_size=12), st.integers(2, 10))
def test_nothing_is_told_of_work_that_does_not_get_on(values: list[float], window: int) -> None:
    seen = outlook(history(*climb(*values)))
    assert seen.pace is not None
    assert (seen.left is None) == (seen.pace < SLOWEST)
    assert seen.left is None or seen.left >= 1


def test_one_leap_does_not_make_a_pace() -> None:
    assert outlook(history(*climb(0.1, 0.1, 0.1, 0.1, 0.8))).left is None


def test_waits_what_was_not_checked_and_what_was_taken_back_say_nothing_of_the_pace() -> None:
    silent = [waited(), step(completion=0.0, checked=False), step(completion=0.0, undone=True)]
    seen = outlook(history(step(completion=0.1), *silent, step(completion=0.5), *silent, step(completion=0.9)))
    assert seen.by == "90% done at +10.0 points an iteration (median of the last 3); "  # four iterations for each step of 0.4


@pytest.mark.parametrize("count", range(LEAST))
def test_before_three_iterations_no_pace_is_told(count: int) -> None:
    seen = outlook(history(*climb(*([0.5] * count))))
    assert (seen.pace, seen.left) == (None, None)
    assert f"({count} of 3 iterations to read a pace from)" in seen.words


@pytest.mark.parametrize(("done", "words"), [(UNPROVEN, "what is missing is the proof"), (1.0, "proven")])
def test_where_everything_is_green_none_is_left(done: float, words: str) -> None:
    seen = outlook(history(*[green(completion=done)] * 4))
    assert (seen.words, seen.left, seen.pace) == (words, 0, None)
