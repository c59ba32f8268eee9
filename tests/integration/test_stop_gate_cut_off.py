"""Checks at a stop that take away what ties the worktree to its repository: it is put back before git, or the agent, goes on."""

import subprocess
from pathlib import Path

import pytest

from helmsman.errors import WorldError
from tasks.worktrees.holding import held
from tests.fakes.repositories import LOOP, Work, begin, commit, make_repository, sh, write
from tests.integration.test_cut_off import CUTS, footprint

pytestmark = pytest.mark.feature("A4")
FOR_GOOD = {"its own folder broken", "all of it"}
"""What a link that is put back does not mend."""


@pytest.fixture
def work(tmp_path: Path) -> Work:
    """A loop that works below its own repository's checkout, in which somebody is at work too."""
    top = make_repository(tmp_path / "top", {"app.py": "1\n", ".gitignore": "*.log\n"})
    work = begin(top, top / "trees" / LOOP)
    write(top, {"app.py": "somebody's, not committed\n", "draft": "somebody's\n"})
    commit(work.path, "work", {"app.py": "2\n"})
    write(work.path, {"app.py": "3\n", "new": "x\n"})
    return work


@pytest.mark.parametrize("detached", [False, True], ids=["on its branch", "detached"])
@pytest.mark.parametrize("cut", sorted(CUTS.keys() - FOR_GOOD))
def test_the_link_is_put_back_and_the_repository_above_is_not_touched(
    work: Work, tmp_path: Path, cut: str, *, detached: bool
) -> None:
    if detached:
        work.sh("checkout", "--quiet", "--detach")
    before, here = footprint(work), work.sh("status", "--porcelain=v2", "--branch")
    with held(work.path, tmp_path / "held"):
        subprocess.run(["sh", "-c", f"{CUTS[cut]}; echo 4 > app.py"], cwd=work.path, check=True)
    assert footprint(work) == before
    assert work.sh("status", "--porcelain=v2", "--branch") == here
    assert (work.path / "app.py").read_text() == "3\n"


@pytest.mark.parametrize("cut", sorted(FOR_GOOD))
def test_where_it_cannot_be_put_back_git_is_not_asked_and_the_copy_is_kept(work: Work, tmp_path: Path, cut: str) -> None:
    before = footprint(work)
    with pytest.raises(WorldError, match="could not all be put back") as told, held(work.path, tmp_path / "held"):
        subprocess.run(["sh", "-c", CUTS[cut]], cwd=work.path, check=True)
    assert "a copy is in" in told.value.found
    assert footprint(work) == before
    (store,) = (tmp_path / "held").iterdir()
    assert sh(store, "cat-file", "--batch-all-objects", "--batch-check")
