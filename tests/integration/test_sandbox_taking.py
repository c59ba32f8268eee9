"""Taking over what was committed in a box, when the box is hostile, the disk is full, or the driver died in the middle."""

import itertools
from pathlib import Path

import pytest

from helmsman.errors import WorldError
from tasks.git import GitError, git, open_repository
from tasks.sandbox import own_git
from tasks.sandbox.taking import take_over_work
from tasks.workplace import Workplace
from tests.fakes.boxes import BRANCH, Scene, make_scene, needs_bubblewrap
from tests.fakes.repositories import loop_state, sh

pytestmark = [needs_bubblewrap, pytest.mark.feature("D5")]

AS_ADA = "git config user.name Ada; git config user.email ada@example.com;"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return make_scene(tmp_path)


def subjects(scene: Scene) -> list[str]:
    return git(scene.repository, "log", "--format=%s", BRANCH).splitlines()


def kept(scene: Scene) -> list[str]:
    return sorted(path.name for path in (scene.folder.root / "sandbox").iterdir())


def private(scene: Scene) -> Path:
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
def test_another_repository_that_links_lead_to_is_not_brought(scene: Scene, whole: bool) -> None:
    other = private(scene)
    tip = sh(other, "rev-parse", "main")
    names = ["pack", *("".join(pair) for pair in itertools.product("0123456789abcdef", repeat=2))]
    links = "; ".join(f"rm -rf {name}; ln -s {other}/objects/{name} {name}" for name in names)
    refs = (
        f"rm -rf refs packed-refs; ln -s {other}/refs refs; echo 'ref: refs/heads/main' > HEAD" if whole else f"echo {tip} > HEAD"
    )
    scene.inside(f"cd $(git rev-parse --git-dir); {refs}; cd objects; {links}")
    scene.take_over()
    assert subjects(scene) == ["start"]
    with pytest.raises(GitError):
        git(scene.repository, "cat-file", "-e", tip)
    assert kept(scene) == ["left-1"]
