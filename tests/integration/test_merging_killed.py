"""Drivers that die while they merge: nobody ever pulls a tree that was not checked, and the next driver ends what was begun."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.processes import ROOT

pytestmark = [pytest.mark.feature("M4", "E3"), pytest.mark.timeout(200)]

WELL: dict[str, object] = {"failed": 0, "trouble": "", "branch": True, "worktree": True, "clean": True, "unverified": []}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "step", "least", "after"),
    [
        ("rebased", 4, 6, {**WELL, "merged": True, "merges": 1}),
        ("conflict", 6, 3, {**WELL, "merged": False, "merges": 0, "failed": 1, "trouble": "conflict"}),
        ("checks", 8, 3, {**WELL, "merged": False, "merges": 0, "failed": 1, "trouble": "checks"}),
    ],
)
def test_whatever_git_command_was_the_last_the_next_driver_goes_on_as_if_nothing_had_happened(
    tmp_path: Path, scenario: str, step: int, least: int, after: dict[str, object]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.integration.merge_process", tmp_path, scenario, "2", str(step)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == [after] * len(found)
    assert len(found) >= least
