"""The dashboard: six systems, each with a sign and the numbers behind it."""

from typing import Any

import pytest

from helmsman.config import LoopConfig
from helmsman.records.agent import AgentOutcome
from helmsman.records.control import Conflict, Control, EscalationLevel, Imperative, Ladder, Movement, Oversight
from helmsman.records.decision import Decision, Outcome
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState, Spending
from helmsman.render.dashboard import Sign, dashboard
from tests.unit.builders import NOW, call, check, execution, record, report, state
from tests.unit.full_records import FINDINGS, open_gate, quoting_record, quoting_state
from tests.unit.histories import SIDEWAYS, green, history, red, step
from tests.unit.rendered import read

SYSTEMS = ("1", "2", "3", "3*", "4", "5")
MINUS = "\N{MINUS SIGN}"
GREEN = report(check(passed=True))
ORDER = Imperative(source="goal", text="change shop.py", modality="must")


def overview(state: LoopState, record: IterationRecord | None = None) -> dict[str, str]:
    """By system how it stands, as the first table says."""
    rows = read(dashboard(state, record)).tables[0][1:]
    return {row[0].split()[1]: row[1].split()[0] for row in rows}


def section_of(page: str, system: str) -> dict[str, str]:
    """What a system's own section tells, by name."""
    sections = [section for section in page.split("\n## ")[1:] if section.split()[2] == system]
    return {row[0]: row[1] for row in read(f"## {sections[0]}").tables[0][1:]}


@pytest.mark.feature("H5")
def test_there_are_six_systems_each_with_its_sign() -> None:
    page = read(dashboard(quoting_state(), quoting_record()))
    rows = page.tables[0][1:]
    assert tuple(row[0].split()[1] for row in rows) == SYSTEMS
    assert page.headings[1:] == [f"{row[1].split()[0]} {row[0]}" for row in rows]


@pytest.mark.feature("H5")
@pytest.mark.parametrize(
    ("system", "name", "numbers"),
    [
        ("1", "tree", f"2 files, +33 {MINUS}11, 1 commit, now cccccccccc"),
        ("2", "attempt", "2; work was salvaged 1 time"),
        ("3", "control", "P 0.38, I 1.50, D -0.125 by 0.30/0.10/0.20 (some words) give 0.81: some words"),
        ("3", "learning", "test: level 2, 3 in a row, 4 in all, the advice did not help"),
        ("3*", "claims", "6 of 8 claims held so far"),
        ("3*", "purpose", "4 of 10 files were related to the task"),
        ("4", "best so far", "88% after iteration 4, at ffffffffff"),
    ],
)
def test_a_system_tells_its_numbers(system: str, name: str, numbers: str) -> None:
    assert section_of(dashboard(quoting_state(), quoting_record()), system)[name] == numbers


def _with(**fields: Any) -> LoopState:
    return state(checks=GREEN, **fields)


@pytest.mark.feature("H5")
@pytest.mark.parametrize(
    ("system", "before", "sign"),
    [
        (
            "2",
            state(oversight=Oversight(conflicts=(Conflict(kind="scope", first=ORDER, second=ORDER, about="x"),))),
            Sign.BAD,
        ),
        ("3", state(oversight=Oversight(control=Control(output=0.6, band="adjust"))), Sign.WATCH),
        ("3", state(oversight=Oversight(ladder=Ladder(rung=EscalationLevel.HUMAN))), Sign.BAD),
        ("3", state(spending=Spending(cost_usd=50)), Sign.BAD),
        ("3*", _with(), Sign.GOOD),
        ("3*", state(checks=report(check(passed=False))), Sign.WATCH),
        ("3*", _with(findings=FINDINGS), Sign.BAD),
        ("4", state(history=history(green())), Sign.GOOD),
        ("4", state(history=history(green(), step(movement=Movement.BACK))), Sign.BAD),
        ("5", state(gate=open_gate("how?")), Sign.WATCH),
        (
            "5",
            state(ending=Decision(kind="stop", rule="limits", reason="", at=NOW, outcome=Outcome.STOPPED)),
            Sign.BAD,
        ),
    ],
)
def test_the_sign_follows_from_the_numbers(system: str, before: LoopState, sign: Sign) -> None:
    assert overview(before)[system] == sign


@pytest.mark.parametrize(
    ("outcome", "moment", "sign"),
    [
        (AgentOutcome.FINISHED, green(), Sign.GOOD),
        (AgentOutcome.FINISHED, red(SIDEWAYS, "a"), Sign.WATCH),
        (AgentOutcome.MAX_TURNS, green(), Sign.WATCH),
        (AgentOutcome.USAGE_LIMIT, red(SIDEWAYS, "a"), Sign.BAD),
    ],
)
def test_the_sign_of_operations_follows_from_outcome_and_progress(
    outcome: AgentOutcome, moment: dict[str, Any], sign: Sign
) -> None:
    done = record(execution=execution(call(outcome)), moment=history(moment)[0])
    assert overview(state(), done)["1"] == sign


def test_before_the_first_iteration_there_is_nothing_yet() -> None:
    page = read(dashboard(state()))
    assert overview(state())["1"] == Sign.WATCH
    assert page.headings[0] == "mend-it: ▶ running"
    assert "no iteration has ended since the loop was started" in page.paragraphs


def test_a_loop_that_nothing_verifies_is_not_in_order() -> None:
    unchecked = LoopConfig(goal="write", allow_no_checks=True)
    page = dashboard(state(unchecked, checks=report()))
    assert overview(state(unchecked, checks=report()))["3*"] == Sign.WATCH
    assert "no check configured" in page
