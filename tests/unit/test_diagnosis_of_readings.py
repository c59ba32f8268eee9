"""What a model's reading weighs: less than a rule's. Alone it is told; with a loop that goes round it asks for a person."""

from collections.abc import Sequence
from typing import Any

import pytest

from helmsman.oversee.conflicts import conflicts
from helmsman.oversee.diagnosis import bind, bind_signal
from helmsman.oversee.imperatives import imperatives
from helmsman.oversee.ladder import LONGEST_REASON, relieved
from helmsman.oversee.oversee import Observed, oversee
from helmsman.records.agent import Execution
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
from tests.unit.builders import NOW, call, check, config, report, sight, state, usage_limited
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
    assert bind((READ,), STUCK) == (Diagnosis.NONE, (READ,))
    assert bind((READ.model_copy(update={"by": "rules"}),), STUCK)[0] is Diagnosis.DOUBLE_BIND  # as a rule's it would


@pytest.mark.parametrize("lived", [swinging(*TESTS), trees("abab")], ids=["failures", "trees"])
def test_with_a_loop_that_goes_to_and_fro_it_is_a_double_bind(lived: Sequence[IterationSummary]) -> None:
    assert bind((), lived)[0] is Diagnosis.AMNESIAC
    assert bind((READ,), lived) == (Diagnosis.DOUBLE_BIND, (READ,))


def test_with_a_detector_that_says_that_the_loop_goes_round_it_is_a_double_bind() -> None:
    assert bind((READ,), trees("abcabc"), cycles=True) == (Diagnosis.DOUBLE_BIND, (READ,))
    assert bind((READ,), trees("abcdef")) == (Diagnosis.NONE, (READ,))
    assert bind((), trees("abcabc"), cycles=True)[0] is Diagnosis.NONE


def test_a_loop_that_gets_on_is_left_alone_whatever_a_model_reads() -> None:
    lived = (*trees("abab"), *history(red(Movement.FORWARD, "t.py::test_a")))
    assert bind((READ,), lived, cycles=True) == (Diagnosis.NONE, (READ,))


def test_what_rules_find_comes_first() -> None:
    diagnosis, found = bind((READ, *RULED), swinging(*TESTS), cycles=True)
    assert (diagnosis, found[0]) == (Diagnosis.DOUBLE_BIND, RULED[0])
    diagnosis, found = bind((READ,), swinging(*CHECKS), checks=("lint", "unit"), cycles=True)
    assert [one.by for one in found] == ["rules", "model"]
    assert (diagnosis, found[0].first.source) == (Diagnosis.DOUBLE_BIND, "checks")


def test_where_rules_have_found_something_a_model_does_not_make_it_a_bind() -> None:
    assert bind((*RULED, READ), trees("abcabc"), cycles=True)[0] is Diagnosis.NONE


def told(diagnosis: Diagnosis, *found: Conflict) -> Alert:
    signal = bind_signal(diagnosis, found)
    assert signal is not None
    return signal


def test_it_is_told_as_a_warning_with_an_order_that_names_the_places_and_none_of_the_words() -> None:
    signal = told(Diagnosis.NONE, READ)
    assert (signal.rule, signal.severity) == ("orders.conflict", Severity.WARN)
    assert "a model reads two orders as a contradiction" in signal.message
    assert "“Answers must be odd.” (AGENTS.md:1)" in signal.message
    assert "look at AGENTS.md:1 and AGENTS.md:2." in signal.instruction
    assert "odd" not in signal.instruction
    assert bind_signal(Diagnosis.NONE, (READ,), told=(READ,)) is None


def test_what_rules_find_gives_no_order_of_its_own() -> None:
    assert told(Diagnosis.NONE, *RULED).instruction == ""


def test_an_order_fits_whatever_the_places_are_called() -> None:
    far = Imperative(source="specs/" + "x" * 400, line=10**6, text="y" * 300, modality="must")
    given_far = READ.model_copy(update={"first": far, "second": far})
    assert len(told(Diagnosis.NONE, given_far).instruction) <= 500
    asked = told(Diagnosis.DOUBLE_BIND, *[given_far] * 5)
    assert len(f"{asked.rule}: {asked.message}") <= LONGEST_REASON
    assert asked.message.endswith("(and 4 more); a person has to choose")


def test_a_person_who_is_asked_hears_that_a_model_reads_it_so() -> None:
    signal = told(Diagnosis.DOUBLE_BIND, READ)
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


def test_what_it_orders_stands_above_what_graver_signals_do_where_only_one_is_shown() -> None:
    found = seen(state(history=STUCK[:3], iteration=3), search=SOUGHT, execution=worked(4, tree="tree1", files=0))
    assert [signal for signal in found.signals if signal.severity is Severity.REDIRECT and signal.instruction]
    assert "by a model's reading" in found.oversight.instructions[0]


def test_what_rules_find_takes_its_place() -> None:
    found = seen(state(), [*ORDERS, RULED[0].first, RULED[0].second], SOUGHT)
    assert [one.by for one in found.oversight.conflicts] == ["rules"]


def test_it_is_gone_with_one_of_its_orders() -> None:
    assert seen(state(), ORDERS[1:], SOUGHT).oversight.conflicts == ()


def test_with_a_loop_that_goes_round_a_person_is_asked_at_once() -> None:
    before = going_round(sought=SOUGHT)
    bound = seen(before, execution=worked(5, tree="a"))
    assert bound.oversight.diagnosis is Diagnosis.DOUBLE_BIND
    assert bound.oversight.ladder.rung is EscalationLevel.HUMAN
    unread = seen(going_round(), execution=worked(5, tree="a"))
    assert (unread.oversight.diagnosis, unread.oversight.ladder.rung) == (Diagnosis.AMNESIAC, EscalationLevel.REDESIGN)


def test_a_longer_round_that_a_detector_sees_asks_a_person_too() -> None:
    bound = seen(going_round("abcab", sought=SOUGHT), execution=worked(6, tree="c"))
    assert bound.oversight.diagnosis is Diagnosis.DOUBLE_BIND
    other = seen(going_round("abcde", sought=SOUGHT), execution=worked(6, tree="f"))
    assert other.oversight.diagnosis is not Diagnosis.DOUBLE_BIND


def test_a_newer_answer_takes_the_place_of_an_older_one() -> None:
    newer = ConflictSearch(orders="g")
    assert seen(state(oversight=Oversight(sought=SOUGHT)), search=newer).oversight.sought == newer


def test_a_reading_that_was_paid_for_is_kept_where_the_agent_never_got_to_work() -> None:
    waited = seen(state(), search=SOUGHT, execution=Execution(call=usage_limited(), change=worked(1).change), checks=None)
    assert (waited.oversight.sought, waited.moment) == (SOUGHT, None)


def test_after_an_iteration_without_an_answer_what_was_known_stands() -> None:
    assert seen(going_round(sought=SOUGHT), execution=Execution(call=call(), change=worked(5).change)).oversight.sought == SOUGHT


def test_a_person_who_leaves_the_orders_as_they_are_is_not_asked_about_the_same_reading_again() -> None:
    bound = Oversight(
        ladder=Ladder(rung=EscalationLevel.HUMAN), diagnosis=Diagnosis.DOUBLE_BIND, sought=SOUGHT, conflicts=(*RULED, READ)
    )
    after = relieved(state(config(), oversight=bound), NOW).oversight
    assert (after.sought, after.conflicts) == (ConflictSearch(orders="f"), RULED)
    elsewhere = bound.model_copy(update={"diagnosis": Diagnosis.STUCK})
    assert relieved(state(oversight=elsewhere), NOW).oversight.sought == SOUGHT
