"""What a model's reading weighs: less than a rule's. Alone it is told; with a loop that goes round it asks for a person."""

from collections.abc import Sequence
from typing import Any

import pytest

from helmsman.oversee.conflicts import conflicts
from helmsman.oversee.diagnosis import bind, bind_signal
from helmsman.oversee.imperatives import imperatives
from helmsman.oversee.ladder import relieved
from helmsman.oversee.oversee import Observed, oversee
from helmsman.records.control import (
    Conflict,
    ConflictSearch,
    Diagnosis,
    EscalationLevel,
    Imperative,
    IterationSummary,
    Ladder,
    Movement,
    Overseen,
    Oversight,
)
from helmsman.records.decision import Alert, Severity
from helmsman.records.state import LoopState
from tests.unit.builders import NOW, check, config, report, sight, state
from tests.unit.histories import SIDEWAYS, STILL, history, red
from tests.unit.test_overseeing import worked

pytestmark = pytest.mark.feature("S11")
ORDERS = imperatives("AGENTS.md", "- Answers must be odd.\n- Stored values must be even.\n- Commit every step.")
READ = Conflict(kind="pattern", first=ORDERS[0], second=ORDERS[1], about="the answer", by="model")
RULED = conflicts([*imperatives("goal", "Use mocks."), *imperatives("CLAUDE.md", "Never use mocks.")])
SOUGHT = ConflictSearch(orders="f", conflicts=(READ,))

TESTS = (("t.py::test_a",), ("t.py::test_b",)) * 2
CHECKS = (("lint",), ("unit",)) * 2
STUCK = history(*[red(STILL, "t.py::test_a", files=("src/answer.py",))] * 4)


def swinging(*sets: Sequence[str]) -> tuple[IterationSummary, ...]:
    return history(*[{"movement": SIDEWAYS, "failing": tuple(names)} for names in sets])


def trees(letters: str) -> tuple[IterationSummary, ...]:
    return history(*[red(SIDEWAYS, "t.py::test_a", tree=letter) for letter in letters])


def test_alone_it_asks_for_nobody_also_where_the_work_has_to_do_with_it() -> None:
    assert bind((READ,), STUCK) == ("none", (READ,))
    assert bind((READ.model_copy(update={"by": "rules"}),), STUCK)[0] == "double_bind"  # as a rule's it would


def test_a_loop_that_gets_on_is_left_alone_whatever_a_model_reads() -> None:
    lived = (*trees("abab"), *history(red(Movement.FORWARD, "t.py::test_a")))
    assert bind((READ,), lived, cycles=True) == ("none", (READ,))


def test_what_rules_find_comes_first() -> None:
    diagnosis, found = bind((READ, *RULED), swinging(*TESTS), cycles=True)
    assert (diagnosis, found[0]) == ("double_bind", RULED[0])
    diagnosis, found = bind((READ,), swinging(*CHECKS), checks=("lint", "unit"), cycles=True)
    assert [one.by for one in found] == ["rules", "model"]
    assert (diagnosis, found[0].first.source) == ("double_bind", "checks")


def told(diagnosis: Diagnosis, *found: Conflict) -> Alert:
    signal = bind_signal(diagnosis, found)
    assert signal is not None
    return signal


def test_it_is_told_as_a_warning_with_an_order_that_names_the_places_and_none_of_the_words() -> None:
    signal = told("none", READ)
    assert (signal.rule, signal.severity) == ("orders.conflict", Severity.WARN)
    assert "a model reads two orders as a contradiction" in signal.message
    assert "“Answers must be odd.” (AGENTS.md:1)" in signal.message
    assert "look at AGENTS.md:1 and AGENTS.md:2." in signal.instruction
    assert "odd" not in signal.instruction
    assert bind_signal("none", (READ,), told=(READ,)) is None


def test_a_person_who_is_asked_hears_that_a_model_reads_it_so() -> None:
    signal = told("double_bind", READ)
    assert signal.severity is Severity.PAUSE
    assert "it goes round, and a model reads two orders as a contradiction: “Answers must be odd.”" in signal.message


# in the overseer --------------------------------------------------------------------------------------------------------------


def seen(
    before: LoopState, orders: Sequence[Imperative] = ORDERS, search: ConflictSearch | None = None, **fields: Any
) -> Overseen:
    given_fields = {"execution": worked(before.due), "checks": report(check(passed=False)), **fields}
    return oversee(sight(state=before, **given_fields), Observed(orders=tuple(orders)), search)


def going_round(letters: str = "abab", **oversight: Any) -> LoopState:
    past = history(*[red(SIDEWAYS, name, tree=name) for name in letters])
    return state(
        iteration=len(letters), history=past, oversight=Oversight(ladder=Ladder(rung=EscalationLevel.REFACTOR), **oversight)
    )


def test_a_reading_of_before_the_iteration_is_kept_and_told_once_after_it() -> None:
    first = seen(state(), search=SOUGHT)
    assert (first.oversight.sought, first.oversight.conflicts) == (SOUGHT, (READ,))
    assert [signal.severity for signal in first.signals if signal.rule == "orders.conflict"] == [Severity.WARN]
    assert "by a model's reading" in first.oversight.instructions[0]
    again = seen(state(oversight=first.oversight))
    assert (again.oversight.sought, again.oversight.conflicts) == (SOUGHT, (READ,))
    assert [signal for signal in again.signals if signal.rule == "orders.conflict"] == []


def test_with_a_loop_that_goes_round_a_person_is_asked_at_once() -> None:
    before = going_round(sought=SOUGHT)
    bound = seen(before, execution=worked(5, tree="a"))
    assert bound.oversight.diagnosis == "double_bind"
    assert bound.oversight.ladder.rung is EscalationLevel.HUMAN
    unread = seen(going_round(), execution=worked(5, tree="a"))
    assert (unread.oversight.diagnosis, unread.oversight.ladder.rung) == ("amnesiac", EscalationLevel.REDESIGN)


def test_a_person_who_leaves_the_orders_as_they_are_is_not_asked_about_the_same_reading_again() -> None:
    bound = Oversight(ladder=Ladder(rung=EscalationLevel.HUMAN), diagnosis="double_bind", sought=SOUGHT, conflicts=(*RULED, READ))
    after = relieved(state(config(), oversight=bound), NOW).oversight
    assert (after.sought, after.conflicts) == (ConflictSearch(orders="f"), RULED)
    elsewhere = bound.model_copy(update={"diagnosis": "stuck"})
    assert relieved(state(oversight=elsewhere), NOW).oversight.sought == SOUGHT
