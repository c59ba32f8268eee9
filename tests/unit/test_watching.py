"""What `helmsman watch` makes of events, state and lock: rows that fit a screen, and nothing that moves a cursor."""

from dataclasses import replace
from datetime import timedelta
from functools import reduce
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from deployments.watch import fit
from helmsman.records.agent import AgentOutcome, ContextUse, Guarded, LastCall, StopAttempt
from helmsman.records.base import Usage
from helmsman.records.checks import Judgement, JudgementOutcome
from helmsman.records.control import Control, EscalationLevel, IterationSummary, Ladder, Movement, Oversight, Progress
from helmsman.records.events import (
    CheckFinished,
    CheckStarted,
    Event,
    IterationRecorded,
    SignalRaised,
    StepFinished,
    StepStarted,
    StopAnswered,
    ToolCalled,
    ToolGuarded,
    UsageCounted,
    WaitStarted,
)
from helmsman.records.gates import Gate, GateKind
from helmsman.records.state import Waiting
from helmsman.render.activity import Activity, LoggedEvent, after
from helmsman.render.terminal import BARS, Row, ScreenModel, changed_rows, chart, frame
from tests.unit import builders
from tests.unit.builders import HOUR, LIMIT_REACHED, MINUTE, NOW, STOP

pytestmark = pytest.mark.feature("H4")

EVIL = "good\x1b]0;owned\x07\x1b[2Jwiped\r\x08\x9b31m\u202e\nnews"
EXECUTE = StepStarted(iteration=2, attempt=1, step="execute")
DRIVER = "process 7 on here since 2026-11-22T11:00:00+00:00"


def tool(detail: str) -> ToolCalled:
    return ToolCalled(tool="Bash", detail=detail)


# --- what is being done -------------------------------------------------------------------------------------------


def done(*events: Event) -> Activity:
    """One event a second."""
    told = (LoggedEvent(NOW + timedelta(seconds=second), event) for second, event in enumerate(events))
    return reduce(after, told, Activity())


def test_the_step_that_began_and_has_not_ended_is_the_one_under_way() -> None:
    begun, ended = (
        StepStarted(iteration=2, attempt=1, step="orient"),
        StepFinished(iteration=2, attempt=1, step="orient", seconds=1),
    )
    seen = done(begun, ended, EXECUTE, ended)
    assert (seen.iteration, seen.attempt, seen.step, seen.since) == (2, 1, "execute", NOW + timedelta(seconds=2))
    assert done(begun, ended).step == ""
    assert model(done(begun, ended)).under_way is None


def test_tool_calls_and_what_was_answered_to_them_stand_in_one_list_and_only_calls_are_counted() -> None:
    denied = ToolGuarded(guarded=Guarded(rule="destructive", tool="Bash", detail="rm -rf /", denied=True))
    sent_back = StopAnswered(attempt=StopAttempt(blocked=True, why="the check fails"))
    seen = done(EXECUTE, tool("ls"), denied, sent_back, SignalRaised(signal=LIMIT_REACHED), WaitStarted(until=NOW, reason="r"))
    assert [said.text for said in seen.calls] == [
        "Bash: ls",
        "denied (destructive): Bash rm -rf /",
        "wants to stop, blocked: the check fails",
        "limit: 50 of 50 US dollars used (100%)",
    ]
    assert seen.tool_calls == 1


def replace_step(event: StepStarted, step: str) -> StepStarted:
    return event.model_copy(update={"step": step})


# --- the frame ----------------------------------------------------------------------------------------------------


def model(activity: Activity | None = None, *, driver: str = DRIVER, **fields: Any) -> ScreenModel:
    record, answered = fields.pop("record", None), fields.pop("answered", None)
    state = builders.state(**fields)
    driven_since = NOW - HOUR if driver else None
    return ScreenModel(state, activity or Activity(), record, driver, driven_since, answered, NOW + MINUTE)


def shown(of: ScreenModel, width: int = 100, height: int = 24) -> list[str]:
    return [row.text for row in frame(of, width, height)]


def moment(completion: float, number: int = 1) -> IterationSummary:
    return IterationSummary(
        iteration=number, at=NOW, outcome=AgentOutcome.FINISHED, movement=Movement.FORWARD, completion=completion
    )


