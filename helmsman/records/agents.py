"""The agent program of a loop: how it is called, and what it reports. Missing capabilities are listed, never guessed."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, LiteralString, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from helmsman.config.infrastructure import Format, PromptWay
from helmsman.plain import PLAIN_NAME
from helmsman.records.agent import AgentOutcome
from helmsman.records.base import Record

Path = Annotated[str, Field(min_length=1, max_length=200)]
"""Keys joined by dots, from the event or, under `each`, from the item. `0` indexes a list; `*End` is the first key with that
ending, and as the last part of a tool's name that key without the ending."""
Paths = Annotated[tuple[Path, ...], Field(max_length=10)]
Value = bool | int | str


class Condition(Record):
    when: Mapping[Path, tuple[Value, ...]] = Field(default_factory=dict[str, tuple[Value, ...]])
    """Each of these has one of its values, or any value if none is named. `*` at the end matches any suffix."""
    unless: Mapping[Path, tuple[Value, ...]] = Field(default_factory=dict[str, tuple[Value, ...]])


class Tools(Record):
    """Tools that run commands, write files and read them, and the path of the argument that names these."""

    run: Mapping[str, Path] = Field(default_factory=dict[str, str])
    write: Mapping[str, Path] = Field(default_factory=dict[str, str])
    read: Mapping[str, Path] = Field(default_factory=dict[str, str])


class ToolUse(Record):
    id: Path
    name: Paths
    arguments: Path


class ToolEnd(Record):
    id: Path
    known: Path | None = None
    """If empty, the result of the call is unknown."""
    ok: Condition = Condition()
    exit: Path | None = None
    """The exit code of a command, which takes precedence over `ok`. Without it only a failure shows how a command ended."""
    output: Paths = ()


class Spent(Record):
    input: Path
    cached: Path | None = None
    cached_in_input: bool = False
    """Whether `input` includes them."""
    written: Path | None = None
    output: Paths
    cost: Path | None = None


class Rule(Condition):
    on: Annotated[str, Field(min_length=1)]
    each: Path | None = None
    """A list in it: the rest applies to each item, in order."""
    main: bool = False
    """Whether it is ignored in a subagent's thread."""
    session: Path | None = None
    model: Path | None = None
    turn: bool = False
    retry: bool = False
    """It retries to reach its model, which is only a sign of life."""
    say: Path | None = None
    """The agent's text; `a.[].b` joins the items of a list."""
    more: Path | None = None
    """Whether that continues its previous text."""
    call: ToolUse | None = None
    result: ToolEnd | None = None
    wrote: Path | None = None
    """Files that it changed, by any tool; `a.[].b` for a list."""
    spent: Spent | None = None
    end: Condition | None = None
    """Its turn is over, successfully if this holds."""
    error: Paths = ()
    status: Path | None = None


class Stream(Record):
    """Events of a program that prints one JSON object per line, with its kind under `type`."""

    tools: Tools = Tools()
    session: Path | None = None
    subagent: Path | None = None
    unwrap: bool = False
    """Whether commands are reported as `/bin/bash -lc '…'`."""
    rules: Annotated[tuple[Rule, ...], Field(min_length=1, max_length=100)]


CLAUDE, TEMPLATE = "claude", "template"
"""The agent with its own adapter, and the one described in the configuration."""
PLACES = ("model", "options", "prompt", "prompt_file")
"""Placeholders allowed in braces in a command."""
_PLACE = re.compile(r"\{([a-z_]+)\}")


class Capability(StrEnum):
    """What a program can do for a loop besides working in a folder until it ends."""

    STREAM = "stream"
    """It prints events while it works, so that a hang is detected and its ending is known after a crash."""
    TOOLS = "tools"
    COMMANDS = "commands"
    TOKENS = "tokens"
    COST = "cost"
    MODEL = "model"
    CONTEXT = "context"
    """It reports the use of its context, so that a session is ended in time."""
    HOOKS = "hooks"
    """It asks before each tool call and before it ends: guard rails, and checks inside the session."""
    SESSIONS = "sessions"
    RULES = "rules"
    RESETS = "resets"


_EVENTS = frozenset({Capability.STREAM, Capability.TOOLS})
TELLS: Mapping[Format, frozenset[Capability]] = {
    "text": frozenset(),
    "json": frozenset(),
    "codex": _EVENTS | {Capability.COMMANDS, Capability.TOKENS},
    "copilot": _EVENTS | {Capability.COMMANDS},
    "cursor": _EVENTS | {Capability.COMMANDS},
    "gemini": _EVENTS | {Capability.TOKENS},
    "messages": _EVENTS | {Capability.TOKENS},
    "opencode": _EVENTS | {Capability.COMMANDS, Capability.TOKENS, Capability.COST},
}
"""What each format included in Helmsman reports; a test compares it with recorded output of the programs."""


