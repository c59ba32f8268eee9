"""Checks, and what became of them, as a prompt tells them: whichever section names one says it alike."""

import re
from collections.abc import Iterable, Sequence

from helmsman.orient.budget import Foreign, Piece
from helmsman.plain import clean, clean_lines, shortened
from helmsman.records.checks import CheckResult, TestCounts
from helmsman.texts import counted

LOGS = ".helmsman/checks"
SHOWN = 15
"""Failures of one check; the others stand in its log."""


def commands(given: Iterable[str]) -> str:
    """Commands set in, those of several lines as well; empty for none."""
    return "\n".join(f"    {line}" for command in given for line in clean_lines(command).splitlines())


def failed(result: CheckResult) -> Sequence[Piece]:
    """How a failed check ended, a line for each distinct failure, and where the whole output is."""
    heading = f"`{clean(result.command)}` {_how(result)}{_numbers(result.counts)}."
    remark = (clean(result.remark),) if result.remark else ()
    output = output_of(result)
    if not output:
        return (f"{heading} It printed nothing.", *remark)
    lines = result.listed or [shortened(line, 240) for line in output.splitlines()[-SHOWN:]]
    more = f", {len(lines) - SHOWN} more failures in it" if len(lines) > SHOWN else ""
    whole = f"Whole output: {log_of(result)} ({counted(output.count(chr(10)) + 1, 'line')}{more})"
    return (heading, *remark, Foreign("\n".join(lines[:SHOWN])), whole)


def log_of(result: CheckResult) -> str:
    """Path of the file that holds what it printed."""
    return f"{LOGS}/{re.sub(r'[^A-Za-z0-9_-]+', '-', result.name).strip('-')[:60] or 'check'}.log"


def logs(results: Iterable[CheckResult]) -> dict[str, str]:
    """What each of those that failed printed, by the path of its file; checks that share a name share one."""
    files: dict[str, str] = {}
    for result in results:
        if not result.passed:
            path = log_of(result)
            files[path] = f"{files.get(path, '')}$ {result.command}\n{output_of(result)}\n"
    return files


def output_of(result: CheckResult) -> str:
    """What it printed, as far as it was kept."""
    return "\n[… left out …]\n".join(part for part in (result.head.strip(), result.tail.strip()) if part)


def _how(result: CheckResult) -> str:
    if result.error:
        return f"failed: {clean(result.error)}"
    if result.timed_out:
        return f"was ended after {result.seconds:.0f} s, its time limit"
    return f"exits with {result.exit_code}"


def _numbers(counts: TestCounts | None) -> str:
    return f": {counted(counts.failed, 'test')} failing, {counts.passed} passing" if counts and counts.executed else ""
