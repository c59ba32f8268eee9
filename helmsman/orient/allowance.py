"""Inputs of the due agent call besides its prompt: time for checks, a model, and a session to resume."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from helmsman.config import ClaudeConfig
from helmsman.guardrails.context import ROTATE_AT, filled_share
from helmsman.orient.hats import current_hat
from helmsman.oversee.advice import advise
from helmsman.records.agent import KeptSession
from helmsman.records.control import Band
from helmsman.records.state import LoopState

SESSION_EXPIRES = timedelta(hours=24)  # after its last use; 24 as in a public loop (E2)
CHECKS: Mapping[Band, float] = {"continue": 1.0, "watch": 1.0, "adjust": 1.5, "pivot": 2.0}
"""Factor on the time for checks at a stop: the less progress, the more a session may find out by itself."""


def checks_allowance(state: LoopState) -> float:
    """Seconds that checks may take when the agent wants to stop."""
    seconds = state.config.steering.stop_seconds
    return seconds * CHECKS[state.oversight.control.band] if state.config.ladder.act else seconds


def agent_model(state: LoopState) -> str:
    """The model of an agent other than Claude Code. The files of hats name models of Claude, so they do not apply."""
    hat = current_hat(state)
    by_hat = state.config.hats.models.get(hat.name, "") if hat else ""
    return _requested_model(state) or by_hat or state.config.agent.model


def claude_config(state: LoopState) -> ClaudeConfig:
    """The agent's configuration with model and tools of its hat; nothing denied becomes allowed. The redesign model, which
    also applies at the controller's highest urgency, precedes the hat's own.
    """
    claude, hat, updates = state.config.claude, current_hat(state), dict[str, Any]()
    if hat:
        is_set_by_operator = state.preset is None or claude.model != state.preset.replaces  # set by the operator
        updates = {
            "model": ("" if is_set_by_operator else state.config.hats.models.get(hat.name) or hat.model) or claude.model,
            "allowed_tools": tuple(dict.fromkeys((*claude.allowed_tools, *hat.allowed_tools))),
            "disallowed_tools": tuple(dict.fromkeys((*claude.disallowed_tools, *hat.disallowed_tools))),
        }
    if model := _requested_model(state):
        updates["model"] = model
    return claude.model_copy(update=updates)


def _requested_model(state: LoopState) -> str:
    config = state.config
    urgent = config.ladder.act and state.oversight.control.band == "pivot"
    return advise(state).model or (config.ladder.redesign_model if urgent else "")


def session_to_resume(state: LoopState, now: datetime) -> KeptSession | None:
    """The session that the due iteration resumes; None for a new one.

    `hybrid` is handled elsewhere: an iteration without progress leaves no session.
    """
    session, call, config = state.session, state.last_call, state.config
    if session is None or config.claude.session == "fresh" or now - session.used_at > SESSION_EXPIRES:
        return None
    is_full = filled_share(call.context.peak, config.context.window or call.context.window) >= ROTATE_AT
    return None if is_full or call.rotated or advise(state).fresh else session
