"""After an agent's turn: whatever it did to git, its work is on the loop's branch and nothing that it committed is lost."""

import os
import shutil
from pathlib import Path

import pytest

from helmsman.records.agent import Change
from tasks.repository.git import current_branch, succeeds
from tasks.repository.worktree import commit_turn, dirty_paths
from tests.fakes.repositories import BRANCH, LOOP, LoopWork, commit, make_repository, sh, shell, start_loop, with_submodule, write

pytestmark = pytest.mark.feature("M2", "E3")


@pytest.fixture
def work(tmp_path: Path) -> LoopWork:
    top = make_repository(tmp_path / "top", {"app.py": "1\n", ".gitignore": "*.log\n"})
    for number in (2, 3, 4):
        commit(top, f"history {number}", {"app.py": f"{number}\n"})
    return start_loop(top, tmp_path / "trees" / LOOP)


def settle(work: LoopWork) -> Change:
    change = commit_turn(work.repository, work.path, work.state, work.start)
    assert current_branch(work.path) == BRANCH
    assert sh(work.repository.top, "rev-parse", BRANCH) == change.commit
    assert succeeds(work.path, "merge-base", "--is-ancestor", work.start, change.commit)
    assert dirty_paths(work.path) == ()
    return change


def saved(work: LoopWork, name: str) -> bool:
    """Whether a commit can be found from the branch or from a salvage ref."""
    return any(succeeds(work.path, "merge-base", "--is-ancestor", name, ref) for ref in (BRANCH, *work.refs()))


def test_a_turn_without_any_change_is_no_commit(work: LoopWork) -> None:
    change = settle(work)
    assert (change.commit, change.commits, change.files_changed, change.leftovers_committed) == (work.start, (), 0, False)


def test_the_agents_commits_are_kept_as_they_are_and_measured(work: LoopWork) -> None:
    one, two = commit(work.path, "one", {"a": "1\n2\n"}), commit(work.path, "two", {"app.py": ""})
    change = settle(work)
    assert [(item.id, item.subject) for item in change.commits] == [(two, "two"), (one, "one")]
    assert (change.files, change.insertions, change.deletions) == (("a", "app.py"), 2, 1)
    assert not change.leftovers_committed


def test_what_was_left_uncommitted_is_committed_in_our_name(work: LoopWork) -> None:
    write(work.path, {"app.py": "5\n", "new/file": "x", "staged": "x"})
    work.sh("add", "staged")
    change = settle(work)
    assert change.leftovers_committed
    assert set(change.files) == {"app.py", "new/file", "staged"}
    assert work.sh("log", "-1", "--format=%an %s") == "Helmsman helmsman: keep what iteration 1 left uncommitted"


def test_settling_again_after_a_crash_finds_the_same_change(work: LoopWork) -> None:
    commit(work.path, "one", {"a": "1\n"})
    write(work.path, {"app.py": "5\n"})
    change = settle(work)
    assert change.leftovers_committed
    assert settle(work) == change


def test_junk_is_not_committed_even_if_the_agent_staged_it(work: LoopWork) -> None:
    junk = ["__pycache__/a.pyc", "src/__pycache__/b.pyc", "node_modules/x/y.js", ".venv/bin/python", ".helmsman/progress.md"]
    write(work.path, dict.fromkeys([*junk, "src/real.py"], "x"))
    work.sh("add", "--all", "--force", ".")
    assert settle(work).files == ("src/real.py",)
    assert [name for name in junk if not (work.path / name).exists()] == []


def test_junk_that_the_repository_holds_may_be_removed_by_the_agent(tmp_path: Path) -> None:
    work = start_loop(make_repository(tmp_path / "top", {"__pycache__/a.pyc": "x", "app.py": "x"}), tmp_path / "tree")
    work.sh("rm", "--quiet", "-r", "--cached", "__pycache__")
    assert settle(work).files == ("__pycache__/a.pyc",)
    assert (work.path / "__pycache__" / "a.pyc").exists()


