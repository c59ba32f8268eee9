"""Steering inside an iteration: the agent's CLI asks before a tool call and at its stop, and the loop's own process answers."""

import json
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from helmsman.config import ContextConfig, SteeringConfig
from helmsman.orient.context import advice, closing, rotation
from helmsman.orient.guardrails import Advise, Deny, Rule, Rules, Session, ToolCall, after, before, judge
from helmsman.orient.guardrails.trouble import Trouble, failed, gutter, succeeded, wrote
from helmsman.records.evidence import Guarded
from helmsman.records.session import ContextUse, ErrorVector, StopAttempt
from helmsman.verify.agent_events import LONGEST_OUTPUT, Called, ToolResult, detail_of
from helmsman.verify.failures import error_vector, failed_by_output, merge
from helmsman.verify.loose_json import ends, mapping, text
from tasks.hook_server import HEADER, TOKEN, HookServer

GUARDED_KEPT = 50
STOPS_KEPT = 10
TIMEOUT = 10
"""Seconds that the CLI waits for an answer. It comes within milliseconds, or the process that gives it is gone."""
MARGIN = 60
"""Seconds that the CLI waits for the answer to a stop beyond those that checks may take: the tree is put back then."""
PENDING_KEPT = 500
UNJUDGED = "unjudged"
"""In place of a rule: the guard rails themselves broke on this call."""
GRACE = 5
"""Tool calls that a session may still make to save what it knows, once it is to end."""

Output = Mapping[str, Any]
T = TypeVar("T")
Gate = Callable[[bool, bool], tuple[StopAttempt, str]]
"""From whether a stop hook already holds the agent, and whether its context is filling up, to what the checks say of its stop."""


@dataclass(frozen=True)
class Means:
    """What steering needs of the world. None of it may raise or take long, the gate excepted."""

    tell: Callable[[Guarded], None]
    tell_stop: Callable[[StopAttempt], None]
    rotate: Callable[[str], None]
    """Note durably that the session is ended by us."""
    content: Callable[[str], str]
    """Digest of a file, empty where there is none."""
    gate: Gate | None = None


