"""Every shape of repository is opened or refused with a remedy, and nothing in it runs or misleads our own commands."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from helmsman.config import WorkspaceConfig
from helmsman.errors import OperatorError, TransientError
from tasks.repository.git import GitError, commit_and_tree, current_branch, git, has_identity, open_repository, read_ref, tip_of
from tasks.repository.loop_context import worktree_of
from tasks.repository.worktree import commit_turn, restore, salvage
from tests.fakes.repositories import LOOP, commit, make_repository, sh, start_loop, write

ROOT = Path(__file__).parents[2]


def refusal(path: Path) -> OperatorError:
    with pytest.raises(OperatorError) as caught:
        open_repository(path)
    assert caught.value.remedy
    return caught.value


@pytest.mark.parametrize("name", ["gone", "n" * 300])
def test_a_folder_in_which_git_cannot_work_is_reported(tmp_path: Path, name: str) -> None:
    with pytest.raises(OperatorError, match="git's working folder") as caught:
        git(tmp_path / name, "status")
    assert name in caught.value.found


def test_a_subfolder_leads_to_the_root_of_its_checkout(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top", {"deep/er/file": "x"})
    for path in (top, top / "deep" / "er"):
        found = open_repository(path)
        assert (found.top, found.common, found.bare) == (top, top / ".git", False)


def test_a_linked_worktree_shares_the_repository_and_the_loops_folder(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top")
    sh(top, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    main, side = open_repository(top), open_repository(tmp_path / "side")
    assert (side.top, side.common) == (tmp_path / "side", main.common)
    for root, folder in ((str(tmp_path / "trees"), tmp_path / "trees"), ("trees", top / "trees")):
        place = worktree_of(main, LOOP, WorkspaceConfig(root=root))
        assert place == worktree_of(side, LOOP, WorkspaceConfig(root=root))
        assert place.is_relative_to(folder)


def test_a_bare_repository_is_its_own_root_also_from_a_folder_inside(tmp_path: Path) -> None:
    make_repository(tmp_path / "top")
    sh(tmp_path, "clone", "--quiet", "--bare", "top", "bare.git")
    for path in (tmp_path / "bare.git", tmp_path / "bare.git" / "objects"):
        found = open_repository(path)
        assert (found.top, found.common, found.bare) == (tmp_path / "bare.git", tmp_path / "bare.git", True)


def test_a_path_with_a_line_break_is_a_path(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "two\nlines 'and quotes\"")
    found = open_repository(top)
    assert (found.top, found.common) == (top, top / ".git")


def test_a_repository_without_a_commit_is_refused(tmp_path: Path) -> None:
    sh(tmp_path, "init", "--quiet")
    assert "no commit yet" in str(refusal(tmp_path))


def test_a_folder_without_a_repository_is_refused(tmp_path: Path) -> None:
    assert "not a git repository" in str(refusal(tmp_path))


@pytest.mark.needs("root")
def test_a_repository_of_another_user_is_refused_until_git_trusts_checkout_and_git_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top, settings = make_repository(tmp_path / "top"), tmp_path / "settings"
    for path in (top, top / ".git"):
        os.chown(path, 65534, 65534)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    trust = "git config --global --add safe.directory"
    assert refusal(top).remedy == f"{trust} {top} && {trust} {top}/.git"
    settings.write_text(f"[safe]\n\tdirectory = {top}\n")
    assert refusal(top).remedy == f"{trust} {top}/.git"
    settings.write_text(f"[safe]\n\tdirectory = {top}\n\tdirectory = {top}/.git\n")
    assert open_repository(top).top == top


def test_a_damaged_repository_is_refused_with_gits_own_words(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top")
    sh(top, "config", "core.repositoryFormatVersion", "99")
    assert "99" in refusal(top).found


@pytest.mark.parametrize("name", ["missing", "file"])
def test_a_path_that_is_no_folder_is_rejected(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    assert str(tmp_path / name) in refusal(tmp_path / name).found


def test_a_machine_without_room_for_another_process_is_the_worlds_fault(tmp_path: Path) -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, most[1]))
    try:
        with pytest.raises(TransientError, match="the limit of processes") as caught:
            git(tmp_path, "status")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, most)
    assert not isinstance(caught.value, GitError)


@pytest.mark.feature("X3")
def test_inside_a_hook_our_commands_stay_with_their_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook of another repository starts us with its own GIT_DIR and GIT_INDEX_FILE."""
    other, top = make_repository(tmp_path / "other"), make_repository(tmp_path / "top", {"mine": "x"})
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_LITERAL_PATHSPECS", "1")
    assert open_repository(top).common == top / ".git"
    assert git(top, "ls-files", "--", ":(glob)**/m*").split() == ["mine"]


