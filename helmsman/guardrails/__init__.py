"""Guard rails for the agent's tool calls, decided before they run from values alone, and the analysis of their failures."""

from helmsman.guardrails.rules import RESEARCH_FILE, Advise, Allow, Deny, Judgement, Rule, Rules
from helmsman.guardrails.session import Session, ToolCall, evaluate, is_fix, record_call, record_result

__all__ = [
    "RESEARCH_FILE", "Advise", "Allow", "Deny", "Judgement", "Rule", "Rules", "Session", "ToolCall", "evaluate", "is_fix",
    "record_call", "record_result",
]  # fmt: skip
