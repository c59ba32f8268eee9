"""Whether the agent may end its turn when it claims completion, according to the checks."""

from collections.abc import Sequence

from helmsman.plain import short_line
from helmsman.prompts import fit, render
from helmsman.records.agent import StopAttempt
from helmsman.records.checks import CheckResult, checks_fail

STOP_BLOCKS = 2
"""Times that a session is sent back to work; a third time would repeat the message, and a fresh session is better."""
MOST_ATTEMPTS = 20  # of one session; an agent that asks more often is stopped by something else
TEXT_TOKENS = 200  # of the whole message; most of it is the failures
CHECKS_SHOWN = 2
FAILURES_SHOWN = 3  # with place and message
TESTS_SHOWN = 5  # if only their names are known
LINES_SHOWN = 3  # at the end of an output without test names; runners print failures and the summary last
NAME_SHOWN = 150


def allow_stop(before: Sequence[StopAttempt], *, active: bool, full: bool) -> str:
    """Why the agent may stop regardless of the checks, so that none need run. Empty: the checks decide."""
    sent_back = sum(attempt.blocked for attempt in before)
    answers = (
        (active and not sent_back, "another hook blocks the stop"),
        (full, "its context is full; a new session is better"),
        (sent_back >= STOP_BLOCKS, "the limit is reached"),
        (len(before) >= MOST_ATTEMPTS, f"it already tried to stop {len(before)} times"),
    )
    return next((why for applies, why in answers if applies), "")


def judge_stop(results: Sequence[CheckResult], why: str, seconds: float) -> StopAttempt:
    """Decide whether the agent is sent back to work. `why`: reason to stop without running checks, if any."""
    ran, failed = [result for result in results if _has_exited(result)], failed_checks(results)
    if not why and not failed:
        why = "every check that ran passes" if ran else "no check finished"
    names = [result.name for result in failed]
    more = [f"{len(names) - CHECKS_SHOWN} more"] if len(names) > CHECKS_SHOWN else []
    joined_names = ", ".join([*(short_line(name, NAME_SHOWN) for name in names[:CHECKS_SHOWN]), *more])
    return StopAttempt(
        blocked=not why,
        why=why or f"{checks_fail(len(failed), len(ran))}: {joined_names}",
        failing=tuple(names),
        failing_tests=sum(result.counts.failed for result in failed if result.counts),
        seconds=round(seconds, 3),
    )


def failed_checks(results: Sequence[CheckResult]) -> list[CheckResult]:
    """Checks that finished and failed. One that timed out or did not start says nothing about the work."""
    return [result for result in results if _has_exited(result) and not result.passed]


def block_message(results: Sequence[CheckResult]) -> str:
    """Message to an agent that is sent back to work."""
    failed = failed_checks(results)
    more = f" and {len(failed) - CHECKS_SHOWN} more" if len(failed) > CHECKS_SHOWN else ""
    commands = ", ".join(f"`{short_line(result.command, NAME_SHOWN)}`" for result in failed[:CHECKS_SHOWN])
    shown: list[str] = []  # the failures, or else the names of the failing tests, or the end of the output
    for result in failed[:CHECKS_SHOWN]:
        names = result.counts.failing if result.counts else ()
        printed = [line for line in (result.tail or result.head).splitlines() if line.strip()][-LINES_SHOWN:]
        # without names of tests, the listed lines may be any
        failures, most = (result.listed, FAILURES_SHOWN) if names and result.listed else (names, TESTS_SHOWN)
        lines = failures[:most] or printed or (f"exit code {result.exit_code}, no output",)
        shown += (short_line(line, NAME_SHOWN) for line in lines)
        shown += [f"[{len(failures) - most} more]"] if len(failures) > most else []
    text = render("stop", checks=f"{commands}{more}", one=len(failed) == 1, shown="\n".join(shown))
    return fit(text, TEXT_TOKENS)


def _has_exited(result: CheckResult) -> bool:
    return result.exit_code is not None and not result.timed_out and not result.error
