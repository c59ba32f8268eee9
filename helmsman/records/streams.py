"""How the events of an agent's program are read, as a table: where in each of them stands what it did and how it ended."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import ConfigDict, Field

from helmsman.records.base import Record

Path = Annotated[str, Field(min_length=1, max_length=200)]
"""Keys with dots between them, from the event or, under `each`, from the item. `0` counts in a list; `*End` is the first key that
ends so, and as the last part of a tool's name that key without its end."""
Paths = Annotated[tuple[Path, ...], Field(max_length=10)]
Value = bool | int | str


class Part(Record):
    """Of an agent's file, which a person writes: an unknown key is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Condition(Part):
    """What an event must say."""

    when: Mapping[Path, tuple[Value, ...]] = Field(default_factory=dict[str, tuple[Value, ...]])
    """Each of these has one of its values, or, with none named, any at all. `*` at the end stands for all that begin so."""
    unless: Mapping[Path, tuple[Value, ...]] = Field(default_factory=dict[str, tuple[Value, ...]])
    """None of these has."""


class Tools(Part):
    """Which tools run commands, write files and read them, and the path of the argument that says which."""

    run: Mapping[str, Path] = Field(default_factory=dict[str, str])
    write: Mapping[str, Path] = Field(default_factory=dict[str, str])
    read: Mapping[str, Path] = Field(default_factory=dict[str, str])


class ToolUse(Part):
    """A call begins."""

    id: Path
    name: Paths
    """The first that is there."""
    arguments: Path


class ToolEnd(Part):
    """A call has ended."""

    id: Path
    known: Path | None = None
    """Where it is empty, nobody knows what came of the call."""
    ok: Condition = Condition()
    exit: Path | None = None
    """The exit code of a command, which is believed before `ok`. Without it only a failure says how a command ended."""
    output: Paths = ()


class Spent(Part):
    """Tokens and dollars."""

    input: Path
    cached: Path | None = None
    """Tokens that came from the cache."""
    cached_in_input: bool = False
    """Whether `input` counts them as well."""
    written: Path | None = None
    """Tokens that went into the cache."""
    output: Paths
    cost: Path | None = None


class Rule(Condition):
    """What one kind of event says."""

    on: Annotated[str, Field(min_length=1)]
    """Its `type`."""
    each: Path | None = None
    """A list in it: the rest is said of each of its items, in their order."""
    main: bool = False
    """Whether it says nothing in a subagent's thread."""
    session: Path | None = None
    model: Path | None = None
    turn: bool = False
    """It begins a turn."""
    retry: bool = False
    """It tries again to reach its model."""
    say: Path | None = None
    """What the agent says; `a.[].b` joins what each item of a list says."""
    more: Path | None = None
    """Whether that goes on with what it said before."""
    call: ToolUse | None = None
    result: ToolEnd | None = None
    wrote: Path | None = None
    """Files that it changed, by whatever tool; `a.[].b` for a list."""
    spent: Spent | None = None
    end: Condition | None = None
    """Its turn is over, and well where this holds."""
    error: Paths = ()
    """The program's own words on what went wrong; where its turn ends well, nothing did."""
    status: Path | None = None
    """The HTTP status behind them."""


class Stream(Part):
    """Of a program that prints one JSON object on each line, with its kind under `type`."""

    tools: Tools = Tools()
    session: Path | None = None
    """Where each event that is known names the session."""
    subagent: Path | None = None
    """What is there in the events of a subagent's thread."""
    unwrap: bool = False
    """Whether commands are told as `/bin/bash -lc '…'`."""
    rules: Annotated[tuple[Rule, ...], Field(min_length=1, max_length=100)]
