"""Checks and their results in a prompt: whichever section names a check says it alike."""

import re
from collections.abc import Iterable, Mapping

from helmsman.plain import clean, clean_lines, shortened
from helmsman.records.checks import CheckResult
from helmsman.texts import plural

LOGS = ".helmsman/checks"
SHOWN = 15  # failures of one check; the others stand in its log


def commands(given: Iterable[str]) -> str:
    """Commands set in, those of several lines as well; empty for none."""
    return "\n".join(f"    {line}" for command in given for line in clean_lines(command).splitlines())


def failed(result: CheckResult) -> Mapping[str, object]:
    """For the template `check`: how a failed check ended, a line for each distinct failure, and where the whole output is."""
    counts, output = result.counts, output_of(result)
    lines = result.listed or [shortened(line, 240) for line in output.splitlines()[-SHOWN:]]
    return {
        "command": clean(result.command),
        "error": clean(result.error),
        "timed_out": result.timed_out,
        "seconds": f"{result.seconds:.0f}",
        "exit_code": result.exit_code,
        "failing": plural(counts.failed, "test") if counts and counts.executed else "",
        "passing": counts.passed if counts else 0,
        "remark": clean(result.remark),
        "lines": "\n".join(lines[:SHOWN]) if output else "",
        "log": log_of(result),
        "size": plural(output.count("\n") + 1, "line"),
        "more": max(0, len(lines) - SHOWN),
    }


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
