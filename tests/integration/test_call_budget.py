"""The budget of a call, with the real CLI and the scripted model."""

from pathlib import Path

import pytest

from deployments.demo_model import Request, ScriptedModel, Turn, bash, environment
from helmsman.config import ClaudeConfig
from helmsman.records.agent import AgentCall, AgentOutcome
from tasks.agents.call import Order
from tasks.agents.claude import call_agent
from tests.fakes.claude_cli import bundled_cli
from tests.fakes.repositories import make_repository, start_loop

pytestmark = pytest.mark.feature("E6")


def dear(request: Request) -> Turn:
    """40 cents a message, by the list price of the CLI's default model."""
    return Turn(tools=(bash(f"echo {request.turn}"),), usage={"input_tokens": 100_000, "output_tokens": 10})


def called(folder: Path, *, model: str = "", hooks: bool = True) -> tuple[AgentCall, list[Request]]:
    """Make a call with a budget of one dollar. Also returns the model's requests."""
    work = start_loop(make_repository(folder / "repository", {"app.py": "1\n"}), folder / "worktree")
    before = work.state.config
    claude = ClaudeConfig(binary=str(bundled_cli()), max_cost_usd=1.0, model=model)
    steering = before.steering.model_copy(update={"hooks": hooks})
    state = work.state.model_copy(update={"config": before.model_copy(update={"claude": claude, "steering": steering})})
    with ScriptedModel(dear) as scripted:
        credentials = environment(scripted.url, folder / "home")
        call = call_agent(Order(work.context, state, "go on", work.start, credentials=credentials))
        return call, scripted.requests


@pytest.mark.parametrize(("hooks", "exit_code"), [(True, 0), (False, 143)])
def test_it_ends_by_the_tokens_that_it_used_and_its_model_hears_nothing_of_dollars(
    hooks: bool, exit_code: int, tmp_path: Path
) -> None:
    call, requests = called(tmp_path, hooks=hooks)
    assert call.outcome is AgentOutcome.CALL_BUDGET
    assert call.error.endswith(" of this call's budget of $1.00")
    assert call.exit_code == exit_code  # asked by a hook it comes to its own end; without hooks it is stopped
    assert 3 <= len(requests) <= (4 if hooks else 9)  # usage may be read late, and a busy machine ends a process late
    assert 1.2 <= call.usage.cost_usd <= 0.41 * len(requests)  # the answer to the last request may not be heard any more
    assert "USD budget" not in str(requests[-1].body)


def test_a_model_without_a_known_price_is_held_to_its_money_by_the_cli(tmp_path: Path) -> None:
    call, _ = called(tmp_path, model="claude-opus-4-1")
    assert (call.outcome, call.error) == (AgentOutcome.CALL_BUDGET, "Reached maximum budget ($1)")
