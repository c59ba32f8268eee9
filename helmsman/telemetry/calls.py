"""The calls of models in an iteration: what they were asked with and what they used up, the same for spans and for metrics."""

from collections.abc import Iterator
from dataclasses import dataclass

from helmsman.records.agents import CLAUDE, Capability
from helmsman.records.evidence import AgentOutcome
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from helmsman.records.usage import Usage
from helmsman.telemetry.shapes import Value, one_line

PROVIDERS = {CLAUDE: "anthropic", "codex": "openai", "gemini": "gcp.gemini"}
"""Of agents that ask one provider only."""
WELL_ENDED = frozenset({AgentOutcome.FINISHED, AgentOutcome.ROTATED})


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
    tells_tokens: bool = True
    tells_cost: bool = True
    error: str = ""

    @property
    def said(self) -> dict[str, Value]:
        """What tells calls apart: few values each, for metrics too."""
        told = {
            "gen_ai.operation.name": self.operation,
            "gen_ai.provider.name": self.provider,
            "gen_ai.agent.name": self.agent,
            "gen_ai.request.model": self.asked,
            "gen_ai.response.model": self.answered,
            "error.type": self.error,
        }
        return {name: one_line(value) for name, value in told.items() if value}

    @property
    def inward(self) -> int:
        """Tokens that went in. The conventions count cached ones with them."""
        return self.usage.input_tokens + self.usage.cache_creation_tokens + self.usage.cache_read_tokens


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
        tells_tokens=Capability.TOKENS not in call.untold,
        tells_cost=Capability.COST not in call.untold,
        error="" if call.outcome in WELL_ENDED else call.outcome,
    )


def judge_call(record: IterationRecord) -> ModelCall | None:
    found = record.judgement
    if found is None or not found.calls:
        return None
    return ModelCall("chat", "judge", PROVIDERS[CLAUDE], found.usage, found.seconds, answered=found.model)


def prompt_call(record: IterationRecord) -> ModelCall | None:
    """What a model was asked to write for the prompt. Who answered is not on record."""
    if not record.writing.tokens and not record.writing.cost_usd:
        return None
    return ModelCall("chat", "prompt", PROVIDERS[CLAUDE], record.writing, 0.0)


def model_calls(state: LoopState, record: IterationRecord) -> Iterator[ModelCall]:
    yield agent_call(state, record)
    for call in (judge_call(record), prompt_call(record)):
        if call:
            yield call
