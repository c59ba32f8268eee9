"""The event stream of the Claude Code CLI: single events for whoever listens, and all of them folded into one AgentCall.

The stream is hostile input: the agent writes parts of it. Every field may have any type, every list any length.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import reduce
from typing import Any, NamedTuple, cast

from helmsman.agent_tools import READERS, WRITERS
from helmsman.records.evidence import AgentCall, AgentOutcome, RateLimit
from helmsman.records.session import ContextUse, KeptSession
from helmsman.records.usage import Usage
from helmsman.verify.agent_outcome import FINAL, EndedBy, Ending, ResultEvent, outcome_of, read_result, words_of
from helmsman.verify.context_reader import SYNTHETIC, ContextReader, never_ran, refused_by_hook
from helmsman.verify.deed_reader import DeedReader, Tools
from helmsman.verify.loose_json import amount, count, ends, items, last, mapping, text
from helmsman.verify.spent_reader import SpentReader, usage_of
from helmsman.verify.turn_reader import TurnReader
from helmsman.verify.usage_limits import ahead, reached, read_limit

LONGEST_OUTPUT = 20_000
"""Characters of each end of what a tool said; failures and summaries stand there."""
_TOOLS = Tools(run={"Bash": "command"}, write=WRITERS, read=READERS)
_DENIALS = 20
_HOOKED = 1000
"""Calls refused by hooks that are told apart from denied permissions; more are counted as denied."""
_DETAIL = 120
_NAME = 60
_DETAIL_KEYS = ("command", "file_path", "notebook_path", "path", "pattern", "query", "url", "description", "prompt")
_BILLED = ("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens", "outputTokens")
_ROUNDING = 1e-6
_IDENTITY = 100


def parse_event(line: bytes) -> dict[str, Any] | None:
    """One line of the stream; None for everything that is not one JSON object."""
    try:
        event = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):  # broken text, a cut line, numbers or nesting beyond all measure
        return None
    return cast("dict[str, Any]", event) if isinstance(event, dict) else None


def spoken_by_model(event: Mapping[str, Any]) -> bool:
    """Whether the model itself spoke, not the CLI in its place."""
    return event.get("type") == "assistant" and mapping(event.get("message")).get("model") != SYNTHETIC


def spoken_text(event: Mapping[str, Any], limit: int) -> str:
    """The end of what an assistant event says, where agents say whether they are done."""
    return last("\n".join(last(block.get("text"), limit) for block in _blocks(event, "text")), limit)


class Called(NamedTuple):
    """A tool that an assistant event calls."""

    identity: str
    tool: str
    arguments: Mapping[str, Any]
    message: str = ""
    """Id of the message that it stands in."""
    parent: str = ""
    """Id of the call that started the subagent which makes it; empty in the main thread."""


def tool_calls(event: Mapping[str, Any]) -> tuple[Called, ...]:
    """The tools that an assistant event calls."""
    message, parent = text(mapping(event.get("message")).get("id")), text(event.get("parent_tool_use_id"))
    blocks = _blocks(event, "tool_use")
    return tuple(Called(text(one.get("id")), _name(one), mapping(one.get("input")), message, parent) for one in blocks)


class ToolResult(NamedTuple):
    """What came of a tool call."""

    identity: str
    failed: bool
    output: str
    """Its text, bounded."""


def tool_results(event: Mapping[str, Any]) -> tuple[ToolResult, ...]:
    """The results that an event brings."""
    if event.get("type") != "user":
        return ()
    blocks = [mapping(block) for block in items(mapping(event.get("message")).get("content"))]
    results = [block for block in blocks if block.get("type") == "tool_result"]
    return tuple(ToolResult(text(one.get("tool_use_id")), one.get("is_error") is True, _output(one)) for one in results)


def _output(block: Mapping[str, Any]) -> str:
    content = block.get("content")
    parts = [content] if isinstance(content, str) else [mapping(part).get("text") for part in items(content)[:20]]
    return "\n".join(ends(part, LONGEST_OUTPUT) for part in parts)


class CallReader:
    """Folds the events of one call, in bounded memory."""

    def __init__(self, resumed: KeptSession | None = None, disallowed: Sequence[str] = ()) -> None:
        """Nothing has been seen yet of a call, which may go on with the session of earlier ones.

        `disallowed`: rules of tools that we told the CLI to refuse.
        """
        self.finished = False
        self._spoke = False
        self._resumed = resumed
        self._session_id = self._cli_version = self._model = self._kind = self._said = ""
        self._denied: dict[str, None] = {}
        self._disallowed = disallowed
        self._hooked = set[str]()
        self._deeds = DeedReader(_TOOLS)
        self._turns = self._retries = 0
        self._context, self._turn = ContextReader(), TurnReader()
        self._result: ResultEvent | None = None
        self._billed = Usage()
        self._window = 0
        self._limit: RateLimit | None = None
        # What came after the last result, which speaks for all before it.
        self._unbilled = SpentReader()
        self._unfinished_turns = 0
        self._readers: dict[tuple[str, str], Callable[[Mapping[str, Any]], None]] = {
            ("system", "init"): self._start,
            ("system", "api_retry"): self._retry,
            ("system", "permission_denied"): self._denial,
            ("system", "thinking_tokens"): self._unbilled.think,
            ("assistant", ""): self._message,
            ("user", ""): self._results,
            ("rate_limit_event", ""): self._window_state,
            ("result", ""): self._conclusion,
        }

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take in one event; unknown ones change nothing."""
        self._spoke = True
        self._context.feed(event)
        if self._turn.feed(event):
            self._said = ""  # what it said before it was sent back is not its last word
        kind = text(event.get("type"))
        reader = self._readers.get((kind, text(event.get("subtype")) if kind == "system" else ""))
        if reader:
            reader(event)

    @property
    def cli_version(self) -> str:
        return self._cli_version

    @property
    def model(self) -> str:
        return self._model

    def context(self, window: int) -> ContextUse:
        """What fills the context so far, of a window of so many tokens."""
        return self._context.use(window)

    @property
    def usage(self) -> Usage:
        """What was used up so far: the CLI tells it of a turn with its result, and until then the messages do."""
        return self._billed.plus(self._unbilled.usage)

    def conclude(self, *, exit_code: int | None, ended_by: EndedBy, stderr: str, seconds: float, now: datetime) -> AgentCall:
        """The whole call, once its process has ended."""
        ending = self._ending(exit_code, ended_by, stderr)
        outcome = outcome_of(ending)
        words = words_of(ending, outcome)
        used_up = outcome is AgentOutcome.USAGE_LIMIT
        return AgentCall(
            outcome=outcome,
            exit_code=exit_code,
            seconds=seconds,
            error=words,
            session_id=self._session_id,
            model=self._model,
            cli_version=self._cli_version,
            usage=self.usage,
            turns=self._turns + self._unfinished_turns,
            final_text=self._final_text(outcome),
            permission_denials=tuple(self._denied),
            api_retries=self._retries,
            context=self._context.use(self._window),
            resumed=self._resumed is not None and self._spoke and outcome is not AgentOutcome.UNKNOWN_SESSION,
            rate_limit=reached(self._limit, words, now) if used_up else ahead(self._limit, now),
            **self._deeds.told(),
        )

    def _ending(self, exit_code: int | None, ended_by: EndedBy, stderr: str) -> Ending:
        return Ending(
            ended_by=ended_by,
            exit_code=exit_code,
            stderr=stderr,
            spoke=self._spoke,
            result=self._result,
            kind=self._kind,
            limit=self._limit,
        )

    def _final_text(self, outcome: AgentOutcome) -> str:
        # Only a finished turn's result holds the agent's words; any other holds the CLI's, or the prompt's.
        spare = self._result.final if self._result and outcome is AgentOutcome.FINISHED else ""
        return self._said or spare

    def _start(self, event: Mapping[str, Any]) -> None:
        self._session_id = text(event.get("session_id"))
        self._cli_version = text(event.get("claude_code_version"))
        self._model = self._model or text(event.get("model"))

    def _message(self, event: Mapping[str, Any]) -> None:
        message = mapping(event.get("message"))
        main = event.get("parent_tool_use_id") is None
        if message.get("model") == SYNTHETIC:
            self._kind = text(event.get("error")) if main else self._kind
            return
        self._unfinished_turns += self._unbilled.add(message, main=main) and main
        for block in _blocks(event, "tool_use"):
            self._deeds.call(text(block.get("id"), _IDENTITY), _name(block), mapping(block.get("input")))
        if main:
            self._listen(event, message)

    def _listen(self, event: Mapping[str, Any], message: Mapping[str, Any]) -> None:
        self._kind = ""
        self._model = text(message.get("model")) or self._model
        for block in _blocks(event, "text", "tool_use"):
            called = block.get("type") == "tool_use"
            said = "" if called else f"{self._said}\n{last(block.get('text'), FINAL)}"
            self._said = said.lstrip("\n")[-FINAL:]

    def _results(self, event: Mapping[str, Any]) -> None:
        refused = never_ran(event)
        if len(self._hooked) < _HOOKED:
            self._hooked |= refused_by_hook(event)
        for block in map(mapping, items(mapping(event.get("message")).get("content"))):
            identity = text(block.get("tool_use_id"), _IDENTITY)
            failed = _failed(block, event.get("tool_use_result"))
            self._deeds.result(identity, failed=None if identity in refused else failed)

    def _retry(self, _: Mapping[str, Any]) -> None:
        self._retries += 1

    def _denial(self, event: Mapping[str, Any]) -> None:
        """What a hook or a rule of ours refused is guidance, and no permission that the agent lacks."""
        tool, identity = text(event.get("tool_name"), _NAME), text(event.get("tool_use_id"), _IDENTITY)
        wanted = text(event.get("message")) or detail_of(mapping(event.get("tool_input")))
        ours = identity in self._hooked or any(_matches(rule, tool, wanted) for rule in self._disallowed)
        if tool and not ours and len(self._denied) < _DENIALS:
            self._denied[tool] = None

    def _window_state(self, event: Mapping[str, Any]) -> None:
        self._limit = read_limit(mapping(event.get("rate_limit_info")))

    def _conclusion(self, event: Mapping[str, Any]) -> None:
        self.finished = True
        self._result = read_result(event)
        self._session_id = text(event.get("session_id")) or self._session_id
        self._turns += self._result.turns
        by_model = mapping(event.get("modelUsage"))
        self._billed = _billed(event, by_model, self._resumed.total if self._resumed else Usage())
        self._window = _window_of(self._model, by_model)
        self._unbilled.clear()
        self._unfinished_turns = 0
        for denial in items(event.get("permission_denials")):
            self._denial(mapping(denial))