def test_the_command_line_forgets_the_repository_of_a_hook_that_starts_it(tmp_path: Path) -> None:
    code = (
        "import os; from deployments.start_directory import leave_start_directory as leave; leave(); "
        "print(*sorted(name for name in os.environ if name.startswith('GIT_')))"
    )
    given = {"GIT_DIR": "x", "GIT_COMMON_DIR": "x", "GIT_INDEX_FILE": "x", "GIT_PYTHON_REFRESH": "x", "GIT_SSH": "x"}
    command, env = [sys.executable, "-c", code], {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **given}
    assert subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=True).stdout == "GIT_SSH\n"


def test_the_users_way_to_a_remote_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever points git at settings or a key by its variables needs them for a push."""
    top = make_repository(tmp_path / "top")
    (tmp_path / "settings").write_text("[user]\nname = Only There\nemail = there@localhost\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "settings"))
    assert git(top, "config", "user.name").strip() == "Only There"
    assert has_identity(top)


@pytest.mark.feature("X1")
def test_a_password_in_a_remotes_address_is_not_repeated(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top")
    with pytest.raises(GitError) as caught:
        git(top, "remote", "get-url", "https://somebody:hunter2hunter2@localhost/x")
    assert "localhost" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def planted(top: Path, ran: Path) -> None:
    """Everything of a repository's that git runs by itself: hooks of every name, a monitor, a signature's viewer."""
    program = top.parent / "program"
    program.write_text(f"#!/bin/sh\necho \"$0\" >> '{ran}'\n")
    program.chmod(0o755)
    names = ("pre-commit", "commit-msg", "post-commit", "post-checkout", "reference-transaction", "post-index-change", "pre-push")
    for folder in (top / ".git" / "hooks", top / "hooks"):
        folder.mkdir(exist_ok=True)
        for name in names:
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(program)
    sh(top, "config", "core.fsmonitor", str(program))
    sh(top, "config", "gpg.program", str(program))
    sh(top, "config", "log.showSignature", "true")
    sh(top, "config", "commit.gpgSign", "true")


@pytest.mark.feature("X3")
@pytest.mark.parametrize("hooks_path", ["", "hooks"])
def test_no_program_of_the_repository_runs_by_our_commands(tmp_path: Path, hooks_path: str) -> None:
    top, ran = make_repository(tmp_path / "top"), tmp_path / "ran"
    planted(top, ran)
    if hooks_path:
        sh(top, "config", "core.hooksPath", str(top / hooks_path))
    ran.unlink(missing_ok=True)
    sh(top, "-c", "commit.gpgSign=false", "commit", "--quiet", "--allow-empty", "-m", "proves that they would run")
    assert "pre-commit" in ran.read_text()
    ran.unlink()
    work = start_loop(top, tmp_path / "tree")
    write(work.path, {"new.py": "x"})
    change = commit_turn(work.repository, work.path, work.state, work.start)
    write(work.path, {"more.py": "x"})
    restore(work.path, change.commit)
    write(work.path, {"again.py": "x"})
    assert salvage(work.repository, work.path, work.state, change.commit)
    assert not ran.exists(), ran.read_text()


@pytest.mark.parametrize("name", ["a\u00a0b\u2028c\u0085", "fix#1,2"])
def test_a_branch_may_have_blanks_and_line_ends_of_unicode_in_its_name(tmp_path: Path, name: str) -> None:
    top = make_repository(tmp_path / "top")
    sh(top, "switch", "--quiet", "--create", name)
    head = commit_and_tree(top)[0]
    assert current_branch(top) == name
    assert tip_of(top, f"refs/heads/{name}") == (head, True)
    assert read_ref(top, f"refs/heads/{name}") == head


@pytest.mark.feature("X3")
def test_a_branch_that_is_named_like_a_ref_is_still_that_branch(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top")
    sh(top, "checkout", "--quiet", "-b", "refs/heads/main")
    assert current_branch(top) == "refs/heads/main"
    one = commit(top, "one")
    assert read_ref(top, "refs/heads/refs/heads/main") == one
    assert read_ref(top, "refs/heads/main") != one
    assert read_ref(top, "refs/heads/refs/heads") is None


@pytest.mark.feature("X3")
def test_tags_and_files_that_are_named_like_our_revisions_do_not_mislead(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top")
    sh(top, "tag", f"helmsman/{LOOP}")
    sh(top, "tag", "HEAD")
    commit(top, "two", {"two": "x"})
    work = start_loop(top, tmp_path / "tree")
    commit(work.path, "three", {"three": "x", "HEAD": "x", work.start: "x"})
    commit(work.path, "four", {f"{work.start}..{work.sh('rev-parse', 'HEAD', '--').splitlines()[0]}": "x"})
    change = commit_turn(work.repository, work.path, work.state, work.start)
    assert [one.subject for one in change.commits] == ["four", "three"]
    assert change.files_changed == 4
    assert commit_and_tree(work.path)[0] == change.commit == read_ref(top, f"refs/heads/helmsman/{LOOP}")
