"""A loop and its iterations as spans: loop → iteration → step → agent → tool call. Plain values.

No word of a prompt, a tool's arguments or an answer is in them. Ids are made of what is told, so the same is the same again, and
a loop that goes on after a crash goes on in the same trace. `telemetry.toml` says what every name means.
"""

import hashlib
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from helmsman.plain import clean
from helmsman.records.agent import AgentOutcome
from helmsman.records.agents import CLAUDE, Capability
from helmsman.records.base import Usage
from helmsman.records.decision import Decision, Outcome
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from helmsman.render.activity import Activity, Step, Tool

Value = str | bool | int | float
Attributes = Mapping[str, Value]
Known = Mapping[str, Value | None]
Key = tuple[int, int]
"""Of an attempt: iteration and attempt."""

LONGEST = 200
"""Characters of a name that an agent or a repository may have made up."""
PROVIDERS = {CLAUDE: "anthropic", "codex": "openai", "gemini": "gcp.gemini"}
"""Of agents that ask one provider only."""
WELL_ENDED = frozenset({AgentOutcome.FINISHED, AgentOutcome.ROTATED})
BESIDE = frozenset({"baseline", "merge_checks", "merge_hidden", "draw_lessons"})
"""Steps before, between and after iterations."""
SOUND = frozenset({Outcome.COMPLETED, Outcome.WAITING, Outcome.CANCELLED})
"""Endings that are no errors."""
_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


class Note(NamedTuple):
    """Something that was noticed within a span; OpenTelemetry calls it a span's event."""

    name: str
    at: datetime
    attributes: Attributes


@dataclass(frozen=True)
class Span:
    """Something that took time."""

    id: int
    parent: int
    """0: it is the root of its trace."""
    name: str
    start: datetime
    end: datetime
    attributes: Attributes = field(default_factory=dict[str, Value])
    notes: tuple[Note, ...] = ()
    error: str = ""
    """What went wrong, in a word; empty where nothing did."""
    kind: Literal["internal", "client"] = "internal"


class Point(NamedTuple):
    """A measurement for the instrument of that name."""

    instrument: str
    value: float
    attributes: Attributes


def telemetry_names() -> Mapping[str, Mapping[str, Any]]:
    """Spans, attributes and instruments, each with what it means."""
    return tomllib.loads((files("helmsman.render") / "telemetry.toml").read_text(encoding="utf-8"))


# --- ids ----------------------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """A span somewhere, by its ids."""

    trace: int
    span: int


def trace_id(uid: str) -> int:
    """Of a loop, 128 bits; never 0, which stands for no trace."""
    return _digest(16, "trace", uid)


def span_id(uid: str, *parts: str | int) -> int:
    """Of one thing in a loop, 64 bits; never 0. Without parts it is the loop's own span."""
    return _digest(8, "span", uid, *parts)


def agent_span(uid: str, iteration: int, attempt: int) -> int:
    """Of the agent's call; known before it is made, so that the agent's own telemetry can hang on to it."""
    return span_id(uid, iteration, attempt, "agent")


def traceparent(place: Place) -> str:
    """As W3C Trace Context writes it."""
    return f"00-{place.trace:032x}-{place.span:016x}-01"


def trace_context(uid: str, iteration: int, attempt: int) -> dict[str, str]:
    """Variables by which the agent's own telemetry hangs on the span of its call."""
    return {"TRACEPARENT": traceparent(Place(trace_id(uid), agent_span(uid, iteration, attempt)))}


def read_traceparent(text: str) -> Place | None:
    """None for everything that is not one."""
    found = _TRACEPARENT.fullmatch(text.strip())
    place = Place(int(found[1], 16), int(found[2], 16)) if found else None
    return place if place and all(place) else None


def _digest(size: int, *parts: str | int) -> int:
    told = "\0".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.sha256(told).digest()[:size], "big") or 1


