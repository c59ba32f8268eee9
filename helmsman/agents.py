"""Agents other than Claude Code: the command line of a call, and their missing capabilities.

The configuration is adapted to them, people see them listed, and what the operator relies on is refused. Each value of a command
line stays a single argument: no shell is involved.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from helmsman.config import LoopConfig
from helmsman.config.layers import value_of
from helmsman.errors import OperatorError
from helmsman.plain import clean
from helmsman.records.agents import Agent, AgentKind, Capability

LONGEST_ARGUMENT = 128 * 1024 - 1
"""Bytes of one argument on Linux, without the terminating zero."""
_PLACEHOLDER = re.compile(r"\{(model|prompt|prompt_file)\}")
_OPTIONS, _PROMPT = "{options}", "{prompt}"


def command_line(
    kind: AgentKind, *, program: str, model: str, further: Sequence[str], prompt: str, prompt_file: str
) -> list[str]:
    """Program and arguments. `further`: the operator's own. Raises OperatorError for a missing model or an oversized prompt."""
    prompt = prompt.replace("\0", "\N{REPLACEMENT CHARACTER}")  # not allowed in an argument
    values = {"model": model, "prompt": prompt, "prompt_file": prompt_file}
    parts = list(kind.command[1:])
    if kind.prompt == "argument" and not any(_PROMPT in part for part in parts):
        parts.append(_PROMPT)
    model_options = kind.model_options if model else ()
    _require_model(kind, model)
    # by default at the end, but before a prompt there
    at = parts.index(_OPTIONS) if _OPTIONS in parts else len(parts) - (parts[-1:] == [_PROMPT])
    before, after = parts[:at], [part for part in parts[at:] if part != _OPTIONS]
    line = [program, *_fill_in(before, values), *_fill_in(model_options, values), *further, *_fill_in(after, values)]
    _require_fitting_prompt(kind, line)
    return line


