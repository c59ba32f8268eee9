"""The log of learning levels says what was ordered for which class and whether that ended it, as the overseer learnt it."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.memory.levels import effects
from helmsman.oversee.learning import learn
from helmsman.records.control import Learning, Movement
from helmsman.records.lessons import Episode
from tests.unit.guardrail_cases import LINT, episode
from tests.unit.histories import Step, error, green, history, red, step, waited

pytestmark = pytest.mark.feature("S10")
FAILS, FINE = red(Movement.SIDEWAYS, "test_a"), green()


def lived(*steps: Step, intervened: bool = True) -> list[Episode]:
    """The episodes of a loop, with what the overseer learnt after each."""
    past, learnt = history(*steps), tuple[Learning, ...]()
    found = list[Episode]()
    for end in range(1, len(past) + 1):
        learnt, _ = learn(learnt, past[:end], intervened=intervened)
        found.append(episode(past[end - 1].iteration, learning=learnt))
    return found


def log(*steps: Step, intervened: bool = True) -> dict[int, tuple[int, int, int]]:
    """By level: how often it ended the class, did not, and is open."""
    totals = effects([lived(*steps, intervened=intervened)])
    return {one.level: (one.helped, one.not_helped, one.unsettled) for one in totals}


HELPED, FAILED, OPEN = (1, 0, 0), (0, 1, 0), (0, 0, 1)


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([FAILS, FINE], {}),
        ([FAILS, FAILS, FINE], {1: HELPED}),
        ([FAILS] * 3, {1: FAILED, 2: OPEN}),
        ([*[FAILS] * 3, *[FINE] * 3], {1: FAILED, 2: HELPED}),
        ([FAILS] * 5, {1: FAILED, 2: FAILED, 3: OPEN}),
        ([*[FAILS] * 5, *[FINE] * 3], {1: FAILED, 2: FAILED, 3: HELPED}),
        ([FAILS, waited(), FAILS, waited(), FAILS], {1: FAILED, 2: OPEN}),
        ([*[FAILS] * 3, *[FINE] * 3, *[FAILS] * 3], {1: (0, 2, 0), 2: (1, 0, 1)}),
    ],
)
def test_a_level_is_counted_as_it_was_reached_and_by_whether_it_ended_the_class(
    steps: list[Step], told: dict[int, tuple[int, int, int]]
) -> None:
    assert log(*steps) == told


@given(st.lists(st.sampled_from([FAILS, FINE, step(errors=(error(LINT),), failing=("lint",)), waited()]), max_size=25))
def test_the_totals_account_for_all(steps: Sequence[Step]) -> None:
    totals = effects([lived(*steps)] * 2)
    assert all(one.times == one.helped + one.not_helped + one.unsettled for one in totals)
    assert all(one.times % 2 == 0 for one in totals)
