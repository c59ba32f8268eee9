"""Test numbers from what a runner prints at its end, for checks that write no report."""

import re
from collections.abc import Callable, Iterable

from helmsman.records.checks import TestCounts
from helmsman.verify.failing import failing_names
from helmsman.verify.runners import (
    read_cargo,
    read_go,
    read_jest,
    read_mocha,
    read_phpunit,
    read_pytest,
    read_rspec,
    read_unittest,
    read_vitest,
)
from helmsman.verify.runs import Run
from helmsman.verify.tap import read_node, read_tap

Reader = Callable[[list[str]], Iterable[Run]]

READERS: tuple[tuple[str, Reader], ...] = (
    ("pytest", read_pytest),
    ("unittest", read_unittest),
    ("jest", read_jest),
    ("vitest", read_vitest),
    ("go", read_go),
    ("cargo", read_cargo),
    ("mocha", read_mocha),
    ("rspec", read_rspec),
    ("phpunit", read_phpunit),
    ("node", read_node),
    ("tap", read_tap),
)

_LINE_LENGTH = 1000
"""No summary line is longer; the bound keeps every pattern cheap on hostile output."""

# Control sequences, operating system commands (titles, links), character sets, single letters; none can backtrack.
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b\n]*+(?:\x07|\x1b\\)|[ -/]++[0-~]|[0-Z\\^-~])")


def read_summary(output: str) -> TestCounts | None:
    """Add up the runs of all known runners. None when there is no summary line that we know.

    The output may be the head and the tail of a longer one.
    """
    lines = clean_lines(output)
    runs = _unquoted(run for _, reader in READERS for run in reader(lines))
    if not runs:
        return None
    return TestCounts(
        passed=sum(run.counts.passed for run in runs),
        failed=sum(run.counts.failed for run in runs),
        skipped=sum(run.counts.skipped for run in runs),
        failing=failing_names(name for run in runs for name in run.counts.failing),
    )


def clean_lines(output: str) -> list[str]:
    """Take colours and trailing blanks away and cut lines that are too long."""
    return [line[:_LINE_LENGTH].rstrip() for line in _ESCAPE.sub("", output).splitlines()]


def _unquoted(runs: Iterable[Run]) -> list[Run]:
    """Drop a run that lies inside the session of another: a test printed it."""
    kept: list[Run] = []
    end = -1
    for run in sorted(runs, key=lambda run: (run.first, -run.last)):
        if run.last > end:
            kept.append(run)
            end = run.last
    return kept
