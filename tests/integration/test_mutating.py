"""The checks of a real commit, on mutants of its changed lines."""

import sys
from pathlib import Path

import pytest

from helmsman.config import LoopConfig
from tasks.checks.run import Target, run_checks
from tasks.checks.targets import Range, check_context
from tasks.checks.variations import run_mutants
from tests.fakes.repositories import commit, make_repository, start_loop


@pytest.mark.feature("V16")
def test_surviving_mutants_are_named_with_the_share_noticed(tmp_path: Path) -> None:
    check = f"{sys.executable} -B -c 'from it import area; assert area(2, 3) == 6'"
    work = start_loop(make_repository(tmp_path / "top", {"README": "\n"}), tmp_path / "tree")
    source = "def area(a, b):\n    if a < 0:\n        return 0\n    return a * b\n"
    head = commit(work.path, "work", {"it.py": source})
    config = LoopConfig.model_validate({"goal": "x", "checks": [check], "proof": {"mutants": 9}})
    room = check_context(work.context, work.state)
    found = run_mutants(room, Range(work.repository, work.start, head, config), run_checks(room, Target(head, head, config)))
    assert found is not None
    assert (found.made, found.survived) == (3, ("it.py:2: < became <=", "it.py:3: the result became None"))
    assert found.summary == "the checks detect 1 of 3 mutants (6% to 79%)"
    assert (room.root / "it.py").read_text() == source
