"""A loop and its iterations as spans: loop → iteration → step → agent → tool call. Plain values.

No word of a prompt, a tool's arguments or an answer is in them. `telemetry.toml` says what every name means, and of
which spans each metric is made.
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
Known = Mapping[str, Value | None]
Path = tuple[str | int, ...]  # of a span in the trace of its loop; the loop's own is empty

LONGEST = 200  # characters of a name that an agent or a repository may have made up
PROVIDERS = {CLAUDE: "anthropic", "codex": "openai", "gemini": "gcp.gemini"}  # of agents that ask one provider only
WELL_ENDED = frozenset({AgentOutcome.FINISHED, AgentOutcome.ROTATED})
BESIDE = frozenset({"baseline", "merge_checks", "draw_lessons"})  # steps before, between and after iterations
SOUND = frozenset({Outcome.COMPLETED, Outcome.WAITING, Outcome.CANCELLED})  # endings that are no errors


class Span(NamedTuple):
    """Something that took time. It is an error where `error.type` is told."""

    path: Path
    parent: Path | None  # None: it is the root
    name: str
    start: datetime
    end: datetime
    attributes: Attributes
    signals: tuple[Attributes, ...] = ()  # what the overseer noticed by its end


class Point(NamedTuple):
    """A measurement for the instrument of that name."""

    instrument: str
    value: float
    attributes: Attributes


@cache
def telemetry_names() -> Mapping[str, Mapping[str, Any]]:
    """Spans, attributes and instruments, each with what it means."""
    return tomllib.loads((files("helmsman.render") / "telemetry.toml").read_text(encoding="utf-8"))


def trace_id(uid: str) -> int:
    """Of a loop, 128 bits. Made of its uid, so that a loop that goes on after a crash goes on in the same trace."""
    return _digest(16, "trace", uid)


def span_id(uid: str, path: Path) -> int:
    """64 bits, the same whenever the same is told: a child can name a parent that is told later, as the loop's own span is."""
    return _digest(8, "span", uid, *path)


def trace_context(uid: str, iteration: int, attempt: int) -> dict[str, str]:
    """Variables (W3C Trace Context) by which the agent's own telemetry hangs on the span of its call."""
    return {"TRACEPARENT": f"00-{trace_id(uid):032x}-{span_id(uid, (iteration, attempt, 'agent')):016x}-01"}


def _digest(size: int, *parts: str | int) -> int:
    """Never 0, which stands for no trace and no span."""
    return int.from_bytes(hashlib.sha256("\0".join(map(str, parts)).encode()).digest()[:size], "big") or 1


def points_of(span: Span) -> Iterator[Point]:
    """What a span adds to metrics. No attribute there has more values than a person could list: no loop, no tool."""
    measured = {**span.attributes, "seconds": (span.end - span.start).total_seconds()}
    for kind, told in ((span.name.split()[0], measured), *(("signal", signal) for signal in span.signals)):
        for name, what in telemetry_names()["instruments"].items():
            apart = {key: told[key] for key in what["by"] if key in told}
            for source, own in what["values"].items() if kind in what["of"] else ():
                value = told.get(source, 0)
                amount = 1 if isinstance(value, str) else value  # what has a name is counted, what has a size is added up
                if amount > 0:
                    yield Point(name, amount, {**apart, **own})


def loop_span(state: LoopState, ending: Decision) -> Span:
    """The root. It belongs to the end of a loop, so a loop that was reopened tells it again, under the same id."""
    told: Known = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "helmsman",
        "helmsman.loop.id": state.loop,
        "helmsman.mode": _mode(state),
        "helmsman.outcome": ending.outcome or "",
        "helmsman.decision.rule": ending.rule,
        "helmsman.iterations": state.iteration,
        "helmsman.completion": state.oversight.progress.completion,
        "helmsman.level": int(state.oversight.ladder.rung),
        "error.type": _fault(ending),
        "helmsman.cost_usd": None if "cost" in state.untold else round(state.spending.cost_usd, 6),
        "helmsman.tokens": None if "tokens" in state.untold else state.spending.tokens,
    }
    return Span((), None, "invoke_workflow helmsman", state.created_at, max(ending.at, state.created_at), _told(told))


def beside_spans(line: Activity, name: str) -> tuple[Span, ...]:
    """A step that belongs to no iteration, once it is over, with its checks."""
    return tuple(_steps(line, (), lambda step: step == name))


def iteration_spans(state: LoopState, record: IterationRecord, line: Activity) -> Iterator[Span]:
    """All of an attempt. What its journal has lost is missing, and what hung on it hangs on the iteration."""
    key = (record.iteration, record.attempt)
    line = line if (line.iteration, line.attempt) == key else Activity(iteration=record.iteration, attempt=record.attempt)
    whole = _iteration(state, record)
    agent = _agent(state, record, line)
    yield whole
    yield from _steps(line, key, lambda step: step not in BESIDE)
    yield agent
    for name, tool in line.tools.items():
        told: Known = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool.name,
            "gen_ai.tool.call.id": tool.id,
            "gen_ai.tool.type": "function",
            "error.type": "tool_error" if tool.failed else "",
        }
        end = tool.end or max(agent.end, tool.start)
        yield Span((*key, "tool", name), agent.path, f"execute_tool {_short(tool.name)}", tool.start, end, _told(told))
    judged, writing = record.judgement, record.writing
    if judged is not None and judged.calls:
        call = _call(state, "chat", "judge", judged.usage)
        yield _chat(whole, line.steps.get("judge"), {**call, "gen_ai.response.model": judged.model}, judged.seconds)
    if writing.tokens or writing.cost_usd:  # who wrote for the prompt, and how long that took, is not on record
        yield _chat(whole, line.steps.get("plan"), _call(state, "chat", "prompt", writing), 0.0)


