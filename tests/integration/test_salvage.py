"""Work in flight when a process died: kept on a ref, whatever state it was in, and the worktree back at its start."""

from pathlib import Path

import pytest

from helmsman.records.agent import Salvage
from tasks.repository.git import current_branch, succeeds
from tasks.repository.worktree import dirty_paths, salvage
from tests.fakes.repositories import BRANCH, LOOP, LoopWork, commit, make_repository, sh, start_loop, with_submodule, write

pytestmark = pytest.mark.feature("E3")


@pytest.fixture
def work(tmp_path: Path) -> LoopWork:
    top = make_repository(tmp_path / "top", {"app.py": "1\n", "gone.py": "x\n", ".gitignore": "*.log\n"})
    commit(top, "history", {"app.py": "2\n"})
    return start_loop(top, tmp_path / "trees" / LOOP)


def rescue(work: LoopWork) -> Salvage | None:
    kept = salvage(work.repository, work.path, work.state, work.start)
    assert work.sh("rev-parse", "HEAD", BRANCH).split() == [work.start, work.start]
    assert current_branch(work.path) == BRANCH
    assert dirty_paths(work.path) == ()
    assert (work.path / "app.py").read_text() == "2\n"
    return kept


def test_where_nothing_was_done_there_is_nothing_to_keep(work: LoopWork) -> None:
    write(work.path, {"__pycache__/a.pyc": "x", "debug.log": "x"})
    assert rescue(work) is None
    assert work.refs() == []
    assert (work.path / "debug.log").exists()


def test_dirty_staged_untracked_deleted_and_committed_work_is_kept_on_one_ref(work: LoopWork) -> None:
    done = commit(work.path, "committed", {"committed": "x"})
    write(work.path, {"app.py": "3\n", "untracked/file": "x", "staged": "x", "__pycache__/a.pyc": "x"})
    work.sh("add", "staged")
    (work.path / "gone.py").unlink()
    kept = rescue(work)
    assert kept
    assert (kept.iteration, kept.attempt, kept.ref, kept.files) == (1, 1, f"refs/helmsman/{LOOP}/salvage/1-1", 5)
    assert work.names(kept.ref) == {".gitignore", "app.py", "committed", "staged", "untracked/file"}
    assert work.at("app.py", kept.ref) == "3"
    assert succeeds(work.path, "merge-base", "--is-ancestor", done, kept.ref)


def test_every_salvage_of_an_attempt_has_a_ref_of_its_own(work: LoopWork) -> None:
    for text in ("one\n", "two\n", "three\n"):
        write(work.path, {"app.py": text})
        rescue(work)
    assert [work.at("app.py", ref) for ref in work.refs()] == ["one", "two", "three"]


def test_work_on_another_branch_and_on_the_loops_own_is_kept_both(work: LoopWork) -> None:
    mine = commit(work.path, "mine", {"mine": "x"})
    work.sh("switch", "--quiet", "--create", "elsewhere", work.start)
    theirs = commit(work.path, "theirs", {"theirs": "x"})
    rescue(work)
    assert [work.sh("rev-parse", ref) for ref in work.refs()] == [theirs, mine]


def test_work_is_found_also_where_head_is_back_at_the_start(work: LoopWork) -> None:
    done = commit(work.path, "mine", {"mine": "x"})
    work.sh("checkout", "--quiet", "--detach", work.start)
    kept = rescue(work)
    assert kept
    assert kept.commit == done


def test_a_branch_without_a_commit_and_a_step_back_in_history_lose_nothing(work: LoopWork) -> None:
    work.sh("switch", "--quiet", "--orphan", "fresh")
    write(work.path, {"fresh": "x"})
    kept = rescue(work)
    assert kept
    assert work.names(kept.ref) == {"fresh"}
    work.sh("reset", "--quiet", "--hard", "HEAD~1")
    assert rescue(work) is None


def test_an_agent_killed_in_the_middle_of_a_rebase_or_merge_leaves_no_trace_of_it(work: LoopWork) -> None:
    work.sh("switch", "--quiet", "--create", "side", "HEAD~1")
    commit(work.path, "side", {"app.py": "side\n"})
    work.sh("switch", "--quiet", BRANCH)
    mine = commit(work.path, "mine", {"app.py": "mine\n"})
    for command in ("rebase", "merge"):
        work.sh("reset", "--quiet", "--hard", mine)
        assert not succeeds(work.path, command, "--quiet", "side")
        assert rescue(work)
        assert work.sh("status", "--porcelain=v2", "--branch").splitlines()[1] == f"# branch.head {BRANCH}"
        assert "progress" not in work.sh("status")
    assert any(succeeds(work.path, "merge-base", "--is-ancestor", mine, ref) for ref in work.refs())


def test_read_only_files_and_folders_are_kept_and_cleared_away(work: LoopWork) -> None:
    write(work.path, {"cache/module/file": "x"})
    for name in ("app.py", "cache/module/file", "cache/module", "cache"):
        (work.path / name).chmod(0o555)
    kept = rescue(work)
    assert kept
    assert "cache/module/file" in work.names(kept.ref)
    assert not (work.path / "cache").exists()


def test_work_in_a_submodule_is_kept_and_the_submodule_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "settings"))
    (tmp_path / "settings").write_text("[protocol.file]\nallow = always\n")
    work = start_loop(with_submodule(tmp_path / "top"), tmp_path / "tree")
    write(work.path / "lib", {"lib.py": "LIB = 2\n"})
    kept = salvage(work.repository, work.path, work.state, work.start)
    assert kept
    theirs = work.sh("rev-parse", f"{kept.ref}:lib")
    assert sh(work.path / "lib", "show", f"{theirs}:lib.py") == "LIB = 2"
    assert (work.path / "lib" / "lib.py").read_text() == "LIB = 1\n"
    assert dirty_paths(work.path) == ()
