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
from tasks.repository.git import git

MAKES = 2
"""Runs that a loop has already made: at its start, and on the work."""
MOST_FURTHER = 2
"""Maximum runs of the checks that completion may add."""
STRICT = 'test "$(cat answer)" = 2\n'


class Change(NamedTuple):
    name: str
    files: Mapping[str, str]


CHANGES = (
    Change("source alone", {"answer": "2\n"}),
    Change("source, and a new test", {"answer": "2\n", "tests/new.sh": STRICT}),
    Change("source, and a changed test", {"answer": "2\n", "tests/old.sh": f"# what is asked for\n{STRICT}"}),
    Change("a changed test alone", {"tests/old.sh": "exit 0\n"}),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0, help="duration of one run of the check")
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HELMSMAN_HOME"] = str(Path(folder) / "home")
        check = f"sleep {seconds}; for one in tests/*.sh; do sh $one || exit 1; done"
        started = time.monotonic()
        print(f"one run of the checks takes {seconds:g} s")
        for change in CHANGES:
            print(measured(_repository(Path(folder) / change.name.replace(" ", "-"), change), change.name, check, seconds))
        print(f"all of it took {time.monotonic() - started:.0f} s; at most {MOST_FURTHER} further runs at completion are allowed")


def measured(top: Path, name: str, check: str, seconds: float) -> str:
    said, told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(told):
        verify_change(top, yes=True, as_json=True, commits="main..work", check=[check])
    found = json.loads(said.getvalue())
    reports = [found[key] for key in ("base_checks", "head_checks", "trusted_checks", "new_tests") if found[key]]
    inside = sum(result["seconds"] for report in reports for result in report["results"])
    further = found["runs"] - MAKES
    beside = found["seconds"] - inside
    runs = f"{found['runs']} runs, {found['seconds']:.1f} s, {inside:.1f} s of them in the checks ({beside:.1f} s beside)"
    return f"{name:<28} {found['verdict']:<13} {runs}; completion adds {further} ({further * seconds:g} s of checks)"


def _repository(top: Path, change: Change) -> Path:
    top.mkdir()
    git(top, "init", "--quiet", "--initial-branch=main")
    _commit(top, {"answer": "1\n", "tests/old.sh": STRICT})
    git(top, "checkout", "--quiet", "-b", "work")
    _commit(top, change.files)
    return top


def _commit(top: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_text(text)
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "-m", "change")


if __name__ == "__main__":
    main()
