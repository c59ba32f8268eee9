"""The gate before the agent's end: the checks run on its files as they are, in the checkout that the verdict comes from."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from helmsman.config import CheckConfig, LoopConfig
from helmsman.errors import HelmsmanError
from helmsman.guardrails.stop import MOST_ATTEMPTS, allow_stop, failures, judge_stop, reason
from helmsman.parsers.status import read_ending
from helmsman.plain import clean
from helmsman.records.agent import StopAttempt
from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.claims import Claims
from helmsman.verify.flaky import doubtful, second_opinion
from tasks.checking.checks import Room, run_check
from tasks.processes.process import never
from tasks.session.stop_checkout import StopPlace, checked_out
from tasks.system.secrets import redact

PROBLEM_SHOWN = 300

FAULTS = HelmsmanError, OSError, ValueError, RecursionError
"""What a full disk, a weird tree or a broken repository may raise."""


@dataclass
class _Found:
    results: list[CheckResult] = field(default_factory=list[CheckResult])
    checks: list[CheckConfig] = field(default_factory=list[CheckConfig])
    """That the results are of."""
    hindrance: str = ""


class StopGate:
    """Answers for one session of the agent whether it may end. Calls may come from several threads, and wait for one another."""

    def __init__(
        self,
        place: StopPlace,
        tag: str,
        config: LoopConfig,
        last: CheckReport | None = None,
        stop: Callable[[], bool] = never,
        item: str = "",
    ) -> None:
        """`last` tells how long the checks take and what failed before the session, `stop` when nothing matters any more.

        `item` is the own check of the plan's item in hand: where there is one it alone is run, for all others may fail till the
        last item is done.
        """
        self.attempts: list[StopAttempt] = []
        self._place, self._tag, self._config, self._stop = place, tag, config, stop
        self._item = (CheckConfig(command=item),) if item else ()
        self._seconds = {result.command: result.seconds for result in last.results} if last else dict[str, float]()
        self._preparing = 0.0  # seconds that laying out the files took, before any check could begin
        self._known = last
        self._lock, self._closed = threading.Lock(), threading.Event()

    def run(self, *, active: bool, full: bool, said: str) -> tuple[StopAttempt, str]:
        """An attempt to end, and what the agent is told where it is sent back. Raises nothing. `said`: what it said last."""
        with self._lock:
            try:
                attempt, text = self._judge(active=active, full=full, said=said)
            except Exception as error:  # noqa: BLE001 - a fault of ours must not keep an agent from its end
                attempt, text = StopAttempt(blocked=False, why=f"the gate broke: {_words(error)}"), ""
            if len(self.attempts) < MOST_ATTEMPTS:
                self.attempts.append(attempt)
            return attempt, text

    def withdraw(self) -> None:
        """The attempt judged last was not the agent's: it counts towards nothing. No check may be running."""
        with self._lock:
            self.attempts.pop()

    def close(self) -> None:
        """End what runs and wait for its end; the checkout is free then. No check runs afterwards."""
        self._closed.set()
        with self._lock:
            pass

    def _judge(self, *, active: bool, full: bool, said: str) -> tuple[StopAttempt, str]:
        began, steering = time.monotonic(), self._config.steering
        why = allow_stop(self.attempts, active=active, config=steering, full=full)
        found = _Found(hindrance=why) if why else self._check(said, began + steering.stop_seconds)
        attempt = judge_stop(found.results, found.hindrance, time.monotonic() - began)
        return attempt, reason(found.results) if attempt.blocked else ""

    def _check(self, said: str, until: float) -> _Found:
        """Run what can be run until that instant. A hindrance takes the place of all results."""
        claims = read_ending(said, self._config.completion.promise)
        checks = self._item or self._config.checks
        if hindrance := _nothing_claimed(claims, of_item=bool(self._item)) or self._hindrance(checks, until):
            return _Found(hindrance=hindrance)
        found, begun = _Found(), time.monotonic()
        try:
            with checked_out(self._place):
                self._preparing = time.monotonic() - begun
                tag, box = f"{self._tag}/stop/{len(self.attempts) + 1}", self._config.box
                room = Room(self._place.checkout, tag, self._ended, sandbox=box)
                self._run_checks(room, checks, found, until)
                self._run_again(room, found, until)
        except FAULTS as error:
            return _Found(hindrance=_words(error))
        if self._ended():
            return _Found(hindrance="the session is at its end")
        self._known = CheckReport(tree="", results=tuple(failures(found.results)))
        return found

    def _hindrance(self, checks: Sequence[CheckConfig], until: float) -> str:
        """Why there is no need to begin."""
        if not checks:
            return "there are no checks"
        if until <= time.monotonic():
            return "checks are given no time before the end"
        if not any(self._fits(check, until - self._preparing) for check in checks):
            return "every check takes longer than it may"
        return "the session is at its end" if self._ended() else ""

    def _run_checks(self, room: Room, checks: Sequence[CheckConfig], found: _Found, until: float) -> None:
        for check in checks:
            if self._ended():
                return
            if self._fits(check, until):
                found.results.append(self._run(room, check, until))
                found.checks.append(check)

    def _run_again(self, room: Room, found: _Found, until: float) -> None:
        """What fails by chance sends nobody back; whether it is tolerated is decided when the checks run on a commit."""
        for number in doubtful(found.results, self._config.flaky.largest_failing_set, self._known):
            if self._ended():
                return
            check = found.checks[number]
            if not self._fits(check, until):
                continue
            room.checkout.reset()
            again = self._run(room, check, until)
            found.results[number] = second_opinion(found.results[number], again, tolerate=True)

    def _run(self, room: Room, check: CheckConfig, until: float) -> CheckResult:
        place = self._config.checks.index(check) if check in self._config.checks else 0
        result = run_check(room, place, check, min(check.timeout_seconds, max(until - time.monotonic(), 0)))
        # one that was ended takes at least that long
        known = self._seconds.get(result.command, 0) if result.exit_code is None else 0
        self._seconds[result.command] = max(known, result.seconds)
        return result

    def _fits(self, check: CheckConfig, until: float) -> bool:
        left = until - time.monotonic()
        return left > 0 and self._seconds.get(check.command, 0) <= left

    def _ended(self) -> bool:
        return self._closed.is_set() or self._stop()


def _nothing_claimed(claims: Claims, *, of_item: bool) -> str:
    """Why there is nothing to check; empty where it says, or may mean, that something is done."""
    if claims.wants_to_finish:
        return ""
    if claims.blocked:
        return "it says that it is blocked"
    if claims.goes_on:
        return "it says that work remains"
    return "" if of_item else "it does not ask to be done"


def _words(error: Exception) -> str:
    return clean(redact(str(error) or type(error).__name__))[:PROBLEM_SHOWN]
