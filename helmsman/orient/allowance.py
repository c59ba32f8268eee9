"""What the controller's output changes beside the words of the prompt: time for checks inside a session, and the model."""

from collections.abc import Mapping

from helmsman.config import ClaudeConfig
from helmsman.orient.hats import in_hat, worn_hat
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
    """The agent's configuration in its hat, with `ladder.redesign_model` where it is due.

    Model for a redesign, and for any iteration under the controller's highest urgency; it comes before the hat's own.
    """
    claude, model = in_hat(state.config.claude, state), _due_model(state)
    return claude.model_copy(update={"model": model}) if model else claude


def _due_model(state: LoopState) -> str:
    config = state.config
    urgent = config.ladder.act and state.oversight.control.band == "pivot"
    return advise(state).model or (config.ladder.redesign_model if urgent else "")
