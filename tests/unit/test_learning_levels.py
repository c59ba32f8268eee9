"""Learning levels: a recurring failure class is handled one level higher, and the effect is measured."""

from collections.abc import Sequence

import pytest

from helmsman.oversee.learning import failure_advice, learn
from helmsman.records.agent import FailureClass
from helmsman.records.control import EscalationLevel, Learning
from helmsman.records.decision import Alert, Severity
from tests.unit.histories import FORWARD, SIDEWAYS, Step, error, green, history, red, step, waited

pytestmark = pytest.mark.feature("S10")
TEST, TYPES = FailureClass.TEST, FailureClass.TYPES
FAILS = red(SIDEWAYS, "test_a")
STAGNATED = [FAILS] * 3
REDIRECT, WARN, LOG = Severity.REDIRECT, Severity.WARN, Severity.LOG


def learn_from(steps: Sequence[Step], *, intervened: bool = True) -> tuple[dict[FailureClass, Learning], list[list[Alert]]]:
    """What was learnt at the end, and the signals after each iteration."""
    learnt: tuple[Learning, ...] = ()
    told: list[list[Alert]] = []
    past = history(*steps)
    for end in range(1, len(past) + 1):
        learnt, signals = learn(learnt, past[:end], intervened=intervened)
        told.append(list(signals))
    return {item.kind: item for item in learnt}, told


def severities(told: list[list[Alert]]) -> list[list[Severity]]:
    return [[signal.severity for signal in signals] for signals in told]


def test_the_second_in_a_row_is_stagnation_and_the_third_orders_a_change_for_its_class() -> None:
    learnt, told = learn_from(STAGNATED)
    assert learnt[TEST] == Learning(kind=TEST, seen=3, in_row=3, level=2, intervened_at=3)
    assert severities(told) == [[], [LOG], [REDIRECT]]
    (ordered,) = told[-1]
    assert (ordered.rule, ordered.value, ordered.threshold) == ("learning.stagnation", 3, 3)
    assert ordered.instruction == failure_advice()[TEST]["do"]


def test_another_text_at_another_place_is_the_same_class() -> None:
    learnt, _ = learn_from([red(SIDEWAYS, name) for name in ("test_a", "test_b", "test_c")])
    assert learnt[TEST].level == 2


def test_a_gain_within_the_same_class_is_no_stagnation() -> None:
    cases = {
        "forward": [red(FORWARD, "test_a")] * 6,
        "fewer tests fail": [red(SIDEWAYS, *names) for names in (("a", "b", "c", "d"), ("a", "b", "c"), ("a", "b"), ("a",))],
        "smaller extent": [step(errors=(error(extent=extent),)) for extent in (9, 8, 7, 6)],
    }
    for case, steps in cases.items():
        learnt, told = learn_from(steps)
        assert (learnt[TEST].in_row, learnt[TEST].level) == (1, 0)
        assert told == [[]] * len(steps), case


@pytest.mark.parametrize("extents", [(9, 0, 0), (0, 9, 9), (9, 9, 9), (7, 8, 9)])
def test_an_extent_that_is_unknown_or_no_smaller_is_no_gain(extents: tuple[int, ...]) -> None:
    learnt, _ = learn_from([step(errors=(error(extent=extent),)) for extent in extents])
    assert learnt[TEST].level == 2


@pytest.mark.parametrize("silent", [waited(), step(checked=False)], ids=["waited", "unchecked"])
def test_an_iteration_that_tells_nothing_of_checks_changes_nothing(silent: Step) -> None:
    learnt, told = learn_from([FAILS, silent, FAILS, silent, FAILS, silent])
    assert (learnt[TEST].seen, learnt[TEST].level) == (3, 2)
    assert severities(told) == [[], [], [LOG], [], [REDIRECT], []]


def test_an_intervention_has_helped_where_the_class_stays_away_for_three_iterations() -> None:
    assert learn_from([*STAGNATED, *[green()] * 2])[0][TEST].helped is None
    helped = learn_from([*STAGNATED, *[green()] * 3])[0][TEST]
    assert (helped.helped, helped.level, helped.in_row, helped.intervened_at) == (True, 0, 0, 3)


def test_a_class_that_recurs_twice_after_an_intervention_reaches_the_ladder() -> None:
    learnt, told = learn_from([*STAGNATED, green(), FAILS, green(), FAILS])
    assert learnt[TEST] == Learning(kind=TEST, seen=5, in_row=1, level=3, intervened_at=3, recurred=2, helped=False)
    assert severities(told)[3:] == [[], [WARN], [], [REDIRECT]]
    (last,) = told[-1]
    assert (last.rule, last.value, last.threshold) == ("learning.unlearnable", 2, 2)
    assert (last.instruction, "test failures occurred in 5 iterations" in last.message) == (failure_advice()[TEST]["do"], True)


def test_the_rung_that_it_came_back_on_does_not_matter() -> None:
    for rung in EscalationLevel:
        learnt, told = learn_from([*STAGNATED, *[red(SIDEWAYS, "test_a", rung=rung)] * 2])
        assert (learnt[TEST].level, severities(told)[3:]) == (3, [[WARN], [REDIRECT]])


def test_what_never_reached_the_agent_is_not_measured() -> None:
    learnt, told = learn_from([*STAGNATED, *[FAILS] * 5], intervened=False)
    assert (learnt[TEST].level, learnt[TEST].recurred, learnt[TEST].helped) == (2, 0, None)
    assert severities(told)[3:] == [[]] * 5
    assert learn_from([*STAGNATED, *[green()] * 3], intervened=False)[0][TEST].helped is None


def test_after_an_intervention_that_helped_the_class_begins_at_the_bottom() -> None:
    learnt, told = learn_from([*STAGNATED, *[green()] * 3, *STAGNATED])
    assert (learnt[TEST].level, learnt[TEST].intervened_at, learnt[TEST].helped) == (2, 9, None)
    assert severities(told)[6:] == [[], [LOG], [REDIRECT]]