class Steering:
    """Answers the hooks of one call of the agent. Events may come from several threads."""

    def __init__(self, rules: Rules, steering: SteeringConfig, context: ContextConfig, means: Means) -> None:
        """Nothing has been heard yet."""
        self.heard = False
        self.guarded: list[Guarded] = []
        self.stops: list[StopAttempt] = []
        self.errors: tuple[ErrorVector, ...] = ()
        self.ended = ""
        """Why we ended the session; empty where we did not."""
        self._rules, self._config, self._context, self._means = rules, steering, context, means
        self._lock = threading.Lock()
        self._session = Session(worktree=rules.worktree)
        self._trouble = Trouble()
        self._pending: dict[str, tuple[ToolCall, str]] = {}
        self._announced: dict[str, ToolCall] = {}
        self._advice: list[str] = []
        self._filling = False
        self._ending, self._grace = "", GRACE
        self._answers: Mapping[str, Callable[[Mapping[str, Any]], Output]] = {
            "PreToolUse": self._before,
            "PostToolUseFailure": self._after_failure,
            "Stop": self._stop,
        }

    @property
    def failures_in_row(self) -> int:
        return self._trouble.longest

    def account(self) -> Mapping[str, Any]:
        """What a record of the call holds of it."""
        return {
            "guarded": tuple(self.guarded),
            "stops": tuple(self.stops),
            "errors": self.errors,
            "failures_in_row": self._trouble.longest,
        }

    def answer(self, event: Mapping[str, Any]) -> Output:
        """The hook's output for an event of the CLI."""
        self.heard = True
        handler = self._answers.get(text(event.get("hook_event_name")))
        try:
            return handler(event) if handler else {}
        except Exception:  # noqa: BLE001 - a fault of ours must not keep an agent from all of its tools
            with self._lock:
                self._note(_call(event), UNJUDGED, denied=False)
            return {}

    @property
    def overdue(self) -> bool:
        """Whether a session that is to end goes on without asking: calls that are wrong in form reach no hook."""
        return bool(self._ending) and self._grace < -GRACE

    def announce(self, called: Called) -> None:
        """The model has called a tool; whether a hook is asked about it is not yet known."""
        with self._lock:
            _keep(self._announced, called.identity, ToolCall(called.tool, called.arguments, self._rules.worktree))

    def conclude(self, result: ToolResult) -> None:
        """A call has come to an end, by whichever way that is heard first."""
        with self._lock, suppress(Exception):  # it is only counted less well
            announced = self._announced.pop(result.identity, None)
            call, content = self._pending.pop(result.identity, (None, ""))
            if call is not None:
                self._fold(call, content, result)
            elif announced is not None and result.output.startswith(_NEVER_ASKED):
                self._fold(announced, "", result)
                self._spend_grace()

    def observe(self, use: ContextUse) -> None:
        """The context has grown."""
        with self._lock:
            self._end(rotation(use, self._context))
            said = "" if self._filling else advice(use, self._context)
            if said and not self._ending:
                self._filling = True
                self._advise(Advise(Rule.CONTEXT, said), _NO_CALL)

    def _before(self, event: Mapping[str, Any]) -> Output:
        call, identity = _call(event), text(event.get("tool_use_id"))
        with self._lock:
            if self._ending and self._grace <= 0:
                return self._stop_session()
            self._spend_grace()
            judgement = judge(call, self._session, replace(self._rules, broken=self._trouble.broken))
            self._session = before(self._session, call)
            if isinstance(judgement, Deny):
                self._note(call, judgement.rule, denied=True)
                return _output("PreToolUse", permissionDecision="deny", permissionDecisionReason=judgement.reason)
            self._expect(identity, call)
            if isinstance(judgement, Advise):
                self._advise(judgement, call)
            return self._advised("PreToolUse")

    def _after_failure(self, event: Mapping[str, Any]) -> Output:
        self.conclude(ToolResult(text(event.get("tool_use_id")), failed=True, output=ends(event.get("error"), LONGEST_OUTPUT)))
        with self._lock:
            return self._advised("PostToolUseFailure")

    def _stop(self, event: Mapping[str, Any]) -> Output:
        """The lock is free meanwhile: checks take their time."""
        if self._means.gate is None or self._ending:
            return {}
        attempt, reason = self._means.gate(event.get("stop_hook_active") is True, self._filling)
        if len(self.stops) < STOPS_KEPT:
            self.stops.append(attempt)
        self._means.tell_stop(attempt)
        return {"decision": "block", "reason": reason} if attempt.blocked else {}

    def _fold(self, call: ToolCall, content: str, result: ToolResult) -> None:
        broke = result.failed or (bool(call.command) and failed_by_output(call.command, result.output))
        self._session = after(self._session, call, failed=result.failed, changed=False)
        if broke:
            output = result.output.replace(f"{self._rules.worktree}/", "")  # the same failure in another worktree is the same
            error = error_vector(call.tool, call.command or call.path, output)
            self.errors = merge(self.errors, error)
            self._trouble, said = failed(self._trouble, call, error, self._config.failures_in_row)
        else:
            self._trouble, said = self._succeeded(call, content)
        for one in said:
            self._advise(one, call)
        self._end(gutter(self._trouble, self._config.failures_in_row))

    def _succeeded(self, call: ToolCall, content: str) -> tuple[Trouble, tuple[Advise, ...]]:
        trouble = succeeded(self._trouble, call)
        return wrote(trouble, call.path, content, self._means.content(call.path)) if call.path else (trouble, ())

    def _end(self, why: str) -> None:
        if why and not self._ending:
            self._ending = why
            self._advise(Advise(Rule.CONTEXT, closing(why)), _NO_CALL)

    def _spend_grace(self) -> None:
        self._grace -= bool(self._ending)
        if self.overdue:
            self._stop_session()

    def _stop_session(self) -> Output:
        self.ended = self._ending
        self._means.rotate(self._ending)
        return {"continue": False, "stopReason": self._ending}

    def _expect(self, identity: str, call: ToolCall) -> None:
        _keep(self._pending, identity, (call, self._means.content(call.path) if call.path else ""))

    def _advise(self, said: Advise, call: ToolCall) -> None:
        """It reaches the agent with the next answer that can carry it."""
        self._advice.append(said.text)
        self._note(call, said.rule, denied=False)

    def _advised(self, event: str) -> Output:
        said, self._advice = self._advice, []
        return _output(event, additionalContext="\n".join(said)) if said else {}

    def _note(self, call: ToolCall, rule: str, *, denied: bool) -> None:
        guarded = Guarded(rule=str(rule), tool=call.tool, detail=detail_of(call.arguments), denied=denied)
        if len(self.guarded) < GUARDED_KEPT:
            self.guarded.append(guarded)
        self._means.tell(guarded)


_NEVER_ASKED = "<tool_use_error>"
"""How the CLI answers a call that is wrong in form, before it would ask a hook."""
_NO_CALL = ToolCall("(session)")
"""In place of a tool call, where what is said is about the session as a whole."""


def settings(server: HookServer, stop_seconds: float = 0) -> str:
    """The CLI's settings that send its events to us. A tool call that cannot be judged is denied; nothing else waits for us.

    What came of a call that succeeded is read from the event stream: a hook after each would double what steering costs.
    """
    hook = {"type": "http", "url": server.url, "headers": {HEADER: f"${TOKEN}"}, "allowedEnvVars": [TOKEN], "timeout": TIMEOUT}
    hooks = {
        "UserPromptSubmit": hook,
        "PreToolUse": {**hook, "onFailure": "block"},
        "PostToolUseFailure": hook,
        **({"Stop": {**hook, "timeout": round(stop_seconds) + MARGIN}} if stop_seconds else {}),
    }
    return json.dumps({"hooks": {name: [{"hooks": [one]}] for name, one in hooks.items()}})


def _call(event: Mapping[str, Any]) -> ToolCall:
    return ToolCall(text(event.get("tool_name")), mapping(event.get("tool_input")), text(event.get("cwd"), 4096))


def _keep(kept: dict[str, T], identity: str, value: T) -> None:
    if len(kept) >= PENDING_KEPT:
        kept.pop(next(iter(kept)))
    kept[identity] = value


def _output(event: str, **fields: str) -> Output:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}
