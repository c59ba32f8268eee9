"""Hints on real commits: over the whole loop's diff; protected files block, and are put back where that is wanted."""

from pathlib import Path
from typing import Any

import pytest

from helmsman.records.checks import Finding, Weight
from helmsman.records.iteration import Evidence
from tasks.checks.judging import audit, collect_claims, revert_protected
from tests.fakes.repositories import BRANCH, LoopWork, commit, make_repository, start_loop, write

TESTS = "def test_a():\n    assert 1 + 1 == 2\n\n\ndef test_b():\n    assert 2 + 2 == 4\n"
WITHOUT_B = "def test_a():\n    assert 1 + 1 == 2\n"


@pytest.fixture
def work(tmp_path: Path) -> LoopWork:
    files = {"app.py": "1\n", "tests/test_app.py": TESTS, "check.sh": "exec pytest\n", ".gitignore": "*.log\n"}
    return start_loop(make_repository(tmp_path / "top", files), tmp_path / "tree").configured(checks=["sh check.sh"])


def found(work: LoopWork, start: str, **sections: Any) -> list[Finding]:
    of = work.configured(**sections)
    return list(audit(of.context, of.state, of.execution(start)))


@pytest.mark.feature("V5")
def test_earlier_deletions_are_hints_until_restored(work: LoopWork) -> None:
    gone = commit(work.path, "one", {"tests/test_app.py": WITHOUT_B})
    commit(work.path, "two", {"app.py": "2\n"})
    (finding,) = found(work, gone)
    assert (finding.rule, finding.weight, finding.path) == ("tests.gone", Weight.HINT, "tests/test_app.py")
    commit(work.path, "three", {"tests/test_app.py": TESTS})
    assert found(work, gone) == []


@pytest.mark.feature("V5")
def test_protected_files_are_restored_in_a_commit(work: LoopWork) -> None:
    (work.path / "check.sh").unlink()
    write(work.path, {"RUBRIC.md": "## Checks\n- true\n"})
    head = commit(work.path, "cheat", {"app.py": "2\n", ".ci/run": "exit 0\n"})
    assert revert_protected(work.context, work.state, head) == ("RUBRIC.md", "check.sh")
    assert work.sh("log", "-1", "--format=%s", BRANCH) == "helmsman: restore protected files"
    assert work.sh("diff", "--name-only", work.start, BRANCH).split() == [".ci/run", "app.py"]
    assert work.sh("status", "--porcelain") == ""
    assert revert_protected(work.context, work.state, work.sh("rev-parse", BRANCH)) == ()


def test_all_protected_files_are_restored_under_their_old_names(work: LoopWork) -> None:
    work.sh("mv", "app.py", "moved.py")
    head = commit(work.path, "much", {f"more-{number}.py": "1\n" for number in range(40)})
    revert_protected(work.context, work.configured(invariants={"protect": ["**"]}).state, head)
    assert work.sh("diff", "--name-only", work.start, BRANCH) == ""


@pytest.mark.feature("V5")
def test_work_that_depends_on_the_agents_folder_is_blocked(work: LoopWork) -> None:
    """The folder exists while the checks run in a clean checkout, and is gone afterwards."""
    files = {"app.py": f"PATH = '{work.path}/cache'\n", "near.py": f"PATH = '{work.path}-2/x'\n", "notes.md": f"In {work.path}\n"}
    commit(work.path, "work", files)
    assert [(one.rule, one.weight, one.path, one.line) for one in found(work, work.start)] == [
        ("worktree", Weight.BLOCK, "app.py", 1)
    ]


@pytest.mark.feature("V6")
def test_claims_about_ignored_or_earlier_files_are_not_contradicted(work: LoopWork) -> None:
    earlier = commit(work.path, "one", {"parser.py": "1\n"})
    commit(work.path, "two", {"app.py": "2\n"})
    said = "I updated `app.py`, `parser.py` and `debug.log`. I also rewrote `never.py`."
    testimony = collect_claims(work.context, work.state, Evidence(execution=work.execution(earlier, final_text=said)))
    assert [(one.layer, one.found) for one in testimony.contradictions] == [("contradiction", "git shows no change in never.py")]