def test_the_first_row_says_what_is_being_done_and_for_how_long() -> None:
    assert shown(model(done(EXECUTE, tool("ls"))))[0] == "● mend-it  #2 of 30  execute 0:01:00, 1 tool call"
    again = replace(done(EXECUTE), attempt=2)
    assert shown(model(again))[0] == "● mend-it  #2 of 30 (attempt 2)  execute 0:01:00"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "● mend-it  #5 of 30  between two steps"),
        ({"driver": ""}, "○ mend-it  #5 of 30  nobody drives it"),
        ({"gate": {"key": "plan-1", "kind": "plan", "question": "Well?", "asked_at": NOW}}, "waits for your answer"),
        ({"waiting": Waiting(until=NOW + HOUR, rule="r", reason="r")}, "#5 of 30  waits"),
        ({"ending": STOP}, "is about to end or to begin again"),
    ],
)
def test_where_no_step_is_under_way_the_first_row_says_why(fields: dict[str, Any], words: str) -> None:
    assert words in shown(model(iteration=4, **fields))[0]


@pytest.mark.parametrize(
    ("fields", "row"),
    [
        ({"iteration": 3}, "driven by  nobody; go on with: helmsman resume mend-it"),
        ({}, "driven by  nobody yet; an engine takes a moment to come up; if none was started: helmsman resume mend-it"),
        (
            {"gate": {"key": "plan-1", "kind": "plan", "question": "Well?", "asked_at": NOW}},
            "driven by  nobody; where no engine takes it up after your answer: helmsman resume mend-it",
        ),
    ],
)
def test_where_nobody_drives_it_the_way_on_is_told(fields: dict[str, Any], row: str) -> None:
    assert row in shown(model(driver="", **fields))


def test_how_it_is_steered_and_what_it_has_used_up_is_told() -> None:
    ladder = Ladder(rung=EscalationLevel.REFACTOR, reason="stuck")
    oversight = Oversight(progress=Progress(completion=0.5), control=Control(output=0.4), ladder=ladder, idle=2)
    limits = {"cost_usd": 10, "tokens": 1_000_000, "wall_clock_hours": 2}
    spending = {"agent_calls": 4, "cost_usd": 9.5, "tokens": 250_000, "seconds": 1800}
    of = model(
        of=builders.config(limits=limits),
        oversight=oversight,
        spending=spending,
        recent_calls=(NOW, NOW),
        history=(moment(0.2), moment(0.5)),
        last_call=LastCall(context=ContextUse(peak=50, window=100)),
    )
    rows = shown(of)
    for row in (
        "           ▂▄",
        "progress   50%, urgency 0.40 (continue)",
        "level      E-I refactor, 2 iterations in a row without progress",
        "spent      $9.50 of $10.00 (95%), 250,000 of 1,000,000 (25%) tokens",
        "time       0:30:00 of 2 hours (25%), 4 agent calls, 2 of 100 in an hour",
        "context    50% of 100 tokens at its fullest",
    ):
        assert row in rows
    assert {row.style for row in frame(of, 80, 24) if row.text.startswith(("spent", "time"))} == {"red"}


def test_what_the_running_call_has_used_is_added_until_its_iteration_is_recorded() -> None:
    used = UsageCounted(usage=Usage(cost_usd=0.5, input_tokens=200))
    due, again = (StepStarted(iteration=1, attempt=attempt, step="execute") for attempt in (1, 2))

    def spent(*events: Event) -> str:
        config, spending = builders.config(limits={"cost_usd": 10}), {"cost_usd": 1, "tokens": 1000}
        return next(line for line in shown(model(done(*events), of=config, spending=spending)) if line.startswith("spent"))

    assert spent(due, used) == spent(due, used, replace_step(due, "checks")) == "spent      $1.50 of $10.00 (15%), 1,200 tokens"
    for passed in (IterationRecorded(record=builders.record()), again):
        assert spent(due, used, passed) == "spent      $1.00 of $10.00 (10%), 1,000 tokens"


GATE = Gate(key="merge-3", kind=GateKind.MERGE, question="May it be merged?", asked_at=NOW)


