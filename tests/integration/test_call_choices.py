"""Settings of one call of the agent, from configuration and state."""

from typing import Any

import pytest

from helmsman.config import LoopConfig
from helmsman.records.agent import AgentCall, AgentOutcome, ErrorVector, FailureClass
from helmsman.records.control import Band, Control, Oversight
from helmsman.records.state import LoopState
from tasks.agents.hooks import context_window, stop_seconds
from tasks.system.secrets import without_secrets
from tests.fakes.repositories import loop_state


def configured(**sections: Any) -> LoopState:
    config = LoopConfig.model_validate({"goal": "make it work", "checks": ("true",), **sections})
    return loop_state("b" * 40).model_copy(update={"config": config})


@pytest.mark.feature("S9")
def test_a_large_window_follows_from_the_requested_name() -> None:
    large = configured(claude={"model": "claude-sonnet-4-5[1m]"})
    assert context_window(large, "claude-sonnet-4-5") == 1_000_000
    assert context_window(configured(), "claude-sonnet-4-5") < 1_000_000
    assert context_window(configured(context={"window": 1234}), "claude-opus-5-5") == 1234


@pytest.mark.feature("A4")
def test_checks_at_a_stop_take_at_most_half_of_the_idle_timeout() -> None:
    assert stop_seconds(configured()) == 120
    assert stop_seconds(configured(claude={"idle_timeout_minutes": 1})) == 30


@pytest.mark.feature("S2", "A4")
@pytest.mark.parametrize(("band", "seconds"), [("watch", 100), ("adjust", 150), ("pivot", 150)])
def test_less_progress_allows_longer_checks_at_a_stop(band: Band, seconds: int) -> None:
    """The last value is limited to half of the idle timeout."""
    urgent = Oversight(control=Control(band=band))
    state = configured(steering={"stop_seconds": 100}).model_copy(update={"oversight": urgent})
    assert stop_seconds(state) == seconds
    watched = state.model_copy(update={"config": configured(steering={"stop_seconds": 100}, ladder={"act": False}).config})
    assert stop_seconds(watched) == 100


@pytest.mark.feature("X1")
def test_no_part_of_a_call_record_has_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "a-very-secret-value-of-some-length"
    monkeypatch.setenv("MY_API_TOKEN", secret)
    error = ErrorVector(kind=FailureClass.OTHER, where=f"at {secret}", message=f"said {secret}")
    told = {"looked": (f"/x/{secret}",), "edited": (f"/y/{secret}",), "errors": (error,), "pain": secret, "final_text": secret}
    call = AgentCall.model_validate({"outcome": AgentOutcome.FINISHED, "exit_code": 0, "seconds": 1, **told})
    assert secret in call.model_dump_json()
    assert secret not in without_secrets(call).model_dump_json()
