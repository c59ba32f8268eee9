"""What a loop does without where its agent lacks something: told to people; refused where the operator relies on it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from helmsman.config import LoopConfig
from helmsman.config.layers import value_of
from helmsman.errors import OperatorError
from helmsman.plain import clean
from helmsman.records.agents import Agent, AgentKind, Capability

_OURS = re.compile("default|preset [a-z0-9-]+")
"""Sources that are no word of the operator's on this; the path of a file is never written like one of them."""


class Needs(NamedTuple):
    """A setting that does nothing without a capability."""

    key: str
    capability: Capability
    without: Any
    """Its value where the capability is missing; so it is set then, where nobody asked for another one."""
    remedy: str


NEEDS = (
    Needs("steering.hooks", Capability.HOOKS, False, "set steering.hooks = false; checks judge every commit"),
    Needs("claude.session", Capability.SESSIONS, "fresh", 'set claude.session = "fresh"'),
    Needs("limits.cost_usd", Capability.COST, None, 'set limits.cost_usd = "none", and limit tokens, hours or iterations'),
    Needs("limits.tokens", Capability.TOKENS, None, 'set limits.tokens = "none", and limit hours or iterations'),
    Needs("agent.model", Capability.MODEL, "", "take agent.model out, or let the command name {model}"),
)
_CLAUDE_S = "claude.", "steering.", "context."
_ANYBODY_S = {"claude.timeout_minutes", "claude.idle_timeout_minutes", *(need.key for need in NEEDS)}
"""Settings in these sections that say something to another agent too, or are refused above; the others do nothing."""
_ASKING = "claude.binary", "claude.block", "claude.environment"
"""Those of the others that serve a model which is asked: a judge, or a writer."""


def fitted(config: LoopConfig, origins: Mapping[str, str], kind: AgentKind) -> tuple[LoopConfig, dict[str, str]]:
    """The configuration without what the agent cannot do, and where each change is from. Raises OperatorError.

    What the operator set on purpose and would rely on is refused; nothing of it is left out in silence.
    """
    missing = _missing(config, kind)
    _refuse([need for need in missing if _is_said(origins[need.key])], config, kind)
    changed = {need.key: need.without for need in missing}
    return _with(config, changed), dict.fromkeys(changed, f"agent {kind.name}")


def unused(config: LoopConfig, origins: Mapping[str, str]) -> tuple[str, ...]:
    """Settings that somebody made and that do nothing with an agent other than Claude Code."""
    asked = bool(config.judge.criteria) or config.prompt.written
    only_claude_s = (key for key in origins if key.startswith(_CLAUDE_S) and key not in _ANYBODY_S)
    return tuple(key for key in only_claude_s if _is_said(origins[key]) and not (asked and key in _ASKING))


def require_able(config: LoopConfig, kind: AgentKind) -> None:
    """For a loop that is changed on its way: what is set now and was not there before somebody has said."""
    _refuse(_missing(config, kind), config, kind)


def _missing(config: LoopConfig, kind: AgentKind) -> list[Needs]:
    """What the configuration asks for and the agent cannot do."""
    return [need for need in NEEDS if need.capability not in kind.tells and value_of(config, need.key) != need.without]


def _refuse(needs: Sequence[Needs], config: LoopConfig, kind: AgentKind) -> None:
    """Raise OperatorError for the first of what cannot be had."""
    for need in needs[:1]:
        raise OperatorError(
            f"{need.key} is set, and {kind.name} cannot do it: {LACKS[need.capability].words}",
            expected=f"an agent that can, such as claude, or another {need.key}",
            found=f"{need.key} = {value_of(config, need.key)!r} with agent.kind = {kind.name!r}",
            remedy=need.remedy,
        )


def _is_said(origin: str) -> bool:
    """Whether a source is a person's word, not a default or a preset's."""
    return _OURS.fullmatch(origin) is None


class Missing(NamedTuple):
    """What a loop does without: in a word or two, and in a clause."""

    short: str
    words: str


LACKS: Mapping[Capability, Missing] = {
    Capability.HOOKS: Missing(
        "guard rails", "no guard rails before tool calls and no checks inside the session; everything is checked afterwards"
    ),
    Capability.STREAM: Missing(
        "events", "it prints nothing until it ends: an interrupted call is repeated, and silence does not mean a hang"
    ),
    Capability.TOOLS: Missing("tool calls", "it does not report its tool calls, so they are not shown or counted"),
    Capability.COST: Missing("dollars", "it does not report its cost, so a cost limit has no effect"),
    Capability.TOKENS: Missing("tokens", "it does not report its tokens, so a token limit has no effect"),
    Capability.COMMANDS: Missing(
        "ends of commands", "it does not report exit statuses, so its claims about commands are not checked"
    ),
    Capability.MODEL: Missing("a choice of model", "its model cannot be chosen"),
    Capability.CONTEXT: Missing("its context", "it does not report its context; its session ends by itself"),
    Capability.SESSIONS: Missing("sessions", "each iteration starts with an empty context"),
    Capability.RULES: Missing("tool rules", "it cannot restrict tools by name; a hat's tools have no effect"),
    Capability.RESETS: Missing("resets of limits", "it does not report when a usage limit resets; the loop retries each hour"),
}
"""The gravest first."""


def lacks(kind: AgentKind) -> list[Missing]:
    """The gravest first."""
    return [lack for capability, lack in LACKS.items() if capability not in kind.tells]


def named(kind: AgentKind) -> str:
    return f"{kind.name} ({clean(kind.title)})" if kind.title and kind.title != kind.name else kind.name


def in_short(kind: AgentKind) -> str:
    """One line: its name and all that it lacks."""
    return f"{named(kind)}, without {', '.join(lack.short for lack in lacks(kind))}"


def introduction(agent: Agent) -> Iterator[str]:
    """What a person should know at the start."""
    yield named(agent.kind)
    yield from (f"  {lack.words}" for lack in lacks(agent.kind))
    if agent.unused:
        yield f"  these settings have no effect with it: {', '.join(agent.unused)}"


def _with(config: LoopConfig, changed: Mapping[str, Any]) -> LoopConfig:
    for key, value in changed.items():
        section, name = key.split(".")
        part = getattr(config, section).model_copy(update={name: value})
        config = config.model_copy(update={section: part})
    return config
