"""What the call of the agent that is due gets beside its prompt: time for checks, a model, and a session to go on with."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from helmsman.config import ClaudeConfig
from helmsman.guardrails.context import ROTATE_AT, filled
from helmsman.orient.hats import worn_hat
from helmsman.oversee.advice import advise
from helmsman.records.agent import KeptSession
from helmsman.records.control import Band
from helmsman.records.state import LoopState

SESSION_EXPIRES = timedelta(hours=24)  # after its last use; 24 is what a public loop uses (E2)
CHECKS: Mapping[Band, float] = {"continue": 1.0, "watch": 1.0, "adjust": 1.5, "pivot": 2.0}
"""What the time for checks at a stop is multiplied by: the less the work gets on, the more a session may find out by itself."""


def checks_allowance(state: LoopState) -> float:
    """Seconds that checks may take when the agent wants to stop."""
    seconds = state.config.steering.stop_seconds
    return seconds * CHECKS[state.oversight.control.band] if state.config.ladder.act else seconds


def agent_model(state: LoopState) -> str:
    """The model of an agent other than Claude Code, where one can be chosen. What hats' own files name are Claude's."""
    hat = worn_hat(state)
    by_hat = state.config.hats.models.get(hat.name, "") if hat else ""
    return _due_model(state) or by_hat or state.config.agent.model


def claude_config(state: LoopState) -> ClaudeConfig:
    """The agent's configuration with model and tools of its hat; nothing denied becomes allowed. The model for a redesign,
    also due under the controller's highest urgency, comes before the hat's own.
    """
    claude, hat, changed = state.config.claude, worn_hat(state), dict[str, Any]()
    if hat:
        by_hand = state.preset is None or claude.model != state.preset.replaces  # at the start or since
        changed = {
            "model": ("" if by_hand else state.config.hats.models.get(hat.name) or hat.model) or claude.model,
            "allowed_tools": tuple(dict.fromkeys((*claude.allowed_tools, *hat.allowed_tools))),
            "disallowed_tools": tuple(dict.fromkeys((*claude.disallowed_tools, *hat.disallowed_tools))),
        }
    if model := _due_model(state):
        changed["model"] = model
    return claude.model_copy(update=changed)


def _due_model(state: LoopState) -> str:
    config = state.config
    urgent = config.ladder.act and state.oversight.control.band == "pivot"
    return advise(state).model or (config.ladder.redesign_model if urgent else "")


def session_to_resume(state: LoopState, now: datetime) -> KeptSession | None:
    """The session that the iteration due goes on with; None: it begins a new one.

    What `hybrid` adds is not here: an iteration that did not get further leaves no session behind.
    """
    session, call, config = state.session, state.last_call, state.config
    if session is None or config.claude.session == "fresh" or now - session.used_at > SESSION_EXPIRES:
        return None
    is_full = filled(call.context.peak, config.context.window or call.context.window) >= ROTATE_AT
    return None if is_full or call.rotated or advise(state).fresh else session
