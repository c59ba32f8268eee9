"""Cost of one call, measured while it runs."""

from datetime import UTC, datetime

import pytest

from helmsman.config import ClaudeConfig
from helmsman.parsers.claude_stream import ClaudeReader
from helmsman.records.agent import AgentOutcome
from helmsman.records.base import Usage
from helmsman.records.events import Event, UsageCounted
from helmsman.records.state import Spending
from tasks.agents.call import Meter, allowed_cost
from tasks.agents.claude import arguments, has_known_prices
from tasks.system.journal import listening
from tests.fakes.repositories import loop_state

pytestmark = pytest.mark.feature("E6")

STATE = loop_state("b" * 40)


def limited(cost: float | None, spent: float = 0.0) -> float | None:
    limits = STATE.config.limits.model_copy(update={"cost_usd": cost})
    config = STATE.config.model_copy(update={"limits": limits})
    return allowed_cost(STATE.model_copy(update={"config": config, "spending": Spending(cost_usd=spent)}), 2.0)


def test_a_call_may_cost_its_own_limit_or_what_is_left_of_the_loops() -> None:
    assert [limited(None), limited(5, 4), limited(5, 1), limited(5, 6)] == [2.0, 1.0, 2.0, 0.01]


def stopped(outcome: AgentOutcome, meter: Meter) -> AgentOutcome:
    call = ClaudeReader().conclude(exit_code=0, ended_by="itself", stderr="", seconds=1, now=datetime(2026, 1, 1, tzinfo=UTC))
    return meter.conclude(call.model_copy(update={"outcome": outcome})).outcome


def test_a_session_that_goes_on_beyond_its_money_ends_for_its_budget() -> None:
    meter = Meter(1.0)
    meter.read(Usage(cost_usd=0.9), continues=True)
    assert not meter.used_up
    meter.read(Usage(cost_usd=1.1), continues=False)
    assert not meter.used_up  # it has said its last word by itself
    meter.read(Usage(cost_usd=1.1), continues=True)
    assert meter.used_up == "used $1.10 of this call's budget of $1.00"
    assert stopped(AgentOutcome.ABORTED, meter) == stopped(AgentOutcome.BLOCKED_BY_HOOK, meter) == AgentOutcome.CALL_BUDGET
    assert stopped(AgentOutcome.FINISHED, meter) is AgentOutcome.FINISHED
    assert stopped(AgentOutcome.ABORTED, Meter(None)) is AgentOutcome.ABORTED


def test_what_is_used_is_told_as_it_grows() -> None:
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
def test_the_cli_is_asked_to_hold_the_limit_only_where_a_price_is_not_known(
    config: dict[str, str], environment: dict[str, str], windows: dict[str, int], known: bool
) -> None:
    claude = ClaudeConfig.model_validate(config)
    assert has_known_prices(claude, STATE.model_copy(update={"windows": windows}), environment) is known
    assert "--max-budget-usd" not in arguments(claude)
    assert "0.5000" in arguments(claude, max_cost=0.5)
