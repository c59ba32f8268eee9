"""Returning a branch to its best commit in real git: nothing is lost, and a driver that died in the middle does it again."""

from datetime import timedelta
from pathlib import Path

import pytest

from helmsman.records.evidence import AgentCall, AgentOutcome, Change, Execution
from helmsman.records.oversight import Failed
from helmsman.records.verdict import Decision, DecisionKind
from tasks.rolling_back import roll_back
from tasks.worktree import measure_change
from tests.fakes.repositories import BRANCH, NOW, Work, begin, commit, make_repository, sh, write

pytestmark = pytest.mark.feature("S17")


def worked(tmp_path: Path) -> tuple[Work, Change]:
    """A loop whose agent has made things worse in two commits."""
    work = begin(make_repository(tmp_path / "repository"), tmp_path / "worktree")
    commit(work.path, "worse", {"app.py": "broken\n", "new.py": "x = 1\n"})
    commit(work.path, "worse still", {"app.py": "broken again\n"})
    return work, measure_change(work.path, work.start)


def decision(back_to: str) -> Decision:
    return Decision(kind=DecisionKind.CONTINUE, rule="continue", reason="it fell twice", at=NOW + timedelta(1), back_to=back_to)


def rolled_back(work: Work, change: Change) -> Failed:
    execution = Execution(call=AgentCall(outcome=AgentOutcome.FINISHED, exit_code=0, seconds=1), change=change)
    return roll_back(work.place, work.state, execution, decision(work.start))


def test_the_branch_goes_back_and_the_failed_work_stays_on_a_ref(tmp_path: Path) -> None:
    work, change = worked(tmp_path)
    failed = rolled_back(work, change)
    tree = work.path
    assert (sh(tree, "rev-parse", BRANCH), sh(tree, "symbolic-ref", "HEAD")) == (work.start, f"refs/heads/{BRANCH}")
    assert (tree / "app.py").read_text() == "print('hello')\n"
    assert not (tree / "new.py").exists()
    assert sh(tree, "status", "--porcelain") == ""
    assert sh(tree, "rev-parse", failed.ref) == change.commit == failed.commit
    assert sh(tree, "show", f"{failed.ref}:new.py") == "x = 1"
    assert (failed.back_to, failed.files, failed.why) == (work.start, ("app.py", "new.py"), "it fell twice")


def test_done_again_after_a_crash_it_is_the_same(tmp_path: Path) -> None:
    work, change = worked(tmp_path)
    first = rolled_back(work, change)
    assert rolled_back(work, change) == first
    assert sh(work.path, "for-each-ref", "--format=%(refname)", f"refs/helmsman/{work.state.loop}/failed").split() == [first.ref]


def test_a_driver_that_died_after_it_kept_the_work_goes_on_from_there(tmp_path: Path) -> None:
    work, change = worked(tmp_path)
    sh(work.path, "update-ref", f"refs/helmsman/{work.state.loop}/failed/1-1", change.commit)
    sh(work.path, "checkout", "--quiet", "--detach", work.start)
    write(work.path, {"app.py": "half put back\n"})
    assert rolled_back(work, change).ref == f"refs/helmsman/{work.state.loop}/failed/1-1"
    assert (work.path / "app.py").read_text() == "print('hello')\n"


def test_a_ref_that_is_taken_by_other_work_is_left_alone(tmp_path: Path) -> None:
    work, change = worked(tmp_path)
    taken = f"refs/helmsman/{work.state.loop}/failed/1-1"
    sh(work.path, "update-ref", taken, work.start)
    assert rolled_back(work, change).ref == f"{taken}-2"
    assert sh(work.path, "rev-parse", taken) == work.start
