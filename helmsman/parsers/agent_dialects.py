"""What agents other than Claude Code print, folded into the same record, as the table of their program's stream says.

A stream is hostile input: the agent writes parts of it. Every field may have any type, every list any length.
"""

import json
import re
import shlex
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import groupby
from typing import Any

from helmsman.parsers.agent_actions import LONGEST_OUTPUT, LONGEST_TOOL, ActionReader, Called, ToolResult, action_of, parse_event
from helmsman.parsers.agent_ending import FINAL, WORDS, Ended, EndedBy, other_ending
from helmsman.parsers.loose import amount, at, count, ends, items, key_ending, last, mapping, text
from helmsman.parsers.shell_words import script_of
from helmsman.records.agent import AgentCall
from helmsman.records.agents import AgentKind, Capability, Condition, Rule, Spent, Stream, ToolEnd, Tools, ToolUse, Value
from helmsman.records.base import Usage
from helmsman.toml_of import bundled

Event = Mapping[str, Any]
_LONGEST_COMMAND = 20_000
_OPEN = 200
_NEWS = 1000
_ANSWERS = "result", "response", "text", "output", "message", "content"
"""Keys under which programs put the agent's words; the first that holds text."""
_LARGEST = 1 << 20  # bytes that are kept of what is printed; a longer object is not read
_TRIED = 50
"""Lines that may begin the answer, from the last one on: each may be as long as all that is kept."""
_BEGINS = re.compile(r"^\{", re.MULTILINE)
_TAIL = 200  # characters of a prompt's end by which one is known whose beginning is not kept


class DialectReader:
    """Folds the output of one call as the rules of its program's stream say, in bounded memory."""

    def __init__(self, kind: AgentKind, stream: Stream | None = None) -> None:
        """Nothing has been printed."""
        self.finished = self.spoke = False
        self.session = self.model = self.said = ""
        self.usage = Usage()
        self.turns = 0
        self._kind, self._stream = kind, stream
        self._tools = stream.tools if stream else Tools()
        self._ended_well: bool | None = None
        self._words, self._status = "", 0
        self._actions = ActionReader(self._tools)
        self._open: dict[str, str] = {}
        """Calls without a result, and their tools."""
        self._news: deque[Called | ToolResult] = deque(maxlen=_NEWS)
        self._lines, self._size = deque[bytes](), 0

    def hear(self, line: bytes) -> None:
        """Take in one line of standard output; unknown ones change nothing.

        Of text, all is what the agent says. Of one object in JSON, nothing tells before the end whether it is the last.
        """
        if self._kind.output == "text":
            self.spoke = True
            self.say(line.decode("utf-8", "replace").removesuffix("\n") + "\n", more=True)
        elif self._kind.output == "json":  # of more than what is kept, the end
            self._lines.append(line if line.endswith(b"\n") else line + b"\n")
            self._size += len(self._lines[-1])
            while self._size > _LARGEST:
                self._size -= len(self._lines.popleft())
        elif self._stream and (event := parse_event(line)) is not None:
            self._event(self._stream, event)

    def _event(self, stream: Stream, event: Event) -> None:
        rules = [rule for rule in stream.rules if rule.on == event.get("type")]
        if not rules:
            return
        self.spoke = True
        self._begin(event, stream.session, None)
        main = stream.subagent is None or at(event, stream.subagent) is None
        for each, group in groupby(rules, key=lambda rule: rule.each):
            listed = [rule for rule in group if main or not rule.main]
            for part in items(at(event, each)) if each else (event,):
                for rule in listed:
                    if _holds(rule, part):
                        self._apply(rule, part)

    def news(self) -> Iterator[Called | ToolResult]:
        """Tool calls and results since it was asked last. Commands have the name and the argument that all know."""
        while self._news:
            yield self._news.popleft()

    def conclude(self, *, exit_code: int | None, ended_by: EndedBy, stderr: str, seconds: float) -> AgentCall:
        """The whole call, once its process has ended."""
        if self._kind.output == "json":
            self._read_answer()
        ended = Ended(by=ended_by, exit_code=exit_code, stderr=stderr, spoke=self.spoke)
        outcome, words = other_ending(ended, self._kind, well=self._ended_well, words=self._words, status=self._status)
        # A price that stands in a last event that never came was not told.
        tells = self._kind.tells if self.usage.tokens else self._kind.tells - {Capability.TOKENS, Capability.COST}
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
            untold=tuple(one.value for one in Capability if one not in tells),
            **self._actions.fields(),
        )

    def _read_answer(self) -> None:
        """One object, on one line or over several; the last of them is the agent's answer, what stands before it is a log's."""
        printed, found, end = b"".join(self._lines).decode("utf-8", "replace"), None, -1
        # The object that ends last, whole: not one inside of it that begins a line as well.
        for begin in [match.start() for match in _BEGINS.finditer(printed)][-_TRIED:][::-1]:
            with suppress(ValueError, RecursionError):
                value, stop = json.JSONDecoder().raw_decode(printed, begin)
                found, end = (value, stop) if stop > end else (found, end)
        self.spoke, answer = found is not None, mapping(found)
        self.say(last(_first(answer, _ANSWERS), FINAL))
        wrong = answer.get("error")
        if wrong or answer.get("is_error") is True:
            self._words = text(text(wrong, WORDS) or mapping(wrong).get("message") or answer.get("result"), WORDS)
            self._ended_well = False

    def say(self, words: str, *, more: bool = False) -> None:
        """A message of the agent's; `more`: it goes on with the one before."""
        self.said = ((self.said if more else "") + words)[-FINAL:] or self.said

    def _apply(self, rule: Rule, part: object) -> None:
        self._begin(part, rule.session, rule.model)
        self.turns += rule.turn
        if rule.say:
            said = "".join(last(words, FINAL) for words in _all_at(part, rule.say))
            self.say(said, more=rule.more is not None and at(part, rule.more) is True)
        if rule.call:
            self._call(rule.call, part)
        if rule.result:
            self._result(rule.result, part)
        for path in _all_at(part, rule.wrote) if rule.wrote else ():
            self._actions.wrote(path)
        if rule.spent:
            self.usage = self.usage.plus(_usage(rule.spent, part))
        well = rule.end is not None and _holds(rule.end, part)
        if rule.error and not well:  # its own words on what went wrong, and the HTTP status behind it where it tells one
            self._words = text(_first(part, rule.error), WORDS)
            self._status = count(at(part, rule.status)) if rule.status else 0
        if rule.end:
            self.finished, self._ended_well = True, well

    def _begin(self, part: object, session: str | None, model: str | None) -> None:
        self.session = (text(at(part, session)) if session else "") or self.session
        self.model = (text(at(part, model)) if model else "") or self.model

    def _call(self, use: ToolUse, part: object) -> None:
        """It uses a tool. One that is told only when it is done, or again then, is called once."""
        key, name = text(at(part, use.id)), next(filter(None, (_name(part, path) for path in use.name)), "?")
        if key in self._open:
            return
        self.said = ""  # what it said before it did more is not its last word
        self._open[key] = name
        if len(self._open) > _OPEN:
            del self._open[next(iter(self._open))]
        arguments = mapping(at(part, use.arguments))
        action, path = action_of(self._tools, name)
        if action == "run" and self._stream and self._stream.unwrap:  # of `/bin/bash -lc '…'` the command itself
            command = text(at(arguments, path), _LONGEST_COMMAND)
            with suppress(ValueError):
                command = script_of(shlex.split(command), "") or command
            arguments = {**arguments, path: command}
        self._actions.call(key, name, arguments)
        # Under the names that all know, for what the program calls otherwise.
        known = {"run": ("Bash", "command"), "write": (name, "path"), "read": (name, "path")}
        tool, argument = known.get(action, (name, ""))
        self._news.append(Called(key, tool, {argument: at(arguments, path)} if action else arguments))

    def _result(self, end: ToolEnd, part: object) -> None:
        """What came of it. What is not known to have gone well is not taken for done."""
        key = text(at(part, end.id))
        tool = self._open.pop(key, None)
        if tool is None:
            return
        failed = None if end.known and not at(part, end.known) else not _holds(end.ok, part)
        exit_code = at(part, end.exit) if end.exit else None
        if isinstance(exit_code, int):
            failed = exit_code != 0
        elif end.exit is None and tool in self._tools.run:
            failed = failed or None  # a command that exits with 1 is a result like any other here
        self._actions.result(key, failed=failed)
        self._news.append(ToolResult(key, failed is not False, ends(_first(part, end.output), LONGEST_OUTPUT)))


