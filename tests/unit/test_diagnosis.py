"""A loop that swings: forgetful, or bound by two orders that contradict each other."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helmsman.oversee.conflicts import conflicts
from helmsman.oversee.diagnosis import bind, bind_signal
from helmsman.oversee.imperatives import imperatives
from helmsman.oversee.ladder import LONGEST_REASON
from helmsman.records.agent import AgentOutcome, ErrorVector, FailureClass
from helmsman.records.control import Conflict, Diagnosis, Imperative, IterationSummary, Movement
from helmsman.records.decision import Severity
from tests.unit.builders import NOW

pytestmark = pytest.mark.feature("S11")

GOAL = imperatives("goal", "Change `src/api.py` so that it returns 404.")
SRC = conflicts([*GOAL, *imperatives("AGENTS.md", "# Rules\n\n- Never touch `src/`.")])
MOCKS = conflicts([*imperatives("goal", "Use mocks."), *imperatives("CLAUDE.md", "Never use mocks.")])


def moment(movement: Movement = Movement.STILL, **fields: object) -> IterationSummary:
    given = {"iteration": 1, "at": NOW, "outcome": AgentOutcome.FINISHED, "movement": movement, "completion": 0.5}
    return IterationSummary.model_validate({**given, "tree": "t", "failing": ("pytest",), **fields})


def swinging(*sets: Sequence[str], **fields: object) -> list[IterationSummary]:
    return [moment(Movement.SIDEWAYS, failing=tuple(names), tree=f"tree {at}", **fields) for at, names in enumerate(sets)]


def test_a_contradiction_about_a_file_that_the_loop_cannot_get_past_is_a_double_bind() -> None:
    assert bind(SRC, [moment(files=("src/api.py",))] * 3) == (Diagnosis.DOUBLE_BIND, SRC)


def test_a_contradiction_that_the_errors_speak_of_is_a_double_bind() -> None:
    error = ErrorVector(kind=FailureClass.LINT, where="tests/a.py", message="mocks are not allowed here")
    assert bind(MOCKS, [moment(errors=(error,))] * 3)[0] is Diagnosis.DOUBLE_BIND


def test_a_contradiction_about_something_else_is_no_double_bind() -> None:
    assert bind(SRC, [moment(files=("web/index.html",))] * 3) == (Diagnosis.NONE, SRC)
    assert bind(MOCKS, [moment(files=("web/index.html",))] * 3)[0] is Diagnosis.NONE


@pytest.mark.parametrize(
    "history",
    [
        [],
        [moment(files=("src/api.py",))] * 2,
        [moment(files=("src/api.py",)), moment(Movement.FORWARD, files=("src/api.py",)), moment(files=("src/api.py",))],
        [moment(Movement.SIDEWAYS, files=("src/api.py",), green=True, failing=(), tree=f"{at}") for at in range(9)],
        [moment(Movement.SIDEWAYS, files=("src/api.py",), checked=False, failing=(), tree=f"{at}") for at in range(9)],
        [moment(Movement.WAITED, files=("src/api.py",))] * 9,
    ],
    ids=["first", "two", "getting on", "small green tasks", "nothing is checked", "waiting"],
)
def test_a_loop_that_gets_on_or_only_waits_is_left_alone(history: list[IterationSummary]) -> None:
    assert bind(SRC, history) == (Diagnosis.NONE, SRC)


def test_moments_that_waited_do_not_interrupt() -> None:
    stuck = moment(files=("src/api.py",))
    assert bind(SRC, [stuck, moment(Movement.WAITED), stuck, moment(Movement.WAITED), stuck])[0] is Diagnosis.DOUBLE_BIND


TESTS = (("t.py::test_a",), ("t.py::test_b",)) * 2


def test_failures_that_alternate_without_a_contradiction_are_forgetfulness() -> None:
    assert bind((), swinging(*TESTS)) == (Diagnosis.AMNESIAC, ())


def test_failures_that_alternate_with_a_contradiction_are_a_double_bind() -> None:
    assert bind(MOCKS, swinging(*TESTS))[0] is Diagnosis.DOUBLE_BIND


def test_trees_that_alternate_are_forgetfulness() -> None:
    assert bind((), [moment(tree=tree) for tree in "abab"])[0] is Diagnosis.AMNESIAC
    assert bind((), [moment(tree=tree) for tree in "abcd"])[0] is Diagnosis.NONE
    assert bind((), [moment(tree="") for _ in "abab"])[0] is Diagnosis.NONE


def test_a_failure_that_comes_and_goes_while_another_stays_is_no_swing() -> None:
    assert bind((), swinging(("a", "b"), ("a",), ("a", "b"), ("a",)))[0] is Diagnosis.NONE


def test_two_checks_of_which_one_fails_where_the_other_passes_are_suspected_of_a_contradiction() -> None:
    diagnosis, found = bind((), swinging(*[("lint",), ("unit",)] * 2), checks=("lint", "unit"))
    assert diagnosis is Diagnosis.DOUBLE_BIND
    assert [(one.kind, one.first.source, one.first.text, one.second.text) for one in found] == [
        ("pattern", "checks", "lint must pass", "unit must pass")
    ]
    signal = bind_signal(diagnosis, found)
    assert signal is not None
    assert "nothing gained in 3 iterations, and two orders seem to contradict each other: “" in signal.message


def test_checks_are_told_from_tests_by_their_names() -> None:
    history = swinging(("fast",), ("slow",), ("fast",), ("slow",))
    assert bind((), history, checks=("pytest",))[0] is Diagnosis.AMNESIAC
    assert bind((), history, checks=("fast", "slow"))[0] is Diagnosis.DOUBLE_BIND


def test_a_double_bind_asks_a_person_with_both_sentences_and_their_places_and_leaves_the_ways_out_to_the_decision() -> None:
    signal = bind_signal(Diagnosis.DOUBLE_BIND, SRC)
    assert signal is not None
    assert (signal.rule, signal.severity) == ("double_bind", Severity.PAUSE)
    for part in ("“Never touch `src/`.” (AGENTS.md:3)", "(goal:1)", "src/api.py", "a person has to choose"):
        assert part in signal.message
    assert "helmsman resume" not in signal.message


@given(st.text(max_size=300), st.text(max_size=200), st.integers(0, 10**6), st.sampled_from(["checks", "", "AGENTS.md"]))
@example("x" * 300, "p" * 200, 10**6, "")
@example("word " * 60, "p" * 200, 0, "checks")
def test_a_double_bind_is_told_whole_in_what_the_ladder_keeps_of_a_reason(text: str, place: str, line: int, start: str) -> None:
    one = Imperative(source=start or place, line=line, text=text, modality="must")
    found = Conflict(kind="scope", first=one, second=one.model_copy(update={"source": place}), about=text[:200])
    signal = bind_signal(Diagnosis.DOUBLE_BIND, [found] * 5)
    assert signal is not None
    assert len(f"{signal.rule}: {signal.message}") <= LONGEST_REASON
    assert signal.message.endswith("a person has to choose")


def test_a_long_order_is_quoted_to_the_end_of_a_word() -> None:
    order = Imperative(
        source="goal",
        text="Never change anything that the interface of the older clients depends on, in any way",
        modality="must",
    )
    signal = bind_signal(Diagnosis.NONE, [Conflict(kind="scope", first=order, second=order, about="x")])
    assert signal is not None
    assert "“Never change anything that the interface of the older clients depends…” (goal)" in signal.message


def test_forgetfulness_redirects_to_the_notes() -> None:
    signal = bind_signal(Diagnosis.AMNESIAC, ())
    assert signal is not None
    assert (signal.rule, signal.severity) == ("amnesiac", Severity.REDIRECT)
    assert "your notes" in signal.instruction
    assert len(signal.instruction) <= 500


def test_a_contradiction_in_a_loop_that_gets_on_is_told_once() -> None:
    signal = bind_signal(Diagnosis.NONE, SRC)
    assert signal is not None
    assert (signal.rule, signal.severity) == ("orders.conflict", Severity.WARN)
    assert bind_signal(Diagnosis.NONE, SRC, told=SRC) is None


@pytest.mark.parametrize("diagnosis", [Diagnosis.NONE, Diagnosis.DOUBLE_BIND, Diagnosis.STUCK, Diagnosis.PRODUCTIVE])
def test_without_a_contradiction_there_is_nothing_to_tell(diagnosis: Diagnosis) -> None:
    assert bind_signal(diagnosis, ()) is None


def test_no_more_than_five_are_kept_those_that_matter_first() -> None:
    many: tuple[Conflict, ...] = (*MOCKS, *MOCKS, *MOCKS, *MOCKS, *MOCKS, *SRC)
    _, found = bind(many, [moment(files=("src/api.py",))] * 3)
    assert len(found) == 5
    assert found[0] == SRC[0]