def test_an_open_question_is_told_with_the_commands_that_answer_it() -> None:
    rows = shown(model(gate=GATE))
    assert "question   May it be merged?" in rows
    assert "           helmsman reject mend-it --guidance TEXT" in rows


def test_what_changes_is_told_once_where_there_is_no_screen() -> None:
    first, asked = model(), model(gate=GATE)
    assert [row.text[:9] for row in changed_rows(None, first)] == ["goal     ", "driven by"]
    assert changed_rows(first, replace(first, now=NOW + HOUR)) == []
    assert changed_rows(first, asked)[0].text.startswith("asked ")
    assert changed_rows(asked, asked) == []
    assert "helmsman resume" in changed_rows(first, model(driver="", iteration=1))[0].text
    assert changed_rows(first, model(driver="", ending=STOP)) == []


@given(st.text() | st.just(EVIL))
def test_nothing_that_others_wrote_reaches_the_screen_as_more_than_text(evil: str) -> None:
    guarded = Guarded(rule="r", tool=evil, detail=evil, denied=True)
    seen = done(
        StepStarted(iteration=1, attempt=1, step=evil),
        ToolCalled(tool=evil, detail=evil),
        ToolGuarded(guarded=guarded),
        StopAnswered(attempt=StopAttempt(blocked=True, why=evil)),
        SignalRaised(signal=LIMIT_REACHED.model_copy(update={"message": evil})),
        CheckStarted(name=evil),
        CheckFinished(result=builders.check(passed=False, name=evil + "2", error=evil)),
    )
    of = model(
        seen,
        driver=f"process {evil}",
        loop=evil,
        of=builders.config(f"g{evil}"),
        gate=GATE.model_copy(update={"question": evil, "evidence": evil}),
        waiting=Waiting(until=NOW, rule=evil, reason=evil),
        history=(moment(1),),
        oversight=Oversight(faults=(evil,), ladder=Ladder(rung=EscalationLevel.REFACTOR, reason=evil)),
        record=builders.record(
            STOP.model_copy(update={"reason": evil, "rule": evil}),
            judgement=Judgement(outcome=JudgementOutcome.REJECTED, cause=evil),
        ),
    )
    assert all(row.text.isprintable() for row in [*frame(of, 80, 24), *frame(replace(of, driver=""), 80, 60)])


# --- chart and screen ---------------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50), st.integers(1, 6))
def test_a_chart_has_a_column_for_each_value_and_is_the_higher_the_larger_it_is(shares: list[float], height: int) -> None:
    rows = chart(shares, height)
    assert [len(row) for row in rows] == [len(shares)] * height
    levels = [sum(BARS.find(row[column]) + 1 for row in rows) for column in range(len(shares))]
    assert all(1 <= level <= height * len(BARS) for level in levels)
    assert [level for _, level in sorted(zip(shares, levels, strict=True))] == sorted(levels)


ROWS = st.lists(
    st.builds(
        Row, st.text(st.characters(codec="utf-8", exclude_categories=("C",))), st.just(""), st.integers(0, 9), st.booleans()
    )
)


def screen() -> Console:
    return Console(file=StringIO(), highlight=False)


@given(ROWS, st.integers(1, 90), st.integers(1, 20))
def test_rows_never_need_more_than_the_screen_has(rows: list[Row], width: int, height: int) -> None:
    lines = fit(rows, screen(), width, height)
    assert len(lines) <= height
    assert all(one.cell_len <= width for one in lines)


def test_the_least_important_rows_are_left_out_and_the_others_stay_in_order() -> None:
    rows = [Row("a", rank=3), Row("b", rank=1), Row("c", rank=9), Row("d", rank=2)]
    assert [one.plain for one in fit(rows, screen(), 10, 3)] == ["a", "b", "d"]


def test_a_row_is_cut_where_the_screen_ends_and_carried_on_where_it_may_be_typed() -> None:
    command = "approve    helmsman approve a-loop-with-a-name --guidance TEXT"
    assert [one.plain for one in fit([Row(command)], screen(), 30, 9)] == ["approve    helmsman approve a…"]
    told = [one.plain.rstrip() for one in fit([Row(command, whole=True)], screen(), 40, 9)]
    assert told == ["approve    helmsman approve", "           a-loop-with-a-name --guidance", "           TEXT"]
