"""What a model is asked to write for the loop, and what it wrote: an iteration's focus, the past in short."""

from typing import Any, Literal

from helmsman.records.base import Record
from helmsman.records.oversight import Sought
from helmsman.records.usage import Usage

Urgency = Literal["low", "normal", "high", "critical"]


class Question(Record):
    """One question to a model in a fresh context. No part may be empty."""

    rules: str
    """Who it is and how it answers; our words only."""
    task: str
    facts: str
    """Everything foreign in it is fenced."""
    closing: str
    form: dict[str, Any]
    """JSON schema of the answer."""


class Focus(Record):
    """What an iteration should look at, in a model's words. It adds to the fixed prompt and replaces nothing of it."""

    prompt: str
    """4,000 characters at most."""
    system_context: str = ""
    """What it should know, 2,000 characters at most."""
    areas: tuple[str, ...] = ()
    """The most important first, 5 at most of 200 characters each."""
    urgency: Urgency = "normal"


class Compacted(Record):
    """Everything before an iteration, in short."""

    end_goal: str
    """1,000 characters at most."""
    approach: str = ""
    """1,500 characters at most."""
    completed: tuple[str, ...] = ()
    """20 at most of 300 characters each, newest last."""
    current_state: str = ""
    """1,500 characters at most."""
    next_steps: tuple[str, ...] = ()
    """10 at most of 300 characters each, the most important first."""
    by: Literal["model", "template"] = "template"


class Writing(Record):
    """What asking for it took."""

    reason: str = ""
    """Why nothing of a model's could be used, 500 characters at most; empty where it could."""
    usage: Usage = Usage()
    """To be charged, also where the answer was of no use."""
    model: str = ""
    seconds: float = 0.0


class Planned(Record):
    """What a model was asked to write for one iteration."""

    focus: Focus | None = None
    compacted: Compacted | None = None
    sought: Sought | None = None
    """What it said of contradictions between orders, where it was asked."""
    reasons: tuple[str, ...] = ()
    """Why nothing of a model's could be used."""
    usage: Usage = Usage()
