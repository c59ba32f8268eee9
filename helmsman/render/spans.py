"""Spans of a loop and its iterations as plain values: loop → iteration → step → agent → tool call.

They contain no text of prompts, tool arguments or answers. `telemetry.toml` describes every name, and the spans that
each metric is computed from.
"""

import hashlib
import tomllib
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from helmsman.plain import clean
from helmsman.records.agent import AgentOutcome
from helmsman.records.agents import CLAUDE, Capability
from helmsman.records.base import Usage
from helmsman.records.decision import Decision, Outcome
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from helmsman.render.activity import Activity, Timed

Value = str | bool | int | float
Attributes = Mapping[str, Value]
OptionalAttributes = Mapping[str, Value | None]
Path = tuple[str | int, ...]  # of a span in the trace of its loop; empty for the root

LONGEST = 200  # characters of a name that comes from an agent or a repository
PROVIDERS = {CLAUDE: "anthropic", "codex": "openai", "gemini": "gcp.gemini"}  # agents with a single provider
SUCCESSES = frozenset({AgentOutcome.FINISHED, AgentOutcome.ROTATED})
OUTSIDE_ITERATIONS = frozenset({"baseline", "merge_checks", "draw_lessons"})  # steps before, between and after iterations
NO_ERRORS = frozenset({Outcome.COMPLETED, Outcome.WAITING, Outcome.CANCELLED})  # outcomes that are not errors


class Span(NamedTuple):
    """An operation with a duration; an error if it has the attribute `error.type`."""

    path: Path
    parent: Path | None  # None for the root
    name: str
    start: datetime
    end: datetime
    attributes: Attributes
    signals: tuple[Attributes, ...] = ()  # raised by the overseer before its end


class Point(NamedTuple):
    """A measurement for the named instrument."""

    instrument: str
    value: float
    attributes: Attributes


@cache
def telemetry_names() -> Mapping[str, Mapping[str, Any]]:
    """Spans, attributes and instruments with their descriptions."""
    return tomllib.loads((files("helmsman.render") / "telemetry.toml").read_text(encoding="utf-8"))


def trace_id(uid: str) -> int:
    """128-bit trace id of a loop, derived from its uid, so that a loop resumed after a crash continues the same trace."""
    return _digest(16, "trace", uid)


def span_id(uid: str, path: Path) -> int:
    """Deterministic 64-bit span id: a child can refer to a parent that is exported later, such as the loop's span."""
    return _digest(8, "span", uid, *path)


def trace_context(uid: str, iteration: int, attempt: int) -> dict[str, str]:
    """Environment variables (W3C Trace Context) that make the agent's own telemetry a child of the span of its call."""
    return {"TRACEPARENT": f"00-{trace_id(uid):032x}-{span_id(uid, (iteration, attempt, 'agent')):016x}-01"}


def _digest(size: int, *parts: str | int) -> int:
    """Hash the parts to an integer; never 0, which means no trace or no span."""
    return int.from_bytes(hashlib.sha256("\0".join(map(str, parts)).encode()).digest()[:size], "big") or 1


def points_of(span: Span) -> Iterator[Point]:
    """Measurements of a span. Their attributes are of low cardinality: no loop and no tool."""
    measured = {**span.attributes, "seconds": (span.end - span.start).total_seconds()}
    for kind, attributes in ((span.name.split()[0], measured), *(("signal", signal) for signal in span.signals)):
        for name, instrument in telemetry_names()["instruments"].items():
            dimensions = {key: attributes[key] for key in instrument["by"] if key in attributes}
            for source, constant in instrument["values"].items() if kind in instrument["of"] else ():
                value = attributes.get(source, 0)
                amount = 1 if isinstance(value, str) else value  # names are counted, sizes are summed
                if amount > 0:
                    yield Point(name, amount, {**dimensions, **constant})


def loop_span(state: LoopState, ending: Decision) -> Span:
    """The root span, exported when the loop ends; a reopened loop exports it again under the same id."""
    attributes: OptionalAttributes = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "helmsman",
        "helmsman.loop.id": state.loop,
        "helmsman.mode": _mode(state),
        "helmsman.outcome": ending.outcome or "",
        "helmsman.decision.rule": ending.rule,
        "helmsman.iterations": state.iteration,
        "helmsman.completion": state.oversight.progress.completion,
        "helmsman.level": int(state.oversight.ladder.rung),
        "error.type": _error_type(ending),
        "helmsman.cost_usd": None if "cost" in state.untold else round(state.spending.cost_usd, 6),
        "helmsman.tokens": None if "tokens" in state.untold else state.spending.tokens,
    }
    return Span((), None, "invoke_workflow helmsman", state.created_at, max(ending.at, state.created_at), _attributes(attributes))


