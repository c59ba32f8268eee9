"""Results of the checks and of the judge: in a prompt, in the same form in every section, and in files beside it."""

import re
from collections.abc import Iterable, Mapping

from helmsman.plain import clean, clean_lines, shorten
from helmsman.records.checks import CheckResult
from helmsman.records.proof import JudgeMemory
from helmsman.texts import plural

LOGS = ".helmsman/checks"
SHOWN = 15  # failures of one check; its log has the others


def commands(texts: Iterable[str]) -> str:
    """Indent commands, including those of several lines; empty for none."""
    return "\n".join(f"    {line}" for command in texts for line in clean_lines(command).splitlines())


def failed_check_values(result: CheckResult) -> Mapping[str, object]:
    """Values for the template `check`: the end of a failed check, a line for each distinct failure, and the path of its log."""
    counts, output = result.counts, output_text(result)
    lines = result.listed or [shorten(line, 240) for line in output.splitlines()[-SHOWN:]]
    unnamed = counts.failed - len(counts.failing) if counts and counts.failing else 0  # their names were in what was cut
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
        "log": log_path(result),
        "cut": bool(result.tail),
        "size": plural(output.count("\n") + 1, "line"),
        "more": max(0, len(lines) - SHOWN) + max(0, unnamed),
    }


def log_path(result: CheckResult) -> str:
    """Path of the file with the output of a check."""
    return f"{LOGS}/{re.sub(r'[^A-Za-z0-9_-]+', '-', result.name).strip('-')[:60] or 'check'}.log"


def check_logs(results: Iterable[CheckResult]) -> dict[str, str]:
    """Output of the failed checks by path of its file; checks with the same name share a file."""
    files: dict[str, str] = {}
    for result in results:
        if not result.passed:
            path = log_path(result)
            files[path] = f"{files.get(path, '')}$ {result.command}\n{output_text(result)}\n"
    return files


def output_text(result: CheckResult) -> str:
    """Stored part of the output of a check."""
    return "\n[… left out …]\n".join(part for part in (result.head.strip(), result.tail.strip()) if part)


def feedback_file(memory: JudgeMemory) -> str:
    """JUDGE_FEEDBACK.md: all stored rejections, newest last, rendered from the state; edits of the file are not read."""
    text = "# Why the judge rejected the work\n"
    for rejection in memory.feedback:
        again = f"; repeated {rejection.repeated} times" if rejection.repeated else ""
        heading = f"Iteration {rejection.iteration}, {rejection.consecutive} in a row, {rejection.at:%Y-%m-%d %H:%M} UTC{again}"
        text += f"\n## {heading}\n{rejection.reason}\n"
    return text if memory.feedback else f"{text}\nNo rejection yet.\n"


def evolution_file(memory: JudgeMemory) -> str:
    """JUDGE_EVOLUTION.md: one principle for each verdict, newest last, for the judge."""
    lines = "".join(f"- {note}\n" for note in memory.notes) or "No verdict yet.\n"
    return f"# What the judge has learnt\n\n{lines}"
