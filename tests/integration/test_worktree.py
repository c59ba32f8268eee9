"""The agent's folder: made outside the checkout, made again, put back to a commit."""

import os
import shutil
from pathlib import Path

import pytest

from helmsman.config import LoopConfig
from helmsman.errors import AgentError, OperatorError
from helmsman.records.decision import Outcome
from helmsman.records.request import LoopRequest
from tasks.loop.start import open_loop
from tasks.repository.git import GitError, current_branch, open_repository
from tasks.repository.state_ref import write_state
from tasks.repository.worktree import commit_turn, dirty_paths, ensure_worktree, remove_worktree, require_clean, restore
from tests.fakes.repositories import (
    BRANCH,
    LOOP,
    NOW,
    LoopWork,
    commit,
    loop_state,
    make_repository,
    sh,
    start_loop,
    with_submodule,
    write,
)
from tests.unit.builders import STOP

pytestmark = pytest.mark.feature("M2")


@pytest.fixture
def work(tmp_path: Path) -> LoopWork:
    return start_loop(make_repository(tmp_path / "top", {"app.py": "1\n", ".gitignore": "*.log\n"}), tmp_path / "trees" / LOOP)


def test_a_worktree_is_made_on_its_branch_and_leaves_the_checkout_alone(work: LoopWork) -> None:
    assert current_branch(work.path) == BRANCH
    assert work.sh("rev-parse", "HEAD") == work.start
    assert current_branch(work.repository.top) == "main"
    assert sh(work.repository.top, "status", "--porcelain", "--ignored") == ""


def test_a_worktree_that_was_deleted_is_made_again_with_the_work_of_its_branch(work: LoopWork) -> None:
    commit(work.path, "work", {"app.py": "2\n"})
    shutil.rmtree(work.path)
    ensure_worktree(work.repository, work.path, BRANCH, work.start)
    assert (work.path / "app.py").read_text() == "2\n"
    assert current_branch(work.path) == BRANCH


def test_a_removed_worktree_leaves_branch_and_commits(work: LoopWork) -> None:
    done = commit(work.path, "work", {"app.py": "2\n"})
    write(work.path, {"__pycache__/a.pyc": "x"})
    remove_worktree(work.repository, work.path)
    assert not work.path.exists()
    assert sh(work.repository.top, "rev-parse", BRANCH) == done
    assert sh(work.repository.top, "worktree", "list", "--porcelain").count("worktree ") == 1


def test_a_worktree_with_submodules_is_not_removed_because_their_commits_are_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "settings"))
    (tmp_path / "settings").write_text("[protocol.file]\nallow = always\n")
    work = start_loop(with_submodule(tmp_path / "top"), tmp_path / "tree")
    done = commit(work.path / "lib", "work", {"lib.py": "LIB = 2\n"})
    commit(work.path, "a newer library")
    with pytest.raises(GitError, match="submodules"):
        remove_worktree(work.repository, work.path)
    assert sh(work.path / "lib", "rev-parse", "HEAD") == done


def test_a_branch_that_is_checked_out_elsewhere_is_refused_with_the_remedy(work: LoopWork, tmp_path: Path) -> None:
    with pytest.raises(OperatorError) as caught:
        ensure_worktree(work.repository, tmp_path / "second", BRANCH, work.start)
    assert str(work.path) in caught.value.found
    assert "free the branch" in caught.value.remedy


def test_a_folder_that_is_full_of_something_else_is_refused_and_kept(work: LoopWork, tmp_path: Path) -> None:
    write(tmp_path / "full", {"mine": "precious"})
    with pytest.raises(OperatorError, match="could not be created"):
        ensure_worktree(work.repository, tmp_path / "full", "helmsman/other", work.start)
    assert (tmp_path / "full" / "mine").read_text() == "precious"


def test_a_filter_that_is_not_installed_is_named_with_what_to_do(work: LoopWork, tmp_path: Path) -> None:
    commit(work.path, "a large file", {".gitattributes": "*.bin filter=lfs\n", "a.bin": "pointer"})
    for key, value in (("required", "true"), ("smudge", "no-git-lfs smudge -- %f")):
        sh(work.repository.top, "config", f"filter.lfs.{key}", value)
    with pytest.raises(OperatorError, match="install no-git-lfs"):
        ensure_worktree(work.repository, tmp_path / "second", "second", work.sh("rev-parse", "HEAD"))


def test_a_state_that_was_fetched_without_its_work_says_what_to_fetch(work: LoopWork, tmp_path: Path) -> None:
    elsewhere = commit(work.path, "work")
    sh(tmp_path, "clone", "--quiet", "--single-branch", "--branch", "main", "--no-local", "top", "clone")
    with pytest.raises(OperatorError) as caught:
        ensure_worktree(open_repository(tmp_path / "clone"), tmp_path / "second", BRANCH, elsewhere)
    assert caught.value.remedy.endswith(f"git fetch origin {BRANCH}:{BRANCH}")


def test_in_place_the_checkout_must_be_on_the_loops_branch(work: LoopWork) -> None:
    top = work.repository.top
    ensure_worktree(work.repository, top, "main", work.start)
    with pytest.raises(OperatorError, match="not on the loop's branch") as caught:
        ensure_worktree(work.repository, top, "it's mine", work.start)
    assert caught.value.remedy.endswith("""switch 'it'"'"'s mine'""")


def test_in_place_uncommitted_work_is_refused_by_name_and_junk_is_not(work: LoopWork) -> None:
    write(work.path, {"__pycache__/a.pyc": "x", "node_modules/b/c.js": "x", ".helmsman/progress.md": "x", "debug.log": "x"})
    require_clean(work.path)
    write(work.path, {"-rf": "x"})
    with pytest.raises(OperatorError) as caught:
        require_clean(work.path)
    assert caught.value.found == "-rf"


