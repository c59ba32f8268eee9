"""A plan as people see it: a line and a table."""

import pytest

from helmsman.parsers.plan_order import in_hand
from helmsman.records.decision import Decision, Outcome
from helmsman.records.plan import Plan, PlanItem, PlanProgress
from helmsman.records.state import LoopState
from helmsman.render.artifacts import plan_page, states_of
from helmsman.render.report import html_report
from tests.unit import builders

pytestmark = pytest.mark.feature("M8")

HOSTILE = '<script>alert("1")</script> & [link](http://x) | `code`'
ESCALATED = Decision(kind="stop", rule="plan.tries", reason="5 tries", at=builders.NOW, outcome=Outcome.WAITING)


def following(size: int, *, done: int, title: str = "Write a part", **fields: object) -> LoopState:
    """A loop in the middle of a plan in which each fourth item opens the next four."""
    items = tuple(
        PlanItem(id=f"T{number}", title=title, needs=(f"T{number // 4 - 1}",) if number >= 4 else (), done=number < done)
        for number in range(size)
    )
    hand = in_hand(Plan(kind="toml", items=items))
    now = hand.item.id if hand.item else ""
    plan = PlanProgress(
        total=size, done=done, now=now, tries={now: 1}, missing="its check fails", sketch=hand.sketch, ticked={"T0": 3}
    )
    return builders.state(builders.config(plan={"file": "plan.toml"}), plan=plan, **fields)


def test_an_item_is_done_in_hand_ready_blocked_or_escalated() -> None:
    state = following(9, done=1)
    states = states_of(state)
    assert [states[f"T{number}"] for number in range(9)] == ["done", "now", "ready", "ready", *(["ready"] * 4), "blocked"]
    assert states_of(state.model_copy(update={"ending": ESCALATED}))["T1"] == "escalated"
    assert states_of(state.model_copy(update={"ending": builders.STOP}))["T1"] == "ready"


def test_titles_of_a_plan_become_no_markup_anywhere() -> None:
    state = following(2, done=0, title=HOSTILE)
    html = html_report(state, [], "refs/helmsman/mend-it")
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    markdown = plan_page(state)
    assert "<script" not in markdown
    assert "[link](" not in markdown


def test_the_page_of_the_engine_holds_a_row_for_every_item() -> None:
    told = plan_page(following(7, done=2))
    rows = [line for line in told.splitlines() if line.startswith("| `T")]
    assert len(rows) == 7
    assert [cell.strip() for cell in rows[0].split("|")[1:-1]] == ["`T0`", "✔ done", "Write a part", "", "#3", ""]
    assert "its check fails" in told
    assert "220 further items are left out" in plan_page(following(300, done=2))
    assert plan_page(builders.state()) == ""
    assert "The plan" not in html_report(builders.state(), [], "refs/helmsman/mend-it")
