"""Whether the agent may end its turn where it says that something is done: what the checks say of that."""

from collections.abc import Sequence

from helmsman.budget import fit
from helmsman.plain import short_line
from helmsman.prompts import render_pieces
from helmsman.records.agent import StopAttempt
from helmsman.records.checks import CheckResult, checks_fail

STOP_BLOCKS = 2
"""Times that a session is sent back to work: a third time it would hear the same, and a fresh session reads it anew."""
MOST_ATTEMPTS = 20  # of one session. Who asks more often than that is kept by something else than us.
TEXT_TOKENS = 200  # of what the agent is told, all in all; most of it is the names of failing tests
CHECKS_SHOWN = 2
TESTS_SHOWN = 5
LINES_SHOWN = 3  # of the end of an output that names no failing test; runners print the failures and the summary last
NAME_SHOWN = 150


def allow_stop(before: Sequence[StopAttempt], *, active: bool, full: bool) -> str:
    """Why it may end whatever the checks would say, so that none need run. Empty: the checks decide."""
    sent_back = sum(attempt.blocked for attempt in before)
    answers = (
        (active and not sent_back, "another hook blocks the stop"),
        (full, "its context is full; a new session is better"),
        (sent_back >= STOP_BLOCKS, "the limit is reached"),
        (len(before) >= MOST_ATTEMPTS, f"it already tried to stop {len(before)} times"),
    )
    return next((why for holds, why in answers if holds), "")


def judge_stop(results: Sequence[CheckResult], why: str, seconds: float) -> StopAttempt:
    """Whether the agent is sent back to work. `why` it may end although nothing was run, where that is known."""
    ran, failed = [result for result in results if _exited(result)], failures(results)
    if not why and not failed:
        why = "every check that ran passes" if ran else "no check finished"
    names = [result.name for result in failed]
    more = [f"{len(names) - CHECKS_SHOWN} more"] if len(names) > CHECKS_SHOWN else []
    named = ", ".join([*map(_line, names[:CHECKS_SHOWN]), *more])
    return StopAttempt(
        blocked=not why,
        why=why or f"{checks_fail(len(failed), len(ran))}: {named}",
        failing=tuple(names),
        failing_tests=sum(result.counts.failed for result in failed if result.counts),
        seconds=round(seconds, 3),
    )


def failures(results: Sequence[CheckResult]) -> list[CheckResult]:
    """Those that ran to their end and failed. One that timed out or did not start says nothing about the work."""
    return [result for result in results if _exited(result) and not result.passed]


def reason(results: Sequence[CheckResult]) -> str:
    """What an agent is told that is sent back to work."""
    failed = failures(results)
    more = f" and {len(failed) - CHECKS_SHOWN} more" if len(failed) > CHECKS_SHOWN else ""
    named = ", ".join(f"`{_line(result.command)}`" for result in failed[:CHECKS_SHOWN])
    shown: list[str] = []  # the failing tests by name; where none is named, how the output ends
    for result in failed[:CHECKS_SHOWN]:
        names = result.counts.failing if result.counts else ()
        printed = [line for line in (result.tail or result.head).splitlines() if line.strip()][-LINES_SHOWN:]
        shown += map(_line, names[:TESTS_SHOWN] or printed or (f"exit code {result.exit_code}, nothing printed",))
        shown += [f"[{len(names) - TESTS_SHOWN} more]"] if len(names) > TESTS_SHOWN else []
    pieces = render_pieces("stop", checks=f"{named}{more}", one=len(failed) == 1, shown="\n".join(shown))
    return fit(pieces, TEXT_TOKENS)


def _exited(result: CheckResult) -> bool:
    return result.exit_code is not None and not result.timed_out and not result.error


def _line(text: str) -> str:
    return short_line(text[: 2 * NAME_SHOWN], NAME_SHOWN)
