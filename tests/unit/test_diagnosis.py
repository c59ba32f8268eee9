"""Why a loop repeats itself: its sessions forget, two instructions contradict each other, or it is stuck."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helmsman.config import DetectConfig
from helmsman.oversee.conflicts import find_conflicts
from helmsman.oversee.detectors import detect
from helmsman.oversee.diagnosis import diagnose, double_bind_alert, find_double_bind
from helmsman.oversee.imperatives import read_imperatives
from helmsman.oversee.ladder import LONGEST_REASON
from helmsman.records.agent import AgentOutcome
from helmsman.records.control import Conflict, Diagnosis, Imperative, IterationSummary, Movement
from helmsman.records.decision import Severity
from tests.unit.builders import NOW
from tests.unit.histories import FORWARD, SIDEWAYS, STILL, Step, green, history, red, step, still, waited

GOAL = read_imperatives("goal", "Change `src/api.py` so that it returns 404.")
SRC = find_conflicts([*GOAL, *read_imperatives("AGENTS.md", "# Rules\n\n- Never touch `src/`.")])
MOCKS = find_conflicts([*read_imperatives("goal", "Use mocks."), *read_imperatives("CLAUDE.md", "Never use mocks.")])


def summary(movement: Movement = Movement.STILL, **fields: object) -> IterationSummary:
    given = {"iteration": 1, "at": NOW, "outcome": AgentOutcome.FINISHED, "movement": movement, "completion": 0.5}
    return IterationSummary.model_validate({**given, "tree": "t", "failing": ("pytest",), **fields})


def alternating(*sets: Sequence[str], **fields: object) -> list[IterationSummary]:
    return [summary(Movement.SIDEWAYS, failing=tuple(names), tree=f"tree {at}", **fields) for at, names in enumerate(sets)]


@pytest.mark.feature("S11")
def test_a_contradiction_about_a_file_that_the_loop_cannot_get_past_is_a_double_bind() -> None:
    assert find_double_bind(SRC, [summary(files=("src/api.py",))] * 3) == ("double_bind", SRC)


@pytest.mark.feature("S11")
@pytest.mark.parametrize(
    "history",
    [
        [],
        [summary(files=("src/api.py",))] * 2,
        [summary(files=("src/api.py",)), summary(Movement.FORWARD, files=("src/api.py",)), summary(files=("src/api.py",))],
        [summary(Movement.SIDEWAYS, files=("src/api.py",), green=True, failing=(), tree=f"{at}") for at in range(9)],
        [summary(Movement.SIDEWAYS, files=("src/api.py",), checked=False, failing=(), tree=f"{at}") for at in range(9)],
        [summary(Movement.WAITED, files=("src/api.py",))] * 9,
    ],
    ids=["first", "two", "getting on", "small green tasks", "nothing is checked", "waiting"],
)
def test_progress_and_waits_get_no_diagnosis(history: list[IterationSummary]) -> None:
    assert find_double_bind(SRC, history) == ("none", SRC)


TESTS = (("t.py::test_a",), ("t.py::test_b",)) * 2


@pytest.mark.feature("S11")
def test_failures_that_alternate_without_a_contradiction_are_forgetfulness() -> None:
    assert find_double_bind((), alternating(*TESTS)) == ("amnesiac", ())


@pytest.mark.feature("S11")
def test_failures_that_alternate_with_a_contradiction_are_a_double_bind() -> None:
    assert find_double_bind(MOCKS, alternating(*TESTS))[0] == "double_bind"


@pytest.mark.feature("S11")
def test_trees_that_alternate_are_forgetfulness() -> None:
    assert find_double_bind((), [summary(tree=tree) for tree in "abab"])[0] == "amnesiac"
    assert find_double_bind((), [summary(tree=tree) for tree in "abcd"])[0] == "none"
    assert find_double_bind((), [summary(tree="") for _ in "abab"])[0] == "none"


@pytest.mark.feature("S11")
def test_a_double_bind_asks_a_person_with_both_sentences_and_their_places_and_leaves_the_ways_out_to_the_decision() -> None:
    signal = double_bind_alert("double_bind", SRC)
    assert signal is not None
    assert (signal.rule, signal.severity) == ("double_bind", Severity.PAUSE)
    for part in ("“Never touch `src/`.” (AGENTS.md:3)", "(goal:1)", "src/api.py", "a person has to choose"):
        assert part in signal.message
    assert "helmsman resume" not in signal.message


@pytest.mark.feature("S11")
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


@pytest.mark.feature("S11")
def test_forgetfulness_redirects_to_the_notes() -> None:
    signal = double_bind_alert("amnesiac", ())
    assert signal is not None
    assert (signal.rule, signal.severity) == ("amnesiac", Severity.REDIRECT)
    assert "your notes" in signal.instruction
    assert len(signal.instruction) <= 500


@pytest.mark.feature("S11")
def test_no_more_than_five_are_kept_those_that_matter_first() -> None:
    many: tuple[Conflict, ...] = (*MOCKS, *MOCKS, *MOCKS, *MOCKS, *MOCKS, *SRC)
    _, found = find_double_bind(many, [summary(files=("src/api.py",))] * 3)
    assert len(found) == 5
    assert found[0] == SRC[0]


A, B = red(SIDEWAYS, "test_a"), red(SIDEWAYS, "test_b")


def diagnosis_of(*steps: Step) -> Diagnosis:
    lived = history(*steps)
    return diagnose(lived, detect(lived, DetectConfig())[0])


@pytest.mark.feature("S5", "S11")
@pytest.mark.parametrize(
    "steps",
    [[green()] * 3, [A, *[green()] * 5, waited()], [step(FORWARD)] * 3],
    ids=["the same event, a new tree each time", "red before", "better each time"],
)
def test_a_stable_cycle_with_progress_is_productive(steps: list[Step]) -> None:
    assert diagnosis_of(*steps) == "productive"


@pytest.mark.feature("S5", "S11")
def test_a_stable_cycle_without_progress_is_stuck() -> None:
    cases = {
        "no change": [still()] * 4,
        "the same failure": [step(FORWARD), *[A] * 4],
        "empty sessions": [green(FORWARD), *[still(green=True, tool_calls=0)] * 2],
    }
    for case, steps in cases.items():
        assert diagnosis_of(*steps) == "stuck", case


@pytest.mark.feature("S5", "S11")
def test_returning_failures_are_amnesiac() -> None:
    cases = {
        "two failures in turn": [A, B, A, B],
        "a failure that was mended": [A, green(STILL), A, green(STILL)],
        "two trees in turn": [step(tree=name) for name in "abab"],
        "one failure again and again": [A, B, A, red(SIDEWAYS, "test_c"), A],
        "one failure traded for another and back": [red(FORWARD, "test_a"), B, A],
    }
    for case, steps in cases.items():
        assert diagnosis_of(*steps) == "amnesiac", case


@pytest.mark.feature("S5", "S11")
def test_what_came_back_long_ago_is_not_held_against_what_is_done_now() -> None:
    past = [A, green(), A, green(), A]
    assert diagnosis_of(*past, *[green()] * 3) == "productive"
    assert diagnosis_of(*past, *[still(green=True, completion=0.9)] * 4) == "stuck"


@pytest.mark.feature("S5", "S11")
@pytest.mark.parametrize("steps", [[], [A], [A, B], [A, green(), A, green()], [A, A, green()], [waited()] * 5])
def test_short_histories_get_no_diagnosis(steps: list[Step]) -> None:
    assert diagnosis_of(*steps) == "none"
