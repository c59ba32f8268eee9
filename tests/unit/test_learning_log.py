"""The log of learning levels says what was ordered for which class and whether that ended it, as the overseer learnt it."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.memory.levels import Rise, effect_lines, effects, rises
from helmsman.oversee.learning import INTERVENTIONS, learn
from helmsman.records.lessons import Episode
from helmsman.records.moments import Movement
from helmsman.records.oversight import Learnt
from helmsman.records.session import FailureClass
from tests.unit.guardrail_cases import LINT, TEST, episode
from tests.unit.histories import Step, error, green, history, red, step, waited

pytestmark = pytest.mark.feature("S10")
FAILS, FINE = red(Movement.SIDEWAYS, "test_a"), green()


def lived(*steps: Step, intervened: bool = True) -> list[Episode]:
    """The episodes of a loop, with what the overseer learnt after each."""
    past, learnt = history(*steps), tuple[Learnt, ...]()
    found = list[Episode]()
    for end in range(1, len(past) + 1):
        learnt, _ = learn(learnt, past[:end], intervened=intervened)
        found.append(episode(past[end - 1].iteration, learning=learnt))
    return found


def log(*steps: Step, intervened: bool = True) -> list[tuple[FailureClass, int, int, bool | None]]:
    return [(one.kind, one.level, one.iteration, one.helped) for one in rises(lived(*steps, intervened=intervened))]


def test_a_class_that_failed_once_is_no_event() -> None:
    assert log(FAILS, FINE) == []


def test_stagnation_that_ended_by_itself_helped_on_level_one() -> None:
    assert log(FAILS, FAILS, FINE) == [(TEST, 1, 2, True)]


def test_an_order_is_logged_with_its_words_and_is_open_until_the_class_stayed_away() -> None:
    assert log(*[FAILS] * 3) == [(TEST, 1, 2, False), (TEST, 2, 3, None)]
    first, second = rises(lived(*[FAILS] * 3))
    assert (first.ordered, second.ordered, second.loop) == ("", INTERVENTIONS[TEST], "mend-it")


def test_an_order_after_which_the_class_stayed_away_helped() -> None:
    assert log(*[FAILS] * 3, *[FINE] * 3) == [(TEST, 1, 2, False), (TEST, 2, 3, True)]


def test_an_order_that_the_class_came_back_in_spite_of_did_not_help_and_a_person_is_asked() -> None:
    assert log(*[FAILS] * 5) == [(TEST, 1, 2, False), (TEST, 2, 3, False), (TEST, 3, 5, None)]


def test_what_ended_after_a_person_was_asked_ended_on_level_three() -> None:
    assert log(*[FAILS] * 5, *[FINE] * 3)[-1] == (TEST, 3, 5, True)


def test_an_order_that_never_reached_the_agent_is_neither_proven_nor_disproven() -> None:
    assert log(*[FAILS] * 3, *[FINE] * 3, intervened=False) == [(TEST, 1, 2, False), (TEST, 2, 3, None)]


def test_iterations_that_only_waited_change_nothing() -> None:
    assert log(FAILS, waited(), FAILS, waited(), FAILS) == [(TEST, 1, 3, False), (TEST, 2, 5, None)]


def test_the_same_class_may_rise_twice_in_a_loop() -> None:
    twice = log(*[FAILS] * 3, *[FINE] * 3, *[FAILS] * 3)
    assert twice == [(TEST, 1, 2, False), (TEST, 2, 3, True), (TEST, 1, 8, False), (TEST, 2, 9, None)]


def test_totals_over_many_loops_are_told_class_by_class() -> None:
    helped, failed, unknown = [FAILS] * 3 + [FINE] * 3, [FAILS] * 5, [FAILS] * 3
    totals = effects([rises(lived(*steps)) for steps in (helped, failed, unknown)])
    by_level = {one.level: (one.times, one.helped, one.not_helped, one.unsettled) for one in totals}
    assert by_level == {1: (3, 0, 3, 0), 2: (3, 1, 1, 1), 3: (1, 0, 0, 1)}
    assert "level 2    test: reached 3 times; ended it 1 time, did not 1 time, open 1" in list(effect_lines(totals))


@given(st.lists(st.sampled_from([FAILS, FINE, step(errors=(error(LINT),), failing=("lint",)), waited()]), max_size=25))
def test_every_rise_is_logged_once_and_the_totals_account_for_all(steps: Sequence[Step]) -> None:
    found: Sequence[Rise] = rises(lived(*steps))
    assert all(one.ordered == (INTERVENTIONS[one.kind] if one.level == 2 else "") for one in found)
    assert len({(one.kind, one.iteration) for one in found}) == len(found)
    totals = effects([found, found])
    assert sum(one.times for one in totals) == 2 * len(found)
    assert all(one.times == one.helped + one.not_helped + one.unsettled for one in totals)