def _matches(rule: str, tool: str, wanted: str) -> bool:
    """Whether a rule such as `Bash(git push:*)` is about a call: the tool, and words of what it wanted."""
    name, _, specifier = rule.removesuffix(")").partition("(")
    return name == tool and specifier.removesuffix(":*").partition("*")[0].replace("//", "/") in wanted


def _blocks(event: Mapping[str, Any], *types: str) -> list[Mapping[str, Any]]:
    if event.get("type") != "assistant":
        return []
    blocks = (mapping(block) for block in items(mapping(event.get("message")).get("content")))
    return [block for block in blocks if block.get("type") in types]


def _failed(block: Mapping[str, Any], outcome: object) -> bool:
    """As the CLI marks it: a non-zero exit is an error; a command that ran out of time was interrupted."""
    interrupted = mapping(outcome).get("interrupted") is True
    return block.get("is_error") is True or interrupted or text(outcome).startswith("Error: ")


def _name(block: Mapping[str, Any]) -> str:
    return _one_line(text(block.get("name"), _NAME)) or "?"


def detail_of(arguments: Mapping[str, Any]) -> str:
    """The one line of a tool call's arguments that says most, fit for a terminal, 120 characters at most."""
    told = (_one_line(text(arguments.get(key), 1000)) for key in _DETAIL_KEYS)
    line = next((line for line in told if line), "")
    return line if len(line) <= _DETAIL else f"{line[: _DETAIL - 1]}…"