def capabilities_of(stream: Stream) -> frozenset[Capability]:
    """Capabilities of a stream, by its table."""
    commands = any(rule.result and rule.result.exit for rule in stream.rules)
    spent = [rule.spent for rule in stream.rules if rule.spent]
    reported = {
        Capability.COMMANDS: commands,
        Capability.TOKENS: bool(spent),
        Capability.COST: any(spending.cost for spending in spent),
    }
    return _EVENTS | {capability for capability, is_reported in reported.items() if is_reported}


ENDINGS = (
    AgentOutcome.USAGE_LIMIT, AgentOutcome.RATE_LIMITED, AgentOutcome.OVERLOADED, AgentOutcome.AUTHENTICATION,
    AgentOutcome.BILLING, AgentOutcome.BAD_MODEL, AgentOutcome.CONTEXT_FULL, AgentOutcome.REJECTED_REQUEST,
    AgentOutcome.REFUSED_START, AgentOutcome.MAX_TURNS, AgentOutcome.ABORTED, AgentOutcome.CRASHED,
)  # fmt: skip
"""Endings that a file may name: neither completed work nor endings that only Helmsman's own timers detect."""


def _check_ending(value: Any) -> Any:
    if value not in ENDINGS:
        raise PydanticCustomError("ending", "{endings}", {"endings": " or ".join(ENDINGS)})
    return value


Ending = Annotated[AgentOutcome, BeforeValidator(_check_ending)]
ExitCode = Annotated[str, Field(pattern="^[0-9]{1,3}$")]
Phrase = Annotated[str, Field(min_length=1, pattern=r"\S")]

Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\*?$", max_length=100)]
"""Name of an environment variable, or a prefix of several."""


class AgentKind(Record):
    """How one kind of agent is called and parsed. A loop keeps it in its state, independent of its file."""

    name: str = Field(pattern=PLAIN_NAME, max_length=40)
    title: str = Field(default="", max_length=80)
    command: tuple[str, ...] = Field(min_length=1, max_length=100)
    """The program, then its arguments. A call fills in `{options}`, `{prompt}`, `{prompt_file}` and `{model}`."""
    model_options: tuple[str, ...] = ()
    """Arguments that select a model, with `{model}`; they replace `{options}`, together with those of the configuration."""
    prompt: PromptWay = "stdin"
    output: Format = "text"
    stream: Stream | None = None
    environment: tuple[Variable, ...] = ()
    """Environment variables that it may see; `*` at the end matches any suffix."""
    login: tuple[Variable, ...] = ()
    remedy: str = ""
    exits: Mapping[ExitCode, Ending] = Field(default_factory=dict[ExitCode, Ending])
    words: Mapping[Phrase, Ending] = Field(default_factory=dict[Phrase, Ending])
    """Meanings of phrases in the program's error messages. The agent's own text is never searched."""
    version: str = ""
    known_by: Literal["runs", "help", "documentation", ""] = ""
    """How it was verified: by a run against a scripted model, by its help, or by its documentation."""
    documentation: str = ""
    install: str = ""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Its capabilities that a loop can use."""
        chooses_model = any("{model}" in part for part in (*self.command, *self.model_options))
        capabilities = capabilities_of(self.stream) if self.stream else TELLS[self.output]
        return capabilities | {Capability.MODEL} if chooses_model else capabilities

    @property
    def program(self) -> str:
        return self.command[0]

    @model_validator(mode="after")
    def _check_placeholders(self) -> Self:
        named = [place for part in (*self.command, *self.model_options) for place in _PLACE.findall(part)]
        unknown = next((place for place in named if place not in PLACES), None)
        if unknown is not None:
            raise PydanticCustomError(
                "place", "{places} in braces, not {unknown}", {"places": " or ".join(PLACES), "unknown": unknown}
            )
        missing: tuple[tuple[LiteralString, bool], ...] = (
            ('prompt = "file" if the command contains {prompt_file}', "prompt_file" in named and self.prompt != "file"),
            ('{prompt_file} in the command if prompt = "file"', self.prompt == "file" and "prompt_file" not in named),
            ('prompt = "argument" if the command contains {prompt}', "prompt" in named and self.prompt != "argument"),
            ('a table [stream] if output = "events", and only then', (self.output == "events") != bool(self.stream)),
        )
        for expected, is_missing in missing:
            if is_missing:
                raise PydanticCustomError("command", expected)
        return self


class Agent(Record):
    kind: AgentKind
    unused: tuple[str, ...] = ()


def prints_text(agent: Agent | None) -> bool:
    """Whether the agent's messages cannot be separated from other output of its program."""
    return agent is not None and agent.kind.output == "text"
