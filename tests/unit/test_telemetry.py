"""Spans of an iteration: which ones, their ids and attributes, and what they never contain."""

import re
from collections.abc import Iterable
from datetime import timedelta
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.records.agents import Capability
from helmsman.records.base import Usage
from helmsman.records.checks import Judgement, JudgementOutcome
from helmsman.records.decision import Alert, Decision, Outcome, Severity
from helmsman.records.events import AgentStarted, CheckFinished, Event, StepFinished, StepStarted, ToolCalled, ToolReturned
from helmsman.render.activity import Activity, LoggedEvent, apply_event
from helmsman.render.spans import LONGEST, Point, Span, iteration_spans, loop_span, points_of, span_id, telemetry_names
from tests.unit import builders
from tests.unit.builders import NOW
from tests.unit.full_records import full_record, full_state
from tools.generated_parts import replace_parts
from tools.telemetry import DOCUMENT, tables

pytestmark = pytest.mark.feature("H6")

NAMES = telemetry_names()
EVIL = "good\x1b]0;owned\x07\x1b[2Jwiped\r\x08\x9b31m\u202e\nnews"
JUDGED = Judgement(
    outcome=JudgementOutcome.REJECTED, cause="no", model="judge-1", calls=2, seconds=4, usage=Usage(cost_usd=0.25, input_tokens=7)
)


def activity_of(*events: Event) -> Activity:
    """One event a second, from a minute before the iteration's end."""
    start = NOW - timedelta(minutes=1)
    return reduce(
        apply_event,
        (LoggedEvent(start + timedelta(seconds=second), event) for second, event in enumerate(events)),
        Activity(),
    )


def step_started(step: str, iteration: int = 1) -> StepStarted:
    return StepStarted(iteration=iteration, attempt=1, step=step)


def ended(step: str, iteration: int = 1) -> StepFinished:
    return StepFinished(iteration=iteration, attempt=1, step=step, seconds=1)


def called(name: str = "Bash", identity: str = "t1") -> ToolCalled:
    return ToolCalled(tool=name, detail="cat secret-plans", id=identity)


WORK = (
    step_started("execute"),
    AgentStarted(iteration=1, attempt=1),
    called(),
    called("Read", "t2"),
    ToolReturned(id="t2", failed=False),
    ToolReturned(id="t1", failed=True),
    ended("execute"),
    step_started("checks"),
    CheckFinished(result=builders.check(passed=False)),
    ended("checks"),
    step_started("judge"),
    ended("judge"),
)


def spans_of(*events: Event, **fields: object) -> list[Span]:
    return list(iteration_spans(builders.state(), builders.record(**fields), activity_of(*events)))  # pyright: ignore[reportArgumentType] - a test's own


def points_in(spans: Iterable[Span]) -> list[Point]:
    return [point for span in spans for point in points_of(span)]


def parents(spans: list[Span]) -> dict[str, str]:
    names = {span.path: span.name for span in spans} | {(): "the loop"}
    return {span.name: names[span.parent] for span in spans if span.parent is not None}


def test_tool_calls_hang_on_the_agent_the_agent_on_its_step_and_steps_on_the_iteration() -> None:
    assert parents(spans_of(*WORK, judgement=JUDGED)) == {
        "iteration": "the loop",
        "step execute": "iteration",
        "step checks": "iteration",
        "step judge": "iteration",
        "invoke_agent claude": "step execute",
        "execute_tool Bash": "invoke_agent claude",
        "execute_tool Read": "invoke_agent claude",
        "chat judge-1": "step judge",
        "check pytest": "step checks",
    }


def test_the_same_attempt_has_the_same_ids_and_another_one_has_others() -> None:
    def ids(uid: str, attempt: int) -> set[int]:
        told = iteration_spans(builders.state(uid=uid), builders.record(attempt=attempt), activity_of(*WORK))
        return {span_id(uid, span.path) for span in told}

    assert ids("u1", 1) == ids("u1", 1)
    assert not ids("u1", 1) & (ids("u1", 2) | ids("u2", 1))
    assert len(ids("u1", 1)) == len(spans_of(*WORK))


def test_unreported_values_are_omitted_rather_than_zero() -> None:
    untold = builders.execution(builders.call(untold=(Capability.TOKENS, Capability.COST), usage=Usage()))
    record = builders.record(execution=untold)
    spans = list(iteration_spans(builders.state(), record, Activity()))
    agent = next(span for span in spans if span.name.startswith("invoke_agent"))
    assert not [name for name in agent.attributes if "usage" in name or "cost" in name]
    assert not {point.instrument for point in points_in(spans)} & {"helmsman.cost", "gen_ai.client.token.usage"}


