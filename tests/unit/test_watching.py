"""The live view of `helmsman run` and `watch`: current activity, log lines, and no cursor movement."""

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from deployments.live import LiveView
from deployments.output import in_local_time
from helmsman.records.agent import Guarded, StopAttempt
from helmsman.records.base import Usage
from helmsman.records.control import Control, EscalationLevel, Ladder, Oversight, Progress
from helmsman.records.events import (
    AgentStarted,
    CheckFinished,
    CheckStarted,
    Event,
    GateOpened,
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
from helmsman.render.activity import LINES_KEPT, Activity, LoggedEvent, apply_event
from tests.unit import builders
from tests.unit.builders import LIMIT_REACHED, MINUTE, NOW

pytestmark = pytest.mark.feature("H4")

EVIL = "good\x1b]0;owned\x07\x1b[2Jwiped\r\x08\x9b31m\u202e\nnews"
EXECUTE = StepStarted(iteration=2, attempt=1, step="execute")
GATE = GateOpened(loop="mend-it", gate=Gate(key="plan-1", kind=GateKind.PLAN, question="Well?", asked_at=NOW))


def tool(detail: str) -> ToolCalled:
    return ToolCalled(tool="Bash", detail=detail)


# --- what is being done -------------------------------------------------------------------------------------------


def done(*events: Event, at: datetime = NOW) -> Activity:
    """One event a second."""
    told = (LoggedEvent(at + timedelta(seconds=second), event) for second, event in enumerate(events))
    return reduce(apply_event, told, Activity())


def test_the_current_step_is_the_one_that_started_and_has_not_ended() -> None:
    begun, ended = (
        StepStarted(iteration=2, attempt=1, step="orient"),
        StepFinished(iteration=2, attempt=1, step="orient", seconds=1),
    )
    seen = done(begun, ended, EXECUTE, ended)
    assert (seen.iteration, seen.attempt, seen.step, seen.since) == (2, 1, "execute", NOW + timedelta(seconds=2))
    assert done(begun, ended).step == ""


def test_tool_calls_and_what_was_answered_to_them_stand_in_one_list_and_only_calls_are_counted() -> None:
    denied = ToolGuarded(guarded=Guarded(rule="destructive", tool="Bash", detail="rm -rf /", denied=True))
    sent_back = StopAnswered(attempt=StopAttempt(blocked=True, why="the check fails"))
    seen = done(EXECUTE, tool("ls"), denied, sent_back, SignalRaised(signal=LIMIT_REACHED), WaitStarted(until=NOW, reason="r"))
    assert list(seen.lines) == [
        "Bash: ls",
        "denied (destructive): Bash rm -rf /",
        "wants to stop, blocked: the check fails",
        "limit: 50 of 50 US dollars used (100%)",
    ]
    assert seen.tool_calls == 1


def test_a_check_has_a_line_at_its_start_and_one_for_its_result() -> None:
    failed = CheckFinished(result=builders.check(passed=False, name="unit"))
    assert done(EXECUTE, CheckStarted(name="unit"), failed).lines == ("… unit", "✘ unit (exit 1)")


@pytest.mark.parametrize("again", [(3, 1), (2, 2)])
def test_another_iteration_or_attempt_begins_with_nothing_called(again: tuple[int, int]) -> None:
    begin = StepStarted(iteration=again[0], attempt=again[1], step="orient")
    seen = done(EXECUTE, tool("ls"), CheckStarted(name="unit"), begin)
    assert (seen.tool_calls, seen.lines) == (0, ())
    assert done(EXECUTE, tool("ls"), replace_step(EXECUTE, "checks")).tool_calls == 1


def replace_step(event: StepStarted, step: str) -> StepStarted:
    return event.model_copy(update={"step": step})


def test_no_step_is_current_between_iterations() -> None:
    seen = done(EXECUTE, tool("ls"), IterationRecorded(record=builders.record(iteration=2)))
    assert (seen.step, seen.tool_calls) == ("", 1)


def test_only_the_last_calls_and_checks_are_kept() -> None:
    seen = done(EXECUTE, *(event for n in range(100) for event in (tool(f"{n}"), CheckStarted(name=f"{n}"))))
    assert len(seen.lines) == LINES_KEPT
    assert (seen.lines[-2:], seen.tool_calls) == (("Bash: 99", "… 99"), 100)


# --- the view -----------------------------------------------------------------------------------------------------


def lines_below(*events: Event, width: int = 100, standing: str = "") -> list[str]:
    """What stands below the lines in a terminal, after a minute."""
    view = LiveView(Console(file=StringIO(), width=width), ["mend-it"], done(*events, at=datetime.now(UTC) - MINUTE))
    view.idle_reason = standing
    return view.render().plain.splitlines()


def lines(console: Console, *events: Event, names: Sequence[str] = ("mend-it",)) -> str:
    view = LiveView(console, names)
    for event in events:
        view.show_event(LoggedEvent(NOW, event), names[0])
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_the_first_line_says_what_is_being_done_for_how_long_and_what_was_used() -> None:
    begun = AgentStarted(iteration=2, attempt=1, cost_usd=1.0, tokens=800_000, cost_limit=50)
    used = UsageCounted(usage=Usage(cost_usd=0.2, input_tokens=12_345))
    first = lines_below(EXECUTE, begun, tool("ls"), used)[0]
    assert first == "● mend-it #2 execute 0:01:00 · 1 tool call · $1.20 of $50.00 · 812k tokens"


@pytest.mark.parametrize(
    ("events", "standing", "words"),
    [
        ((), "", "● mend-it …"),
        ((StepStarted(iteration=1, attempt=1, step="baseline"),), "", "● mend-it checking the tree before any work"),
        ((EXECUTE, GATE), "", "● mend-it #2 waits for your answer"),
        ((EXECUTE,), "has no driver", "● mend-it #2 has no driver"),
    ],
)
def test_without_a_current_step_the_first_line_names_the_reason(events: tuple[Event, ...], standing: str, words: str) -> None:
    assert lines_below(*events, standing=standing)[0].startswith(words)


def test_where_only_tool_calls_were_read_the_step_is_the_one_that_calls_tools() -> None:
    assert "execute 0:01:00 · 2 tool calls" in lines_below(tool("ls"), tool("ls"))[0]


def test_below_it_stand_progress_level_and_what_happened_last() -> None:
    ladder = Ladder(rung=EscalationLevel.REFACTOR, reason="stuck")
    oversight = Oversight(progress=Progress(completion=0.5), control=Control(output=0.4), ladder=ladder)
    recorded = IterationRecorded(record=builders.record(iteration=1, oversight=oversight))
    assert lines_below(recorded, EXECUTE, *map(tool, "abcd"), CheckStarted(name="unit"))[1:] == [
        "  progress 50% · urgency 0.40 (continue) · E-I refactor",
        "  Bash: c",
        "  Bash: d",
        "  … unit",
    ]


def test_a_terminal_keeps_what_concerns_the_loop_and_a_pipe_every_step_and_tool_call() -> None:
    told = EXECUTE, tool("ls"), WaitStarted(until=NOW, reason="a limit")
    waits = "waiting until 2026-11-22 12:00:00 UTC: a limit"
    assert in_local_time(waits) in lines(Console(file=StringIO(), force_terminal=True, width=100), *told)
    assert "Bash" not in lines(Console(file=StringIO(), force_terminal=True, width=100), *told)
    assert lines(Console(file=StringIO()), *told).splitlines() == ["#2  the agent starts", "    Bash: ls", in_local_time(waits)]


def test_of_several_loops_each_line_names_its_own() -> None:
    told = lines(Console(file=StringIO()), EXECUTE, tool("ls"), WaitStarted(until=NOW, reason="a limit"), names=("one", "two"))
    assert told.startswith("one  waiting until")


@given(st.text() | st.just(EVIL))
def test_nothing_that_others_wrote_reaches_the_screen_as_more_than_text(evil: str) -> None:
    guarded = Guarded(rule="r", tool=evil, detail=evil, denied=True)
    told = (
        StepStarted(iteration=1, attempt=1, step=evil),
        ToolCalled(tool=evil, detail=evil),
        ToolGuarded(guarded=guarded),
        StopAnswered(attempt=StopAttempt(blocked=True, why=evil)),
        SignalRaised(signal=LIMIT_REACHED.model_copy(update={"message": evil})),
        CheckStarted(name=evil),
        CheckFinished(result=builders.check(passed=False, name=evil + "2", error=evil)),
    )
    assert all(line.isprintable() for last in range(len(told)) for line in lines_below(*told[: last + 1]))
    assert all(line.isprintable() for line in lines(Console(file=StringIO()), *told).splitlines())


# Lines as a terminal shows them: in local time


@pytest.fixture
def in_new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("in_new_york")
def test_times_are_shown_in_local_time_with_the_zone() -> None:
    told = in_local_time("until 2026-11-22 13:00:05 UTC, asked 2026-07-22 12:00 UTC")
    assert told == "until 2026-11-22 08:00:05 EST, asked 2026-07-22 08:00 EDT"