# --- calls of models ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelCall:
    """One operation, as GenAI conventions see it."""

    operation: str
    paid_for: str
    provider: str
    usage: Usage
    seconds: float
    """0: nobody measured."""
    agent: str = ""
    asked: str = ""
    """Model that was asked for."""
    answered: str = ""
    """Model that answered."""
    untold: tuple[str, ...] = ()
    error: str = ""

    @property
    def said(self) -> Attributes:
        """What tells calls apart: few values each, for metrics too."""
        return _told({
            "gen_ai.operation.name": self.operation,
            "gen_ai.provider.name": self.provider,
            "gen_ai.agent.name": self.agent,
            "gen_ai.request.model": self.asked,
            "gen_ai.response.model": self.answered,
            "error.type": self.error,
        })  # fmt: skip

    @property
    def inward(self) -> int:
        """Tokens that went in. The conventions count cached ones with them."""
        return self.usage.input_tokens + self.usage.cache_creation_tokens + self.usage.cache_read_tokens

    @property
    def used(self) -> Known:
        """What is not told is left out: it is unknown, not nothing."""
        tokens: Known = {
            "gen_ai.usage.input_tokens": self.inward,
            "gen_ai.usage.output_tokens": self.usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": self.usage.cache_read_tokens,
            "gen_ai.usage.cache_creation.input_tokens": self.usage.cache_creation_tokens,
        }
        cost: Known = {"helmsman.cost_usd": round(self.usage.cost_usd, 6)}
        return {**({} if Capability.TOKENS in self.untold else tokens), **({} if Capability.COST in self.untold else cost)}


def agent_call(state: LoopState, record: IterationRecord) -> ModelCall:
    call, config = record.execution.call, state.config
    name = state.agent.kind.name if state.agent else CLAUDE
    return ModelCall(
        operation="invoke_agent",
        paid_for="agent",
        provider=PROVIDERS.get(name, name),
        usage=call.usage,
        seconds=call.seconds,
        agent=name,
        asked=config.agent.model if state.agent else config.claude.model,
        answered=call.model,
        untold=call.untold,
        error="" if call.outcome in WELL_ENDED else call.outcome,
    )


def chats(record: IterationRecord) -> Iterator[tuple[ModelCall, str]]:
    """The judge's call and the writer's, each with its step. Who wrote for the prompt is not on record."""
    found, writing = record.judgement, record.writing
    if found is not None and found.calls:
        yield ModelCall("chat", "judge", PROVIDERS[CLAUDE], found.usage, found.seconds, answered=found.model), "judge"
    if writing.tokens or writing.cost_usd:
        yield ModelCall("chat", "prompt", PROVIDERS[CLAUDE], writing, 0.0), "plan"


# --- spans --------------------------------------------------------------------------------------------------------


def mode_of(state: LoopState) -> str:
    if state.config.merge.into:
        return "autonomous"
    return "judge" if state.config.judge.criteria else "basic"


def loop_span(state: LoopState, ending: Decision) -> Span:
    """The root. It belongs to the end of a loop, so a loop that was reopened tells it again, under the same id."""
    told: Known = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "helmsman",
        "helmsman.loop.id": state.loop,
        "helmsman.mode": mode_of(state),
        "helmsman.outcome": ending.outcome or "",
        "helmsman.decision.rule": ending.rule,
        "helmsman.iterations": state.iteration,
        "helmsman.completion": state.oversight.progress.completion,
        "helmsman.level": int(state.oversight.ladder.rung),
        "error.type": _fault(ending),
        "helmsman.cost_usd": None if "cost" in state.untold else round(state.spending.cost_usd, 6),
        "helmsman.tokens": None if "tokens" in state.untold else state.spending.tokens,
    }
    end = max(ending.at, state.created_at)
    return Span(span_id(state.uid), 0, "invoke_workflow helmsman", state.created_at, end, _told(told), error=_fault(ending))


def beside_spans(state: LoopState, line: Activity, name: str) -> tuple[Span, ...]:
    """A step that belongs to no iteration, once it is over, with its checks."""
    key = (line.iteration, line.attempt)
    steps = _steps(state.uid, key, span_id(state.uid), [line.steps[name]] if name in line.steps else [])
    return (*steps, *_checks(state.uid, key, line, lambda step: step == name))


def iteration_spans(state: LoopState, record: IterationRecord, line: Activity) -> tuple[Span, ...]:
    """All of an attempt. What its journal has lost is missing, and what hung on it hangs on the iteration."""
    uid, key = state.uid, (record.iteration, record.attempt)
    line = line if (line.iteration, line.attempt) == key else Activity(iteration=record.iteration, attempt=record.attempt)
    whole = _iteration(state, record)
    inside = [step for step in line.steps.values() if step.name not in BESIDE]
    parents = {step.name: span_id(uid, *key, step.name) for step in inside if step.end}
    agent = _agent(state, record, line, parents.get("execute", whole.id))
    told = (_chat(uid, key, call, line.steps.get(step), whole) for call, step in chats(record))
    tools = (_tool(uid, key, agent, name, tool) for name, tool in line.tools.items())
    return (whole, *_steps(uid, key, whole.id, inside), agent, *tools, *told, *_checks(uid, key, line, parents.__contains__))