SECOND = "printf x > second"
COMMIT = "git add --all; git commit -qm"
DEEDS = {
    "elsewhere": f"printf x > first; {COMMIT} 'first, where it should be';"
    f"git switch -qc elsewhere; {SECOND}; {COMMIT} 'then elsewhere'",
    "detached": f"git checkout -q --detach; {SECOND}; {COMMIT} detached",
    "back in history": f"printf x > first; {COMMIT} 'to be lost'; git switch -q --detach HEAD~3; {SECOND}",
    "reset": f"git reset -q --hard HEAD~3; {SECOND}; {COMMIT} instead",
    "amended": f"{SECOND}; git add second; git commit -q --amend -m amended",
    "branch deleted": f"git switch -qc elsewhere; git branch -qD {BRANCH}; {SECOND}; {COMMIT} work",
    "ref deleted": f"git update-ref -d refs/heads/{BRANCH}; {SECOND}",
    "orphan": f"git switch -q --orphan fresh; {SECOND}",
    "orphan with a commit": f"git switch -q --orphan fresh; {SECOND}; {COMMIT} 'a new root'",
    "branch renamed": f"git branch -qm mine-now; {SECOND}; {COMMIT} work",
    "own repository": f"rm .git; git init -q; {SECOND}; git add second",
    "link deleted": f"rm .git; {SECOND}",
}


@pytest.mark.parametrize("deed", DEEDS)
def test_the_agent_s_files_end_up_on_the_loop_s_branch_even_if_it_moves_branches(work: LoopWork, deed: str) -> None:
    known = set(work.sh("rev-list", "--all").split())
    shell(work.path, DEEDS[deed])
    inside = "" if deed in {"own repository", "link deleted"} else work.sh("rev-list", "--all", "--reflog")
    made = set(inside.split()) - known
    files = {path.name: path.read_text() for path in work.path.iterdir() if path.is_file() and path.name != ".git"}
    settle(work)
    assert {name: work.at(name) + "\n" * files[name].endswith("\n") for name in work.names()} == files
    assert [name for name in made if not saved(work, name)] == []


def test_commits_on_a_detached_head_or_another_branch_are_taken_over_as_they_are(work: LoopWork) -> None:
    shell(work.path, DEEDS["elsewhere"])
    change = settle(work)
    assert [one.subject for one in change.commits] == ["then elsewhere", "first, where it should be"]
    assert (work.refs(), change.leftovers_committed) == ([], False)


def test_the_old_commits_of_a_rewritten_history_are_on_a_ref_of_their_own(work: LoopWork) -> None:
    shell(work.path, DEEDS["amended"])
    theirs = work.sh("rev-parse", "HEAD")
    settle(work)
    assert work.refs() == [f"refs/helmsman/{LOOP}/salvage/1-1"]
    assert work.sh("rev-parse", work.refs()[0]) == theirs


def test_a_rebase_left_in_the_middle_is_over_and_its_conflict_committed(work: LoopWork) -> None:
    work.sh("switch", "--quiet", "--create", "side", "HEAD~1")
    commit(work.path, "side", {"app.py": "side\n"})
    work.sh("switch", "--quiet", BRANCH)
    commit(work.path, "mine", {"app.py": "mine\n"})
    assert not succeeds(work.path, "rebase", "--quiet", "side")
    mine = work.sh("rev-parse", BRANCH)
    settle(work)
    assert "<<<<<<<" in work.at("app.py")
    assert saved(work, mine)
    assert "rebase" not in work.sh("status")


def test_an_unfinished_merge_is_committed_as_it_is(work: LoopWork) -> None:
    work.sh("switch", "--quiet", "--create", "side", "HEAD~1")
    side = commit(work.path, "side", {"app.py": "side\n"})
    work.sh("switch", "--quiet", BRANCH)
    assert not succeeds(work.path, "merge", "--quiet", "side")
    assert settle(work).leftovers_committed
    assert saved(work, side)
    assert "All conflicts" not in work.sh("status")


