"""The account of one call, which the readers of all formats write: what was done, what it cost, how it ended."""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from helmsman.records.agents import AgentKind, Capability
from helmsman.records.evidence import AgentCall
from helmsman.records.usage import Usage
from helmsman.verify.agent_events import LONGEST_OUTPUT, Called, ToolResult
from helmsman.verify.agent_outcome import FINAL, WORDS, EndedBy
from helmsman.verify.agents.endings import Ended, outcome_of
from helmsman.verify.deed_reader import Deed, DeedReader, Tools
from helmsman.verify.loose_json import ends, last, text

_OPEN = 200
_NAME = 60
_NEWS = 1000


class Account:
    """Bounded, whatever is printed."""

    def __init__(self, kind: AgentKind, tools: Tools) -> None:
        """Nothing has been heard yet."""
        self.finished = False
        self.spoke = False
        self.session = self.model = self.said = ""
        self.usage = Usage()
        self.turns = self.retries = 0
        self._kind, self._tools = kind, tools
        self._ended_well: bool | None = None
        self._words, self._status = "", 0
        self._deeds = DeedReader(tools)
        self._open: dict[str, str] = {}
        """Calls without a result, and their tools."""
        self._news: deque[Called | ToolResult] = deque(maxlen=_NEWS)

    # --- what readers write ---------------------------------------------------------------------------------------

    def begin(self, *, session: object = None, model: object = None) -> None:
        self.session = text(session) or self.session
        self.model = text(model) or self.model

    def say(self, words: object, *, more: bool = False) -> None:
        """A message of the agent's; `more`: it goes on with the one before."""
        before = self.said if more else ""
        self.said = (before + last(words, FINAL))[-FINAL:] or self.said

    def call(self, identity: object, tool: object, arguments: Mapping[str, Any]) -> None:
        """It uses a tool. Commands are announced to those who listen under the name and the argument that all know."""
        name, key = text(tool, _NAME) or "?", text(identity)
        if key in self._open:
            return
        self.said = ""  # what it said before it did more is not its last word
        self._open[key] = name
        if len(self._open) > _OPEN:
            del self._open[next(iter(self._open))]
        self._deeds.call(key, name, arguments)
        self._news.append(Called(key, *self._known(name, arguments)))

    def runs(self, identity: object) -> bool:
        """Whether the tool that was called so, and has not answered, runs a command."""
        return self._open.get(text(identity)) in self._tools.run

    def result(self, identity: object, *, failed: bool | None, output: object = "") -> None:
        """What came of it; `failed` is None where the program does not tell."""
        key = text(identity)
        if self._open.pop(key, None) is None:
            return
        self._deeds.result(key, failed=failed)
        # What is not known to have gone well is not taken for done.
        self._news.append(ToolResult(key, failed is not False, ends(output, LONGEST_OUTPUT)))

    def wrote(self, path: object) -> None:
        """It changed a file, by whatever tool."""
        self._deeds.wrote(path)

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
        ended = self._ended(exit_code, ended_by, stderr)
        outcome, words = outcome_of(ended, self._kind)
        return AgentCall(
            outcome=outcome,
            exit_code=exit_code,
            seconds=seconds,
            error=words,
            session_id=self.session,
            model=self.model,
            usage=self.usage,
            turns=self.turns,
            final_text=self.said.strip(),
            api_retries=self.retries,
            untold=tuple(one.value for one in Capability if one not in self._tells),
            **self._deeds.told(),
        )

    def _ended(self, exit_code: int | None, by: EndedBy, stderr: str) -> Ended:
        return Ended(
            by=by,
            exit_code=exit_code,
            stderr=stderr,
            spoke=self.spoke,
            well=self._ended_well,
            words=self._words,
            status=self._status,
        )

    @property
    def _tells(self) -> frozenset[Capability]:
        """What was told of this call: a price that stands in a last event that never came was not."""
        return self._kind.tells if self.usage.tokens else self._kind.tells - {Capability.TOKENS, Capability.COST}

    def _known(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """Tool and arguments under the names that all know, for what the program calls otherwise."""
        match self._tools.deed(tool):
            case None:
                return tool, arguments
            case Deed.RUN, key:
                return "Bash", {"command": arguments.get(key)}
            case _, key:
                return tool, {"path": arguments.get(key)}
