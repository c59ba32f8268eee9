"""Parser for the output of agents other than Claude Code, driven by the rules of the program's stream.

A stream is hostile input: the agent writes parts of it. Fields may have any type, lists any length.
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

from helmsman.parsers.agent_actions import (
    LONGEST_OUTPUT,
    LONGEST_TOOL,
    ActionReader,
    ToolInvocation,
    ToolResult,
    action_of,
    parse_event,
)
from helmsman.parsers.agent_ending import FINAL, WORDS, EndCause, ProcessEnd, other_ending
from helmsman.parsers.loose import amount, at, count, ends, items, key_with_suffix, last, mapping, text
from helmsman.parsers.shell_words import script_of
from helmsman.records.agent import AgentCall
from helmsman.records.agents import AgentKind, Capability, Condition, Rule, Spent, Stream, ToolEnd, Tools, ToolUse, Value
from helmsman.records.base import Usage
from helmsman.toml_text import load_bundled

Event = Mapping[str, Any]
_LONGEST_COMMAND = 20_000
_MOST_OPEN = 200
_MOST_UNREAD = 1000
_ANSWERS = "result", "response", "text", "output", "message", "content"
"""Keys for the agent's text in JSON output; the first with text counts."""
_LARGEST = 1 << 20  # maximum bytes of output to keep; longer objects are not read
_MOST_TRIED = 50
"""Maximum number of possible starts of the answer to try, from the end: each may cost the whole output."""
_OBJECT_START = re.compile(r"^\{", re.MULTILINE)
_TAIL = 200  # characters at a prompt's end that identify one whose start was truncated


