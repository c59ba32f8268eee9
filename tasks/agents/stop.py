"""The gate before the agent's end: which Stop events count, and the checks that are run on its files as they are for these.

The hooks' token is in the environment of the agent's tools, so any process of the agent can post a Stop. What such a process
does not change is what the CLI prints: a turn is over when the main thread spoke last and none of its tools is running, and a
refusal reached the agent when the model then speaks again. So a forged Stop uses up none of the refusals that a session has.
What is judged is what the stream shows that the agent said last, not what the event says of that.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from helmsman.config import CheckConfig, LoopConfig
from helmsman.errors import Cancelled, HelmsmanError, TransientError
from helmsman.guardrails.stop import MOST_ATTEMPTS, allow_stop, failures, judge_stop, reason
from helmsman.parsers.claude_stream import TurnReader, spoken_text, tool_calls, tool_results
from helmsman.parsers.loose import text
from helmsman.parsers.status import read_ending
from helmsman.plain import clean
from helmsman.records.agent import StopAttempt
from helmsman.records.checks import CheckReport, CheckResult
from tasks.checks.run import CheckContext, run_laid_out
from tasks.checks.targets import with_checks
from tasks.repository.clean_checkout import CleanCheckout
from tasks.repository.git import commit_and_tree
from tasks.repository.staging import snapshot, submodules
from tasks.repository.worktree import dirty_paths, own_git
from tasks.system.process import never
from tasks.system.secrets import redact

CATCH_UP = 5.0
"""Seconds that a Stop waits for the stream: the CLI may post it before we have read what it printed."""

Output = Mapping[str, Any]
Gate = Callable[[Sequence[StopAttempt], bool, bool, str], tuple[StopAttempt, str]]
"""From the attempts before, whether a stop hook already holds the agent, whether its context is filling up, and what it said
last, to an attempt and what the agent is told where it is sent back."""
LONGEST_SAID = 20_000
"""Characters of the end of that."""

PROBLEM_SHOWN = 300
MESSAGE = "helmsman: the agent's files at a stop"

FAULTS = HelmsmanError, OSError, ValueError, RecursionError
"""What a full disk, a weird tree or a broken repository may raise."""


class StopGate:
    """Answers for one session of the agent whether it may end. Calls may come from several threads, and wait for one another."""

    def __init__(
        self,
        checkout: CleanCheckout,
        start: str,
        tag: str,
        config: LoopConfig,
        last: CheckReport | None = None,
        stop: Callable[[], bool] = never,
        item: str = "",
    ) -> None:
        """`start`: commit that the session began at. Nobody else uses the checkout during the session.

        `last` tells how long the checks take and what failed before the session, `stop` when nothing matters any more.

        `item` is the own check of the plan's item in hand: where there is one it alone is run, for all others may fail till the
        last item is done.
        """
        self._checkout, self._start, self._tag, self._config, self._stop = checkout, start, tag, config, stop
        self._item = (CheckConfig(command=item),) if item else ()
        self._seconds = {result.command: result.seconds for result in last.results} if last else dict[str, float]()
        self._known = last
        self._lock, self._closed = threading.Lock(), threading.Event()

    def run(self, before: Sequence[StopAttempt], active: bool, full: bool, said: str) -> tuple[StopAttempt, str]:
        """An attempt to end, and what the agent is told where it is sent back. Raises nothing. `said`: what it said last."""
        with self._lock:
            began = time.monotonic()
            try:
                why = allow_stop(before, active=active, full=full)
                results: list[CheckResult] = []
                if not why:
                    results, why = self._check(len(before) + 1, said, began + self._config.steering.stop_seconds)
                attempt = judge_stop(results, why, time.monotonic() - began)
                return attempt, reason(results) if attempt.blocked else ""
            except Exception as error:  # noqa: BLE001 - a fault of ours must not keep an agent from its end
                return StopAttempt(blocked=False, why=f"the stop gate failed: {_words(error)}"), ""

    def close(self) -> None:
        """End what runs and wait for its end; the checkout is free then. No check runs afterwards."""
        self._closed.set()
        with self._lock:
            pass

    def _check(self, number: int, said: str, until: float) -> tuple[list[CheckResult], str]:
        """Run what can be run until that instant. A hindrance takes the place of all results."""
        checks = self._item or self._config.checks
        if hindrance := self._hindrance(said, checks, until):
            return [], hindrance
        # whether what fails by chance is tolerated is decided when the checks run on a commit: here it sends nobody back
        lenient = [check.model_copy(update={"tolerate_flaky": True}) for check in checks]
        check_context = CheckContext(
            self._checkout,
            f"{self._tag}/stop/{number}",
            self._ended,
            before=self._known,
            sandbox=self._config.box,
            allowance=lambda check: self._allowance(check, until),
        )
        try:
            self._lay_out()
            results, _ = run_laid_out(check_context, with_checks(self._config, lenient))
        except Cancelled:
            return [], "the session is ending"
        except FAULTS as error:
            return [], _words(error)
        for result in results:
            if result.exit_code is not None:
                self._seconds[result.command] = result.seconds
            elif result.timed_out:  # it would be ended again
                self._seconds[result.command] = self._config.steering.stop_seconds
        self._known = CheckReport(tree="", results=tuple(failures(results)))
        return results, ""

    def _hindrance(self, said: str, checks: Sequence[CheckConfig], until: float) -> str:
        """Why there is no need to begin: nothing is claimed to be done, or nothing can be run."""
        claims = read_ending(said, self._config.completion.promise)
        reasons = (
            (not claims.wants_to_finish and bool(claims.blocked), "it says that it is blocked"),
            (not claims.wants_to_finish and claims.goes_on, "it says that work remains"),
            (not claims.wants_to_finish and not self._item, "it does not claim completion"),
            (not checks, "there are no checks"),
            (not any(self._allowance(check, until) for check in checks), "every check exceeds the time limit"),
            (self._ended(), "the session is ending"),
        )
        return next((why for holds, why in reasons if holds), "")

    def _lay_out(self) -> None:
        """Have the checkout hold the agent's files; the worktree stays as it is.

        Raises HelmsmanError and OSError where they cannot be laid out, and where set-up would have to run first: it could leave,
        for the checks that decide, what no commit shows.
        """
        worktree = self._checkout.worktree
        if own_git(worktree, self._start) is None:
            raise TransientError("the worktree is cut off from its repository")
        if any(dirty_paths(inner) for inner in submodules(worktree)):
            raise TransientError("work in a submodule is not committed, and cannot be checked before it is")
        self._checkout.prepare(snapshot(worktree, commit_and_tree(worktree)[0], MESSAGE, at_work=True))
        if self._checkout.setup_due():
            raise TransientError("set-up has to run again first, and runs only before the checks that decide")

    def _allowance(self, check: CheckConfig, until: float) -> float:
        """Seconds that it may take: none where it is known to need more than is left."""
        left = until - time.monotonic()
        return max(min(check.timeout_seconds, left), 0) if self._seconds.get(check.command, 0) <= left else 0

    def _ended(self) -> bool:
        return self._closed.is_set() or self._stop()


def _words(error: Exception) -> str:
    return clean(redact(str(error) or type(error).__name__))[:PROBLEM_SHOWN]


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
