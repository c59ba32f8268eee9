"""The budget of a call: its meter, and the real CLI with the scripted model."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from deployments.demo_model import Request, ScriptedModel, Turn, bash, environment
from helmsman.config import ClaudeConfig
from helmsman.parsers.claude_stream import ClaudeReader
from helmsman.records.agent import AgentCall, AgentOutcome
from helmsman.records.base import Usage
from helmsman.records.events import Event, UsageCounted
from helmsman.records.state import Spending
from tasks.agents.call import Meter, Order, allowed_cost
from tasks.agents.claude import arguments, call_agent, has_known_prices
from tasks.system.journal import listening
from tests.fakes.claude_cli import bundled_cli
from tests.fakes.repositories import loop_state, make_repository, start_loop

pytestmark = pytest.mark.feature("E6")

STATE = loop_state("b" * 40)


def cost_limit(cost: float | None, spent: float = 0.0) -> float | None:
    limits = STATE.config.limits.model_copy(update={"cost_usd": cost})
    config = STATE.config.model_copy(update={"limits": limits})
    return allowed_cost(STATE.model_copy(update={"config": config, "spending": Spending(cost_usd=spent)}))


def test_a_call_may_cost_the_rest_of_the_loops_budget() -> None:
    assert [cost_limit(None), cost_limit(5, 4), cost_limit(5, 6)] == [None, 1.0, 0.01]


def outcome_after(outcome: AgentOutcome, meter: Meter) -> AgentOutcome:
    call = ClaudeReader().conclude(exit_code=0, ended_by="itself", stderr="", seconds=1, now=datetime(2026, 1, 1, tzinfo=UTC))
    return meter.conclude(call.model_copy(update={"outcome": outcome})).outcome


def test_a_session_that_continues_beyond_its_budget_ends() -> None:
    meter = Meter(1.0)
    meter.read(Usage(cost_usd=0.9), continues=True)
    assert not meter.used_up
    meter.read(Usage(cost_usd=1.1), continues=False)
    assert not meter.used_up  # it has said its last word by itself
    meter.read(Usage(cost_usd=1.1), continues=True)
    assert meter.used_up == "used $1.10 of this call's budget of $1.00"
    assert (
        outcome_after(AgentOutcome.ABORTED, meter)
        == outcome_after(AgentOutcome.BLOCKED_BY_HOOK, meter)
        == AgentOutcome.CALL_BUDGET
    )
    assert outcome_after(AgentOutcome.FINISHED, meter) is AgentOutcome.FINISHED
    assert outcome_after(AgentOutcome.ABORTED, Meter(None)) is AgentOutcome.ABORTED


def test_usage_is_published_as_it_grows() -> None:
    heard: list[Event] = []
    meter = Meter(None)
    with listening(heard.append):
        for dollars in (0.1, 0.1, 0.2):
            meter.read(Usage(cost_usd=dollars), continues=True)
    assert heard == [UsageCounted(usage=Usage(cost_usd=0.1)), UsageCounted(usage=Usage(cost_usd=0.2))]


@pytest.mark.parametrize(
    ("config", "environment", "windows", "known"),
    [
        ({}, {}, {}, True),
        ({"model": "opus"}, {}, {"claude-opus-5-5": 10**6}, True),
        ({"model": "my-gateway/opus"}, {}, {}, False),
        ({}, {"ANTHROPIC_MODEL": "my-gateway/opus"}, {}, False),
        ({}, {}, {"my-gateway/opus": 10**6}, False),
    ],
)
def test_the_cli_gets_the_limit_only_without_a_known_price(
    config: dict[str, str], environment: dict[str, str], windows: dict[str, int], known: bool
) -> None:
    claude = ClaudeConfig.model_validate(config)
    assert has_known_prices(claude, STATE.model_copy(update={"windows": windows}), environment) is known
    assert "--max-budget-usd" not in arguments(claude)
    assert "0.5000" in arguments(claude, max_cost=0.5)


def expensive_answer(request: Request) -> Turn:
    """40 cents a message, by the list price of the CLI's default model."""
    return Turn(tools=(bash(f"echo {request.turn}"),), usage={"input_tokens": 100_000, "output_tokens": 10})


def make_call(folder: Path, *, model: str = "", hooks: bool = True) -> tuple[AgentCall, list[Request]]:
    """Make a call with a budget of one dollar. Also returns the model's requests."""
    work = start_loop(make_repository(folder / "repository", {"app.py": "1\n"}), folder / "worktree")
    before = work.state.config
    sections = {
        "claude": ClaudeConfig(binary=str(bundled_cli()), model=model),
        "limits": before.limits.model_copy(update={"cost_usd": 1.0}),
        "steering": before.steering.model_copy(update={"hooks": hooks}),
    }
    state = work.state.model_copy(update={"config": before.model_copy(update=sections)})
    with ScriptedModel(expensive_answer) as scripted:
        credentials = environment(scripted.url, folder / "home")
        call = call_agent(Order(work.context, state, "go on", work.start, credentials=credentials))
        return call, scripted.requests


@pytest.mark.parametrize(("hooks", "exit_code"), [(True, 0), (False, 143)])
def test_a_call_ends_by_its_tokens_and_the_model_sees_no_dollars(hooks: bool, exit_code: int, tmp_path: Path) -> None:
    call, requests = make_call(tmp_path, hooks=hooks)
    assert call.outcome is AgentOutcome.CALL_BUDGET
    assert call.error.endswith(" of this call's budget of $1.00")
    assert call.exit_code == exit_code  # asked by a hook it comes to its own end; without hooks it is stopped
    assert 3 <= len(requests) <= (4 if hooks else 9)  # usage may be read late, and a busy machine ends a process late
    assert 1.2 <= call.usage.cost_usd <= 0.41 * len(requests)  # the answer to the last request may not be heard any more
    assert "USD budget" not in str(requests[-1].body)


def test_the_cli_limits_a_model_without_a_known_price(tmp_path: Path) -> None:
    call, _ = make_call(tmp_path, model="claude-opus-4-1")
    assert (call.outcome, call.error) == (AgentOutcome.CALL_BUDGET, "Reached maximum budget ($1)")
