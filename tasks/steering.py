"""Steering inside an iteration: the agent's CLI asks before each tool call, and the guard rails answer."""

import json
import os
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from helmsman.orient.guardrails import Advise, Deny, Rules, Session, ToolCall, after, before, judge
from helmsman.records.evidence import Guarded
from helmsman.records.state import LoopState
from helmsman.verify.agent_events import detail_of
from helmsman.verify.loose_json import mapping, text
from tasks.hook_server import HEADER, TOKEN, HookServer, hook_server
from tasks.workplace import Workplace

GUARDED_KEPT = 50
TIMEOUT = 10
"""Seconds that the CLI waits for an answer. It comes within milliseconds, or the process that gives it is gone."""
EVENTS = ("UserPromptSubmit", "PreToolUse")
"""What came of a call is read from the event stream: a hook after each call would double what steering costs."""
PENDING_KEPT = 500
UNJUDGED = "unjudged"
"""In place of a rule: the guard rails themselves broke on this call."""

Output = Mapping[str, Any]
Tell = Callable[[Guarded], None]


class Steering:
    """Answers the hooks of one call of the agent. Events may come from several threads."""

    def __init__(self, rules: Rules, tell: Tell) -> None:
        """Nothing has been heard yet."""
        self.heard = False
        self.guarded: list[Guarded] = []
        self._rules, self._tell, self._lock = rules, tell, threading.Lock()
        self._session = Session(worktree=rules.worktree)
        self._pending: dict[str, ToolCall] = {}

    def answer(self, event: Mapping[str, Any]) -> Output:
        """The hook's output for an event of the CLI."""
        self.heard = True
        if event.get("hook_event_name") != "PreToolUse":
            return {}
        call = _call(event)
        with self._lock:
            try:
                return self._before(call, text(event.get("tool_use_id")))
            except Exception:  # noqa: BLE001 - a fault of ours must not keep an agent from all of its tools
                self._note(call, UNJUDGED, denied=False)
                return {}

    def conclude(self, identity: str, failed: bool) -> None:
        """A call that was let through has come to an end."""
        with self._lock:
            call = self._pending.pop(identity, None)
            with suppress(Exception):  # likewise; it is only counted less well
                self._session = after(self._session, call, failed=failed, changed=False) if call else self._session

    def _before(self, call: ToolCall, identity: str) -> Output:
        judgement = judge(call, self._session, self._rules)
        self._session = before(self._session, call)
        if isinstance(judgement, Deny):
            self._note(call, judgement.rule, denied=True)
            return _output(permissionDecision="deny", permissionDecisionReason=judgement.reason)
        self._expect(identity, call)
        if isinstance(judgement, Advise):
            self._note(call, judgement.rule, denied=False)
            return _output(additionalContext=judgement.text)
        return {}

    def _expect(self, identity: str, call: ToolCall) -> None:
        if len(self._pending) >= PENDING_KEPT:
            self._pending.pop(next(iter(self._pending)))
        self._pending[identity] = call

    def _note(self, call: ToolCall, rule: str, *, denied: bool) -> None:
        guarded = Guarded(rule=str(rule), tool=call.tool, detail=detail_of(call.arguments), denied=denied)
        if len(self.guarded) < GUARDED_KEPT:
            self.guarded.append(guarded)
        self._tell(guarded)


@contextmanager
def steering(place: Workplace, state: LoopState, start: str, home: str, tell: Tell) -> Generator[tuple[Steering, HookServer]]:
    """Guard rails for a call that begins at this commit, and where its CLI finds them."""
    rules = Rules(
        worktree=os.path.realpath(place.worktree),
        protected=state.config.invariants.protect,
        start=start,
        branch=state.branch,
        nesting=state.config.limits.nesting,
        home=home,
        resolve=os.path.realpath,
    )
    steers = Steering(rules, tell)
    with hook_server(steers.answer) as server:
        yield steers, server


def settings(server: HookServer) -> str:
    """The CLI's settings that send its events to us. A tool call that cannot be judged is denied; nothing else waits for us."""
    hook = {
        "type": "http",
        "url": server.url,
        "headers": {HEADER: f"${TOKEN}"},
        "allowedEnvVars": [TOKEN],
        "timeout": TIMEOUT,
    }
    hooks = {name: [{"hooks": [{**hook, "onFailure": "block"} if name == "PreToolUse" else hook]}] for name in EVENTS}
    return json.dumps({"hooks": hooks})


def _call(event: Mapping[str, Any]) -> ToolCall:
    return ToolCall(text(event.get("tool_name")), mapping(event.get("tool_input")), text(event.get("cwd")))


def _output(**fields: str) -> Output:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **fields}}
