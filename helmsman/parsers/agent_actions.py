"""Actions of an agent call, for any agent program: tools, finished commands, written and read files."""

import json
from collections import Counter, deque
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from helmsman.parsers.loose import at, count, last, text
from helmsman.plain import one_line, shorten
from helmsman.records.agent import CommandRun
from helmsman.records.agents import Tools

WRITERS = {"Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
"""Claude Code's tools that write a file, and the argument with its path."""
READERS = {"Read": "file_path"}  # tools that read a file, likewise
OTHER_TOOLS = "(other)"
LONGEST_OUTPUT = 20_000  # characters at each end of a tool's output, where failures and summaries are
LONGEST_TOOL = 60
_TOOLS = 50
_COMMANDS = 50
_COMMAND = 300
_PATHS = 200
_PATH = 300
_PENDING = 200  # a message calls a handful of tools at once, and subagents run in parallel
_DETAIL = 120
_BASH_SECONDS, _BASH_LONGEST = 120.0, 600.0  # the CLI's defaults: BASH_DEFAULT_TIMEOUT_MS and BASH_MAX_TIMEOUT_MS
_IN_FLIGHT = 100  # maximum number of tracked calls; a CLI runs a dozen at a time
_DETAIL_KEYS = ("command", "file_path", "notebook_path", "path", "pattern", "query", "url", "description", "prompt")


class ToolInvocation(NamedTuple):
    """A tool call of the agent."""

    identity: str
    tool: str
    arguments: Mapping[str, Any]
    message: str = ""  # id of its message
    parent: str = ""  # id of the call that started its subagent; empty in the main thread


class ToolResult(NamedTuple):
    """Result of a tool call."""

    identity: str
    failed: bool
    output: str  # its text, bounded


def action_of(tools: Tools, tool: str) -> tuple[str, str]:
    """Return a tool's action (run, write or read) and the path to its main argument; empty if unknown."""
    kinds = {"run": tools.run, "write": tools.write, "read": tools.read}
    return next(((action, named[tool]) for action, named in kinds.items() if tool in named), ("", ""))


class ActionReader:
    """Joins tool calls with their results by id, in bounded memory."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._used: Counter[str] = Counter()
        self._commands: deque[CommandRun] = deque(maxlen=_COMMANDS)
        self._paths: dict[str, dict[str, None]] = {"write": {}, "read": {}}
        self._pending: dict[str, tuple[str, str]] = {}

    def call(self, identity: str, tool: str, arguments: Mapping[str, Any]) -> None:
        """Record a tool call."""
        room = tool in self._used or len(self._used) < _TOOLS - 1
        self._used[tool if room else OTHER_TOOLS] += 1
        action, path = action_of(self._tools, tool)
        # Keep the end of a path, which identifies the file.
        subject = text(at(arguments, path), _COMMAND) if action == "run" else last(at(arguments, path), _PATH) if action else ""
        if identity and subject:
            self._pending[identity] = action, subject
        if len(self._pending) > _PENDING:
            del self._pending[next(iter(self._pending))]

    def result(self, identity: str, *, failed: bool | None) -> None:
        """Record a call's result; None if unknown, which is no evidence."""
        action, subject = self._pending.pop(identity, ("", ""))
        if action == "run" and failed is not None:
            self._commands.append(CommandRun(command=subject, failed=failed))
        elif action in self._paths and failed is False:
            self._add_path(action, subject)

    def wrote(self, path: object) -> None:
        """Record a changed file, by any tool."""
        self._add_path("write", last(path, _PATH))

    def fields(self) -> dict[str, Any]:
        """Return these fields of `AgentCall`."""
        return {
            "tools": tuple(self._used.most_common()),
            "commands": tuple(self._commands),
            "edited": tuple(self._paths["write"]),
            "looked": tuple(self._paths["read"]),
        }

    def _add_path(self, action: str, path: str) -> None:
        if path and len(self._paths[action]) < _PATHS:
            self._paths[action][path] = None


class ToolPatience:
    """How long a session may be silent: the configured time, plus the command's own limit while one runs.

    Only the limit of Claude Code's Bash tool is known.
    """

    def __init__(self, idle: float, environment: Mapping[str, str]) -> None:
        """`idle`: seconds of silence while no tool runs. `environment`: the session's."""
        self._idle = idle
        self._usual = _seconds(environment.get("BASH_DEFAULT_TIMEOUT_MS"), _BASH_SECONDS)
        self._longest = max(_seconds(environment.get("BASH_MAX_TIMEOUT_MS"), _BASH_LONGEST), self._usual)
        self._limits: dict[str, float] = {}

    def announce(self, called: ToolInvocation) -> None:
        if called.tool == "Bash" and len(self._limits) < _IN_FLIGHT:
            self._limits[called.identity] = min(_seconds(called.arguments.get("timeout"), self._usual), self._longest)

    def conclude(self, result: ToolResult) -> None:
        self._limits.pop(result.identity, None)

    def seconds(self) -> float:
        """Return the allowed silence. The configured one is added because a tool must first be ended after its limit."""
        return self._idle + max(self._limits.values(), default=0.0)


def _seconds(milliseconds: object, default: float) -> float:
    parsed = count(int(milliseconds) if isinstance(milliseconds, str) and milliseconds.isdecimal() else milliseconds)
    return parsed / 1000 if parsed else default


def parse_event(line: bytes) -> dict[str, Any] | None:
    """Parse one line of a stream; None if it is not a JSON object."""
    try:
        event = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):  # invalid UTF-8, a truncated line, excessive numbers or nesting
        return None
    return cast("dict[str, Any]", event) if isinstance(event, dict) else None


def detail_of(arguments: Mapping[str, Any]) -> str:
    """Return the most informative line of a tool call's arguments, printable, at most 120 characters."""
    lines = (one_line(text(arguments.get(key), 1000)) for key in _DETAIL_KEYS)
    return shorten(next((line for line in lines if line), ""), _DETAIL)
