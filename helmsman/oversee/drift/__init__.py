"""What the agent did, compared with what it was asked: the purpose of a system is what it does."""

from helmsman.oversee.drift.account import Deeds, Task, deeds_of, task_of
from helmsman.oversee.drift.judging import drift
from helmsman.oversee.drift.telling import flagged, sentence

__all__ = ["Deeds", "Task", "deeds_of", "drift", "flagged", "sentence", "task_of"]
