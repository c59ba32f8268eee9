"""How a loop is steered and why an iteration was decided as it was, in words for a person."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.config.oversight import DetectConfig
from helmsman.oversee.detectors import detect
from helmsman.records.control import EscalationLevel, Failed, Ladder, Oversight
from helmsman.records.decision import Considered
from helmsman.records.proof import SinceStart
from helmsman.records.verification import Case, Grounds, OutcomeTable
from helmsman.render.artifacts import verdicts_page
from helmsman.render.lines import explanation_lines, steering_lines
from helmsman.render.report import html_report
from tests.unit.builders import CONTINUE, config, record, state
from tests.unit.histories import BACK, history, step

pytestmark = pytest.mark.feature("S18")
WATCHED = config(ladder={"act": False})


def health(oversight: Oversight, *, acts: bool = True) -> str:
    (line,) = (line for line in steering_lines(oversight, config() if acts else WATCHED) if line.startswith("health"))
    return line


@given(st.text(max_size=400))
def test_whatever_the_reason_the_line_is_one_and_short(reason: str) -> None:
    told = health(Oversight(ladder=Ladder(rung=EscalationLevel.REFACTOR, reason=reason)))
    assert told.isprintable()
    assert len(told) <= len("health     E-I refactor because of ") + 101


@pytest.mark.feature("S4")
def test_a_fall_is_told_with_its_tests_only_where_any_ran() -> None:
    def message(**fields: int) -> str:
        (fallen,) = (one for one in detect(history(*[step(BACK, **fields)] * 2), DetectConfig())[0] if one.rule == "regressing")
        return fallen.message

    assert message(failing_tests=1, passing_tests=3).endswith("completion is 50%, 1 test failing")
    assert message().endswith("completion is 50%")


def test_a_decision_is_told_with_its_way_what_would_have_changed_it_and_what_was_taken_off() -> None:
    yes = Considered(rule="continue", question="Go on?", held=True, because="the check fails", otherwise="any yes above")
    no = Considered(rule="limits", question="Is a limit reached?", held=False, because="3 of 50", otherwise="more iterations")
    failed = Failed(iteration=1, ref="refs/x", commit="f" * 40, back_to="a" * 40, why="it fell", rule="regressing")
    decided = record(CONTINUE.model_copy(update={"path": (no, yes)}), failed=failed)
    lines = list(explanation_lines(decided))
    assert lines[3:5] == [
        "no         Is a limit reached? 3 of 50",
        "yes        Go on? the check fails; different with: any yes above",
    ]
    assert lines[-1] == "undone     ffffffffff stays at refs/x; the branch is at aaaaaaaaaa"


@pytest.mark.feature("V19")
def test_work_that_is_done_is_told_with_its_cases_and_what_that_rests_on() -> None:
    """In a terminal, on the page and in the engine's UI alike."""
    case = Case(name="t::a", check="pytest", outcome="FAIL_TO_PASS", consequence="proves", why="was red")
    grounds = Grounds(rests_on=("`pytest` on the work in a clean checkout: the check passes",), not_looked_at=("mutants",))
    decided = record(
        CONTINUE.model_copy(update={"grounds": grounds}), since_start=SinceStart(table=OutcomeTable(cases=(case,), unnamed=2))
    )
    shown = "\n".join(explanation_lines(decided)), html_report(state(), [decided], "refs/x"), verdicts_page(state(), decided)
    for text in shown:
        assert "TO" in text.partition("t::a")[0].rpartition("FAIL")[2]
        assert "on the work in a clean checkout" in text
        assert "mutants" in text
