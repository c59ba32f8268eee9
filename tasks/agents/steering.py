"""Steering within an iteration: the loop's process answers the hooks of the agent's CLI before tool calls and at its stop."""

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from helmsman.guardrails import Advise, Deny, Rules, Session, ToolCall, evaluate, record_call, record_result
from helmsman.guardrails.context import WARN_AT, closing_message, context_advice, filled_share, rotation_reason
from helmsman.guardrails.failure_patterns import FailureState, Folded, fold_edit, fold_failure, fold_success, stuck_reason
from helmsman.parsers.agent_actions import LONGEST_OUTPUT, ToolInvocation, ToolResult, detail_of
from helmsman.parsers.failure_words import fingerprint, merge_failure
from helmsman.parsers.failures import failed_by_output, failure_of
from helmsman.parsers.loose import ends, mapping, text
from helmsman.records.agent import AgentOutcome, ContextUse, ErrorVector, Guarded, StopAttempt
from tasks.agents.stop import Output, Stops

GUARDED_KEPT = 50
PENDING_KEPT = 500
AGENTS_KEPT = 50
STOPS_KEPT = 10
UNJUDGED = "unjudged"
"""Pseudo-rule: the guardrails failed on this call."""
FORGED_STOP = "forged_stop"
"""Pseudo-rule: a Stop event that the event stream does not confirm. Recorded once per session."""
GRACE = 5
"""Messages with tool calls that the main thread may still send once its session has to end."""

T = TypeVar("T")


@dataclass
class _Thread:
    """The main thread of a session or one of its subagents, with its own failures and pending advice."""

    trouble: FailureState = field(default_factory=FailureState)
    advice: list[str] = field(default_factory=list[str])


