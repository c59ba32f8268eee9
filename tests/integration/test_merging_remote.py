"""Merging onto what a remote holds: pushed under a lease; a person's own branch and checkout stay."""

from pathlib import Path

import pytest

from helmsman.errors import OperatorError
from helmsman.records.checks import CheckReport
from helmsman.records.decision import Decision, Outcome
from tasks.loop.merge import begin_merge, find_target, merge_loop, move_target
from tests.fakes.proven_loops import ProvenLoop, make_proven_loop, repository
from tests.fakes.repositories import commit, sh, write

pytestmark = [pytest.mark.slow, pytest.mark.feature("M4")]


class Clones:
    """A remote, the clone that a loop works in, and a colleague's."""

    def __init__(self, folder: Path) -> None:
        """All three hold the same `main`."""
        self.remote, self.mine, self.colleagues = folder / "remote.git", folder / "mine", folder / "colleagues"
        sh(folder, "clone", "--quiet", "--bare", str(repository(folder / "from")), str(self.remote))
        for clone in (self.mine, self.colleagues):
            sh(folder, "clone", "--quiet", str(self.remote), str(clone))
        self.landing = make_proven_loop(self.mine, folder, {"items/mine": "mine\n"}, push=True)

    def theirs(self, name: str) -> str:
        """The colleague pushes something."""
        made = commit(self.colleagues, name, {f"{name}.py": "1\n"})
        sh(self.colleagues, "push", "--quiet", "origin", "main")
        return made

    def refuses(self, words: str) -> None:
        hook = self.remote / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\necho '{words}' >&2\nexit 1\n")
        hook.chmod(0o755)

    @property
    def held(self) -> str:
        return sh(self.remote, "rev-parse", "main")


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    return Clones(tmp_path)


def ending(landing: ProvenLoop) -> Decision:
    found = landing.land().ending
    assert found is not None
    return found


def test_the_merge_is_pushed_and_the_persons_own_branch_stays(clones: Clones) -> None:
    before = clones.landing.at("main")
    write(clones.mine, {"items/mine": "half done\n"})
    clones.landing.land()
    merged = clones.landing.merged
    assert (merged.remote, clones.held, clones.landing.at("main")) == ("origin", merged.commit, before)
    assert (clones.mine / "items" / "mine").read_text() == "half done\n"


def test_a_merge_that_fails_has_changed_nobodys_view_of_the_remote(clones: Clones) -> None:
    before = sh(clones.mine, "rev-parse", "origin/main")
    theirs = clones.theirs("theirs")
    clones.refuses("protected")
    assert ending(clones.landing).rule == "merge.hindered"
    assert sh(clones.mine, "rev-parse", "origin/main", "refs/helmsman/the-loop/base").split() == [before, theirs]


def test_who_pushes_while_the_checks_run_is_not_overwritten(clones: Clones) -> None:
    names = iter(["faster"])

    def check(commit_: str, tree: str) -> CheckReport:
        for name in names:
            clones.theirs(name)
        return clones.landing.check(commit_, tree)

    merge_loop(clones.landing.context, begin_merge(clones.landing.context, clones.landing.state), check)
    assert sh(clones.remote, "show", "main:faster.py") == "1"
    assert clones.held == clones.landing.merged.commit


def test_commits_that_were_never_pushed_are_not_pushed_along(clones: Clones) -> None:
    own = commit(clones.mine, "not pushed", {"own.py": "1\n"})
    clones.landing.land()
    assert "own.py" not in sh(clones.remote, "ls-tree", "--name-only", "main").split()
    assert clones.landing.at("main") == own


def test_a_rejected_push_asks_a_person_and_moves_no_branch(clones: Clones) -> None:
    before = clones.held
    clones.refuses("protected: open a pull request")
    found = ending(clones.landing)
    assert (found.outcome, found.rule) == (Outcome.WAITING, "merge.hindered")
    assert "origin refuses the merge into main" in found.reason
    assert "found: protected: open a pull request; what to do: allow it there" in found.reason
    assert (clones.held, clones.landing.at("main")) == (before, before)


@pytest.mark.parametrize("words", ["fetch first the list of tickets: yours is a non-fast-forward", "stale info"])
def test_a_hook_that_speaks_as_git_does_is_no_rival(clones: Clones, words: str) -> None:
    clones.refuses(words)
    target = find_target(clones.landing.context.repository, clones.landing.state.config, "the-loop")
    with pytest.raises(OperatorError, match="origin refuses the merge into main") as caught:
        move_target(target, clones.landing.state.head)
    assert " ".join(words.split()) in " ".join(caught.value.found.split())


def test_a_rival_whom_only_the_remote_saw_in_time_is_one(clones: Clones) -> None:
    """The branch was where we thought when git asked, and is not any more when the remote comes to moving it."""
    target = find_target(clones.landing.context.repository, clones.landing.state.config, "the-loop")
    hook = clones.remote / "hooks" / "pre-receive"
    clones.refuses("")
    moved = sh(clones.remote, "commit-tree", "main^{tree}", "-p", "main", "-m", "theirs")
    hook.write_text(f"#!/bin/sh\nunset GIT_QUARANTINE_PATH\ngit update-ref refs/heads/main {moved}\n")
    assert not move_target(target, clones.landing.state.head)
    assert clones.held == moved


def test_a_remote_that_cannot_be_reached_leaves_the_work_proven(clones: Clones) -> None:
    clones.remote.rename(clones.remote.with_name("gone"))
    found = ending(clones.landing)
    assert (found.outcome, found.rule) == (Outcome.WAITING, "merge.world")
    assert "check that origin is reachable from here" in found.reason
    assert clones.landing.state.merging.proven is not None


def test_a_driver_that_died_after_the_push_finds_that_it_has_merged(clones: Clones) -> None:
    landing = clones.landing
    before = landing.state
    landing.land()
    done = landing.merged
    prepared = {"base": done.base, "head": done.head, "commit": done.commit}
    merging = before.merging.model_copy(update={"proven": before.ending, "work": before.head})
    landing.change(**{**dict(before), "merging": type(merging).model_validate({**dict(merging), "prepared": prepared})})
    sh(clones.colleagues, "pull", "--quiet")
    later = clones.theirs("later")
    landing.land()
    assert landing.merged.commit == done.commit
    assert clones.held == later