def outside_spans(line: Activity, name: str) -> tuple[Span, ...]:
    """A finished step outside of iterations, with its checks."""
    return tuple(_step_spans(line, (), lambda step: step == name))


def iteration_spans(state: LoopState, record: IterationRecord, line: Activity) -> Iterator[Span]:
    """All spans of an attempt. Spans lost from its journal are missing, and their children become children of the iteration."""
    key = (record.iteration, record.attempt)
    line = line if (line.iteration, line.attempt) == key else Activity(iteration=record.iteration, attempt=record.attempt)
    parent = _iteration_span(state, record)
    agent = _agent_span(state, record, line)
    yield parent
    yield from _step_spans(line, key, lambda step: step not in OUTSIDE_ITERATIONS)
    yield agent
    for name, tool in line.tools.items():
        values: OptionalAttributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool.name,
            "gen_ai.tool.call.id": tool.id,
            "gen_ai.tool.type": "function",
            "error.type": "tool_error" if tool.failed else "",
        }
        end = tool.end or max(agent.end, tool.start)
        yield Span((*key, "tool", name), agent.path, f"execute_tool {_short(tool.name)}", tool.start, end, _attributes(values))
    judgement, writing = record.judgement, record.writing
    if judgement is not None and judgement.calls:
        call = _call_attributes(state, "chat", "judge", judgement.usage)
        yield _chat_span(parent, line.steps.get("judge"), {**call, "gen_ai.response.model": judgement.model}, judgement.seconds)
    if writing.tokens or writing.cost_usd:  # model and duration of the prompt's writer are not recorded
        yield _chat_span(parent, line.steps.get("plan"), _call_attributes(state, "chat", "prompt", writing), 0.0)


def _step_spans(line: Activity, parent: Path, includes: Callable[[str], bool]) -> Iterator[Span]:
    """Finished steps, then their checks."""
    key = (line.iteration, line.attempt)
    ended = {step.name: step for step in line.steps.values() if step.end and includes(step.name)}
    for name, step in ended.items():
        attributes: OptionalAttributes = {
            "helmsman.step": name,
            "helmsman.iteration": line.iteration,
            "helmsman.attempt": line.attempt,
        }
        yield Span((*key, name), parent, f"step {_short(name)}", step.start, step.end or step.start, _attributes(attributes))
    for number, (step, at, result) in enumerate(line.finished):
        if step in ended:
            error = "" if result.passed else "check_failed"
            attributes = {"helmsman.check": result.name, "helmsman.check.passed": result.passed, "error.type": error}
            path, start = (*key, step, "check", number), at - timedelta(seconds=max(result.seconds, 0.0))
            yield Span(path, (*key, step), f"check {_short(result.name)}", start, at, _attributes(attributes))


def _iteration_span(state: LoopState, record: IterationRecord) -> Span:
    judgement, untold, checks = record.judgement, record.execution.call.untold, record.checks
    attributes: OptionalAttributes = {
        "helmsman.loop.id": record.loop,
        "helmsman.iteration": record.iteration,
        "helmsman.attempt": record.attempt,
        "helmsman.mode": _mode(state),
        "helmsman.hat": record.hat.name if record.hat else "",
        "helmsman.checks": ("passed" if checks.passed else "failed") if checks and checks.results else "none",
        "helmsman.proven": record.proven,
        "helmsman.decision": record.decision.kind,
        "helmsman.decision.rule": record.decision.rule,
        "helmsman.outcome": record.decision.outcome or "",
        "helmsman.verdict": judgement.outcome if judgement else "",
        "helmsman.verdict.score": judgement.score if judgement else None,
        "helmsman.cost_usd": None if "cost" in untold else round(record.usage.cost_usd, 6),
        "helmsman.completion": record.oversight.progress.completion,
        "helmsman.level": int(record.oversight.ladder.rung),
        "helmsman.control.output": record.oversight.control.output,
        "helmsman.files_changed": record.execution.change.files_changed,
        "helmsman.findings": len(record.findings),
        "helmsman.contradictions": len(record.contradictions),
        "vcs.ref.head.revision": record.head,
        "error.type": _error_type(record.decision),
    }
    alerts = (signal.model_dump(include={"rule", "severity", "value", "threshold"}) for signal in record.signals)
    signals = tuple(_attributes({f"helmsman.signal.{name}": value for name, value in alert.items()}) for alert in alerts)
    end = max(record.ended_at, record.started_at)
    return Span((record.iteration, record.attempt), (), "iteration", record.started_at, end, _attributes(attributes), signals)


