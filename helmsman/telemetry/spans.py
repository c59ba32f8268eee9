"""A loop and its iterations as spans: loop → iteration → step → agent → tool call.

No word of a prompt, a tool's arguments or an answer is in them. Ids are made of what is told, so the same is the same again.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta

from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from helmsman.records.verdict import Decision, Outcome
from helmsman.telemetry.calls import ModelCall, agent_call, judge_call, prompt_call
from helmsman.telemetry.ids import agent_span, span_id
from helmsman.telemetry.shapes import Attributes, Note, Span, Value, one_line
from helmsman.telemetry.timeline import Checked, Step, Timeline, Tool

BESIDE = frozenset({"baseline", "merge_checks", "merge_hidden", "draw_lessons"})
"""Steps before, between and after iterations."""
SOUND = frozenset({Outcome.COMPLETED, Outcome.WAITING, Outcome.CANCELLED})
"""Endings that are no errors."""


def mode_of(state: LoopState) -> str:
    if state.config.merge.into:
        return "autonomous"
    return "judge" if state.config.judge.criteria else "basic"


def loop_span(state: LoopState, ending: Decision) -> Span:
    """The root. It belongs to the end of a loop, so a loop that was reopened tells it again, under the same id."""
    return Span(
        id=span_id(state.uid),
        parent=0,
        name="invoke_workflow helmsman",
        start=state.created_at,
        end=max(ending.at, state.created_at),
        attributes=_told(_of_loop(state, ending)),
        error=_fault(ending),
    )


def _of_loop(state: LoopState, ending: Decision) -> dict[str, Value | None]:
    return {
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


def beside_spans(state: LoopState, line: Timeline, name: str) -> tuple[Span, ...]:
    """A step that belongs to no iteration, once it is over, with its checks."""
    key = (line.iteration, line.attempt)
    steps = _steps(state.uid, key, span_id(state.uid), [line.steps[name]] if name in line.steps else [])
    return (*steps, *_checks(state.uid, key, line, lambda step: step == name))


def iteration_spans(state: LoopState, record: IterationRecord, line: Timeline) -> tuple[Span, ...]:
    """All of an attempt. What its journal has lost is missing, and what hung on it hangs on the iteration."""
    uid, key = state.uid, (record.iteration, record.attempt)
    if (line.iteration, line.attempt) != key:
        line = Timeline(*key)
    whole = _iteration(state, record)
    inside = [step for step in line.steps.values() if step.name not in BESIDE]
    steps = _steps(uid, key, whole.id, inside)
    parents = {step.name: span_id(uid, *key, step.name) for step in inside if step.end}
    agent = _agent(state, record, line, parents.get("execute", whole.id))
    judge = _chat(uid, key, judge_call(record), line.steps.get("judge"), whole)
    writer = _chat(uid, key, prompt_call(record), line.steps.get("plan"), whole)
    tools = _tools(uid, key, agent, line)
    return (whole, *steps, agent, *tools, *judge, *writer, *_checks(uid, key, line, lambda step: step in parents))


def _iteration(state: LoopState, record: IterationRecord) -> Span:
    return Span(
        id=span_id(state.uid, record.iteration, record.attempt),
        parent=span_id(state.uid),
        name="iteration",
        start=record.started_at,
        end=max(record.ended_at, record.started_at),
        attributes=_told(_of_iteration(state, record)),
        notes=tuple(_signals(record)),
        error=_fault(record.decision),
    )


def _of_iteration(state: LoopState, record: IterationRecord) -> dict[str, Value | None]:
    judged, untold = record.judgement, record.execution.call.untold
    return {
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
        "error.type": _fault(record.decision),
    }


def checks_of(record: IterationRecord) -> str:
    """What the checks said: passed, failed or none."""
    if record.checks is None or not record.checks.results:
        return "none"
    return "passed" if record.checks.passed else "failed"


def _signals(record: IterationRecord) -> Iterator[Note]:
    for signal in record.signals:
        told = {
            "helmsman.signal.rule": signal.rule,
            "helmsman.signal.severity": signal.severity,
            "helmsman.signal.value": signal.value,
            "helmsman.signal.threshold": signal.threshold,
        }
        yield Note("helmsman.signal", record.ended_at, _told(told))


def _agent(state: LoopState, record: IterationRecord, line: Timeline, parent: int) -> Span:
    call, used, execute = record.execution.call, agent_call(state, record), line.steps.get("execute")
    start = line.agent or (execute.start if execute else record.started_at)
    told: dict[str, Value | None] = {
        **used.said,
        **_usage(used),
        "gen_ai.agent.version": call.cli_version,
        "gen_ai.conversation.id": call.session_id,
        "helmsman.agent.outcome": call.outcome,
        "helmsman.agent.turns": call.turns,
        "helmsman.agent.tool_calls": None if "tools" in call.untold else call.tool_calls,
    }
    return Span(
        id=agent_span(state.uid, record.iteration, record.attempt),
        parent=parent,
        name=f"invoke_agent {used.agent}",
        start=start,
        end=start + timedelta(seconds=max(call.seconds, 0.0)),
        attributes=_told(told),
        error=used.error,
    )


def _usage(call: ModelCall) -> dict[str, Value | None]:
    """What is not told is left out: it is unknown, not nothing."""
    tokens: dict[str, Value | None] = {
        "gen_ai.usage.input_tokens": call.inward,
        "gen_ai.usage.output_tokens": call.usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": call.usage.cache_read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": call.usage.cache_creation_tokens,
    }
    cost: dict[str, Value | None] = {"helmsman.cost_usd": round(call.usage.cost_usd, 6)}
    return (tokens if call.tells_tokens else {}) | (cost if call.tells_cost else {})


def _steps(uid: str, key: tuple[int, int], parent: int, steps: list[Step]) -> Iterator[Span]:
    for step in steps:
        if step.end:
            told = _told({"helmsman.step": step.name, "helmsman.iteration": key[0], "helmsman.attempt": key[1]})
            yield Span(span_id(uid, *key, step.name), parent, f"step {one_line(step.name)}", step.start, step.end, told)


def _tools(uid: str, key: tuple[int, int], agent: Span, line: Timeline) -> Iterator[Span]:
    for name, tool in line.tools.items():
        yield Span(
            id=span_id(uid, *key, "tool", name),
            parent=agent.id,
            name=f"execute_tool {one_line(tool.name)}",
            start=tool.start,
            end=tool.end or max(agent.end, tool.start),
            attributes=_told(_of_tool(tool)),
            error="tool_error" if tool.failed else "",
        )


def _of_tool(tool: Tool) -> Mapping[str, Value | None]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool.name,
        "gen_ai.tool.call.id": tool.id,
        "gen_ai.tool.type": "function",
        "error.type": "tool_error" if tool.failed else "",
    }


def _chat(uid: str, key: tuple[int, int], call: ModelCall | None, step: Step | None, whole: Span) -> Iterator[Span]:
    if call is None:
        return
    end = step.end if step and step.end else whole.end
    start = end - timedelta(seconds=call.seconds) if call.seconds or step is None else step.start
    yield Span(
        id=span_id(uid, *key, "chat", call.paid_for),
        parent=span_id(uid, *key, step.name) if step and step.end else whole.id,
        name=f"chat {one_line(call.answered)}".strip(),
        start=max(start, step.start if step else whole.start),
        end=end,
        attributes=_told({**call.said, **_usage(call), "helmsman.paid_for": call.paid_for}),
        kind="client",
    )


def _checks(uid: str, key: tuple[int, int], line: Timeline, wanted: Callable[[str], bool]) -> Iterator[Span]:
    for number, checked in enumerate(line.checks):
        if wanted(checked.step):
            parent = span_id(uid, *key, checked.step)
            yield _check(span_id(uid, *key, checked.step, "check", number), parent, checked)


def _check(own: int, parent: int, checked: Checked) -> Span:
    result = checked.result
    error = "" if result.passed else "check_failed"
    told = _told({"helmsman.check": result.name, "helmsman.check.passed": result.passed, "error.type": error})
    start: datetime = checked.at - timedelta(seconds=max(result.seconds, 0.0))
    return Span(own, parent, f"check {one_line(result.name)}", start, checked.at, told, error=error)


def _fault(decision: Decision) -> str:
    """Whose fault a stop is, or how it ended; empty where it is no error."""
    if decision.outcome is None or decision.outcome in SOUND:
        return ""
    return decision.fault or decision.outcome


def _told(found: Mapping[str, Value | None]) -> Attributes:
    """What there is to tell: unknown and empty values are left out, foreign text is one short line."""
    known = ((name, one_line(value) if isinstance(value, str) else value) for name, value in found.items())
    return {name: value for name, value in known if value is not None and value != ""}
