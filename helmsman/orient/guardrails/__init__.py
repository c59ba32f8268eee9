"""Guard rails for the agent's tool calls: judged before they run, by values alone."""

from helmsman.orient.guardrails.goals import is_fix
from helmsman.orient.guardrails.judging import judge
from helmsman.orient.guardrails.rules import Advise, Allow, Deny, Judgement, Rule, Rules
from helmsman.orient.guardrails.tool_calls import Session, ToolCall, after, before

__all__ = [
    "Advise", "Allow", "Deny", "Judgement", "Rule", "Rules", "Session", "ToolCall", "after", "before",
    "is_fix", "judge",
]  # fmt: skip
