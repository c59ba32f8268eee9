"""What follows an iteration: exactly one decision, by an ordered table, with the way that led to it."""

from helmsman.oversee.decide.situation import Situation
from helmsman.oversee.decide.table import QUESTIONS, decide

__all__ = ["QUESTIONS", "Situation", "decide"]
