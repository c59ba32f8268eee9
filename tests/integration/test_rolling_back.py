"""Returning a branch to its best commit in real git: nothing is lost, and a driver that died in the middle does it again."""

from datetime import timedelta
from pathlib import Path

import pytest

from helmsman.records.agent import AgentCall, AgentOutcome, Change, Execution
from helmsman.records.control import RolledBack
from helmsman.records.decision import Decision
from tasks.loop.recover import roll_back
from tasks.repository.worktree import measure_change
from tests.fakes.repositories import BRANCH, NOW, LoopWork, commit, make_repository, sh, start_loop, write

pytestmark = pytest.mark.feature("S17")


def worked(tmp_path: Path) -> tuple[LoopWork, Change]:
    """A loop whose agent has made things worse in two commits."""
    work = start_loop(make_repository(tmp_path / "repository"), tmp_path / "worktree")
    commit(work.path, "worse", {"app.py": "broken\n", "new.py": "x = 1\n"})
    commit(work.path, "worse still", {"app.py": "broken again\n"})
    return work, measure_change(work.path, work.start)


def decision(back_to: str) -> Decision:
    return Decision(kind="continue", rule="continue", reason="it fell twice", at=NOW + timedelta(1), back_to=back_to)


def rolled_back(work: LoopWork, change: Change) -> RolledBack:
    execution = Execution(call=AgentCall(outcome=AgentOutcome.FINISHED, exit_code=0, seconds=1), change=change)
    return roll_back(work.context, work.state, execution, decision(work.start))


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


def test_what_a_person_did_there_since_the_agent_ended_is_kept(tmp_path: Path) -> None:
    work, change = worked(tmp_path)
    commit(work.path, "a person's", {"mine.py": "x = 1\n"})
    write(work.path, {"edited.py": "x = 2\n"})
    rolled_back(work, change)
    kept = {name for ref in work.refs() for name in work.names(ref)}
    assert {"mine.py", "edited.py"} <= kept
    assert sh(work.path, "status", "--porcelain") == ""


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


def test_what_was_ignored_stays_though_its_rule_goes_with_the_work(tmp_path: Path) -> None:
    work = start_loop(make_repository(tmp_path / "repository"), tmp_path / "worktree")
    write(work.path, {".env": "KEY=1\n", "data/big.csv": "1\n", "odd [name]*.log": "x\n"})
    write(work.path, {".gitignore": ".env\ndata/\n*.log\n"})
    sh(work.path, "add", ".gitignore")
    sh(work.path, "commit", "--quiet", "-m", "ignore")
    commit(work.path, "worse", {"app.py": "broken\n"})
    rolled_back(work, measure_change(work.path, work.start))
    assert not (work.path / ".gitignore").exists()
    assert all((work.path / name).exists() for name in (".env", "data/big.csv", "odd [name]*.log"))


def test_a_commit_that_came_after_the_iteration_was_measured_goes_to_a_ref(tmp_path: Path) -> None:
    work, change = worked(tmp_path)
    late = commit(work.path, "late", {"late.py": "x = 1\n"})
    rolled_back(work, change)
    assert sh(work.path, "for-each-ref", "--contains", late, "--format=%(refname)", "refs/helmsman")


def test_it_never_leaves_the_branch(tmp_path: Path) -> None:
    """A person's own checkout, killed in between, would be found on a detached HEAD."""
    work, change = worked(tmp_path)
    rolled_back(work, change)
    assert "checkout" not in sh(work.path, "reflog", "show", "HEAD", "--format=%gs").splitlines()[0]


@pytest.mark.parametrize(("rule", "recorded"), [("continue", "regressing"), ("pain.secret", "pain.secret")])
def test_the_record_says_what_took_the_work_off_and_shows_where_the_reason_is_cut(
    tmp_path: Path, rule: str, recorded: str
) -> None:
    work, change = worked(tmp_path)
    execution = Execution(call=AgentCall(outcome=AgentOutcome.FINISHED, exit_code=0, seconds=1), change=change)
    decided = decision(work.start).model_copy(update={"rule": rule, "reason": "it fell " * 100})
    failed = roll_back(work.context, work.state, execution, decided)
    assert (failed.rule, len(failed.why), failed.why[-1]) == (recorded, 300, "…")
