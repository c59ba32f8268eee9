"""Which agent a loop has, for people."""

from collections.abc import Iterator

from helmsman.agents.fitting import lacks
from helmsman.plain import clean
from helmsman.records.agents import Agent, AgentKind, Capability

WITHOUT = {
    Capability.HOOKS: "guard rails",
    Capability.STREAM: "events",
    Capability.TOOLS: "tool calls",
    Capability.COST: "dollars",
    Capability.TOKENS: "tokens",
    Capability.COMMANDS: "ends of commands",
    Capability.MODEL: "a choice of model",
    Capability.CONTEXT: "its context",
    Capability.SESSIONS: "sessions",
    Capability.RULES: "tool rules",
    Capability.RESETS: "resets of limits",
}
"""In a word or two, the gravest first."""


def named(kind: AgentKind) -> str:
    return f"{kind.name} ({clean(kind.title)})" if kind.title and kind.title != kind.name else kind.name


def in_short(kind: AgentKind) -> str:
    """One line: its name and all that it lacks."""
    missing = [words for capability, words in WITHOUT.items() if capability not in kind.tells]
    return f"{named(kind)}, without {', '.join(missing)}"


def introduction(agent: Agent) -> Iterator[str]:
    """What a person should know at the start."""
    yield named(agent.kind)
    yield from (f"  {line}" for line in lacks(agent.kind))
    if agent.unused:
        yield f"  these settings are made and do nothing with it: {', '.join(agent.unused)}"