def _fill_in(parts: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """Replace all placeholders at once, so that braces in values are not replaced."""
    return [_PLACEHOLDER.sub(lambda placeholder: values[placeholder[1]], part) for part in parts]


def _require_fitting_prompt(kind: AgentKind, line: Sequence[str]) -> None:
    """Check the longest argument, including text around the prompt. Raises OperatorError."""
    size = max(len(part.encode()) for part in line)
    if size > LONGEST_ARGUMENT:
        raise OperatorError(
            f"the prompt is too long for {kind.name}, which takes it as an argument",
            expected=f"{LONGEST_ARGUMENT:,} bytes at most, the system's limit for one argument",
            found=f"{size:,} bytes",
            remedy="shorten the goal, or pass the agent's prompt by stdin or file",
        )


def _require_model(kind: AgentKind, model: str) -> None:
    if not model and any("{model}" in part for part in kind.command):
        raise OperatorError(
            f"the command of {kind.name} needs a model, but none is configured",
            expected="agent.model",
            remedy="set agent.model, or remove {model} from the command",
        )


# --- missing capabilities ---

_OURS = re.compile("default|preset [a-z0-9-]+")
"""Sources that are not the operator's choice; the path of a file never looks like one."""


class Needs(NamedTuple):
    """A setting without effect if a capability is missing."""

    key: str
    capability: Capability
    without: Any
    """Its value if the capability is missing, unless the operator chose another one."""
    remedy: str


NEEDS = (
    Needs("steering.hooks", Capability.HOOKS, False, "set steering.hooks = false; checks judge every commit"),
    Needs("claude.session", Capability.SESSIONS, "fresh", 'set claude.session = "fresh"'),
    Needs("limits.cost_usd", Capability.COST, None, 'set limits.cost_usd = "none", and limit tokens, hours or iterations'),
    Needs("limits.tokens", Capability.TOKENS, None, 'set limits.tokens = "none", and limit hours or iterations'),
    Needs("agent.model", Capability.MODEL, "", "remove agent.model, or add {model} to the command"),
)
_CLAUDE_SECTIONS = "claude.", "steering.", "context."
_SHARED_KEYS = {"claude.timeout_minutes", "claude.idle_timeout_minutes", *(need.key for need in NEEDS)}
"""Settings in these sections that affect other agents too, or are refused above; the others have no effect."""
_MODEL_KEYS = "claude.binary", "claude.block", "claude.environment"
"""Other settings that a model uses as judge or writer."""


def fit_configuration(config: LoopConfig, origins: Mapping[str, str], kind: AgentKind) -> tuple[LoopConfig, dict[str, str]]:
    """The configuration without settings that the agent cannot support, and the source of each change. Raises OperatorError.

    Settings that the operator chose are refused, never dropped silently.
    """
    missing = _missing_needs(config, kind)
    _refuse_first([need for need in missing if _is_chosen(origins[need.key])], config, kind)
    changed = {need.key: need.without for need in missing}
    return _with_values(config, changed), dict.fromkeys(changed, f"agent {kind.name}")


def unused_settings(config: LoopConfig, origins: Mapping[str, str]) -> tuple[str, ...]:
    """The operator's settings without effect for an agent other than Claude Code."""
    asks_model = bool(config.judge.criteria) or config.prompt.written
    claude_only = (key for key in origins if key.startswith(_CLAUDE_SECTIONS) and key not in _SHARED_KEYS)
    return tuple(key for key in claude_only if _is_chosen(origins[key]) and not (asks_model and key in _MODEL_KEYS))


def require_able(config: LoopConfig, kind: AgentKind) -> None:
    """Check a loop that is reconfigured while it runs: all its settings count as chosen. Raises OperatorError."""
    _refuse_first(_missing_needs(config, kind), config, kind)


def _missing_needs(config: LoopConfig, kind: AgentKind) -> list[Needs]:
    """Settings that need a capability which the agent lacks."""
    return [need for need in NEEDS if need.capability not in kind.capabilities and value_of(config, need.key) != need.without]


def _refuse_first(needs: Sequence[Needs], config: LoopConfig, kind: AgentKind) -> None:
    """Raise OperatorError for the first of these settings, if any."""
    for need in needs[:1]:
        raise OperatorError(
            f"{need.key} is set, but {kind.name} does not support it: {CAPABILITY_TEXTS[need.capability].words}",
            expected=f"an agent that supports it, such as claude, or another {need.key}",
            found=f"{need.key} = {value_of(config, need.key)!r} with agent.kind = {kind.name!r}",
            remedy=need.remedy,
        )


def _is_chosen(origin: str) -> bool:
    """Whether a source is a person, not a default or a preset."""
    return _OURS.fullmatch(origin) is None


class Missing(NamedTuple):
    """A missing capability: short, and as a clause."""

    short: str
    words: str


CAPABILITY_TEXTS: Mapping[Capability, Missing] = {
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
"""The most serious first."""


def missing_capabilities(kind: AgentKind) -> list[Missing]:
    """Missing capabilities of an agent, the most serious first."""
    return [lack for capability, lack in CAPABILITY_TEXTS.items() if capability not in kind.capabilities]


def display_name(kind: AgentKind) -> str:
    return f"{kind.name} ({clean(kind.title)})" if kind.title and kind.title != kind.name else kind.name


def describe_briefly(kind: AgentKind) -> str:
    """Name and missing capabilities in one line."""
    return f"{display_name(kind)}, without {', '.join(lack.short for lack in missing_capabilities(kind))}"


def introduction(agent: Agent) -> Iterator[str]:
    """Description of the agent for a person at the start."""
    yield display_name(agent.kind)
    yield from (f"  {lack.words}" for lack in missing_capabilities(agent.kind))
    if agent.unused:
        yield f"  these settings have no effect with it: {', '.join(agent.unused)}"


def _with_values(config: LoopConfig, changed: Mapping[str, Any]) -> LoopConfig:
    for key, value in changed.items():
        section, name = key.split(".")
        part = getattr(config, section).model_copy(update={name: value})
        config = config.model_copy(update={section: part})
    return config
