"""The gate before the agent's end: the checks run on its files as they are, in the checkout that the verdict comes from."""

import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from helmsman.config import CheckConfig, LoopConfig
from helmsman.errors import HelmsmanError, TransientError
from helmsman.guardrails.stop import allow_stop, failures, judge_stop, reason
from helmsman.parsers.status import read_ending
from helmsman.plain import clean
from helmsman.records.agent import StopAttempt
from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.claims import Claims
from helmsman.verify.flaky import after_rerun, suspects
from tasks.checks.run import CheckContext, run_check
from tasks.repository.git import commit_and_tree, current_branch, git
from tasks.repository.staging import own_folder, snapshot, submodules
from tasks.repository.worktree import dirty_paths, hold_branch, own_git
from tasks.repository.worktree_checkout import Checkout
from tasks.system.files import write_atomic
from tasks.system.process import never
from tasks.system.secrets import redact

PROBLEM_SHOWN = 300
MESSAGE = "helmsman: the agent's files at a stop"

FAULTS = HelmsmanError, OSError, ValueError, RecursionError
"""What a full disk, a weird tree or a broken repository may raise."""


@dataclass(frozen=True)
class StopPlace:
    """The worktree of a session, and the checkout that its checks run in; nobody else uses that during the session."""

    worktree: Path
    start: str
    """Commit that the session began at."""
    checkout: Checkout


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
        context: StopPlace,
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
        self._place, self._tag, self._config, self._stop = context, tag, config, stop
        self._item = (CheckConfig(command=item),) if item else ()
        self._seconds = {result.command: result.seconds for result in last.results} if last else dict[str, float]()
        self._preparing = 0.0  # seconds that laying out the files took, before any check could begin
        self._known = last
        self._lock, self._closed = threading.Lock(), threading.Event()

    def run(self, before: Sequence[StopAttempt], active: bool, full: bool, said: str) -> tuple[StopAttempt, str]:
        """An attempt to end, and what the agent is told where it is sent back. Raises nothing. `said`: what it said last."""
        with self._lock:
            began = time.monotonic()
            try:
                why = allow_stop(before, active=active, full=full)
                until = began + self._config.steering.stop_seconds
                found = _Found(hindrance=why) if why else self._check(len(before) + 1, said, until)
                attempt = judge_stop(found.results, found.hindrance, time.monotonic() - began)
                return attempt, reason(found.results) if attempt.blocked else ""
            except Exception as error:  # noqa: BLE001 - a fault of ours must not keep an agent from its end
                return StopAttempt(blocked=False, why=f"the gate broke: {_words(error)}"), ""

    def close(self) -> None:
        """End what runs and wait for its end; the checkout is free then. No check runs afterwards."""
        self._closed.set()
        with self._lock:
            pass

    def _check(self, number: int, said: str, until: float) -> _Found:
        """Run what can be run until that instant. A hindrance takes the place of all results."""
        claims = read_ending(said, self._config.completion.promise)
        checks = self._item or self._config.checks
        if hindrance := _nothing_claimed(claims, of_item=bool(self._item)) or self._hindrance(checks, until):
            return _Found(hindrance=hindrance)
        found, begun = _Found(), time.monotonic()
        try:
            with _checked_out(self._place):
                self._preparing = time.monotonic() - begun
                room = CheckContext(self._place.checkout, f"{self._tag}/stop/{number}", self._ended, sandbox=self._config.box)
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

    def _run_checks(self, check_context: CheckContext, checks: Sequence[CheckConfig], found: _Found, until: float) -> None:
        for check in checks:
            if self._ended():
                return
            if self._fits(check, until):
                found.results.append(self._run(check_context, check, until))
                found.checks.append(check)

    def _run_again(self, check_context: CheckContext, found: _Found, until: float) -> None:
        """What fails by chance sends nobody back; whether it is tolerated is decided when the checks run on a commit."""
        for number in suspects(found.results, self._known):
            if self._ended():
                return
            check = found.checks[number]
            if not self._fits(check, until):
                continue
            check_context.checkout.reset()
            again = self._run(check_context, check, until)
            found.results[number] = after_rerun(found.results[number], again, tolerate=True)

    def _run(self, check_context: CheckContext, check: CheckConfig, until: float) -> CheckResult:
        place = self._config.checks.index(check) if check in self._config.checks else 0
        result = run_check(check_context, place, check, min(check.timeout_seconds, max(until - time.monotonic(), 0)))
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


# --- the agent's files as they are, in the checkout -----------------------------------------------------------------


@contextmanager
def _checked_out(context: StopPlace) -> Generator[None]:
    """Have the checkout hold the agent's files. The worktree stays as it is, or is put back where the checks run in it.

    Raises HelmsmanError and OSError where they cannot be laid out, and where set-up would have to run first: it could leave, for
    the checks that decide, what no commit shows.
    """
    worktree, checkout = context.worktree, context.checkout
    if own_git(worktree, context.start) is None:
        raise TransientError("the worktree is cut off from its repository")
    if any(dirty_paths(inner) for inner in submodules(worktree)):
        raise TransientError("work in a submodule is not committed, and cannot be checked before it is")
    commit = snapshot(worktree, commit_and_tree(worktree)[0], MESSAGE, at_work=True)
    if not checkout.clean:
        with _put_back(worktree, checkout):
            checkout.prepare(commit)
            yield
        return
    checkout.prepare(commit)
    if checkout.setup_due():
        raise TransientError("set-up has to run again first, and runs only before the checks that decide")
    yield


@contextmanager
def _put_back(worktree: Path, checkout: Checkout) -> Generator[None]:
    """Afterwards branch, HEAD and index are as they were, and so are all files that are not ignored."""
    index = own_folder(worktree) / "index"
    if index.with_name("index.lock").exists():
        raise TransientError("a git command is at work in the worktree, or was killed there")
    branch, (head, _), staged = current_branch(worktree), commit_and_tree(worktree), index.read_bytes()
    try:
        yield
    finally:
        if own_git(worktree, head) is None:  # git would take a repository above for this one
            raise TransientError("the checks cut the worktree off from its repository")
        index.with_name("index.lock").unlink(missing_ok=True)  # of a git that was ended with its check
        checkout.reset()
        if branch:
            hold_branch(worktree, branch, head)
        else:
            git(worktree, "update-ref", "--no-deref", "HEAD", head)
        write_atomic(index, staged)
