"""A loop that swings: forgetful, or bound by two orders that contradict each other."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helmsman.oversee.conflicts import find_conflicts
from helmsman.oversee.diagnosis import double_bind_alert, find_double_bind
from helmsman.oversee.imperatives import read_imperatives
from helmsman.oversee.ladder import LONGEST_REASON
from helmsman.records.agent import AgentOutcome
from helmsman.records.control import Conflict, Imperative, IterationSummary, Movement
from helmsman.records.decision import Severity
from tests.unit.builders import NOW

pytestmark = pytest.mark.feature("S11")

GOAL = read_imperatives("goal", "Change `src/api.py` so that it returns 404.")
SRC = find_conflicts([*GOAL, *read_imperatives("AGENTS.md", "# Rules\n\n- Never touch `src/`.")])
MOCKS = find_conflicts([*read_imperatives("goal", "Use mocks."), *read_imperatives("CLAUDE.md", "Never use mocks.")])


def moment(movement: Movement = Movement.STILL, **fields: object) -> IterationSummary:
    given = {"iteration": 1, "at": NOW, "outcome": AgentOutcome.FINISHED, "movement": movement, "completion": 0.5}
    return IterationSummary.model_validate({**given, "tree": "t", "failing": ("pytest",), **fields})


def swinging(*sets: Sequence[str], **fields: object) -> list[IterationSummary]:
    return [moment(Movement.SIDEWAYS, failing=tuple(names), tree=f"tree {at}", **fields) for at, names in enumerate(sets)]


def test_a_contradiction_about_a_file_that_the_loop_cannot_get_past_is_a_double_bind() -> None:
    assert find_double_bind(SRC, [moment(files=("src/api.py",))] * 3) == ("double_bind", SRC)


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
    assert find_double_bind(SRC, history) == ("none", SRC)


TESTS = (("t.py::test_a",), ("t.py::test_b",)) * 2


def test_failures_that_alternate_without_a_contradiction_are_forgetfulness() -> None:
    assert find_double_bind((), swinging(*TESTS)) == ("amnesiac", ())


def test_failures_that_alternate_with_a_contradiction_are_a_double_bind() -> None:
    assert find_double_bind(MOCKS, swinging(*TESTS))[0] == "double_bind"


def test_trees_that_alternate_are_forgetfulness() -> None:
    assert find_double_bind((), [moment(tree=tree) for tree in "abab"])[0] == "amnesiac"
    assert find_double_bind((), [moment(tree=tree) for tree in "abcd"])[0] == "none"
    assert find_double_bind((), [moment(tree="") for _ in "abab"])[0] == "none"


def test_a_double_bind_asks_a_person_with_both_sentences_and_their_places_and_leaves_the_ways_out_to_the_decision() -> None:
    signal = double_bind_alert("double_bind", SRC)
    assert signal is not None
    assert (signal.rule, signal.severity) == ("double_bind", Severity.PAUSE)
    for part in ("“Never touch `src/`.” (AGENTS.md:3)", "(goal:1)", "src/api.py", "a person has to choose"):
        assert part in signal.message
    assert "helmsman resume" not in signal.message


@given(st.text(max_size=300), st.text(max_size=200), st.integers(0, 10**6), st.sampled_from(["goal", "", "AGENTS.md"]))
@example("x" * 300, "p" * 200, 10**6, "")
@example("word " * 60, "p" * 200, 0, "goal")
def test_a_double_bind_is_told_whole_in_what_the_ladder_keeps_of_a_reason(text: str, place: str, line: int, start: str) -> None:
    one = Imperative(source=start or place, line=line, text=text, modality="must")
    found = Conflict(kind="scope", first=one, second=one.model_copy(update={"source": place}), about=text[:200])
    signal = double_bind_alert("double_bind", [found] * 5)
    assert signal is not None
    assert len(f"{signal.rule}: {signal.message}") <= LONGEST_REASON
    assert signal.message.endswith("a person has to choose")


def test_forgetfulness_redirects_to_the_notes() -> None:
    signal = double_bind_alert("amnesiac", ())
    assert signal is not None
    assert (signal.rule, signal.severity) == ("amnesiac", Severity.REDIRECT)
    assert "your notes" in signal.instruction
    assert len(signal.instruction) <= 500


def test_no_more_than_five_are_kept_those_that_matter_first() -> None:
    many: tuple[Conflict, ...] = (*MOCKS, *MOCKS, *MOCKS, *MOCKS, *MOCKS, *SRC)
    _, found = find_double_bind(many, [moment(files=("src/api.py",))] * 3)
    assert len(found) == 5
    assert found[0] == SRC[0]
