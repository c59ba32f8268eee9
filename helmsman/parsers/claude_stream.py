"""Parser for the event stream of the Claude Code CLI: helpers for single events, and a reader that folds all into one AgentCall.

The stream is hostile input: the agent writes parts of it. Fields may have any type, lists any length.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import reduce
from typing import Any

from helmsman.parsers.agent_actions import (
    LONGEST_OUTPUT,
    LONGEST_TOOL,
    READERS,
    WRITERS,
    ActionReader,
    ToolInvocation,
    ToolResult,
    detail_of,
)
from helmsman.parsers.agent_ending import FINAL, WORDS, EndCause, ProcessEnd, claude_ending
from helmsman.parsers.claude_usage import (
    LONGEST_ID,
    SYNTHETIC,
    ContextReader,
    SpentReader,
    blocks_of,
    message_of,
    texts_of,
    usage_of,
)
from helmsman.parsers.loose import amount, count, ends, items, last, mapping, text
from helmsman.parsers.usage_limits import read_limit, rejected_limit, without_past_reset
from helmsman.plain import one_line
from helmsman.records.agent import AgentCall, AgentOutcome, ContextUse, KeptSession, RateLimit
from helmsman.records.agents import Tools
from helmsman.records.base import Usage

Event = Mapping[str, Any]
_TOOLS = Tools(run={"Bash": "command"}, write=WRITERS, read=READERS)
_DENIALS = 20
_MOST_HOOKED = 1000
"""Maximum number of hook-refused calls to distinguish from denied permissions; further ones count as denied."""
_BILLED = ("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens", "outputTokens")
_ROUNDING = 1e-6
_FEEDBACK = "Stop hook feedback:"

# --- single events --------------------------------------------------------------------------------------------------


def is_model_message(event: Event) -> bool:
    """Whether the model itself wrote the message, not the CLI in its place."""
    return event.get("type") == "assistant" and message_of(event).get("model") != SYNTHETIC


def message_end(event: Event, limit: int) -> str:
    """Return the end of an assistant event's text, where agents state whether they are done."""
    return last("\n".join(last(block.get("text"), limit) for block in _blocks_of_type(event, "text")), limit)


def tool_calls(event: Event) -> tuple[ToolInvocation, ...]:
    """Return the tool calls of an assistant event."""
    message, parent = text(message_of(event).get("id")), text(event.get("parent_tool_use_id"))
    blocks = _blocks_of_type(event, "tool_use")
    return tuple(
        ToolInvocation(text(block.get("id")), _tool_name(block), mapping(block.get("input")), message, parent) for block in blocks
    )


def tool_results(event: Event) -> tuple[ToolResult, ...]:
    """Return the tool results of a user event."""
    results = [block for block in blocks_of(event) if block.get("type") == "tool_result"] if event.get("type") == "user" else []
    outputs = ("\n".join(ends(part, LONGEST_OUTPUT) for part in texts_of(block)[:20]) for block in results)
    return tuple(
        ToolResult(text(block.get("tool_use_id")), block.get("is_error") is True, output)
        for block, output in zip(results, outputs, strict=True)
    )


def _blocks_of_type(event: Event, *types: str) -> list[Event]:
    return [block for block in blocks_of(event) if block.get("type") in types] if event.get("type") == "assistant" else []


def _tool_name(block: Event) -> str:
    return one_line(text(block.get("name"), LONGEST_TOOL)) or "?"


class TurnReader:
    """Detects where a Stop hook kept the main agent from ending its turn.

    The stream shows a Stop hook's `decision: block` as a user message. It does not show additional context from the hook, but
    then the model speaks again although its turn was over, which nothing else causes.
    """

    def __init__(self) -> None:
        self._spoken = ""
        """Id of the message that should have ended the turn; empty after any other event."""

    def feed(self, event: Event) -> bool:
        """Process one event; return whether it shows that a hook continued the turn."""
        kind, message = text(event.get("type")), message_of(event)
        if kind not in {"assistant", "user", "result"} or event.get("parent_tool_use_id") or message.get("model") == SYNTHETIC:
            return False
        before, self._spoken = self._spoken, ""
        blocks = blocks_of(event)
        if kind != "assistant":
            return kind == "user" and any(text(block.get("text")).startswith(_FEEDBACK) for block in blocks[:1])
        identity = text(message.get("id"))
        self._spoken = "" if any(block.get("type") == "tool_use" for block in blocks) else identity
        return bool(before) and identity != before


