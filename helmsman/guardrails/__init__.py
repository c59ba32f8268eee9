"""Guard rails for the agent's tool calls: judged before they run, by values alone, and what their failures show."""

from helmsman.guardrails.rules import RESEARCH_FILE, Advise, Allow, Deny, Judgement, Rule, Rules
from helmsman.guardrails.session import Session, ToolCall, after, before, is_fix, judge

__all__ = [
    "RESEARCH_FILE", "Advise", "Allow", "Deny", "Judgement", "Rule", "Rules", "Session", "ToolCall", "after", "before",
    "is_fix", "judge",
]  # fmt: skip