def _holds(condition: Condition, part: object) -> bool:
    return all(_is_one_of(at(part, path), values) for path, values in condition.when.items()) and not any(
        _is_one_of(at(part, path), values) for path, values in condition.unless.items()
    )


def _is_one_of(found: object, values: Sequence[Value]) -> bool:
    """By value and by type: 1 is not true. Without any value named whatever is there will do."""
    if not values:
        return found not in (None, "")
    begins = tuple(one[:-1] for one in values if isinstance(one, str) and one.endswith("*"))
    begun = isinstance(found, str) and found.startswith(begins)
    return begun or any(type(one) is type(found) and one == found for one in values)


def _first(part: object, paths: Sequence[str]) -> str:
    """The first text that is there, whole."""
    return next((found for path in paths if isinstance(found := at(part, path), str) and found), "")


def _all_at(part: object, path: str) -> list[object]:
    """What lies there; of a path with a list in it, what lies there in each of its items."""
    head, listed, tail = path.partition(".[].")
    return [at(one, tail) for one in items(at(part, head))] if listed else [at(part, head)]


def _name(part: object, path: str) -> str:
    """A tool's name; of a key that is known by its end, what stands before that."""
    head, _, end = path.rpartition(".")
    if end.startswith("*"):
        return text(key_ending(mapping(at(part, head)), end[1:]).removesuffix(end[1:]), LONGEST_TOOL)
    return text(at(part, path), LONGEST_TOOL)


def _usage(spent: Spent, part: object) -> Usage:
    cached, written = (count(at(part, path)) if path else 0 for path in (spent.cached, spent.written))
    return Usage(
        cost_usd=(amount(at(part, spent.cost)) if spent.cost else None) or 0.0,
        input_tokens=max(count(at(part, spent.input)) - (cached if spent.cached_in_input else 0), 0),
        cache_creation_tokens=written,
        cache_read_tokens=cached,
        output_tokens=sum(count(at(part, path)) for path in spent.output),
    )


def without_prompt(said: str, prompt: str) -> str:
    """What a program printed without a prompt that it repeated: our own words ask for nothing."""
    told = prompt.strip()
    if not told or told in said:
        return said.replace(told, "").strip() if told else said
    end = said.find(told[-_TAIL:]) + len(told[-_TAIL:])
    return said[end:].strip() if told[-_TAIL:] in said and told.endswith(said[:end].lstrip()) else said


@cache
def streams() -> Mapping[str, Stream]:
    """Those that come with Helmsman, by the name of their format."""
    table = bundled("helmsman.parsers", "streams.toml")
    return {name: Stream.model_validate(stream, extra="forbid") for name, stream in table.items()}


def reader_of(kind: AgentKind) -> DialectReader:
    """A new reader for one call of this agent."""
    return DialectReader(kind, kind.stream or streams().get(kind.output))
