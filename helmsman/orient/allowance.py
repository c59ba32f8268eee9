"""What the controller's output changes beside the words of the prompt: time for checks inside a session, and the model."""

from collections.abc import Mapping
from typing import Any

from helmsman.config import ClaudeConfig
from helmsman.orient.hats import worn_hat
from helmsman.oversee.advice import advise
from helmsman.records.control import Band
from helmsman.records.state import LoopState

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
