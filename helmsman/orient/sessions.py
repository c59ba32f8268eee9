"""Which session of the agent's command line an iteration goes on with, and why it begins with an empty context instead."""

from collections.abc import Callable
from datetime import datetime, timedelta

from helmsman.guardrails.context import ROTATE_AT, filled
from helmsman.oversee.advice import advise
from helmsman.records.agent import KeptSession
from helmsman.records.state import LoopState

Reason = Callable[[LoopState, KeptSession, datetime], bool]
SESSION_EXPIRES = timedelta(hours=24)  # after its last use; 24 is what a public loop uses (E2)


def session_to_resume(state: LoopState, now: datetime) -> KeptSession | None:
    """The session that the iteration due goes on with; None: it begins a new one."""
    return None if why_fresh(state, now) else state.session


def why_fresh(state: LoopState, now: datetime) -> str:
    """Why the iteration due begins with an empty context; empty where it goes on with the kept session."""
    session = state.session
    if session is None:
        return "no session is kept"
    return next((why for why, holds in _REASONS.items() if holds(state, session, now)), "")


# What `hybrid` adds is not here: an iteration that did not get further leaves no session behind.
_REASONS: dict[str, Reason] = {
    "every iteration begins with an empty context": lambda state, _, __: state.config.claude.session == "fresh",
    "its session was last used too long ago": lambda _, session, now: now - session.used_at > SESSION_EXPIRES,
    "the last session was ended for the sake of a fresh one": lambda state, _, __: bool(state.last_call.rotated),
    "the context of the last session was full": lambda state, _, __: (
        filled(state.last_call.context.peak, state.config.context.window or state.last_call.context.window) >= ROTATE_AT
    ),
    "another approach begins with an empty context": lambda state, _, __: advise(state).fresh,
}
