"""Whether the agent may end its turn: what the checks say of that, a bounded number of times and never for ever."""

from collections.abc import Sequence
from math import inf

from helmsman.config import SteeringConfig
from helmsman.orient.budget import Foreign, Piece, fit
from helmsman.plain import shortened
from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.session import StopAttempt
from helmsman.texts import counted

MOST_ATTEMPTS = 20
"""Of one session. Who asks more often than that is kept by something else than us."""
TEXT_TOKENS = 1000
"""Of what the agent is told, all in all."""
OUTPUT_SHOWN = 1500
"""Characters of the end of each check's output; runners print the failures and the summary last."""
CHECKS_SHOWN = 4
TESTS_SHOWN = 10
NAME_SHOWN = 150

CLOSING = """
Fix the cause, not the check, then end your turn again. If this is to go on in the next iteration instead, write into
`.helmsman/progress.md` what fails and what you know about it, and end your turn. None of your files was changed by the checks."""
IN_CLEAN = " They ran in a clean checkout of your files, without what git ignores."


def let_go(before: Sequence[StopAttempt], *, active: bool, config: SteeringConfig, full: bool) -> str:
    """Why it may end whatever the checks would say, so that none need run. Empty: the checks decide."""
    sent_back = sum(attempt.blocked for attempt in before)
    answers = (
        (active and not sent_back, "another hook keeps it from ending"),
        (full, "its context is full: a new session serves better"),
        (sent_back >= config.stop_blocks, f"it was sent back {counted(sent_back, 'time')}, and may be no more"),
        (len(before) >= MOST_ATTEMPTS, f"it wanted to end {len(before)} times already"),
    )
    return next((why for holds, why in answers if holds), "")


def judge_stop(
    before: Sequence[StopAttempt],
    results: Sequence[CheckResult],
    *,
    active: bool,
    config: SteeringConfig,
    full: bool,
    noted: bool = False,
    seconds: float,
    hindrance: str = "",
) -> StopAttempt:
    """Whether the agent is sent back to work. `hindrance` is why nothing could be run, where that is known.

    `noted` is whether it has written something down for the next iteration since it was sent back: then it need not get further.
    """
    ran = [result for result in results if _exited(result)]
    failed = failures(results)
    attempt = _attempt(failed, seconds)
    why = let_go(before, active=active, config=config, full=full) or _no_reason(ran, failed, hindrance)
    why = why or _no_progress(before, attempt, config, noted=noted)
    fail = f"{len(failed)} of {len(ran)} checks fail: {_names(attempt.failing)}"
    return attempt.model_copy(update={"blocked": not why, "why": why or fail})


def _attempt(failed: Sequence[CheckResult], seconds: float) -> StopAttempt:
    """What was found, before anything follows from it."""
    return StopAttempt(
        blocked=False,
        why="",
        failing=tuple(result.name for result in failed),
        failing_tests=sum(result.counts.failed for result in failed if result.counts),
        seconds=round(seconds, 3),
    )


def failures(results: Sequence[CheckResult]) -> list[CheckResult]:
    """Those that ran to their end and failed. One that timed out or did not start says nothing about the work."""
    return [result for result in results if _exited(result) and not result.passed]


def reason(
    time: int,
    results: Sequence[CheckResult],
    skipped: Sequence[str],
    config: SteeringConfig,
    last: CheckReport | None = None,
    *,
    clean: bool = True,
) -> str:
    """What an agent is told that is sent back for the so-manieth time.

    `last` is the report from before its session; `clean` is whether the checks ran in a clean checkout.
    """
    failed = failures(results)
    others = failed[CHECKS_SHOWN:]
    not_run = [*skipped, *(result.name for result in results if not _exited(result))]
    heading = f"Not done: {counted(len(failed), 'check')} of {len(results) + len(skipped)} failed on your files as they are now"
    return fit(
        (
            f"{heading} (sent back {time} of {counted(config.stop_blocks, 'time')} at most{_red_before(failed, last)}).",
            *(piece for result in failed[:CHECKS_SHOWN] for piece in _failure(result)),
            *((f"\nThese failed as well: {_names([one.name for one in others])}",) if others else ()),
            *((f"\nNot run to the end: {_names(not_run)}",) if not_run else ()),
            f"{CLOSING}{IN_CLEAN if clean else ''}",
        ),
        TEXT_TOKENS,
    )


def _exited(result: CheckResult) -> bool:
    return result.exit_code is not None and not result.timed_out and not result.error


def _no_reason(ran: Sequence[CheckResult], failed: Sequence[CheckResult], hindrance: str) -> str:
    """Why the results are no reason to send it back; empty where they are."""
    if not ran:
        return hindrance or "no check could be run to its end"
    return "" if failed else "every check that ran passes"


def _no_progress(before: Sequence[StopAttempt], attempt: StopAttempt, config: SteeringConfig, *, noted: bool) -> str:
    in_row = _in_row([_failures_of(one) for one in before if one.blocked], _failures_of(attempt))
    if noted and in_row:
        return "it gets no further and has written down what remains"
    times = f"sent back {counted(in_row, 'time')} with no fewer failures"
    return f"no progress: {times}" if in_row >= config.stop_no_progress else ""


def _in_row(sent_back: Sequence[tuple[int, float]], now: tuple[int, float]) -> int:
    """How often it was sent back since the failures were fewest; 0 where they are fewer now."""
    fewest = min(sent_back, default=(inf, inf))
    return len(sent_back) - sent_back.index(fewest) if sent_back and now >= fewest else 0


def _failures_of(attempt: StopAttempt) -> tuple[int, float]:
    """Failing checks, then failing tests. Where none is counted the tests did not even run, which is worst."""
    return len(attempt.failing), attempt.failing_tests or inf


def _red_before(failed: Sequence[CheckResult], last: CheckReport | None) -> str:
    """Which of them are none of its own doing."""
    known = {result.command for result in failures(last.results)} if last else set[str]()
    red = [result.name for result in failed if result.command in known]
    return f"; failed before this session already: {_names(red)}" if red else ""


def _failure(result: CheckResult) -> Sequence[Piece]:
    tests, output = _tests(result), _end(f"{result.head}\n[…]\n{result.tail}" if result.tail else result.head)
    return (
        f"\n## `{_line(result.command)}`: exit code {result.exit_code}",
        *(("Failing tests:", Foreign(tests)) if tests else ()),
        *(("The end of its output:", Foreign(output)) if output else ("It printed nothing.",)),
    )


def _tests(result: CheckResult) -> str:
    names = result.counts.failing if result.counts else ()
    more = [f"[{len(names) - TESTS_SHOWN} more]"] if len(names) > TESTS_SHOWN else []
    return "\n".join([*(_line(name) for name in names[:TESTS_SHOWN]), *more])


def _end(output: str) -> str:
    """The last part, from the beginning of a line where one is near."""
    text = output.strip()
    if len(text) <= OUTPUT_SHOWN:
        return text
    _, newline, rest = text[-OUTPUT_SHOWN:].partition("\n")
    return f"[…]\n{rest if newline and len(rest) > OUTPUT_SHOWN // 2 else text[-OUTPUT_SHOWN:]}"


def _names(names: Sequence[str]) -> str:
    more = [f"{len(names) - CHECKS_SHOWN} more"] if len(names) > CHECKS_SHOWN else []
    return ", ".join([*(_line(name) for name in names[:CHECKS_SHOWN]), *more])


def _line(text: str) -> str:
    """One line of bounded length."""
    return shortened(" ".join(text[: 2 * NAME_SHOWN].split()), NAME_SHOWN)
