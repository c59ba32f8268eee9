"""Which Stop events count: those of the session that the stream shows, once for each end of a turn.

The hooks' token is in the environment of the agent's tools, so any process of the agent can post a Stop. What such a process
does not change is what the CLI prints: a turn is over when the main thread spoke last and none of its tools is running, and a
refusal reached the agent when the model then speaks again. So a forged Stop uses up none of the refusals that a session has.
What is judged is what the stream shows that the agent said last, not what the event says of that.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from helmsman.guardrails.stop import MOST_ATTEMPTS
from helmsman.parsers.claude_stream import TurnReader, spoken_text, tool_calls, tool_results
from helmsman.parsers.loose import text
from helmsman.records.agent import StopAttempt

CATCH_UP = 5.0
"""Seconds that a Stop waits for the stream: the CLI may post it before we have read what it printed."""

Output = Mapping[str, Any]
Gate = Callable[[Sequence[StopAttempt], bool, bool, str], tuple[StopAttempt, str]]
"""From the attempts before, whether a stop hook already holds the agent, whether its context is filling up, and what it said
last, to an attempt and what the agent is told where it is sent back."""
LONGEST_SAID = 20_000
"""Characters of the end of that."""


class Stops:
    """Follows the main thread of one session and answers its Stop events by what the gate says.

    Called by the thread that reads the stream and by those that serve hooks.
    """

    def __init__(self, gate: Gate, tell: Callable[[StopAttempt], None], catch_up: float = CATCH_UP) -> None:
        """Nothing has been printed yet, and no Stop has come."""
        self.attempts: list[StopAttempt] = []
        self.asked = False
        """Whether a Stop has come that the stream bears out."""
        self._gate, self._tell, self._catch_up = gate, tell, catch_up
        self._changed, self._answering = threading.Condition(), threading.Lock()
        self._reader, self._session, self._said = TurnReader(), "", ""
        self._running: set[str] = set()
        self._spoke_last = False
        self._turn, self._judged = 1, 0
        self._sent_back: set[int] = set()
        self._output: Output = {}

    def hear(self, event: Mapping[str, Any]) -> None:
        """Fold an event of the stream; those of subagents say nothing about the session's turn."""
        kind = event.get("type")
        if kind not in {"assistant", "user"} or event.get("parent_tool_use_id"):
            return
        with self._changed:
            self._session = text(event.get("session_id"))
            back = self._reader.feed(event)
            self._sent_back |= {self._turn} if back else set()
            self._turn += back or kind == "user"
            self._said = "" if back or kind == "user" else self._said
            self._said = f"{self._said}\n{spoken_text(event, LONGEST_SAID)}".strip("\n")[-LONGEST_SAID:]
            self._running |= {called.identity for called in tool_calls(event)}
            self._running -= {result.identity for result in tool_results(event)}
            self._spoke_last = kind == "assistant"
            self._changed.notify_all()

    def answer(self, event: Mapping[str, Any], *, full: bool) -> Output | None:
        """What the hook answers; None for a Stop that the stream does not bear out, also after a while."""
        session, active = text(event.get("session_id")), event.get("stop_hook_active") is True

        def is_over() -> bool:
            stale = active and self._turn == self._judged  # a Stop hook sent it back, so the stream is to show a further turn
            return session == self._session and self._spoke_last and not self._running and not stale

        with self._changed:
            if not self._changed.wait_for(is_over, self._catch_up):
                return None
            turn, said = self._turn, self._said
        self.asked = True
        with self._answering:
            if turn <= self._judged:  # it is the same end of the same turn, which has its answer
                return self._output
            if self._judged and self._judged not in self._sent_back:  # the agent went on unanswered: that Stop was not its own
                self.attempts = self.attempts[:-1]
            self._judged = turn
            attempt, reason = self._gate(self.attempts, active, full, said)
            self.attempts = [*self.attempts, attempt][:MOST_ATTEMPTS]
            with suppress(Exception):  # who is told must not decide
                self._tell(attempt)
            sent_back = {"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": reason}}
            self._output = sent_back if attempt.blocked else {}
            return self._output
