"""Merging while people, signals and killed processes interfere: nothing is overwritten, and the next driver continues."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from prefect.logging import disable_run_logger

from helmsman.records.checks import CheckReport
from helmsman.records.decision import Outcome
from tasks.loop import merge as merge_attempt
from tasks.loop.merge import begin_merge, finish_branch_move, merge_loop
from tasks.loop.run import end_from_outside
from tasks.repository.loop_context import loop_context
from tasks.repository.worktree import restore
from tests.fakes.processes import ROOT
from tests.fakes.proven_loops import ProvenLoop, make_proven_loop, repository
from tests.fakes.repositories import commit, sh, write

pytestmark = pytest.mark.feature("M4")

MINE, THEIRS, BOTH = ({"app.py": f"one\n{word}\nthree\n"} for word in ("MINE", "THEIRS", "BOTH"))


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return repository(tmp_path / "top")


@pytest.fixture
def landing(top: Path, tmp_path: Path) -> ProvenLoop:
    return make_proven_loop(top, tmp_path, {"items/mine": "mine\n"})


@pytest.mark.parametrize("setting", ["--no-squash", "--squash"])
def test_a_file_that_git_ignores_is_not_overwritten_in_a_checkout_that_comes_along(
    top: Path, tmp_path: Path, setting: str
) -> None:
    commit(top, "ignore it", {".gitignore": "local.env\n"})
    landing = make_proven_loop(top, tmp_path, {".gitignore": "\n", "local.env": "the loop's\n"})
    sh(top, "config", "branch.main.mergeOptions", setting)
    write(top, {"local.env": "all that there is of it\n"})
    landing.land()
    assert (top / "local.env").read_text() == "all that there is of it\n"
    assert landing.state.merged is None
    (top / "local.env").unlink()
    landing.change(ending=landing.state.merging.proven)
    landing.land()
    assert landing.at("main") == landing.merged.commit
    assert sh(top, "status", "--porcelain") == ""


def test_a_foreign_commit_on_the_branch_during_the_checks_is_kept(landing: ProvenLoop, tmp_path: Path) -> None:
    commit(landing.top, "theirs", {"other.py": "1\n"})
    made: list[str] = []

    def check(name: str, tree: str) -> CheckReport:
        if not made:
            restore(landing.context.worktree, name)  # as any check on it does
            sh(landing.top, "worktree", "add", str(tmp_path / "person"), landing.state.branch)
            made.append(commit(tmp_path / "person", "by hand", {"person.py": "1\n"}))
        return landing.check(name, tree)

    merge_loop(landing.context, begin_merge(landing.context, landing.state), check)
    sh(landing.top, "merge-base", "--is-ancestor", made[0], landing.state.branch)
    assert (landing.state.merged, landing.state.ending) == (None, None)
    assert sh(tmp_path / "person", "status", "--porcelain") == ""


def test_what_the_branch_had_once_and_took_back_is_checked_and_merged(landing: ProvenLoop) -> None:
    commit(landing.top, "theirs", {"other.py": "1\n"})
    sh(landing.top, "cherry-pick", landing.state.head)
    sh(landing.top, "revert", "--no-edit", "HEAD")
    landing.land()
    assert landing.at("main") == landing.merged.commit
    assert (landing.top / "items" / "mine").exists()


def test_a_branch_that_is_being_rebased_is_not_moved(landing: ProvenLoop) -> None:
    top = landing.top
    sh(top, "switch", "--quiet", "--create", "other")
    commit(top, "other", THEIRS)
    sh(top, "switch", "--quiet", "main")
    own = commit(top, "own", MINE)
    subprocess.run(["git", "-C", top, "rebase", "other"], capture_output=True, check=False)
    landing.land()
    ending = landing.state.ending
    assert ending is not None
    assert (ending.rule, ending.outcome, landing.at("main")) == ("merge.hindered", Outcome.WAITING, own)
    assert "is being rebased" in ending.reason
    sh(top, "rebase", "--abort")
    landing.change(ending=landing.state.merging.proven)
    landing.land()
    assert landing.at("main") == landing.merged.commit


def test_a_conflict_in_a_file_whose_name_is_no_text_is_a_conflict_like_any_other(top: Path, tmp_path: Path) -> None:
    def put(folder: Path, text: bytes) -> str:
        Path(os.fsdecode(os.fsencode(folder) + b"/items/caf\xe9")).write_bytes(text)
        return commit(folder, "named in Latin-1", {})

    put(top, b"0\n")
    landing = make_proven_loop(top, tmp_path, {"app.py": "2\n"})
    landing.change(head=put(landing.context.worktree, b"mine\n"))
    put(top, b"theirs\n")
    landing.land()
    assert landing.trouble.kind == "conflict"
    assert [one.path for one in landing.trouble.files] == ["items/caf\N{REPLACEMENT CHARACTER}"]


@pytest.mark.parametrize("conflicted", [False, True])
def test_a_signal_right_after_the_merge_finds_a_loop_that_has_arrived(top: Path, tmp_path: Path, *, conflicted: bool) -> None:
    landing = make_proven_loop(top, tmp_path, MINE)
    if conflicted:
        commit(top, "theirs", THEIRS)
        landing.land()
        landing.resolve(BOTH)
    before = landing.state  # what the driver knew
    landing.land()
    with disable_run_logger():  # no flow run is there to log to
        assert end_from_outside(loop_context(str(top), before), before, KeyboardInterrupt()).outcome is Outcome.COMPLETED
    assert landing.state.outcome is Outcome.COMPLETED
    assert landing.merged.commit == landing.at("main")


def test_a_branch_move_interrupted_by_a_death_is_finished_before_a_question(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("helmsman.oversee.merging.MERGE_TRIES", 1)
    landing = make_proven_loop(top, tmp_path, MINE)
    commit(top, "theirs", THEIRS)
    with monkeypatch.context() as dying:
        dying.setattr(merge_attempt, "move_loop_branch", _dies)
        with pytest.raises(KeyboardInterrupt):
            landing.land()
    assert landing.state.ending is not None
    assert landing.at(landing.state.branch) == landing.trouble.work
    finish_branch_move(landing.context, landing.state)  # as the next driver does before it asks anything
    assert landing.at(landing.state.branch) == landing.state.head == landing.trouble.head


def _dies(*_: object) -> bool:
    raise KeyboardInterrupt


@pytest.mark.feature("V2")
def test_a_tree_that_the_agent_has_git_show_in_place_of_its_own_is_not_the_one_that_is_checked(top: Path, tmp_path: Path) -> None:
    landing = make_proven_loop(top, tmp_path / "bad", {"items/second": "1\n", "items/third": "1\n"})
    bad, good = sh(landing.context.worktree, "rev-parse", "HEAD:items"), sh(top, "rev-parse", "main:items")
    sh(landing.context.worktree, "replace", bad, good)
    landing.land()
    assert landing.state.merged is None
    assert sh(top, "--no-replace-objects", "ls-tree", "--name-only", "main:items") == "first"


WELL: dict[str, object] = {"failed": 0, "trouble": "", "branch": True, "worktree": True, "clean": True, "unverified": []}


@pytest.mark.feature("E3")
@pytest.mark.timeout(200)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "step", "least", "after"),
    [
        ("rebased", 4, 6, {**WELL, "merged": True, "merges": 1}),
        ("conflict", 6, 3, {**WELL, "merged": False, "merges": 0, "failed": 1, "trouble": "conflict"}),
        ("checks", 8, 3, {**WELL, "merged": False, "merges": 0, "failed": 1, "trouble": "checks"}),
    ],
)
def test_after_a_kill_at_any_git_command_the_next_driver_finishes_the_merge(
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
