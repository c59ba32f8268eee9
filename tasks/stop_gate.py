"""The gate before the agent's end: the checks run on its files as they lie there, and its files are put back afterwards.

They run in its own worktree, because what they need lies there ignored (a virtual environment, installed packages). What
counts as ignored, and the loop's own folder, is left as the checks leave it; everything else is held byte for byte.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from helmsman.config import LoopConfig
from helmsman.orient.stop_gate import MOST_ATTEMPTS, judge_stop, let_go, reason
from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.session import StopAttempt
from helmsman.texts import clean
from tasks.checks import Room, run_check
from tasks.environment import ours
from tasks.holding import FAULTS, held
from tasks.process import never
from tasks.secrets_kept import redact

PROBLEM_SHOWN = 300


@dataclass
class _Found:
    results: list[CheckResult] = field(default_factory=list[CheckResult])
    skipped: list[str] = field(default_factory=list[str])
    hindrance: str = ""


class StopGate:
    """Answers for one session of the agent whether it may end. Calls may come from several threads, and wait for one another."""

    def __init__(
        self, worktree: Path, tag: str, config: LoopConfig, last: CheckReport | None = None, stop: Callable[[], bool] = never
    ) -> None:
        """`last` tells how long the checks take, `stop` when nothing matters any more."""
        self.attempts: list[StopAttempt] = []
        self._worktree, self._tag, self._config, self._stop = worktree, tag, config, stop
        self._seconds = {result.command: result.seconds for result in last.results} if last else dict[str, float]()
        self._lock, self._closed = threading.Lock(), threading.Event()

    def run(self, *, active: bool, full: bool) -> tuple[StopAttempt, str]:
        """An attempt to end, and what the agent is told where it is sent back. Raises nothing."""
        with self._lock:
            try:
                attempt, text = self._judge(active=active, full=full)
            except Exception as error:  # noqa: BLE001 - a fault of ours must not keep an agent from its end
                attempt, text = StopAttempt(blocked=False, why=f"the gate broke: {_words(error)}"), ""
            if len(self.attempts) < MOST_ATTEMPTS:
                self.attempts.append(attempt)
            return attempt, text

    def close(self) -> None:
        """End what runs, and wait until the agent's files are as they were. No check runs afterwards."""
        self._closed.set()
        with self._lock:
            pass

    def _judge(self, *, active: bool, full: bool) -> tuple[StopAttempt, str]:
        began, steering = time.monotonic(), self._config.steering
        free = let_go(self.attempts, active=active, config=steering, full=full)
        found = _Found() if free else self._check(began + steering.stop_seconds)
        attempt = judge_stop(
            self.attempts,
            found.results,
            active=active,
            config=steering,
            full=full,
            seconds=time.monotonic() - began,
            hindrance=found.hindrance,
        )
        times = 1 + sum(one.blocked for one in self.attempts)
        return attempt, reason(times, found.results, found.skipped, steering) if attempt.blocked else ""

    def _check(self, until: float) -> _Found:
        """Run what can be run until that instant. A hindrance takes the place of all results."""
        if hindrance := self._hindrance(until):
            return _Found(hindrance=hindrance)
        found = _Found()
        try:
            with held(self._worktree):
                self._run_checks(found, until)
        except FAULTS as error:
            return _Found(hindrance=_words(error))
        return _Found(hindrance="the session is at its end") if self._ended() else found

    def _hindrance(self, until: float) -> str:
        """Why there is no need to begin."""
        left = until - time.monotonic()
        answers = (
            (not self._config.checks, "there are no checks"),
            (left <= 0, "checks are given no time before the end"),
            (not any(self._fits(check.command, left) for check in self._config.checks), "every check takes longer than it may"),
            (self._ended(), "the session is at its end"),
        )
        return next((why for holds, why in answers if holds), "")

    def _run_checks(self, found: _Found, until: float) -> None:
        number = len(self.attempts) + 1
        room = Room(self._worktree, f"{self._tag}/stop/{number}", self._ended)
        for place, check in enumerate(self._config.checks):
            left = until - time.monotonic()
            if self._ended():
                return
            if not self._fits(check.command, left):
                found.skipped.append(check.title)
                continue
            result = run_check(room, place, check, min(check.timeout_seconds, left))
            self._learn(result)
            found.results.append(result)

    def _fits(self, command: str, left: float) -> bool:
        return left > 0 and self._seconds.get(command, 0) <= left

    def _learn(self, result: CheckResult) -> None:
        """One that was ended takes at least that long."""
        known = self._seconds.get(result.command, 0) if result.exit_code is None else 0
        self._seconds[result.command] = max(known, result.seconds)

    def _ended(self) -> bool:
        return self._closed.is_set() or self._stop()


def _words(error: Exception) -> str:
    return clean(redact(str(error) or type(error).__name__, ours()))[:PROBLEM_SHOWN]