def _agent_span(state: LoopState, record: IterationRecord, line: Activity) -> Span:
    call, config, execute = record.execution.call, state.config, line.steps.get("execute")
    name = state.agent.kind.name if state.agent else CLAUDE
    start = line.agent or (execute.start if execute else record.started_at)
    attributes: OptionalAttributes = {
        **_call_attributes(state, "invoke_agent", "agent", call.usage, call.untold),
        "gen_ai.provider.name": PROVIDERS.get(name, name),
        "gen_ai.agent.name": name,
        "gen_ai.agent.version": call.cli_version,
        "gen_ai.conversation.id": call.session_id,
        "gen_ai.request.model": config.agent.model if state.agent else config.claude.model,
        "gen_ai.response.model": call.model,
        "helmsman.agent.outcome": call.outcome,
        "helmsman.agent.turns": call.turns,
        "helmsman.agent.tool_calls": None if "tools" in call.untold else call.tool_calls,
        "error.type": "" if call.outcome in SUCCESSES else call.outcome,
    }
    key, end = (record.iteration, record.attempt), start + timedelta(seconds=max(call.seconds, 0.0))
    return Span((*key, "agent"), _parent_path(key, execute), f"invoke_agent {name}", start, end, _attributes(attributes))


def _call_attributes(
    state: LoopState, operation: str, paid_for: str, usage: Usage, untold: tuple[str, ...] = ()
) -> OptionalAttributes:
    """Attributes of a model call. The conventions count cached tokens as input; unreported values are unknown, not zero."""
    tokens: OptionalAttributes = {
        "gen_ai.usage.input_tokens": usage.input_tokens + usage.cache_creation_tokens + usage.cache_read_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_creation_tokens,
    }
    return {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": PROVIDERS[CLAUDE],
        "helmsman.mode": _mode(state),
        "helmsman.paid_for": paid_for,
        "helmsman.cost_usd": None if Capability.COST in untold else round(usage.cost_usd, 6),
        **({} if Capability.TOKENS in untold else tokens),
    }


def _chat_span(parent: Span, step: Timed | None, call: OptionalAttributes, seconds: float) -> Span:
    """Span of a chat call that ended with its step; of zero length if not measured."""
    end = step.end if step and step.end else parent.end
    start = max(end - timedelta(seconds=seconds), step.start if step else parent.start)
    name = f"chat {_short(str(call.get('gen_ai.response.model', '')))}".strip()
    return Span(
        (*parent.path, "chat", str(call["helmsman.paid_for"])),
        _parent_path(parent.path, step),
        name,
        start,
        end,
        _attributes(call),
    )


def _parent_path(parent: Path, step: Timed | None) -> Path:
    """Path of the step if it has a span, else of the iteration."""
    return (*parent, step.name) if step and step.end else parent


def _mode(state: LoopState) -> str:
    if state.config.merge.into:
        return "autonomous"
    return "judge" if state.config.judge.criteria else "basic"


def _error_type(decision: Decision) -> str:
    """Error type of a decision: its fault, or else its outcome; empty if it is not an error."""
    if decision.outcome is None or decision.outcome in NO_ERRORS:
        return ""
    return decision.fault or decision.outcome


def _attributes(values: OptionalAttributes) -> Attributes:
    """Attributes without unknown and empty values; text is cut to a short line."""
    shortened = ((name, _short(value) if isinstance(value, str) else value) for name, value in values.items())
    return {name: value for name, value in shortened if value is not None and value != ""}


def _short(text: str) -> str:
    """Untrusted text as a short line without control characters."""
    return clean(text[:LONGEST])