def _iteration(state: LoopState, record: IterationRecord) -> Span:
    judged, untold, fault = record.judgement, record.execution.call.untold, _fault(record.decision)
    told: Known = {
        "helmsman.loop.id": record.loop,
        "helmsman.iteration": record.iteration,
        "helmsman.attempt": record.attempt,
        "helmsman.mode": mode_of(state),
        "helmsman.hat": record.hat.name if record.hat else "",
        "helmsman.checks": checks_of(record),
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
        "error.type": fault,
    }
    own, end = span_id(state.uid, record.iteration, record.attempt), max(record.ended_at, record.started_at)
    signals = ({name: getattr(one, name) for name in ("rule", "severity", "value", "threshold")} for one in record.signals)
    notes = (_told({f"helmsman.signal.{name}": value for name, value in one.items()}) for one in signals)
    every = tuple(Note("helmsman.signal", record.ended_at, said) for said in notes)
    return Span(own, span_id(state.uid), "iteration", record.started_at, end, _told(told), every, fault)


def checks_of(record: IterationRecord) -> str:
    """What the checks said: passed, failed or none."""
    if record.checks is None or not record.checks.results:
        return "none"
    return "passed" if record.checks.passed else "failed"


def _agent(state: LoopState, record: IterationRecord, line: Activity, parent: int) -> Span:
    call, used, execute = record.execution.call, agent_call(state, record), line.steps.get("execute")
    start = line.agent or (execute.start if execute else record.started_at)
    told: Known = {
        **used.said,
        **used.used,
        "gen_ai.agent.version": call.cli_version,
        "gen_ai.conversation.id": call.session_id,
        "helmsman.agent.outcome": call.outcome,
        "helmsman.agent.turns": call.turns,
        "helmsman.agent.tool_calls": None if "tools" in call.untold else call.tool_calls,
    }
    own, end = agent_span(state.uid, record.iteration, record.attempt), start + timedelta(seconds=max(call.seconds, 0.0))
    return Span(own, parent, f"invoke_agent {used.agent}", start, end, _told(told), error=used.error)


def _steps(uid: str, key: Key, parent: int, steps: list[Step]) -> Iterator[Span]:
    for step in steps:
        if step.end:
            told = _told({"helmsman.step": step.name, "helmsman.iteration": key[0], "helmsman.attempt": key[1]})
            yield Span(span_id(uid, *key, step.name), parent, f"step {_short(step.name)}", step.start, step.end, told)


def _tool(uid: str, key: Key, agent: Span, name: str, tool: Tool) -> Span:
    error, end = "tool_error" if tool.failed else "", tool.end or max(agent.end, tool.start)
    told: Known = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool.name,
        "gen_ai.tool.call.id": tool.id,
        "gen_ai.tool.type": "function",
        "error.type": error,
    }
    own, shown = span_id(uid, *key, "tool", name), f"execute_tool {_short(tool.name)}"
    return Span(own, agent.id, shown, tool.start, end, _told(told), error=error)


def _chat(uid: str, key: Key, call: ModelCall, step: Step | None, whole: Span) -> Span:
    end = step.end if step and step.end else whole.end
    start = end - timedelta(seconds=call.seconds) if call.seconds or step is None else step.start
    start = max(start, step.start if step else whole.start)
    parent = span_id(uid, *key, step.name) if step and step.end else whole.id
    told = _told({**call.said, **call.used, "helmsman.paid_for": call.paid_for})
    return Span(
        span_id(uid, *key, "chat", call.paid_for),
        parent,
        f"chat {_short(call.answered)}".strip(),
        start,
        end,
        told,
        kind="client",
    )


def _checks(uid: str, key: Key, line: Activity, wanted: Callable[[str], bool]) -> Iterator[Span]:
    for number, check in enumerate(line.finished):
        if not wanted(check.step):
            continue
        own, parent = span_id(uid, *key, check.step, "check", number), span_id(uid, *key, check.step)
        result, error = check.result, "" if check.result.passed else "check_failed"
        told = _told({"helmsman.check": result.name, "helmsman.check.passed": result.passed, "error.type": error})
        start = check.at - timedelta(seconds=max(result.seconds, 0.0))
        yield Span(own, parent, f"check {_short(result.name)}", start, check.at, told, error=error)


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