def test_an_iteration_is_counted_once_with_its_result_calls_and_signals() -> None:
    signal = Alert(rule="limits.near", severity=Severity.WARN, message="soon", value=0.9, threshold=0.8)
    spans = spans_of(*WORK, judgement=JUDGED, signals=(signal, signal))
    measured = [(point.instrument, point.value, *point.attributes.values()) for point in points_in(spans)]
    assert [one for one in measured if one[0].startswith("helmsman.") and one[0] != "helmsman.cost"] == [
        ("helmsman.iterations", 1, "basic", "failed", False, "continue", "continue"),
        ("helmsman.iteration.duration", 60.0, "basic"),
        ("helmsman.verdicts", 1, "basic", "rejected"),
        ("helmsman.signals", 1, "limits.near", "WARN"),
        ("helmsman.signals", 1, "limits.near", "WARN"),
    ]
    chat = ("chat", "anthropic", "judge-1")
    assert [one for one in measured if chat == one[2:5] or one[:2] == ("helmsman.cost", 0.25)] == [
        ("gen_ai.client.token.usage", 7, *chat, "input"),
        ("gen_ai.client.operation.duration", 1.0, *chat),
        ("helmsman.cost", 0.25, "basic", "judge", "judge-1"),
    ]


@given(st.text() | st.just(EVIL))
def test_foreign_text_is_one_short_line_wherever_it_stands(evil: str) -> None:
    call = builders.call(model=evil, cli_version=evil, session_id=evil)
    events = (
        step_started("execute"),
        called(evil, evil),
        CheckFinished(result=builders.check(passed=False, name=evil)),
        ended("execute"),
    )
    record = builders.record(execution=builders.execution(call), judgement=JUDGED.model_copy(update={"model": evil}))
    spans = list(iteration_spans(builders.state(), record, activity_of(*events)))
    texts = [span.name for span in spans] + [value for span in spans for value in span.attributes.values()]
    texts += [value for point in points_in(spans) for value in point.attributes.values()]
    assert all(text.isprintable() and len(text) <= LONGEST + 20 for text in texts if isinstance(text, str))


def test_spans_contain_no_text_of_prompts_answers_commands_or_paths() -> None:
    state, record = full_state(), full_record()
    line = activity_of(step_started("execute", record.iteration), called(), ended("execute", record.iteration))
    spans = list(iteration_spans(state, record, line))
    told = str([*spans, *points_in(spans)])
    call = record.execution.call
    private = [
        call.final_text,
        call.error,
        call.commands[0].command,
        call.edited[0],
        state.config.goal,
        "secret-plans",
        call.pain,
    ]
    assert not [text for text in private if text in told]


def full_telemetry() -> tuple[list[Span], set[str], set[str]]:
    state, record = full_state(), full_record()
    line = activity_of(*WORK)
    ending = Decision(kind="stop", rule="r", reason="", at=NOW, outcome=Outcome.FAILED)
    plain = iteration_spans(builders.state(builders.config(claude={"model": "m"})), builders.record(judgement=JUDGED), line)
    spans = [loop_span(state, ending), *iteration_spans(state, record, line), *plain]
    points = points_in(spans)
    attributes = {name for span in spans for name in span.attributes}
    attributes |= {name for span in spans for signal in span.signals for name in signal}
    return spans, attributes | {name for point in points for name in point.attributes}, {point.instrument for point in points}


def test_the_tables_name_every_attribute_span_and_instrument_and_nothing_else() -> None:
    spans, attributes, instruments = full_telemetry()
    assert attributes == NAMES["attributes"].keys()
    assert instruments == NAMES["instruments"].keys()
    patterns = [re.compile(re.sub(r"\{\w+\}", ".+", name)) for name in NAMES["spans"]]
    assert all(any(pattern.fullmatch(span.name) for span in spans) for pattern in patterns)
    assert all(any(pattern.fullmatch(span.name) for pattern in patterns) for span in spans)


def test_names_of_the_conventions_are_the_conventions_own() -> None:
    from importlib import import_module

    where = "opentelemetry.semconv.{}attributes.{}_attributes"
    modules = [
        import_module(where.format(*part)) for part in (("_incubating.", "gen_ai"), ("_incubating.", "vcs"), ("", "error"))
    ]
    known = {value for module in modules for name, value in vars(module).items() if name.isupper()}
    assert {name for name in NAMES["attributes"] if not name.startswith("helmsman.")} <= known
    metrics = vars(import_module("opentelemetry.semconv._incubating.metrics.gen_ai_metrics")).values()
    assert {name for name in NAMES["instruments"] if not name.startswith("helmsman.")} <= {
        one for one in metrics if isinstance(one, str)
    }


def test_the_document_is_up_to_date() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert replace_parts(text, tables()) == text
