"""Steering inside an iteration: the agent's CLI asks before a tool call and at its stop, and the loop's own process answers."""

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from helmsman.guardrails import Advise, Deny, Rules, Session, ToolCall, after, before, judge
from helmsman.guardrails.context import WARN_AT, advice, closing, filled, rotation
from helmsman.guardrails.failure_patterns import Told, Trouble, failed, gutter, saw, succeeded
from helmsman.parsers.agent_actions import LONGEST_OUTPUT, Called, ToolResult, detail_of
from helmsman.parsers.failure_words import fingerprint, merge
from helmsman.parsers.failures import failed_by_output, failure_of
from helmsman.parsers.loose import ends, mapping, text
from helmsman.records.agent import AgentOutcome, ContextUse, ErrorVector, Guarded, StopAttempt
from tasks.agents.stop import Output, Stops

GUARDED_KEPT = 50
PENDING_KEPT = 500
AGENTS_KEPT = 50
STOPS_KEPT = 10
UNJUDGED = "unjudged"
"""In place of a rule: the guard rails themselves broke on this call."""
FORGED_STOP = "forged_stop"
"""In place of a rule: a Stop came that the event stream does not bear out. Noted once in a session."""
GRACE = 5
"""Messages with tool calls that the main thread may still send once its session is to end."""

T = TypeVar("T")


@dataclass
class _Thread:
    """The main thread of a session, or one of its subagents: each has its own troubles and hears its own advice."""

    trouble: Trouble = field(default_factory=Trouble)
    advice: list[str] = field(default_factory=list[str])


