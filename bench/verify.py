"""Measure the cost of verification in addition to the checks: further runs of the checks, and seconds, compared with one run.

    python bench/verify.py [--seconds 2.0]

Uses a repository whose check takes that long, and four changes: source alone, source with a new test, source with a changed test,
and a changed test alone. `helmsman verify` verifies each. A loop makes the same runs at a claim of completion, except those of
base and head, which it has already made. Prints for each change: verdict, number of check runs, total seconds, seconds within the
checks, and what a loop adds at completion.
"""

import argparse
import contextlib
import io
import json
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from deployments.verify import verify_change
from tests.fakes.repositories import commit, make_repository, sh

LOOP_RUNS = 2
"""Runs that a loop makes anyway: at its start, and on the work."""
MAX_FURTHER = 2
"""Maximum runs of the checks that completion may add."""
STRICT_TEST = 'test "$(cat answer)" = 2\n'


class Change(NamedTuple):
    name: str
    files: Mapping[str, str]


CHANGES = (
    Change("source alone", {"answer": "2\n"}),
    Change("source, and a new test", {"answer": "2\n", "tests/new.sh": STRICT_TEST}),
    Change("source, and a changed test", {"answer": "2\n", "tests/old.sh": f"# what is asked for\n{STRICT_TEST}"}),
    Change("a changed test alone", {"tests/old.sh": "exit 0\n"}),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0, help="duration of one run of the check")
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HELMSMAN_HOME"] = str(Path(folder) / "home")
        check = f"sleep {seconds}; for test in tests/*.sh; do sh $test || exit 1; done"
        started = time.monotonic()
        print(f"one run of the checks takes {seconds:g} s")
        for change in CHANGES:
            print(measure(_make_repository(Path(folder) / change.name.replace(" ", "-"), change), change.name, check, seconds))
        print(f"total: {time.monotonic() - started:.0f} s; at most {MAX_FURTHER} further runs at completion are allowed")


def measure(top: Path, name: str, check: str, seconds: float) -> str:
    output, messages = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(messages):
        verify_change(top, yes=True, as_json=True, commits="main..work", check=[check])
    output.seek(0)
    result = json.loads(output.read())
    reports = [result[key] for key in ("base_checks", "head_checks", "trusted_checks", "new_tests") if result[key]]
    check_seconds = sum(result["seconds"] for report in reports for result in report["results"])
    further = result["runs"] - LOOP_RUNS
    other_seconds = result["seconds"] - check_seconds
    runs = (
        f"{result['runs']} runs, {result['seconds']:.1f} s, {check_seconds:.1f} s in the checks ({other_seconds:.1f} s otherwise)"
    )
    return f"{name:<28} {result['verdict']:<13} {runs}; completion adds {further} ({further * seconds:g} s of checks)"


def _make_repository(top: Path, change: Change) -> Path:
    make_repository(top, {"answer": "1\n", "tests/old.sh": STRICT_TEST})
    sh(top, "checkout", "--quiet", "-b", "work")
    commit(top, "change", change.files)
    return top


if __name__ == "__main__":
    main()
