"""The stop gate: which Stop events count, and the checks that run on the agent's current files for these.

The hooks' token is in the environment of the agent's tools, so any process of the agent can post a Stop. Such a process cannot
change what the CLI prints: a turn is over when the main thread spoke last and none of its tools is running, and a refusal reached
the agent when the model then speaks again. So a forged Stop uses up none of a session's refusals. The agent's last message is
taken from the stream, not from the event.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from helmsman.config import CheckConfig, LoopConfig
from helmsman.errors import Cancelled, TransientError
from helmsman.guardrails.stop import MOST_ATTEMPTS, allow_stop, block_message, failed_checks, judge_stop
from helmsman.parsers.claude_stream import TurnReader, message_end, tool_calls, tool_results
from helmsman.parsers.loose import text
from helmsman.parsers.status import read_ending
from helmsman.plain import clean
from helmsman.records.agent import StopAttempt
from helmsman.records.checks import CheckReport, CheckResult
from tasks.checks.run import CheckContext, run_on_checkout
from tasks.checks.targets import with_checks
from tasks.repository.clean_checkout import CleanCheckout
from tasks.repository.git import commit_and_tree
from tasks.repository.staging import snapshot, submodules
from tasks.repository.worktree import dirty_paths, own_git_folder
from tasks.system.process import never_stop
from tasks.system.secrets import redact

CATCH_UP = 5.0
"""Seconds that a Stop waits for the stream: the CLI may post it before its output is read."""

Output = Mapping[str, Any]
Gate = Callable[[Sequence[StopAttempt], bool, bool, str], tuple[StopAttempt, str]]
"""A function from the earlier attempts, whether a stop hook already holds the agent, whether its context is filling up, and its
last message, to an attempt and the text for an agent that is sent back."""
LONGEST_SAID = 20_000
"""Characters kept from the end of the last message."""

PROBLEM_SHOWN = 300
MESSAGE = "helmsman: the agent's files at a stop"


class StopGate:
    """Decides whether one session of the agent may end. Thread-safe; calls are serialised."""

    def __init__(
        self,
        checkout: CleanCheckout,
        start: str,
        tag: str,
        config: LoopConfig,
        last: CheckReport | None = None,
        stop: Callable[[], bool] = never_stop,
        item: str = "",
    ) -> None:
        """`start`: first commit of the session, which has the checkout to itself.

        `last`: the last report, with the checks' durations and failures; `stop`: returns True once the session is cancelled.

        `item`: the check of the current plan item; if given, only it is run, because all others may fail until the last item is
        done.
        """
        self._checkout, self._start, self._tag, self._config, self._stop = checkout, start, tag, config, stop
        self._item = (CheckConfig(command=item),) if item else ()
        self._seconds = {result.command: result.seconds for result in last.results} if last else dict[str, float]()
        self._known = last
        self._lock, self._closed = threading.Lock(), threading.Event()

    def run(self, before: Sequence[StopAttempt], active: bool, full: bool, message: str) -> tuple[StopAttempt, str]:
        """Judge an attempt to stop; also return the text for a blocked agent. `message`: its last message. Raises nothing."""
        with self._lock:
            started, results = time.monotonic(), list[CheckResult]()
            try:
                why = allow_stop(before, active=active, full=full)
                if not why:
                    results, why = self._check(len(before) + 1, message, started + self._config.steering.stop_seconds)
            except Cancelled:
                why = "the session is ending"
            except Exception as error:  # noqa: BLE001 - neither a strange tree nor a bug of ours keeps an agent from stopping
                why = clean(redact(str(error) or type(error).__name__))[:PROBLEM_SHOWN]
            attempt = judge_stop(results, why, time.monotonic() - started)
            return attempt, block_message(results) if attempt.blocked else ""

    def close(self) -> None:
        """Stop running checks and wait for them, which frees the checkout. No check starts afterwards."""
        self._closed.set()
        with self._lock:
            pass

    def _check(self, number: int, message: str, until: float) -> tuple[list[CheckResult], str]:
        """Run the checks that fit before `until`. Return their results, or the reason why none ran."""
        checks = self._item or self._config.checks
        if obstacle := self._skip_reason(message, checks, until):
            return [], obstacle
        # whether flaky tests are tolerated is decided when the checks run on a commit; here they block no stop
        lenient = [check.model_copy(update={"tolerate_flaky": True}) for check in checks]
        check_context = CheckContext(
            self._checkout,
            f"{self._tag}/stop/{number}",
            self._is_closed,
            before=self._known,
            sandbox=self._config.isolation,
            allowance=lambda check: self._allowance(check, until),
        )
        self._check_out_files()
        results, _ = run_on_checkout(check_context, with_checks(self._config, lenient))
        for result in results:
            if result.exit_code is not None:
                self._seconds[result.command] = result.seconds
            elif result.timed_out:  # it would time out again
                self._seconds[result.command] = self._config.steering.stop_seconds
        self._known = CheckReport(tree="", results=tuple(failed_checks(results)))
        return results, ""

    def _skip_reason(self, message: str, checks: Sequence[CheckConfig], until: float) -> str:
        """Why no checks are needed: the agent does not claim completion, or no check can run."""
        claims = read_ending(message, self._config.completion.promise)
        reasons = (
            (not claims.wants_to_finish and bool(claims.blocked), "it says that it is blocked"),
            (not claims.wants_to_finish and claims.goes_on, "it says that work remains"),
            (not claims.wants_to_finish and not self._item, "it does not claim completion"),
            (not checks, "there are no checks"),
            (not any(self._allowance(check, until) for check in checks), "every check exceeds the time limit"),
            (self._is_closed(), "the session is ending"),
        )
        return next((why for applies, why in reasons if applies), "")

    def _check_out_files(self) -> None:
        """Check out the agent's files in the clean checkout; the worktree does not change.

        Raises HelmsmanError and OSError where that fails, and where set-up would have to run first: it could leave files that no
        commit has for the deciding checks.
        """
        worktree = self._checkout.worktree
        if own_git_folder(worktree, self._start) is None:
            raise TransientError("the worktree has lost its repository")
        if any(dirty_paths(inner) for inner in submodules(worktree)):
            raise TransientError("a submodule has uncommitted work, which cannot be checked")
        self._checkout.prepare(snapshot(worktree, commit_and_tree(worktree)[0], MESSAGE, at_work=True))
        if self._checkout.setup_due:
            raise TransientError("setup must run again first, and runs only before the deciding checks")

    def _allowance(self, check: CheckConfig, until: float) -> float:
        """Seconds that a check may take: 0 where it is known to need more than is left."""
        left = until - time.monotonic()
        return max(min(check.timeout_seconds, left), 0) if self._seconds.get(check.command, 0) <= left else 0

    def _is_closed(self) -> bool:
        return self._closed.is_set() or self._stop()


class Stops:
    """Follows the main thread of one session and answers its Stop events with the gate's decision.

    Called by the thread that reads the stream and by threads that serve hooks.
    """

    def __init__(self, gate: Gate, tell: Callable[[StopAttempt], None], catch_up: float = CATCH_UP) -> None:
        """Start before any output and any Stop event."""
        self.attempts: list[StopAttempt] = []
        self.asked = False
        """Whether a Stop has come that the stream confirms."""
        self._gate, self._tell, self._catch_up = gate, tell, catch_up
        self._changed, self._answering = threading.Condition(), threading.Lock()
        self._reader, self._session, self._said = TurnReader(), "", ""
        self._running: set[str] = set()
        self._spoke_last = False
        self._turn, self._judged = 1, 0
        self._sent_back: set[int] = set()
        self._output: Output = {}

    def hear(self, event: Mapping[str, Any]) -> None:
        """Process an event of the stream; those of subagents do not affect the session's turn."""
        kind = event.get("type")
        if kind not in {"assistant", "user"} or event.get("parent_tool_use_id"):
            return
        with self._changed:
            self._session = text(event.get("session_id"))
            was_sent_back = self._reader.feed(event)
            self._sent_back |= {self._turn} if was_sent_back else set()
            self._turn += was_sent_back or kind == "user"
            self._said = "" if was_sent_back or kind == "user" else self._said
            self._said = f"{self._said}\n{message_end(event, LONGEST_SAID)}".strip("\n")[-LONGEST_SAID:]
            self._running |= {called.identity for called in tool_calls(event)}
            self._running -= {result.identity for result in tool_results(event)}
            self._spoke_last = kind == "assistant"
            self._changed.notify_all()

    def answer(self, event: Mapping[str, Any], *, full: bool) -> Output | None:
        """The hook's output; None for a Stop that the stream does not confirm within the catch-up time."""
        session, active = text(event.get("session_id")), event.get("stop_hook_active") is True

        def is_over() -> bool:
            stale = active and self._turn == self._judged  # sent back, so the stream has to show another turn
            return session == self._session and self._spoke_last and not self._running and not stale

        with self._changed:
            if not self._changed.wait_for(is_over, self._catch_up):
                return None
            turn, message = self._turn, self._said
        self.asked = True
        with self._answering:
            if turn <= self._judged:  # the same turn, which has its answer
                return self._output
            if self._judged and self._judged not in self._sent_back:  # it continued without an answer: that Stop was forged
                self.attempts = self.attempts[:-1]
            self._judged = turn
            attempt, reason = self._gate(self.attempts, active, full, message)
            self.attempts = [*self.attempts, attempt][:MOST_ATTEMPTS]
            with suppress(Exception):  # an observer must not affect the answer
                self._tell(attempt)
            sent_back = {"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": reason}}
            self._output = sent_back if attempt.blocked else {}
            return self._output
