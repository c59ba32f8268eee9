"""Importing commits from a hostile sandbox, on a full disk, or after the driver died."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helmsman.errors import TransientError
from tasks.repository.git import GitError, git, open_repository
from tasks.repository.loop_context import LoopContext
from tasks.sandbox import own_git
from tasks.sandbox.enter import import_agent_work
from tests.fakes.repositories import loop_state, sh
from tests.fakes.sandbox_scene import AS_ADA, BRANCH, SandboxScene, scene

__all__ = ["scene"]
pytestmark = [pytest.mark.needs("bubblewrap"), pytest.mark.feature("D5")]


def kept(scene: SandboxScene) -> list[str]:
    return sorted(path.name for path in (scene.folder.root / "sandbox").iterdir())


def private(scene: SandboxScene) -> Path:
    """Another repository, as any looks after it was packed."""
    there = scene.root / "private"
    there.mkdir()
    sh(there, "init", "--quiet")
    (there / "key").write_text("the-private-key")
    sh(there, "add", ".")
    sh(there, "commit", "--quiet", "-m", "secret")
    sh(there, "gc", "--quiet")
    sh(there, "commit", "--quiet", "--allow-empty", "-m", "later")
    sh(there, "branch", "-M", "main")
    return there / ".git"


@pytest.mark.parametrize("whole", [True, False], ids=["objects and references", "objects alone"])
def test_another_repository_that_links_lead_to_is_not_brought(scene: SandboxScene, whole: bool) -> None:
    other = private(scene)
    tip = sh(other, "rev-parse", "main")
    names = ["pack", *("".join(pair) for pair in itertools.product("0123456789abcdef", repeat=2))]
    links = "; ".join(f"rm -rf {name}; ln -s {other}/objects/{name} {name}" for name in names)
    refs = (
        f"rm -rf refs packed-refs; ln -s {other}/refs refs; echo 'ref: refs/heads/main' > HEAD" if whole else f"echo {tip} > HEAD"
    )
    scene.inside(f"cd $(git rev-parse --git-dir); {refs}; cd objects; {links}")
    scene.import_commits()
    assert scene.subjects() == ["start"]
    with pytest.raises(GitError):
        git(scene.repository, "cat-file", "-e", tip)
    assert kept(scene) == ["left-1"]


HINDRANCES = {
    "full": (128, "fatal: write error: No space left on device"),
    "crowded": (128, "error: cannot fork to run index-pack: Resource temporarily unavailable"),
    "slow": (-1, "no answer within 300 s"),
    "killed": (-9, ""),
}


@pytest.mark.parametrize(("code", "words"), HINDRANCES.values(), ids=HINDRANCES)
def test_what_the_world_hinders_waits_and_is_taken_over_later(
    scene: SandboxScene, monkeypatch: pytest.MonkeyPatch, code: int, words: str
) -> None:
    scene.inside(AS_ADA + "echo 2 > app.py; git commit -qam two; git checkout -q HEAD~1")
    with monkeypatch.context() as hindered:
        hindered.setattr(own_git, "git_bytes", _failing(code, words))
        with pytest.raises(TransientError, match="cannot be imported yet") as caught:
            scene.import_commits()
    assert str(scene.folder.root) in caught.value.remedy
    scene.import_commits()
    assert (scene.subjects(), kept(scene)) == (["two", "start"], [])


def test_a_name_of_another_branch_hinders_nothing_whatever_it_holds(scene: SandboxScene) -> None:
    sh(scene.repository, "branch", "a\u2028b")
    scene.inside(AS_ADA + "echo 2 > app.py; git commit -qam two")
    scene.import_commits()
    assert (scene.subjects(), kept(scene)) == (["two", "start"], [])


def _failing(code: int, words: str) -> Callable[..., bytes]:
    real = own_git.git_bytes

    def run(cwd: Path, *arguments: str, **how: Any) -> bytes:
        if arguments[0] == "unpack-objects":
            raise GitError(arguments, code, words)
        return real(cwd, *arguments, **how)

    return run


def test_what_is_whole_is_taken_though_head_is_not_and_the_rest_is_kept(
    scene: SandboxScene, caplog: pytest.LogCaptureFixture
) -> None:
    scene.inside(AS_ADA + f"echo 2 > app.py; git commit -qam two; echo {'1' * 40} > $(git rev-parse --git-dir)/HEAD")
    scene.import_commits()
    assert (scene.subjects(), kept(scene)) == (["two", "start"], ["left-1"])
    assert "left-1" in caplog.text


def test_locks_that_a_killed_driver_left_are_not_in_the_way(scene: SandboxScene) -> None:
    scene.inside(AS_ADA + "echo 2 > app.py; git commit -qam two")
    own = scene.repository / ".git" / "worktrees" / "worktree"
    for lock in (own / "index.lock", own / "HEAD.lock", scene.repository / ".git" / "refs" / "heads" / f"{BRANCH}.lock"):
        lock.touch()
    repository = open_repository(scene.repository)
    state = loop_state(git(scene.repository, "rev-parse", "main").strip(), branch=BRANCH)
    import_agent_work(LoopContext(repository, scene.worktree, scene.folder), state)
    assert (scene.subjects(), kept(scene)) == (["two", "start"], [])
    assert git(scene.worktree, "status", "--short") == ""


def test_a_driver_killed_while_it_clears_up_does_not_take_the_branch_back(
    scene: SandboxScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.inside(AS_ADA + "echo 2 > app.py; git commit -qam two")

    def killed(folder: Path, **_how: Any) -> None:
        (folder / "refs" / "heads" / BRANCH).unlink(missing_ok=True)
        if folder.exists():
            raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(own_git.shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            scene.import_commits()
    scene.import_commits()
    assert scene.subjects() == ["two", "start"]


def test_a_branch_that_was_left_for_another_is_taken_over_by_head(scene: SandboxScene) -> None:
    scene.inside(AS_ADA + f"git checkout -qb other; git branch -D {BRANCH}; echo 2 > app.py; git commit -qam two")
    scene.import_commits()
    assert (git(scene.worktree, "log", "-1", "--format=%s").strip(), kept(scene)) == ("two", [])
