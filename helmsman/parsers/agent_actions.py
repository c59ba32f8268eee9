"""What a call of an agent did, whichever program made it: its tools, the commands that ended, the files it wrote and read."""

import json
from collections import Counter, deque
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from helmsman.parsers.loose import at, count, last, text
from helmsman.plain import one_line, shortened
from helmsman.records.agent import CommandRun
from helmsman.records.agents import Tools

WRITERS = {"Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
"""The agent's own tools that write a file, by the names that its CLI gives them, and the argument that names it."""
READERS = {"Read": "file_path"}  # tools that read one, likewise
OTHER_TOOLS = "(other)"
LONGEST_OUTPUT = 20_000  # characters of each end of what a tool said; failures and summaries stand there
LONGEST_TOOL = 60
_TOOLS = 50
_COMMANDS = 50
_COMMAND = 300
_PATHS = 200
_PATH = 300
_PENDING = 200  # a message calls a handful of tools at once, and subagents run beside each other
_DETAIL = 120
_BASH_SECONDS, _BASH_LONGEST = 120.0, 600.0  # the CLI's own: BASH_DEFAULT_TIMEOUT_MS and BASH_MAX_TIMEOUT_MS
_IN_FLIGHT = 100  # calls that are remembered; a CLI runs a dozen at a time
_DETAIL_KEYS = ("command", "file_path", "notebook_path", "path", "pattern", "query", "url", "description", "prompt")


class Called(NamedTuple):
    """A tool that the agent calls."""

    identity: str
    tool: str
    arguments: Mapping[str, Any]
    message: str = ""  # id of the message that it stands in
    parent: str = ""  # id of the call that started the subagent which makes it; empty in the main thread


class ToolResult(NamedTuple):
    """What came of a tool call."""

    identity: str
    failed: bool
    output: str  # its text, bounded


def action_of(tools: Tools, tool: str) -> tuple[str, str]:
    """What a tool does (run, write or read), and the path of the argument that says to what; empty where that is not known."""
    kinds = {"run": tools.run, "write": tools.write, "read": tools.read}
    return next(((action, named[tool]) for action, named in kinds.items() if tool in named), ("", ""))


class ActionReader:
    """Joins tool calls with their results by id, in bounded memory."""

    def __init__(self, tools: Tools) -> None:
        """Nothing has been done yet."""
        self._tools = tools
        self._used: Counter[str] = Counter()
        self._commands: deque[CommandRun] = deque(maxlen=_COMMANDS)
        self._paths: dict[str, dict[str, None]] = {"write": {}, "read": {}}
        self._pending: dict[str, tuple[str, str]] = {}

    def call(self, identity: str, tool: str, arguments: Mapping[str, Any]) -> None:
        """A tool is used."""
        room = tool in self._used or len(self._used) < _TOOLS - 1
        self._used[tool if room else OTHER_TOOLS] += 1
        action, path = action_of(self._tools, tool)
        # The end of a path says which file it is.
        subject = text(at(arguments, path), _COMMAND) if action == "run" else last(at(arguments, path), _PATH) if action else ""
        if identity and subject:
            self._pending[identity] = action, subject
        if len(self._pending) > _PENDING:
            del self._pending[next(iter(self._pending))]

    def result(self, identity: str, *, failed: bool | None) -> None:
        """What came of it; None where nobody knows, and then it is no evidence."""
        action, subject = self._pending.pop(identity, ("", ""))
        if action == "run" and failed is not None:
            self._commands.append(CommandRun(command=subject, failed=failed))
        elif action in self._paths and failed is False:
            self._note(action, subject)

    def wrote(self, path: object) -> None:
        """It changed a file, by whatever tool."""
        self._note("write", last(path, _PATH))

    def fields(self) -> dict[str, Any]:
        """Of `AgentCall`."""
        return {
            "tools": tuple(self._used.most_common()),
            "commands": tuple(self._commands),
            "edited": tuple(self._paths["write"]),
            "looked": tuple(self._paths["read"]),
        }

    def _note(self, action: str, path: str) -> None:
        if path and len(self._paths[action]) < _PATHS:
            self._paths[action][path] = None


class ToolPatience:
    """How long a session may be silent: as configured, and while a command runs, until its own limit has passed as well.

    Only Claude Code's Bash tool has a limit that is known.
    """

    def __init__(self, idle: float, environment: Mapping[str, str]) -> None:
        """`idle`: seconds of silence while no tool runs. The environment is the session's."""
        self._idle = idle
        self._usual = _seconds(environment.get("BASH_DEFAULT_TIMEOUT_MS"), _BASH_SECONDS)
        self._longest = max(_seconds(environment.get("BASH_MAX_TIMEOUT_MS"), _BASH_LONGEST), self._usual)
        self._limits: dict[str, float] = {}

    def announce(self, called: Called) -> None:
        if called.tool == "Bash" and len(self._limits) < _IN_FLIGHT:
            self._limits[called.identity] = min(_seconds(called.arguments.get("timeout"), self._usual), self._longest)

    def conclude(self, result: ToolResult) -> None:
        self._limits.pop(result.identity, None)

    def seconds(self) -> float:
        """The silence that is still life. The configured one comes on top: after its limit a tool has to be ended first."""
        return self._idle + max(self._limits.values(), default=0.0)


def _seconds(milliseconds: object, otherwise: float) -> float:
    given = count(int(milliseconds) if isinstance(milliseconds, str) and milliseconds.isdecimal() else milliseconds)
    return given / 1000 if given else otherwise


def parse_event(line: bytes) -> dict[str, Any] | None:
    """One line of a stream; None for everything that is not one JSON object."""
    try:
        event = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):  # broken text, a cut line, numbers or nesting beyond all measure
        return None
    return cast("dict[str, Any]", event) if isinstance(event, dict) else None


def detail_of(arguments: Mapping[str, Any]) -> str:
    """The one line of a tool call's arguments that says most, fit for a terminal, 120 characters at most."""
    told = (one_line(text(arguments.get(key), 1000)) for key in _DETAIL_KEYS)
    return shortened(next((line for line in told if line), ""), _DETAIL)