def test_in_place_a_loop_resumes_only_without_uncommitted_changes_of_a_person(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top")
    ended = STOP.model_copy(update={"outcome": Outcome.STOPPED, "rule": "operator"})
    settings = {"goal": "g", "checks": ["true"], "workspace": {"in_place": True}}
    state = loop_state(sh(top, "rev-parse", "HEAD"), branch="main", config=LoopConfig.model_validate(settings), ending=ended)
    write_state(open_repository(top), state, over=None, record=None, subject="start")
    write(top, {"app.py": "mine\n"})
    request = LoopRequest(repository=str(top), loop=LOOP, reopen=True)
    with pytest.raises(OperatorError) as caught:
        open_loop(request, "", NOW)
    assert caught.value.found == "app.py"
    sh(top, "checkout", "--quiet", "app.py")
    assert open_loop(request, "", NOW).ending is None


def test_local_submodules_are_refused_with_what_to_do_until_git_is_told_to_allow_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "settings"
    settings.touch()
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    top = with_submodule(tmp_path / "top")
    with pytest.raises(OperatorError) as caught:
        start_loop(top, tmp_path / "tree")
    assert "git config --global protocol.file.allow always" in caught.value.remedy
    sh(top, "config", "--global", "protocol.file.allow", "always")
    ensure_worktree(open_repository(top), tmp_path / "tree", BRANCH, sh(top, "rev-parse", "HEAD"))
    assert (tmp_path / "tree" / "lib" / "lib.py").is_file()


def test_restore_puts_back_what_was_changed_deleted_and_made_and_names_it(work: LoopWork) -> None:
    (work.path / "app.py").unlink()
    write(work.path, {"new/file": "x", "debug.log": "kept", "__pycache__/a.pyc": "kept", ".helmsman/progress.md": "kept"})
    work.sh("add", "new")
    assert sorted(restore(work.path, work.start)) == ["app.py", "new/file"]
    assert restore(work.path, work.start) == ()
    assert (work.path / "app.py").read_text() == "1\n"
    assert not (work.path / "new").exists()
    assert [name for name in ("debug.log", "__pycache__/a.pyc", ".helmsman/progress.md") if not (work.path / name).exists()] == []


def test_restore_undoes_a_check_that_commits_or_goes_to_another_branch(work: LoopWork) -> None:
    work.sh("switch", "--quiet", "--create", "elsewhere")
    there = commit(work.path, "by a check", {"app.py": "3\n"})
    assert restore(work.path, work.start) == ("HEAD",)
    assert work.sh("rev-parse", "HEAD") == work.start
    assert (work.path / "app.py").read_text() == "1\n"
    assert work.sh("rev-parse", "elsewhere") == there


def test_restore_removes_a_repository_and_read_only_folders_that_a_check_made(work: LoopWork) -> None:
    make_repository(work.path / "cloned")
    write(work.path, {"cache/module/file": "x"})
    for path in (work.path / "cache" / "module" / "file", work.path / "cache" / "module", work.path / "cache"):
        path.chmod(0o555)
    assert restore(work.path, work.start)
    assert not (work.path / "cloned").exists()
    assert not (work.path / "cache").exists()
    assert dirty_paths(work.path) == ()


def test_restore_leaves_what_lies_behind_a_symbolic_link(work: LoopWork, tmp_path: Path) -> None:
    write(tmp_path / "outside", {"precious": "x"})
    (work.path / "link").symlink_to(tmp_path / "outside")
    assert restore(work.path, work.start) == ("link",)
    assert (tmp_path / "outside" / "precious").read_text() == "x"


@pytest.mark.feature("X3")
def test_a_file_of_any_name_is_committed_measured_and_put_back(work: LoopWork) -> None:
    names = {b"two\nlines", b"-rf", b"--all", b"a\"b'c", b":(exclude)*", b":!x", b" lead", b"latin-\xe9", b"*", b"$(touch x)"}
    shown, paths = {name.decode(errors="replace") for name in names}, [work.path / os.fsdecode(name) for name in names]
    for path in paths:
        path.write_text("1\n")
    change = commit_turn(work.repository, work.path, work.state, work.start)
    assert set(change.files) == shown
    assert change.model_dump_json()
    assert work.names() == {"app.py", ".gitignore", *map(os.fsdecode, names)}
    for path in paths:
        path.write_text("2\n")
    assert set(restore(work.path, change.commit)) == shown
    assert {path.read_text() for path in paths} == {"1\n"}


def test_what_a_check_leaves_in_a_submodule_is_put_back_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "settings"))
    (tmp_path / "settings").write_text("[protocol.file]\nallow = always\n")
    work = start_loop(with_submodule(tmp_path / "top"), tmp_path / "tree")
    write(work.path / "lib", {"lib.py": "LIB = 2\n", "__pycache__/lib.pyc": "x", "made": "x"})
    assert restore(work.path, work.start) == ("lib",)
    assert restore(work.path, work.start) == ()
    assert (work.path / "lib" / "lib.py").read_text() == "LIB = 1\n"


def test_a_worktree_whose_link_was_taken_away_for_good_is_not_mistaken_for_the_repository_above(tmp_path: Path) -> None:
    home = make_repository(tmp_path / "home")
    work = start_loop(make_repository(home / "top"), home / "tree")
    shutil.rmtree(work.repository.common / "worktrees")
    (work.path / ".git").unlink()
    with pytest.raises(AgentError, match="lost its link"):
        commit_turn(work.repository, work.path, work.state, work.start)
    assert sh(home, "log", "--format=%s") == "start"