def _steps(line: Activity, parent: Path, wanted: Callable[[str], bool]) -> Iterator[Span]:
    """Steps that came to an end, then their checks."""
    key = (line.iteration, line.attempt)
    ended = {step.name: step for step in line.steps.values() if step.end and wanted(step.name)}
    for name, step in ended.items():
        told: Known = {"helmsman.step": name, "helmsman.iteration": line.iteration, "helmsman.attempt": line.attempt}
        yield Span((*key, name), parent, f"step {_short(name)}", step.start, step.end or step.start, _told(told))
    for number, (step, at, result) in enumerate(line.finished):
        if step in ended:
            error = "" if result.passed else "check_failed"
            told = {"helmsman.check": result.name, "helmsman.check.passed": result.passed, "error.type": error}
            path, start = (*key, step, "check", number), at - timedelta(seconds=max(result.seconds, 0.0))
            yield Span(path, (*key, step), f"check {_short(result.name)}", start, at, _told(told))


def _iteration(state: LoopState, record: IterationRecord) -> Span:
    judged, untold, checks = record.judgement, record.execution.call.untold, record.checks
    told: Known = {
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
        "helmsman.verdict": judged.outcome if judged else "",
        "helmsman.verdict.score": judged.score if judged else None,
        "helmsman.cost_usd": None if "cost" in untold else round(record.usage.cost_usd, 6),
        "helmsman.completion": record.oversight.progress.completion,
        "helmsman.level": int(record.oversight.ladder.rung),
        "helmsman.control.output": record.oversight.control.output,
        "helmsman.files_changed": record.execution.change.files_changed,
        "helmsman.findings": len(record.findings),
        "helmsman.contradictions": len(record.contradictions),
        "vcs.ref.head.revision": record.head,
        "error.type": _fault(record.decision),
    }
    noticed = (signal.model_dump(include={"rule", "severity", "value", "threshold"}) for signal in record.signals)
    signals = tuple(_told({f"helmsman.signal.{name}": value for name, value in one.items()}) for one in noticed)
    end = max(record.ended_at, record.started_at)
    return Span((record.iteration, record.attempt), (), "iteration", record.started_at, end, _told(told), signals)


def _agent(state: LoopState, record: IterationRecord, line: Activity) -> Span:
    call, config, execute = record.execution.call, state.config, line.steps.get("execute")
    name = state.agent.kind.name if state.agent else CLAUDE
    start = line.agent or (execute.start if execute else record.started_at)
    told: Known = {
        **_call(state, "invoke_agent", "agent", call.usage, call.untold),
        "gen_ai.provider.name": PROVIDERS.get(name, name),
        "gen_ai.agent.name": name,
        "gen_ai.agent.version": call.cli_version,
        "gen_ai.conversation.id": call.session_id,
        "gen_ai.request.model": config.agent.model if state.agent else config.claude.model,
        "gen_ai.response.model": call.model,
        "helmsman.agent.outcome": call.outcome,
        "helmsman.agent.turns": call.turns,
        "helmsman.agent.tool_calls": None if "tools" in call.untold else call.tool_calls,
        "error.type": "" if call.outcome in WELL_ENDED else call.outcome,
    }
    key, end = (record.iteration, record.attempt), start + timedelta(seconds=max(call.seconds, 0.0))
    return Span((*key, "agent"), _within(key, execute), f"invoke_agent {name}", start, end, _told(told))


def _call(state: LoopState, operation: str, paid_for: str, usage: Usage, untold: tuple[str, ...] = ()) -> Known:
    """A call of a model. Conventions count cached tokens with those that went in; what is not told is unknown, not nothing."""
    tokens: Known = {
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


def _chat(whole: Span, step: Timed | None, call: Known, seconds: float) -> Span:
    """It ended with its step. One that nobody measured is a moment."""
    end = step.end if step and step.end else whole.end
    start = max(end - timedelta(seconds=seconds), step.start if step else whole.start)
    name = f"chat {_short(str(call.get('gen_ai.response.model', '')))}".strip()
    return Span((*whole.path, "chat", str(call["helmsman.paid_for"])), _within(whole.path, step), name, start, end, _told(call))


def _within(key: Path, step: Timed | None) -> Path:
    """The step where it has a span, else the iteration."""
    return (*key, step.name) if step and step.end else key


def _mode(state: LoopState) -> str:
    if state.config.merge.into:
        return "autonomous"
    return "judge" if state.config.judge.criteria else "basic"


def _fault(decision: Decision) -> str:
    """Whose fault a stop is, or how it ended; empty where it is no error."""
    if decision.outcome is None or decision.outcome in SOUND:
        return ""
    return decision.fault or decision.outcome


def _told(found: Known) -> Attributes:
    """What there is to tell: unknown and empty values are left out, foreign text is one short line."""
    known = ((name, _short(value) if isinstance(value, str) else value) for name, value in found.items())
    return {name: value for name, value in known if value is not None and value != ""}


def _short(text: str) -> str:
    """Foreign text as a short line that moves no cursor."""
    return clean(text[:LONGEST])
