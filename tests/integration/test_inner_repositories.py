"""Repositories that an agent makes inside the worktree, with settings that name programs and addresses."""

import os
import shutil
from pathlib import Path

import pytest

from helmsman.errors import OperatorError
from tasks.repository.git import open_repository
from tasks.repository.worktree import commit_turn, dirty_paths, ensure_worktree, require_clean, restore, salvage
from tests.fakes.repositories import BRANCH, LoopWork, commit, make_repository, sh, start_loop, with_submodule, write

pytestmark = pytest.mark.feature("D5")

DECLARED = '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n'
BEFORE = 1_000_000_000
"""A time of change, in seconds, that differs from the one in git's index: git looks into the file."""


@pytest.fixture(autouse=True)
def _local_submodules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "settings"))
    (tmp_path / "settings").write_text("[protocol.file]\nallow = always\n")


@pytest.fixture
def work(tmp_path: Path) -> LoopWork:
    return start_loop(with_submodule(tmp_path / "top"), tmp_path / "tree")


def hostile(inner: Path, evil: Path) -> Path:
    """A repository whose filter is run by whatever looks for changes in it."""
    make_repository(inner, {"f": "1\n", ".gitignore": "*.log\n"})
    sh(inner, "config", "filter.x.clean", f"touch '{evil}'; cat")
    (inner / ".git" / "info").mkdir(exist_ok=True)
    (inner / ".git" / "info" / "attributes").write_text("* filter=x\n")
    write(inner, {"f": "2\n", "x.log": "x"})
    os.utime(inner / "f", (BEFORE, BEFORE))
    return inner


def planted(work: LoopWork, evil: Path, where: str, declared: str) -> None:
    hostile(work.path / where, evil)
    with (work.path / ".gitmodules").open("a") as file:
        file.write(declared)
    head = sh(work.path / where, "rev-parse", "HEAD")
    work.sh("update-index", "--add", "--cacheinfo", f"160000,{head},{where}")
    work.sh("add", ".gitmodules")
    work.sh("commit", "--quiet", "-m", "link")


@pytest.mark.parametrize("declared", ["", DECLARED], ids=["plain", "declared"])
def test_what_such_a_repository_is_set_up_to_run_never_runs_and_its_files_are_kept(
    work: LoopWork, tmp_path: Path, declared: str
) -> None:
    evil = tmp_path / "evil"
    planted(work, evil, "sub", declared)
    dirty_paths(work.path)
    commit_turn(work.repository, work.path, work.state, work.start)
    assert {"sub/f", "sub/.gitignore", "lib"} <= work.names()
    assert "sub/x.log" not in work.names()
    assert not evil.exists()
    sh(work.path / "sub", "status")
    assert evil.exists()  # it would have


@pytest.mark.parametrize("declared", ["", DECLARED], ids=["plain", "declared"])
def test_neither_when_a_check_plants_it_nor_when_an_attempt_dies(work: LoopWork, tmp_path: Path, declared: str) -> None:
    evil = tmp_path / "evil"
    planted(work, evil, "sub", declared)
    write(work.path, {"app.py": "2\n"})
    assert restore(work.path, work.sh("rev-parse", "HEAD")) == ("app.py",)
    assert salvage(work.repository, work.path, work.state, work.start)
    assert not evil.exists()


def test_one_in_the_place_of_a_submodule_is_none(work: LoopWork, tmp_path: Path) -> None:
    shutil.rmtree(work.path / "lib")
    hostile(work.path / "lib", tmp_path / "evil")
    commit_turn(work.repository, work.path, work.state, work.start)
    assert {"lib/f"} <= work.names()
    assert not (tmp_path / "evil").exists()


def test_one_inside_of_a_submodule_is_not_looked_into_when_that_is_put_back(work: LoopWork, tmp_path: Path) -> None:
    hostile(work.path / "lib" / "deep", tmp_path / "evil")
    sh(work.path / "lib", "update-index", "--add", "--cacheinfo", f"160000,{work.start},deep")
    write(work.path / "lib", {"lib.py": "LIB = 2\n"})
    assert restore(work.path, work.start) == ("lib",)
    assert (work.path / "lib" / "lib.py").read_text() == "LIB = 1\n"
    assert not (tmp_path / "evil").exists()


def test_a_submodule_that_the_agent_declared_is_not_fetched_when_the_worktree_is_made_again(
    work: LoopWork, tmp_path: Path
) -> None:
    other = make_repository(tmp_path / "other")
    text = (work.path / ".gitmodules").read_text() + f'[submodule "x"]\n\tpath = x\n\turl = {other}\n'
    write(work.path, {".gitmodules": text})
    work.sh("add", ".gitmodules")
    work.sh("update-index", "--add", "--cacheinfo", f"160000,{sh(other, 'rev-parse', 'HEAD')},x")
    work.sh("commit", "--quiet", "-m", "link")
    shutil.rmtree(work.path)
    ensure_worktree(work.repository, work.path, BRANCH, sh(work.repository.top, "rev-parse", BRANCH), work.start)
    assert (work.path / "lib" / "lib.py").is_file()
    assert list((work.path / "x").iterdir()) == []


def test_neither_is_one_that_the_agent_gave_another_address(work: LoopWork, tmp_path: Path) -> None:
    other = make_repository(tmp_path / "other")
    commit(work.path, "elsewhere", {".gitmodules": f'[submodule "lib"]\n\tpath = lib\n\turl = {other}\n'})
    shutil.rmtree(work.path)
    ensure_worktree(work.repository, work.path, BRANCH, sh(work.repository.top, "rev-parse", BRANCH), work.start)
    assert list((work.path / "lib").iterdir()) == []


def test_in_place_a_submodule_with_its_own_repository_inside_is_refused_with_what_to_do(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top")
    make_repository(top / "old")
    sh(top, "submodule", "--quiet", "add", "./old", "old")
    commit(top, "an old one")
    with pytest.raises(OperatorError) as caught:
        require_clean(open_repository(top).top)
    assert (caught.value.found, caught.value.remedy.split()[-1]) == ("old", "absorbgitdirs")
    sh(top, "submodule", "absorbgitdirs")
    require_clean(top)
