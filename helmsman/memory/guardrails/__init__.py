"""Guardrails that the system makes itself: an instruction for each class of failure that came back too often, and its effect.

Not to be confused with `helmsman.orient.guardrails`, the rules for single tool calls.
"""

from helmsman.memory.guardrails.birth import REMOVED, Born, Refused, born, code
from helmsman.memory.guardrails.contradicted import contradiction
from helmsman.memory.guardrails.effect import Verdict, after_iteration, after_loop, effect_text, verdict
from helmsman.memory.guardrails.failed import failed, in_vain

__all__ = [
    "REMOVED",
    "Born",
    "Refused",
    "Verdict",
    "after_iteration",
    "after_loop",
    "born",
    "code",
    "contradiction",
    "effect_text",
    "failed",
    "in_vain",
    "verdict",
]