class Steering:
    """Answers the hooks of one call of the agent. Events may come from several threads."""

    def __init__(
        self,
        rules: Rules,
        tell: Callable[[Guarded], None],
        content: Callable[[str], str | None],
        stops: Stops | None = None,
    ) -> None:
        """Nothing has been heard yet. `content`: digest of a file, empty where there is none, None where that can't be told."""
        self.heard = False
        """Whether the CLI has told of its prompt, as it does before the model is asked."""
        self.guarded: list[Guarded] = []
        self.errors: tuple[ErrorVector, ...] = ()
        self._rules, self._tell, self._content = rules, tell, content
        self._lock = threading.Lock()
        self._session = Session(worktree=rules.worktree)
        self._threads: dict[str, _Thread] = {}
        self._pending: dict[str, tuple[str, ToolCall]] = {}
        self._announced: dict[str, Called] = {}
        self._asked: dict[str, None] = {}
        self._unasked = False
        self._stops = stops
        self._filling = False
        self._full = self._message = ""
        self._turns = 0
        self._due_at: int | None = None
        self._over, self._over_at = "", 0

    @property
    def ending(self) -> str:
        """Why the session is to end; empty where it is not."""
        return self._full or gutter(self._thread("").trouble)

    @property
    def overdue(self) -> bool:
        """Whether a session that is to end goes on without asking: calls that are wrong in form reach no hook."""
        late = self._due_at is not None and self._turns > self._due_at + 2 * GRACE
        return late or (bool(self._over) and self._turns > self._over_at + GRACE)

    @property
    def stops(self) -> tuple[StopAttempt, ...]:
        """The agent's attempts to end its turn that the gate judged."""
        return tuple(self._stops.attempts[:STOPS_KEPT]) if self._stops else ()

    def account(self, outcome: AgentOutcome) -> Mapping[str, Any]:
        """What a record of the call, which ended so, holds of it."""
        # hooks that the CLI had to call and did not: settings that change in mid-session turn them off without a word
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
                    self.heard = True
                case "PreToolUse":
                    return self._before(event)
                case "PostToolUseFailure":
                    error = ends(event.get("error"), LONGEST_OUTPUT)
                    self.conclude(ToolResult(text(event.get("tool_use_id")), failed=True, output=error))
                    with self._lock:
                        return self._advised("PostToolUseFailure", text(event.get("agent_id")))
                case "Stop":
                    return self._stop(event)
                case _:
                    pass
        except Exception:  # noqa: BLE001 - a fault of ours must not keep an agent from all of its tools
            with self._lock:
                self._note(_call(event), UNJUDGED, denied=False)
        return {}

    def announce(self, called: Called) -> None:
        """The model has called a tool; whether a hook is asked about it is not yet known."""
        with self._lock:
            _keep(self._announced, called.identity, called, PENDING_KEPT)
            if not called.parent and called.message != self._message:
                self._message = called.message
                self._turns += 1

    def end(self, why: str) -> None:
        """No thread makes a further call: the session has used up what it may."""
        with self._lock:
            if not self._over:
                self._over, self._over_at = why, self._turns

    def follow(self, event: Mapping[str, Any]) -> None:
        """An event of the stream, which shows when a turn has ended."""
        if self._stops:
            self._stops.hear(event)

    def conclude(self, result: ToolResult) -> None:
        """A call has come to an end, by whichever way that is heard first."""
        with self._lock, suppress(Exception):  # it is only counted less well
            announced = self._announced.pop(result.identity, None)
            thread, call = self._pending.pop(result.identity, ("", None))
            # What failed may have been refused before any hook; what succeeded has run.
            self._unasked |= announced is not None and not result.failed and result.identity not in self._asked
            if call is not None:
                self._fold(thread, call, result)
            elif announced is not None and result.output.startswith(_NEVER_ASKED):
                self._fold(announced.parent, ToolCall(announced.tool, announced.arguments, self._rules.worktree), result)

    def observe(self, use: ContextUse) -> None:
        """The context of the main thread has grown, or was compacted."""
        with self._lock:
            self._full = self._full or rotation(use)
            filling = filled(use.tokens, use.window) >= WARN_AT
            if filling and not self._filling and not self.ending:
                said = advice(use)
                self._advise("", Advise("context", said), _session_itself(said))
            self._filling = filling
            self._heed_ending()

    def _before(self, event: Mapping[str, Any]) -> Output:
        call, identity, agent = _call(event), text(event.get("tool_use_id")), text(event.get("agent_id"))
        with self._lock:
            _keep(self._asked, identity, None, PENDING_KEPT)
            thread = self._thread(agent)
            late = self._due_at is not None and self._turns > self._due_at + GRACE
            # a subagent that gets nowhere ends alone
            if why := self._over or (gutter(thread.trouble) if agent else self.ending if late else ""):
                return {"continue": False, "stopReason": why, **_output("PreToolUse", **_denial(why))}
            judgement = judge(call, self._session, replace(self._rules, broken=thread.trouble.broken))
            self._session = before(self._session, call)
            if isinstance(judgement, Deny):
                self._note(call, judgement.rule, denied=True)
                return _output("PreToolUse", **_denial(judgement.reason))
            # what a file holds is looked at before each edit only: when an edit is heard of, the next one may have been made
            _keep(self._pending, identity, (agent, call), PENDING_KEPT)
            content = self._content(call.path) if call.path else None
            if content is not None:
                self._take(agent, saw(self._thread(agent).trouble, call.path, content), call)
            if isinstance(judgement, Advise):
                self._advise(agent, judgement, call)
            return self._advised("PreToolUse", agent)

    def _stop(self, event: Mapping[str, Any]) -> Output:
        """The lock is free meanwhile: checks take their time."""
        if self._stops is None or self.ending or self._over:
            return {}
        output = self._stops.answer(event, full=self._filling)
        if output is None:
            with self._lock:
                if all(one.rule != FORGED_STOP for one in self.guarded):
                    self._note(_session_itself("a Stop event that the event stream contradicts"), FORGED_STOP, denied=False)
        return output or {}

    def _fold(self, agent: str, call: ToolCall, result: ToolResult) -> None:
        broke = result.failed or (bool(call.command) and failed_by_output(call.command, result.output))
        outcome = fingerprint(result.output) if call.command else ""
        self._session = after(self._session, call, failed=result.failed, changed=False, outcome=outcome)
        thread = self._thread(agent)
        if broke:
            output = result.output.replace(f"{self._rules.worktree}/", "")  # the same failure in another worktree is the same
            error = failure_of(call.tool, call.command or call.path, output)
            self.errors = merge(self.errors, error)
            self._take(agent, failed(thread.trouble, call, error), call)
        else:
            thread.trouble = succeeded(thread.trouble, call)
        self._heed_ending()

    def _take(self, agent: str, found: Told, call: ToolCall) -> None:
        thread = self._thread(agent)
        thread.trouble, said = found
        for one in said:
            self._advise(agent, one, call)

    def _heed_ending(self) -> None:
        """Tell the main thread once that its session is to end, and take it back where a success came in time."""
        why = self.ending
        if bool(why) == (self._due_at is not None):
            return
        self._due_at = self._turns if why else None
        if why:
            self._advise("", Advise("ending", closing(why)), _session_itself(why))

    def _thread(self, agent: str) -> _Thread:
        if agent not in self._threads:
            _keep(self._threads, agent, _Thread(), AGENTS_KEPT)
        return self._threads[agent]

    def _advise(self, agent: str, said: Advise, call: ToolCall) -> None:
        """It reaches the thread with the next answer that can carry it."""
        self._thread(agent).advice.append(said.text)
        self._note(call, said.rule, denied=False)

    def _advised(self, event: str, agent: str) -> Output:
        thread = self._thread(agent)
        said, thread.advice = thread.advice, []
        return _output(event, additionalContext="\n".join(said)) if said else {}

    def _note(self, call: ToolCall, rule: str, *, denied: bool) -> None:
        guarded = Guarded(rule=str(rule), tool=call.tool, detail=detail_of(call.arguments), denied=denied)
        if len(self.guarded) < GUARDED_KEPT:
            self.guarded.append(guarded)
        with suppress(Exception):  # who is told must not decide
            self._tell(guarded)


_NEVER_ASKED = "<tool_use_error>"
"""How the CLI answers a call that is wrong in form, before it would ask a hook."""


def _call(event: Mapping[str, Any]) -> ToolCall:
    return ToolCall(text(event.get("tool_name")), mapping(event.get("tool_input")), text(event.get("cwd"), 4096))


def _session_itself(what: str) -> ToolCall:
    """In place of a tool call, where what is said is about the session as a whole."""
    return ToolCall("session", {"description": what})


def _keep(kept: dict[str, T], identity: str, value: T, most: int) -> None:
    if len(kept) >= most:
        kept.pop(next(one for one in kept if one))  # the main thread, which has no id, is never forgotten
    kept[identity] = value


def _denial(reason: str) -> Mapping[str, str]:
    """The CLI runs a tool whose hook only says that the session shall not go on."""
    return {"permissionDecision": "deny", "permissionDecisionReason": reason}


def _output(event: str, **fields: str) -> Output:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}