class DialectReader:
    """Folds the output of one call by the rules of its program's stream, in bounded memory."""

    def __init__(self, kind: AgentKind, stream: Stream | None = None) -> None:
        self.finished = self._has_output = False
        self.session = self.model = self._message = ""
        self.usage = Usage()
        self.turns = 0
        self._kind, self._stream = kind, stream
        self._tools = stream.tools if stream else Tools()
        self._succeeded: bool | None = None
        self._words, self._status = "", 0
        self._actions = ActionReader(self._tools)
        self._open_calls: dict[str, str] = {}
        """Tools of calls without a result, by id."""
        self._unread: deque[ToolInvocation | ToolResult] = deque(maxlen=_MOST_UNREAD)
        self._lines, self._size = deque[bytes](), 0

    def feed(self, line: bytes) -> None:
        """Process one line of standard output; ignore unknown ones.

        Text output is the agent's message. JSON output is kept until the end, as the last object counts.
        """
        if self._kind.output == "text":
            self._has_output = True
            self._set_message(line.decode("utf-8", "replace").removesuffix("\n") + "\n", more=True)
        elif self._kind.output == "json":  # keep the end of long output
            self._lines.append(line if line.endswith(b"\n") else line + b"\n")
            self._size += len(self._lines[-1])
            while self._size > _LARGEST:
                self._size -= len(self._lines.popleft())
        elif self._stream and (event := parse_event(line)) is not None:
            self._process_event(self._stream, event)

    def _process_event(self, stream: Stream, event: Event) -> None:
        rules = [rule for rule in stream.rules if rule.on == event.get("type")]
        if not rules:
            return
        self._has_output = True
        self._update_session(event, stream.session, None)
        main = stream.subagent is None or at(event, stream.subagent) is None
        for each, group in groupby(rules, key=lambda rule: rule.each):
            listed = [rule for rule in group if main or not rule.main]
            for part in items(at(event, each)) if each else (event,):
                for rule in listed:
                    if _matches(rule, part):
                        self._apply(rule, part)

    def new_events(self) -> Iterator[ToolInvocation | ToolResult]:
        """Yield tool calls and results since the last call. Commands have Claude Code's tool and argument names."""
        while self._unread:
            yield self._unread.popleft()

    def conclude(self, *, exit_code: int | None, ended_by: EndCause, stderr: str, seconds: float) -> AgentCall:
        """Return the whole call after its process has ended."""
        if self._kind.output == "json":
            self._read_answer()
        ended = ProcessEnd(by=ended_by, exit_code=exit_code, stderr=stderr, has_output=self._has_output)
        outcome, error = other_ending(ended, self._kind, well=self._succeeded, message=self._words, status=self._status)
        # Without the final event, tokens and cost are not reported.
        tells = self._kind.capabilities if self.usage.tokens else self._kind.capabilities - {Capability.TOKENS, Capability.COST}
        return AgentCall(
            outcome=outcome,
            exit_code=exit_code,
            seconds=seconds,
            error=error,
            session_id=self.session,
            model=self.model,
            usage=self.usage,
            turns=self.turns,
            final_text=self._message.strip(),
            untold=tuple(capability.value for capability in Capability if capability not in tells),
            **self._actions.fields(),
        )

    def _read_answer(self) -> None:
        """Read the answer, the last JSON object on one or more lines; anything before it is log output."""
        printed, answer_value, end = b"".join(self._lines).decode("utf-8", "replace"), None, -1
        # Choose the object that ends last, not one nested in it that also begins a line.
        for begin in [match.start() for match in _OBJECT_START.finditer(printed)][-_MOST_TRIED:][::-1]:
            with suppress(ValueError, RecursionError):
                value, stop = json.JSONDecoder().raw_decode(printed, begin)
                answer_value, end = (value, stop) if stop > end else (answer_value, end)
        self._has_output, answer = answer_value is not None, mapping(answer_value)
        self._set_message(last(_first_text(answer, _ANSWERS), FINAL))
        error = answer.get("error")
        if error or answer.get("is_error") is True:
            self._words = text(text(error, WORDS) or mapping(error).get("message") or answer.get("result"), WORDS)
            self._succeeded = False

    def _set_message(self, text_part: str, *, more: bool = False) -> None:
        """Set the agent's message; `more`: append to the previous one."""
        self._message = ((self._message if more else "") + text_part)[-FINAL:] or self._message

    def _apply(self, rule: Rule, part: object) -> None:
        self._update_session(part, rule.session, rule.model)
        self.turns += rule.turn
        if rule.say:
            message = "".join(last(spoken, FINAL) for spoken in _all_at(part, rule.say))
            self._set_message(message, more=rule.more is not None and at(part, rule.more) is True)
        if rule.call:
            self._record_call(rule.call, part)
        if rule.result:
            self._record_result(rule.result, part)
        for path in _all_at(part, rule.wrote) if rule.wrote else ():
            self._actions.wrote(path)
        if rule.spent:
            self.usage = self.usage.plus(_read_usage(rule.spent, part))
        succeeded = rule.end is not None and _matches(rule.end, part)
        if rule.error and not succeeded:  # the program's error message, and its HTTP status if reported
            self._words = text(_first_text(part, rule.error), WORDS)
            self._status = count(at(part, rule.status)) if rule.status else 0
        if rule.end:
            self.finished, self._succeeded = True, succeeded

    def _update_session(self, part: object, session: str | None, model: str | None) -> None:
        self.session = (text(at(part, session)) if session else "") or self.session
        self.model = (text(at(part, model)) if model else "") or self.model

    def _record_call(self, use: ToolUse, part: object) -> None:
        """Record a tool call, only once if the stream reports it again at its end."""
        key, name = text(at(part, use.id)), next(filter(None, (_tool_name(part, path) for path in use.name)), "?")
        if key in self._open_calls:
            return
        self._message = ""  # text from before a tool call is not the final message
        self._open_calls[key] = name
        if len(self._open_calls) > _MOST_OPEN:
            del self._open_calls[next(iter(self._open_calls))]
        arguments = mapping(at(part, use.arguments))
        action, path = action_of(self._tools, name)
        if action == "run" and self._stream and self._stream.unwrap:  # the command inside of `/bin/bash -lc '…'`
            command = text(at(arguments, path), _LONGEST_COMMAND)
            with suppress(ValueError):
                command = script_of(shlex.split(command), "") or command
            arguments = {**arguments, path: command}
        self._actions.call(key, name, arguments)
        # Use Claude Code's names instead of the program's.
        renamed = {"run": ("Bash", "command"), "write": (name, "path"), "read": (name, "path")}
        tool, argument = renamed.get(action, (name, ""))
        self._unread.append(ToolInvocation(key, tool, {argument: at(arguments, path)} if action else arguments))

    def _record_result(self, end: ToolEnd, part: object) -> None:
        """Record a tool result. An unknown result does not count as success."""
        key = text(at(part, end.id))
        tool = self._open_calls.pop(key, None)
        if tool is None:
            return
        failed = None if end.known and not at(part, end.known) else not _matches(end.ok, part)
        exit_code = at(part, end.exit) if end.exit else None
        if isinstance(exit_code, int):
            failed = exit_code != 0
        elif end.exit is None and tool in self._tools.run:
            failed = failed or None  # an exit code of 1 may be a normal result here
        self._actions.result(key, failed=failed)
        self._unread.append(ToolResult(key, failed is not False, ends(_first_text(part, end.output), LONGEST_OUTPUT)))