def _one_line(value: str) -> str:
    """Without what could move a terminal's cursor or turn its direction."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in value).split())


def _billed(event: Mapping[str, Any], by_model: Mapping[str, Any], earlier: Usage) -> Usage:
    """The CLI's account without what it held of earlier calls of the session; one that holds less than that began anew.

    By model it includes subagents, earlier turns and earlier calls, of which the plain usage includes none.
    """
    cost = amount(event.get("total_cost_usd")) or 0.0
    before = earlier if cost > earlier.cost_usd - _ROUNDING else Usage()
    used = usage_of(mapping(event.get("usage")))
    if by_model:
        used = _less(reduce(Usage.plus, (usage_of(mapping(one), _BILLED) for one in by_model.values())), before)
    return used.model_copy(update={"cost_usd": max(cost - before.cost_usd, 0.0)})


def _less(account: Usage, before: Usage) -> Usage:
    return Usage.model_validate({name: max(getattr(account, name) - getattr(before, name), 0) for name in Usage.model_fields})


def _window_of(model: str, by_model: Mapping[str, Any]) -> int:
    """The context window of the model that spoke last, listed under its name, its full name or with a suffix."""
    for name, used in by_model.items():
        entry = mapping(used)
        if model in (name, name.partition("[")[0], text(entry.get("canonicalModel"))):
            return count(entry.get("contextWindow"))
    return 0
