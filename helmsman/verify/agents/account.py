"""The account of one call, which the readers of all formats write: what was done, what it cost, how it ended."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from helmsman.records.agents import AgentKind, Capability
from helmsman.records.evidence import AgentCall, CommandRun
from helmsman.records.usage import Usage
from helmsman.verify.agent_events import OTHER_TOOLS, Called, ToolResult
from helmsman.verify.agent_outcome import FINAL, WORDS, EndedBy
from helmsman.verify.agents.endings import Ended, outcome_of
from helmsman.verify.loose_json import ends, last, text

_TOOLS = 50
_COMMANDS = 50
_COMMAND = 300
_PATHS = 200
_PATH = 300
_PENDING = 200
_NAME = 60
_OUTPUT = 20_000
_NEWS = 1000


@dataclass(frozen=True)
class Tools:
    """Which of a program's tools run commands, write files and read them, and the argument that says which."""

    run: Mapping[str, str] = field(default_factory=dict[str, str])
    write: Mapping[str, str] = field(default_factory=dict[str, str])
    read: Mapping[str, str] = field(default_factory=dict[str, str])


class Account:
    """Bounded, whatever is printed."""

    def __init__(self, kind: AgentKind, tools: Tools) -> None:
        """Nothing has been heard yet."""
        self.finished = False
        self.spoke = False
        self.session = self.model = self.version = self.said = ""
        self.usage = Usage()
        self.turns = self.retries = 0
        self._kind, self._tools = kind, tools
        self._ended_well: bool | None = None
        self._words, self._status = "", 0
        self._used: Counter[str] = Counter()
        self._commands: deque[CommandRun] = deque(maxlen=_COMMANDS)
        self._edited: dict[str, None] = {}
        self._looked: dict[str, None] = {}
        self._pending: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._news: deque[Called | ToolResult] = deque(maxlen=_NEWS)

    # --- what readers write ---------------------------------------------------------------------------------------

    def begin(self, *, session: object = None, model: object = None, version: object = None) -> None:
        self.session = text(session) or self.session
        self.model = text(model) or self.model
        self.version = text(version) or self.version

    def say(self, words: object, *, more: bool = False) -> None:
        """A message of the agent's; `more`: it goes on with the one before."""
        before = self.said if more else ""
        self.said = (before + last(words, FINAL))[-FINAL:] or self.said

    def call(self, identity: object, tool: object, arguments: Mapping[str, Any]) -> None:
        """It uses a tool. Commands are announced to those who listen under the name and the argument that all know."""
        name, key = text(tool, _NAME) or "?", text(identity)
        if key in self._pending:
            return
        self.said = ""  # what it said before it did more is not its last word
        self._used[name if name in self._used or len(self._used) < _TOOLS - 1 else OTHER_TOOLS] += 1
        self._pending[key] = name, arguments
        if len(self._pending) > _PENDING:
            del self._pending[next(iter(self._pending))]
        runs = self._tools.run.get(name)
        known = ("Bash", {"command": arguments.get(runs)}) if runs else (name, self._told(name, arguments))
        self._news.append(Called(key, *known))

    def result(self, identity: object, *, failed: bool | None, output: object = "") -> None:
        """What came of it; `failed` is None where the program does not tell."""
        key = text(identity)
        called = self._pending.pop(key, None)
        if called is None:
            return
        self._note(*called, failed=failed)
        # What is not known to have gone well is not taken for done.
        self._news.append(ToolResult(key, failed is not False, ends(output, _OUTPUT)))

    def wrote(self, path: object) -> None:
        """It changed a file, by whatever tool."""
        self._path(self._edited, path)

    def spend(self, usage: Usage) -> None:
        self.usage = self.usage.plus(usage)

    def complain(self, words: object, status: int = 0) -> None:
        """The program's own words on what went wrong, and the HTTP status behind it where it tells one."""
        self._words, self._status = text(words, WORDS), status

    def end(self, *, well: bool) -> None:
        """The program said that its turn is over."""
        self.finished, self._ended_well = True, well

    # --- what others read -----------------------------------------------------------------------------------------

    def news(self) -> Iterator[Called | ToolResult]:
        """Tool calls and results since it was asked last."""
        while self._news:
            yield self._news.popleft()

    def conclude(self, *, exit_code: int | None, ended_by: EndedBy, stderr: str, seconds: float) -> AgentCall:
        """The whole call, once its process has ended."""
        ended = Ended(
            by=ended_by,
            exit_code=exit_code,
            stderr=stderr,
            spoke=self.spoke,
            well=self._ended_well,
            words=self._words,
            status=self._status,
        )
        outcome, words = outcome_of(ended, self._kind)
        return AgentCall(
            outcome=outcome,
            exit_code=exit_code,
            seconds=seconds,
            error=words,
            session_id=self.session,
            model=self.model,
            cli_version=self.version,
            usage=self.usage,
            turns=self.turns,
            tools=tuple(self._used.most_common()),
            first_used=tuple(self._used)[:12],
            commands=tuple(self._commands),
            edited=tuple(self._edited),
            looked=tuple(self._looked),
            final_text=self.said.strip(),
            api_retries=self.retries,
            untold=tuple(one.value for one in Capability if one not in self._tells),
        )

    @property
    def _tells(self) -> frozenset[Capability]:
        """What was told of this call: a price that stands in a last event that never came was not."""
        return self._kind.tells if self.usage.tokens else self._kind.tells - {Capability.TOKENS, Capability.COST}

    def _told(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        key = self._tools.write.get(name) or self._tools.read.get(name)
        return {"path": arguments.get(key)} if key else arguments

    def _note(self, name: str, arguments: Mapping[str, Any], *, failed: bool | None) -> None:
        tools = self._tools
        if name in tools.run and failed is not None:
            self._commands.append(CommandRun(command=text(arguments.get(tools.run[name]), _COMMAND), failed=failed))
        elif name in tools.write and failed is False:
            self._path(self._edited, arguments.get(tools.write[name]))
        elif name in tools.read and failed is False:
            self._path(self._looked, arguments.get(tools.read[name]))

    @staticmethod
    def _path(paths: dict[str, None], path: object) -> None:
        named = last(path, _PATH)
        if named and len(paths) < _PATHS:
            paths[named] = None