def _matches(condition: Condition, part: object) -> bool:
    return all(_is_one_of(at(part, path), values) for path, values in condition.when.items()) and not any(
        _is_one_of(at(part, path), values) for path, values in condition.unless.items()
    )


def _is_one_of(actual: object, values: Sequence[Value]) -> bool:
    """Whether a value equals one of `values`, including its type: 1 is not true. Without any, every non-empty value matches."""
    if not values:
        return actual not in (None, "")
    prefixes = tuple(value[:-1] for value in values if isinstance(value, str) and value.endswith("*"))
    has_prefix = isinstance(actual, str) and actual.startswith(prefixes)
    return has_prefix or any(type(value) is type(actual) and value == actual for value in values)


def _first_text(part: object, paths: Sequence[str]) -> str:
    """Return the first non-empty text at these paths, untruncated."""
    return next((found_text for path in paths if isinstance(found_text := at(part, path), str) and found_text), "")


def _all_at(part: object, path: str) -> list[object]:
    """Return the value at a path; if the path crosses a list, the values in each of its items."""
    head, listed, tail = path.partition(".[].")
    return [at(part_in_list, tail) for part_in_list in items(at(part, head))] if listed else [at(part, head)]


def _tool_name(part: object, path: str) -> str:
    """Return a tool's name; for a key matched by its suffix, the part before the suffix."""
    head, _, end = path.rpartition(".")
    if end.startswith("*"):
        return text(key_with_suffix(mapping(at(part, head)), end[1:]).removesuffix(end[1:]), LONGEST_TOOL)
    return text(at(part, path), LONGEST_TOOL)


def _read_usage(spent: Spent, part: object) -> Usage:
    cached, written = (count(at(part, path)) if path else 0 for path in (spent.cached, spent.written))
    return Usage(
        cost_usd=(amount(at(part, spent.cost)) if spent.cost else None) or 0.0,
        input_tokens=max(count(at(part, spent.input)) - (cached if spent.cached_in_input else 0), 0),
        cache_creation_tokens=written,
        cache_read_tokens=cached,
        output_tokens=sum(count(at(part, path)) for path in spent.output),
    )


def without_prompt(output: str, prompt: str) -> str:
    """Remove a repeated prompt from a program's output: our own text must not count as a request."""
    stripped = prompt.strip()
    if not stripped or stripped in output:
        return output.replace(stripped, "").strip() if stripped else output
    end = output.find(stripped[-_TAIL:]) + len(stripped[-_TAIL:])
    return output[end:].strip() if stripped[-_TAIL:] in output and stripped.endswith(output[:end].lstrip()) else output


@cache
def streams() -> Mapping[str, Stream]:
    """Return the built-in streams by the name of their format."""
    table = load_bundled("helmsman.parsers", "streams.toml")
    return {name: Stream.model_validate(stream, extra="forbid") for name, stream in table.items()}


def reader_of(kind: AgentKind) -> DialectReader:
    """Return a new reader for one call of this agent."""
    return DialectReader(kind, kind.stream or streams().get(kind.output))
