"""What a loop that merges is told beforehand, what it may not lose on the way, and how its rebased branch travels."""

from pathlib import Path
from typing import Any

import pytest

from deployments.settings import configuration
from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from tasks.checks.targets import Range
from tasks.loop.merge import require_target
from tasks.repository.git import open_repository
from tasks.repository.remote import push_loop
from tests.fakes.proven_loops import ProvenLoop, make_proven_loop, repository
from tests.fakes.repositories import commit, sh

pytestmark = pytest.mark.feature("M4")

MINE, THEIRS = "def test_mine():\n    assert 1 + 1 == 2\n", "def test_theirs():\n    assert [3, 1][1] < 2\n"


def config(**sections: Any) -> LoopConfig:
    return LoopConfig.model_validate({"goal": "x", "checks": ["true"], **sections})


@pytest.mark.parametrize(
    ("sections", "why"),
    [
        ({"merge": {"into": "nowhere"}}, "there is no branch nowhere"),
        ({"merge": {"into": "v1"}}, "there is no branch v1"),
        ({"merge": {"into": "main"}, "workspace": {"in_place": True}}, "works in place"),
        ({"merge": {"into": "main"}, "checks": [], "allow_no_checks": True}, "nothing would verify"),
        ({"merge": {"into": "main", "push": True}}, "there is no remote 'origin'"),
    ],
)
def test_a_loop_that_could_never_merge_is_refused(tmp_path: Path, sections: dict[str, Any], why: str) -> None:
    top = repository(tmp_path / "top")
    sh(top, "tag", "v1")
    with pytest.raises(OperatorError, match=why):
        require_target(open_repository(top), config(**sections))


def test_a_branch_that_only_the_remote_has_can_be_pushed_to(tmp_path: Path) -> None:
    remote = repository(tmp_path / "remote")
    sh(remote, "branch", "release")
    sh(tmp_path, "clone", "--quiet", str(remote), "clone")
    clone = open_repository(tmp_path / "clone")
    require_target(clone, config(merge={"into": "release", "push": True}))
    with pytest.raises(OperatorError, match="there is no branch release"):
        require_target(clone, config(merge={"into": "release"}))


def test_a_dot_means_the_checked_out_branch(tmp_path: Path) -> None:
    top = repository(tmp_path / "top")
    said = {"goal": "x", "check": ["true"], "merge": ".", "settings": ["merge.push=true"]}
    merge = configuration(open_repository(top), said).config.merge
    assert (merge.into, merge.push) == ("main", True)
    sh(top, "checkout", "--quiet", "--detach")
    with pytest.raises(OperatorError, match="no branch is checked out"):
        configuration(open_repository(top), said)


def met(tmp_path: Path) -> ProvenLoop:
    """A loop with a test of its own, whose work met what somebody else did."""
    landing = make_proven_loop(
        repository(tmp_path / "top"), tmp_path, {"app.py": "ONE\ntwo\nthree\n", "tests/test_mine.py": MINE}
    )
    commit(landing.top, "theirs", {"app.py": "(one)\ntwo\nthree\n", "tests/test_theirs.py": THEIRS})
    landing.land()
    return landing


@pytest.mark.parametrize(
    ("lost", "put_back"), [("tests/test_theirs.py", ["tests/test_mine.py", "tests/test_theirs.py"]), ("", [])]
)
def test_after_a_merge_the_tests_of_the_other_side_are_those_of_the_start(tmp_path: Path, lost: str, put_back: list[str]) -> None:
    landing = met(tmp_path)
    tree = landing.context.worktree
    if lost:
        (tree / lost).unlink()
    head = commit(tree, "both", {"app.py": "(ONE)\ntwo\nthree\n"})
    work = Range(landing.context.repository, landing.state.base_commit, head, landing.state.config)
    assert sorted(work.tests_as_they_were) == put_back


def test_a_rebased_branch_replaces_what_the_remote_holds_of_it(tmp_path: Path) -> None:
    top = repository(tmp_path / "top")
    sh(tmp_path, "init", "--quiet", "--bare", "remote.git")
    sh(top, "remote", "add", "origin", str(tmp_path / "remote.git"))
    landing = make_proven_loop(top, tmp_path, {"items/mine": "mine\n"})
    push_loop(landing.context.repository, landing.state)
    commit(top, "theirs", {"other.py": "1\n"})
    landing.land()
    push_loop(landing.context.repository, landing.state)
    assert sh(tmp_path / "remote.git", "rev-parse", landing.state.branch) == landing.merged.head
