"""An iteration and a loop as points of metrics. No attribute has more values than a person could list: no loop, no tool."""

from collections.abc import Iterator

from helmsman.records.agents import Capability
from helmsman.records.decision import Decision
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from helmsman.render.spans import ModelCall, Point, agent_call, chats, checks_of, mode_of


def iteration_points(state: LoopState, record: IterationRecord) -> Iterator[Point]:
    """What one attempt adds."""
    mode = {"helmsman.mode": mode_of(state)}
    came_of_it = {
        "helmsman.checks": checks_of(record),
        "helmsman.proven": record.proven,
        "helmsman.decision": record.decision.kind.value,
        "helmsman.decision.rule": record.decision.rule,
    }
    yield Point("helmsman.iterations", 1, mode | came_of_it)
    yield Point("helmsman.iteration.duration", max(record.seconds, 0.0), mode)
    for call in (agent_call(state, record), *(call for call, _ in chats(record))):
        yield from _call_points(call, mode)
    if record.judgement:
        yield Point("helmsman.verdicts", 1, mode | {"helmsman.verdict": record.judgement.outcome.value})
    for signal in record.signals:
        told = {"helmsman.signal.rule": signal.rule, "helmsman.signal.severity": signal.severity.value}
        yield Point("helmsman.signals", 1, told)
    if record.contradictions:
        yield Point("helmsman.contradictions", len(record.contradictions), mode)


def loop_points(state: LoopState, ending: Decision) -> Iterator[Point]:
    """What the end of a loop adds."""
    outcome = ending.outcome.value if ending.outcome else ""
    told = {"helmsman.mode": mode_of(state), "helmsman.outcome": outcome, "helmsman.decision.rule": ending.rule}
    yield Point("helmsman.loops", 1, told)


def _call_points(call: ModelCall, mode: dict[str, str]) -> Iterator[Point]:
    if Capability.COST not in call.untold:
        models = {name: value for name, value in call.said.items() if name.endswith(".model")}
        yield Point("helmsman.cost", max(call.usage.cost_usd, 0.0), {**mode, "helmsman.paid_for": call.paid_for, **models})
    if call.seconds:
        yield Point("gen_ai.client.operation.duration", call.seconds, call.said)
    if Capability.TOKENS not in call.untold:
        without_error = {name: value for name, value in call.said.items() if name != "error.type"}
        for kind, tokens in (("input", call.inward), ("output", call.usage.output_tokens)):
            yield Point("gen_ai.client.token.usage", tokens, {**without_error, "gen_ai.token.type": kind})