# --- the whole call -------------------------------------------------------------------------------------------------


class ClaudeReader:
    """Folds the events of one call in bounded memory."""

    def __init__(self, resumed: KeptSession | None = None, disallowed: Sequence[str] = ()) -> None:
        """Prepare for a call, which may resume the session of earlier ones.

        `disallowed`: rules for tools that Helmsman has the CLI refuse.
        """
        self.finished = self._has_output = False
        self._resumed, self._disallowed = resumed, disallowed
        self.cli_version = self.model = self._session_id = self._error_kind = self._words = self._final = ""
        self._denied: dict[str, None] = {}
        self._hooked = set[str]()
        self._actions, self._context, self._turn = ActionReader(_TOOLS), ContextReader(), TurnReader()
        self._turns = self._window = 0
        self._result: dict[str, Any] | None = None
        self._limit: RateLimit | None = None
        self._usage_of_call = Usage()
        # Usage since the last result, which accounts for everything before it.
        self._unbilled, self._unfinished_turns = SpentReader(), 0

    def feed(self, event: Event) -> None:
        """Process one event; ignore unknown ones."""
        self._has_output = True
        self._context.feed(event)
        if self._turn.feed(event):
            self._words = ""  # text from before the continuation is not the final text
        match text(event.get("type")), text(event.get("subtype")):
            case "system", "init":
                self._session_id = text(event.get("session_id"))
                self.cli_version = text(event.get("claude_code_version"))
                self.model = self.model or text(event.get("model"))
            case "system", "permission_denied":
                self._record_denial(event)
            case "system", "thinking_tokens":
                self._unbilled.think(event)
            case "assistant", _:
                self._read_message(event)
            case "user", _:
                self._read_results(event)
            case "rate_limit_event", _:
                self._limit = read_limit(mapping(event.get("rate_limit_info")))
            case "result", _:
                self._read_result(event)
            case _:
                pass

    def context(self, window: int) -> ContextUse:
        """Return the context usage so far, for a window of so many tokens."""
        return self._context.use(window)

    @property
    def usage(self) -> Usage:
        """Usage so far: the CLI reports it with each turn's result; until then it is summed up from the messages."""
        return self._usage_of_call.plus(self._unbilled.usage)

    def conclude(self, *, exit_code: int | None, ended_by: EndCause, stderr: str, seconds: float, now: datetime) -> AgentCall:
        """Return the whole call after its process has ended."""
        ended = ProcessEnd(by=ended_by, exit_code=exit_code, stderr=stderr, has_output=self._has_output)
        outcome, error = claude_ending(ended, self._result, self._error_kind, self._limit)
        used_up = outcome is AgentOutcome.USAGE_LIMIT
        # Only a finished turn's result is the agent's text; any other is the CLI's, or the prompt's.
        fallback = self._final if outcome is AgentOutcome.FINISHED else ""
        return AgentCall(
            outcome=outcome,
            exit_code=exit_code,
            seconds=seconds,
            error=error,
            session_id=self._session_id,
            model=self.model,
            cli_version=self.cli_version,
            usage=self.usage,
            turns=self._turns + self._unfinished_turns,
            final_text=self._words or fallback,
            permission_denials=tuple(self._denied),
            context=self._context.use(self._window),
            resumed=self._resumed is not None and self._has_output and outcome is not AgentOutcome.UNKNOWN_SESSION,
            rate_limit=rejected_limit(self._limit, error, now) if used_up else without_past_reset(self._limit, now),
            **self._actions.fields(),
        )

    def _read_message(self, event: Event) -> None:
        message, main = message_of(event), event.get("parent_tool_use_id") is None
        if message.get("model") == SYNTHETIC:
            self._error_kind = text(event.get("error")) if main else self._error_kind
            return
        self._unfinished_turns += self._unbilled.add(message, main=main) and main
        if main:
            self._error_kind, self.model = "", text(message.get("model")) or self.model
        for block in _blocks_of_type(event, "text", "tool_use"):
            is_call = block.get("type") == "tool_use"
            if is_call:
                self._actions.call(text(block.get("id"), LONGEST_ID), _tool_name(block), mapping(block.get("input")))
            if main:
                spoken = "" if is_call else f"{self._words}\n{last(block.get('text'), FINAL)}"
                self._words = spoken.lstrip("\n")[-FINAL:]

    def _read_results(self, event: Event) -> None:
        refused, outcome = set[str](), event.get("tool_use_result")
        for meta in map(mapping, items(event.get("tool_result_meta"))):
            identity = text(meta.get("id"), LONGEST_ID)
            if "non_execution_kind" in meta:
                refused.add(identity)
            if mapping(meta.get("permission_decision")).get("source") == "hook" and len(self._hooked) < _MOST_HOOKED:
                self._hooked.add(identity)
        # The CLI marks a non-zero exit as an error, and a command that timed out as interrupted.
        is_error = mapping(outcome).get("interrupted") is True or text(outcome).startswith("Error: ")
        for block in blocks_of(event):
            identity = text(block.get("tool_use_id"), LONGEST_ID)
            failed = block.get("is_error") is True or is_error
            self._actions.result(identity, failed=None if identity in refused else failed)

    def _record_denial(self, event: Event) -> None:
        """Record a denied tool. A refusal by our hooks or rules is guidance, not a missing permission."""
        tool, identity = text(event.get("tool_name"), LONGEST_TOOL), text(event.get("tool_use_id"), LONGEST_ID)
        request = text(event.get("message")) or detail_of(mapping(event.get("tool_input")))
        is_ours = identity in self._hooked
        for rule in self._disallowed:  # such as `Bash(git push:*)`
            name, _, specifier = rule.removesuffix(")").partition("(")
            prefix = specifier.removesuffix(":*").partition("*")[0].replace("//", "/")
            is_ours = is_ours or (name == tool and prefix in request)
        if tool and not is_ours and len(self._denied) < _DENIALS:
            self._denied[tool] = None

    def _read_result(self, event: Event) -> None:
        self.finished, self._final = True, last(event.get("result"), FINAL)
        errors = "\n".join(text(error, WORDS) for error in items(event.get("errors"))[:10])[:WORDS]
        self._result = {"result": text(event.get("result"), WORDS), "errors": errors, "is_error": event.get("is_error") is True}
        self._result |= {name: text(event.get(name)) for name in ("subtype", "terminal_reason", "api_error")}
        self._result |= {name: count(event.get(name)) for name in ("api_error_status", "num_turns")}
        self._session_id = text(event.get("session_id")) or self._session_id
        self._turns += count(event.get("num_turns"))
        by_model = mapping(event.get("modelUsage"))
        self._usage_of_call = _usage_of_call(event, by_model, self._resumed.total if self._resumed else Usage())
        # The last model is listed under its name, its full name or with a suffix.
        listed = ((name, name.partition("[")[0], mapping(used)) for name, used in by_model.items())
        windows = (
            used.get("contextWindow") for *names, used in listed if self.model in (*names, text(used.get("canonicalModel")))
        )
        self._window = count(next(windows, 0))
        self._unbilled.clear()
        self._unfinished_turns = 0
        for denial in items(event.get("permission_denials")):
            self._record_denial(mapping(denial))


def _usage_of_call(event: Event, by_model: Event, earlier: Usage) -> Usage:
    """Return the CLI's usage without earlier calls of the session; a smaller total means that the CLI started over.

    Usage by model includes subagents, earlier turns and earlier calls; the plain usage includes none of them.
    """
    cost = amount(event.get("total_cost_usd")) or 0.0
    before = earlier if cost > earlier.cost_usd - _ROUNDING else Usage()
    used = usage_of(mapping(event.get("usage")))
    if by_model:
        account = reduce(Usage.plus, (usage_of(mapping(used), _BILLED) for used in by_model.values()))
        difference = {name: max(getattr(account, name) - getattr(before, name), 0) for name in Usage.model_fields}
        used = Usage.model_validate(difference)
    return used.model_copy(update={"cost_usd": max(cost - before.cost_usd, 0.0)})