class Steering:
    """Answers the hooks of one agent call. Thread-safe."""

    def __init__(
        self,
        rules: Rules,
        tell: Callable[[Guarded], None],
        content: Callable[[str], str | None],
        stops: Stops | None = None,
    ) -> None:
        """Start without events. `content`: digest of a file, empty without a file, None where it is unknown."""
        self.prompt_seen = False
        """Whether the CLI has sent its prompt event, which precedes the first model call."""
        self.guarded: list[Guarded] = []
        self.errors: tuple[ErrorVector, ...] = ()
        self._rules, self._tell, self._content = rules, tell, content
        self._lock = threading.Lock()
        self._session = Session(worktree=rules.worktree)
        self._threads: dict[str, _Thread] = {}
        self._pending: dict[str, tuple[str, ToolCall]] = {}
        self._announced: dict[str, ToolInvocation] = {}
        self._unasked = False
        self._stops = stops
        self._filling = False
        self._full = self._message = ""
        self._turns = 0
        self._due_at: int | None = None
        self._over, self._over_at = "", 0

    @property
    def ending(self) -> str:
        """Why the session has to end; empty while it may continue."""
        return self._full or stuck_reason(self._thread("").trouble)

    @property
    def overdue(self) -> bool:
        """Whether a session that has to end continues without hooks: malformed calls reach none."""
        late = self._due_at is not None and self._turns > self._due_at + 2 * GRACE
        return late or (bool(self._over) and self._turns > self._over_at + GRACE)

    @property
    def stops(self) -> tuple[StopAttempt, ...]:
        """The agent's attempts to stop that the gate judged."""
        return tuple(self._stops.attempts[:STOPS_KEPT]) if self._stops else ()

    def account(self, outcome: AgentOutcome) -> Mapping[str, Any]:
        """Fields for the record of the call, which ended with this outcome."""
        # hooks that the CLI failed to call: settings that change in mid-session disable them silently
        silent = ["PreToolUse"] if self._unasked else []
        if self._stops and not self._stops.asked and not (self.ending or self._over) and outcome is AgentOutcome.FINISHED:
            silent.append("Stop")
        return {
            "guarded": tuple(self.guarded),
            "stops": self.stops,
            "errors": self.errors,
            "failures_in_row": max((thread.trouble.longest for thread in self._threads.values()), default=0),
            "silent_hooks": tuple(silent),
        }

    def answer(self, event: Mapping[str, Any]) -> Output:
        """The hook's output for an event of the CLI."""
        try:
            match text(event.get("hook_event_name")):
                case "UserPromptSubmit":
                    self.prompt_seen = True
                case "PreToolUse":
                    return self._judge_call(event)
                case "PostToolUseFailure":
                    error = ends(event.get("error"), LONGEST_OUTPUT)
                    self.conclude(ToolResult(text(event.get("tool_use_id")), failed=True, output=error))
                    with self._lock:
                        return self._flush_advice("PostToolUseFailure", text(event.get("agent_id")))
                case "Stop":
                    return self._stop(event)
                case _:
                    pass
        except Exception:  # noqa: BLE001 - a bug of ours must not block all tools of an agent
            with self._lock:
                self._record(_tool_call(event), UNJUDGED, denied=False)
        return {}

    def announce(self, called: ToolInvocation) -> None:
        """Record a tool call of the model, before it is known whether a hook is asked."""
        with self._lock:
            _put_bounded(self._announced, called.identity, called, PENDING_KEPT)
            if not called.parent and called.message != self._message:
                self._message = called.message
                self._turns += 1

    def end(self, why: str) -> None:
        """Deny all further calls: the session has used up its budget."""
        with self._lock:
            if not self._over:
                self._over, self._over_at = why, self._turns

    def follow(self, event: Mapping[str, Any]) -> None:
        """Pass an event of the stream to the stop gate, which detects the end of a turn."""
        if self._stops:
            self._stops.hear(event)

    def conclude(self, result: ToolResult) -> None:
        """Record the result of a call, from the hook or the stream, whichever comes first."""
        with self._lock, suppress(Exception):  # an error only makes the counts less exact
            announced = self._announced.pop(result.identity, None)
            thread, call = self._pending.pop(result.identity, ("", None))
            # A failed call may have been rejected before any hook; a successful one has run.
            self._unasked |= announced is not None and not result.failed and call is None
            if call is not None:
                self._record_result(thread, call, result)
            elif announced is not None and result.output.startswith(_NEVER_ASKED):
                self._record_result(announced.parent, ToolCall(announced.tool, announced.arguments, self._rules.worktree), result)

    def observe(self, use: ContextUse) -> None:
        """Record the context use of the main thread after it grew or was compacted."""
        with self._lock:
            self._full = self._full or rotation_reason(use)
            is_filling = filled_share(use.tokens, use.window) >= WARN_AT
            if is_filling and not self._filling and not self.ending:
                message = context_advice(use)
                self._advise("", Advise("context", message), _session_itself(message))
            self._filling = is_filling
            self._announce_ending()

    def _judge_call(self, event: Mapping[str, Any]) -> Output:
        """Judge a tool call before it runs."""
        call, identity, agent = _tool_call(event), text(event.get("tool_use_id")), text(event.get("agent_id"))
        with self._lock:
            thread = self._thread(agent)
            late = self._due_at is not None and self._turns > self._due_at + GRACE
            # a stuck subagent ends without the session
            if why := self._over or (stuck_reason(thread.trouble) if agent else self.ending if late else ""):
                return {"continue": False, "stopReason": why, **_output("PreToolUse", **_denial_fields(why))}
            judgement = evaluate(call, self._session, replace(self._rules, broken=thread.trouble.broken))
            self._session = record_call(self._session, call)
            if isinstance(judgement, Deny):
                self._record(call, judgement.rule, denied=True)
                return _output("PreToolUse", **_denial_fields(judgement.reason))
            # read a file's content only before each edit: after one, the next edit may have happened already
            _put_bounded(self._pending, identity, (agent, call), PENDING_KEPT)
            content = self._content(call.path) if call.path else None
            if content is not None:
                self._update_trouble(agent, fold_edit(self._thread(agent).trouble, call.path, content), call)
            if isinstance(judgement, Advise):
                self._advise(agent, judgement, call)
            return self._flush_advice("PreToolUse", agent)

    def _stop(self, event: Mapping[str, Any]) -> Output:
        """Answer a Stop event, without holding the lock: checks take long."""
        if self._stops is None or self.ending or self._over:
            return {}
        output = self._stops.answer(event, full=self._filling)
        if output is None:
            with self._lock:
                if all(guarded.rule != FORGED_STOP for guarded in self.guarded):
                    self._record(_session_itself("a Stop event that the event stream contradicts"), FORGED_STOP, denied=False)
        return output or {}

    def _record_result(self, agent: str, call: ToolCall, result: ToolResult) -> None:
        """Update session and thread with the result of a call."""
        has_failed = result.failed or (bool(call.command) and failed_by_output(call.command, result.output))
        outcome = fingerprint(result.output) if call.command else ""
        self._session = record_result(self._session, call, failed=result.failed, changed=False, outcome=outcome)
        thread = self._thread(agent)
        if has_failed:
            output = result.output.replace(f"{self._rules.worktree}/", "")  # independent of the worktree
            error = failure_of(call.tool, call.command or call.path, output)
            self.errors = merge_failure(self.errors, error)
            self._update_trouble(agent, fold_failure(thread.trouble, call, error), call)
        else:
            thread.trouble = fold_success(thread.trouble, call)
        self._announce_ending()

    def _update_trouble(self, agent: str, found: Folded, call: ToolCall) -> None:
        thread = self._thread(agent)
        thread.trouble, advices = found
        for each in advices:
            self._advise(agent, each, call)

    def _announce_ending(self) -> None:
        """Advise the main thread once that its session has to end; withdraw that where a success came in time."""
        why = self.ending
        if bool(why) == (self._due_at is not None):
            return
        self._due_at = self._turns if why else None
        if why:
            self._advise("", Advise("ending", closing_message(why)), _session_itself(why))

    def _thread(self, agent: str) -> _Thread:
        if agent not in self._threads:
            _put_bounded(self._threads, agent, _Thread(), AGENTS_KEPT)
        return self._threads[agent]

    def _advise(self, agent: str, message: Advise, call: ToolCall) -> None:
        """Queue advice for the thread's next answer that can carry it."""
        self._thread(agent).advice.append(message.text)
        self._record(call, message.rule, denied=False)

    def _flush_advice(self, event: str, agent: str) -> Output:
        """A hook's output with the thread's queued advice."""
        thread = self._thread(agent)
        lines, thread.advice = thread.advice, []
        return _output(event, additionalContext="\n".join(lines)) if lines else {}

    def _record(self, call: ToolCall, rule: str, *, denied: bool) -> None:
        guarded = Guarded(rule=str(rule), tool=call.tool, detail=detail_of(call.arguments), denied=denied)
        if len(self.guarded) < GUARDED_KEPT:
            self.guarded.append(guarded)
        with suppress(Exception):  # an observer must not affect the answer
            self._tell(guarded)


_NEVER_ASKED = "<tool_use_error>"
"""Start of the CLI's answer to a malformed call, which reaches no hook."""


def _tool_call(event: Mapping[str, Any]) -> ToolCall:
    return ToolCall(text(event.get("tool_name")), mapping(event.get("tool_input")), text(event.get("cwd"), 4096))


def _session_itself(what: str) -> ToolCall:
    """A pseudo tool call for advice about the whole session."""
    return ToolCall("session", {"description": what})


def _put_bounded(entries: dict[str, T], identity: str, value: T, most: int) -> None:
    if len(entries) >= most:
        entries.pop(next(key for key in entries if key))  # the main thread has no id and is never dropped
    entries[identity] = value


def _denial_fields(reason: str) -> Mapping[str, str]:
    """Fields that deny a call: the CLI runs a tool whose hook only ends the session."""
    return {"permissionDecision": "deny", "permissionDecisionReason": reason}


def _output(event: str, **fields: str) -> Output:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}