def test_locks_of_a_git_that_was_killed_do_not_stop_the_loop(work: LoopWork) -> None:
    write(work.path, {"app.py": "5\n"})
    own = Path(work.sh("rev-parse", "--absolute-git-dir"))
    for lock in (own / "index.lock", own / "HEAD.lock", work.repository.common / "refs" / "heads" / f"{BRANCH}.lock"):
        lock.touch()
    assert settle(work).files == ("app.py",)


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_change_that_was_hidden_from_git_is_committed_all_the_same(work: LoopWork, flag: str) -> None:
    work.sh("update-index", flag, "app.py")
    write(work.path, {"app.py": "hidden\n"})
    assert settle(work).files == ("app.py",)


@pytest.mark.feature("X3")
@pytest.mark.parametrize("committed", [True, False])
def test_a_repository_inside_the_worktree_is_kept_as_files(work: LoopWork, committed: bool) -> None:
    for inner in (work.path / "inner", work.path / "inner" / "deeper"):
        inner.mkdir()
        sh(inner, "init", "--quiet")
        write(inner, {"code.py": "x", "__pycache__/code.pyc": "x", "latin": "x"})
        (inner / os.fsdecode(b"latin-\xe9")).touch()
    if committed:
        commit(work.path / "inner" / "deeper", "deeper")
        commit(work.path / "inner", "inner")
        write(work.path, {"inner/late.py": "x"})
        commit(work.path, "the agent adds all")
    settle(work)
    expected = {"inner/code.py", "inner/latin", "inner/deeper/code.py", "inner/deeper/latin", *(["inner/late.py"] * committed)}
    assert expected <= work.names()
    assert not [name for name in work.names() if "pyc" in name] or committed
    assert not [line for line in work.sh("ls-tree", "-r", BRANCH).splitlines() if line.startswith("160000")]
    write(work.path, {"inner/more.py": "x"})
    assert commit_turn(work.repository, work.path, work.state, work.sh("rev-parse", "HEAD")).files == ("inner/more.py",)


@pytest.mark.feature("X3")
def test_a_repository_that_a_link_leads_to_is_none_of_ours(work: LoopWork, tmp_path: Path) -> None:
    """Neither is one that .gitmodules names outside of the worktree."""
    other = make_repository(tmp_path / "other")
    write(other, {"uncommitted": "x"})
    inner = make_repository(work.path / "inner", {"folder/file": "x"})
    shutil.rmtree(inner / "folder")
    (inner / "folder").symlink_to(other)
    (work.path / "link").symlink_to(other)
    write(
        work.path, {".gitmodules": f'[submodule "x"]\npath = ../../other\nurl = {other}\n[submodule "l"]\npath = link\nurl = .\n'}
    )
    settle(work)
    assert sh(other, "status", "--porcelain") == "?? uncommitted"
    assert {"link", "inner/folder", ".gitmodules"} <= work.names()
    assert "link/uncommitted" not in work.names()


def test_work_in_a_submodule_is_committed_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "settings"))
    (tmp_path / "settings").write_text("[protocol.file]\nallow = always\n")
    work = start_loop(with_submodule(tmp_path / "top"), tmp_path / "tree")
    write(work.path / "lib", {"lib.py": "LIB = 2\n", "__pycache__/lib.pyc": "x"})
    change = commit_turn(work.repository, work.path, work.state, work.start)
    assert (change.files, change.leftovers_committed) == (("lib",), True)
    assert sh(work.path / "lib", "show", "--format=%an", "--name-only") == "Helmsman\n\nlib.py"


def test_files_that_cannot_be_read_are_made_readable_and_committed(work: LoopWork) -> None:
    write(work.path, {"locked/file": "x", "secret": "x"})
    (work.path / "secret").chmod(0)
    (work.path / "locked").chmod(0)
    assert set(settle(work).files) == {"locked/file", "secret"}
