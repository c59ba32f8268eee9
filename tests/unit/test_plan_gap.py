"""Whether the plan in progress.md still matches the repository."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from helmsman.oversee.plan_gap import UNTOUCHED, plan_alert
from helmsman.parsers.paths import Paths
from helmsman.records.agent import AgentOutcome
from helmsman.records.control import IterationSummary, Movement
from helmsman.records.decision import Alert
from helmsman.records.iteration import Choice, WorkingMemory

pytestmark = pytest.mark.feature("M9")

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
THERE = Paths({"src/parser.py", "src/lexer.py", "src/cart.py", "tests/test_parser.py", "README.md"}).__contains__


def summary(
    movement: Movement = Movement.SIDEWAYS, *, files: tuple[str, ...] = ("src/cart.py",), green: bool = False
) -> IterationSummary:
    return IterationSummary(
        iteration=1,
        at=NOW,
        outcome=AgentOutcome.FINISHED,
        movement=movement,
        completion=0.4,
        green=green,
        files=files[:20],
        files_changed=len(files),
    )


def plan(gap: str = "", *decisions: str) -> WorkingMemory:
    return WorkingMemory(remaining_gap=gap, decisions=tuple(Choice(chose=text) for text in decisions))


def alert_message(
    memory: WorkingMemory,
    history: Sequence[IterationSummary] = (summary(),),
    earlier_gap: str = "",
) -> Alert | None:
    return plan_alert(memory, THERE, history, earlier_gap)


# files that are not there ---------------------------------------------------------------------------------------------


def test_a_plan_that_rests_on_files_that_do_not_exist_is_a_divergence() -> None:
    signal = alert_message(plan("Fix the rounding in `src/money.py`; wire src/shop/tax.py to src/cart.py."))
    assert signal is not None
    assert "2 of the 3 files that it names do not exist (threshold 2 and half): src/money.py, src/shop/tax.py" in signal.message


def test_files_that_are_there_to_come_gone_or_no_sources_are_none() -> None:
    for gap in [
        "Fix src/money.py",
        "Fix src/money.py, src/tax.py, src/parser.py, src/lexer.py and src/cart.py",
        "Create src/money.py and src/tax.py",
        "Write tests/test_money.py, tests/test_tax.py",
        "src/money.py and src/tax.py are missing",
        "Remove src/money.py and src/tax.py",
        "Fix /nest/project/src/parser.py and ./src/lexer.py:12",
        "Fix the output out.json, report.csv and docs/api.md",
        "Use Node.js and next.js for e.g. a.b.c",
        "",
    ]:
        assert alert_message(plan(gap)) is None


def test_files_that_the_loop_changed_may_have_moved() -> None:
    had = [summary(files=("src/money.py", "src/tax.py")), summary()]
    assert alert_message(plan("Fix src/money.py and src/tax.py"), history=had) is None


# a plan that nobody touches -------------------------------------------------------------------------------------------

GAP = "The rounding in src/parser.py is wrong, and so is the lexer."


def test_a_plan_ignored_for_four_iterations_is_a_divergence() -> None:
    signal = alert_message(plan(GAP), history=[summary()] * UNTOUCHED, earlier_gap=GAP.replace(" ", "  ").upper())
    assert signal is not None
    assert "it describes the same remaining work as 4 iterations ago" in signal.message
    assert "src/cart.py" in signal.message


def test_a_plan_that_may_have_been_followed_is_none() -> None:
    cases = {
        "waits": ([summary()] * 3 + [summary(Movement.WAITED)] * 5, GAP, GAP),
        "another plan": ([summary()] * 4, GAP, "Two things are wrong in src/parser.py."),
        "a plan without files": ([summary()] * 4, "17 tests fail.", "17 tests fail."),
        "one touched it": ([summary(), summary(files=("src/parser.py",)), summary(), summary()], GAP, GAP),
        "one touched a file whose name says nothing": (
            [summary(), summary(files=("src/main.py",)), summary(), summary()],
            "Fix src/main.py",
            "Fix src/main.py",
        ),
        "one only looked": ([summary(), summary(Movement.STILL, files=()), summary(), summary()], GAP, GAP),
        "one got on": ([summary(Movement.FORWARD), summary(), summary(), summary()], GAP, GAP),
        "green tasks one by one": ([summary(green=True)] * 4, GAP, GAP),
        "not all files are known": ([summary(files=tuple(f"src/a{n}.py" for n in range(30)))] * 4, GAP, GAP),
    }
    for case, (history, gap, earlier) in cases.items():
        assert alert_message(plan(gap), history=history, earlier_gap=earlier) is None, case


# all of them ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("last", [summary(green=True), summary(Movement.FORWARD)], ids=["green", "forward"])
def test_work_with_progress_needs_no_other_plan(last: IterationSummary) -> None:
    assert alert_message(plan("Fix src/money.py and src/tax.py"), [summary()] * 4 + [last]) is None


@pytest.mark.parametrize("piece", ["a/", "src/a.py ", "x:1", "(", "\n", "[a]("])
def test_a_plan_of_any_length_is_read(piece: str) -> None:
    signal = alert_message(plan(piece * 100_000), [summary()] * 4, piece * 100_000)
    assert signal is None or len(signal.message) < 2000


# an item of the plan's file -------------------------------------------------------------------------------------------

ITEM = "Mend the rounding in src/money.py and the totals in src/bill.py"


def test_an_unproven_item_with_missing_files_is_a_divergence_despite_green_checks() -> None:
    signal = plan_alert(plan(), THERE, (summary(green=True),), "", ITEM)
    assert signal is not None
    assert signal.rule == "plan.diverged"
    assert "of the current item, 2 of the 2 files that it names do not exist" in signal.message
    assert plan_alert(plan(), THERE, (summary(green=True),), "") is None
    assert plan_alert(plan(), THERE, (summary(Movement.FORWARD),), "", ITEM) is None
    assert plan_alert(plan(), THERE, (summary(),), "", "Create src/money.py and src/bill.py") is None
    assert plan_alert(plan(), THERE, (summary(),), "", "Mend src/cart.py, src/lexer.py and src/money.py") is None
