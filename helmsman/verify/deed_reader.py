"""What a call of an agent did, whichever program made it: its tools, the commands that ended, the files it wrote and read."""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, TypedDict

from helmsman.records.evidence import CommandRun
from helmsman.verify.loose_json import last, text

OTHER_TOOLS = "(other)"
_TOOLS = 50
_COMMANDS = 50
_COMMAND = 300
_PATHS = 200
_PATH = 300
_PENDING = 200  # a message calls a handful of tools at once, and subagents run beside each other


class Deed(Enum):
    """What a tool does, where that is known."""

    RUN = auto()
    WRITE = auto()
    READ = auto()


@dataclass(frozen=True)
class Tools:
    """Which of a program's tools run commands, write files and read them, and the argument that says which."""

    run: Mapping[str, str] = field(default_factory=dict[str, str])
    write: Mapping[str, str] = field(default_factory=dict[str, str])
    read: Mapping[str, str] = field(default_factory=dict[str, str])

    def deed(self, tool: str) -> tuple[Deed, str] | None:
        """What a tool does, and the argument that says to what."""
        kinds = (Deed.RUN, self.run), (Deed.WRITE, self.write), (Deed.READ, self.read)
        return next(((deed, named[tool]) for deed, named in kinds if tool in named), None)


class Told(TypedDict):
    """Fields of `AgentCall`."""

    tools: tuple[tuple[str, int], ...]
    commands: tuple[CommandRun, ...]
    edited: tuple[str, ...]
    looked: tuple[str, ...]


class DeedReader:
    """Joins tool calls with their results by id, in bounded memory."""

    def __init__(self, tools: Tools) -> None:
        """Nothing has been done yet."""
        self._tools = tools
        self._used: Counter[str] = Counter()
        self._commands: deque[CommandRun] = deque(maxlen=_COMMANDS)
        self._edited: dict[str, None] = {}
        self._looked: dict[str, None] = {}
        self._pending: dict[str, tuple[Deed, str]] = {}

    def call(self, identity: str, tool: str, arguments: Mapping[str, Any]) -> None:
        """A tool is used."""
        room = tool in self._used or len(self._used) < _TOOLS - 1
        self._used[tool if room else OTHER_TOOLS] += 1
        known = self._tools.deed(tool)
        if known and identity:
            self._expect(identity, known[0], arguments.get(known[1]))

    def result(self, identity: str, *, failed: bool | None) -> None:
        """What came of it; None where nobody knows, and then it is no evidence."""
        deed, subject = self._pending.pop(identity, (None, ""))
        if deed is Deed.RUN and failed is not None:
            self._commands.append(CommandRun(command=subject, failed=failed))
        elif deed and failed is False:
            _note(self._edited if deed is Deed.WRITE else self._looked, subject)

    def wrote(self, path: object) -> None:
        """It changed a file, by whatever tool."""
        _note(self._edited, last(path, _PATH))

    def told(self) -> Told:
        return Told(
            tools=tuple(self._used.most_common()),
            commands=tuple(self._commands),
            edited=tuple(self._edited),
            looked=tuple(self._looked),
        )

    def _expect(self, identity: str, deed: Deed, subject: object) -> None:
        # The end of a path says which file it is.
        told = text(subject, _COMMAND) if deed is Deed.RUN else last(subject, _PATH)
        if told:
            self._pending[identity] = deed, told
        if len(self._pending) > _PENDING:
            del self._pending[next(iter(self._pending))]


def _note(paths: dict[str, None], path: str) -> None:
    if path and len(paths) < _PATHS:
        paths[path] = None
