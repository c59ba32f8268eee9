"""What an agent leaves outside of its work, for a person's git and for the checks' Python, is named.

Nothing is merged before a person has agreed, where their git would run or follow it.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from helmsman.records.control import GitChanges
from helmsman.records.decision import Outcome
from helmsman.records.gates import Choice, GateKind
from helmsman.records.result import result_of
from helmsman.render.facts import facts, front_facts
from helmsman.texts import result_lines
from tasks.loop.prepare import set_up_worktree
from tasks.repository.git import open_repository
from tasks.repository.start_record import changes_since_start
from tasks.repository.state_ref import read_records
from tests.fakes.repositories import LoopWork, commit, make_repository, sh, start_loop
from tests.fakes.scripted_agent import PROMISE, says
from tests.flows import conftest as flows
from tests.flows.conftest import Drive
from tests.flows.test_gates import put, resume
from tests.flows.test_loop import SOLVE

drive, repository = flows.drive, flows.repository
pytestmark = pytest.mark.feature("V18")

HOOK = 'f="$(git rev-parse --git-common-dir)/hooks/post-merge"; mkdir -p "${f%/*}"; echo exit > "$f"; chmod +x "$f"'


@pytest.fixture
def work(tmp_path: Path) -> LoopWork:
    top = make_repository(tmp_path / "top", {"a": "a\n"})
    sh(top, "remote", "add", "origin", "https://example.org/one")
    for name in ("tag", "branch"):
        sh(top, name, f"an-old-{name}")
    (top / ".git/hooks").mkdir(exist_ok=True)
    (top / ".git/hooks/pre-commit").write_text("true\n")
    work = start_loop(top, tmp_path / "tree")
    set_up_worktree(work.context, work.state)
    return work


def changes(work: LoopWork) -> GitChanges:
    return changes_since_start(work.repository, work.state, sh(work.path, "rev-parse", "HEAD"))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


DEEDS: dict[str, Callable[[LoopWork], object]] = {
    ".git/hooks/post-checkout (new)": lambda work: write(work.repository.common / "hooks/post-checkout", "true\n"),
    ".git/hooks/pre-commit (changed)": lambda work: write(work.repository.common / "hooks/pre-commit", "false\n"),
    ".git/hooks/pre-commit (gone)": lambda work: (work.repository.common / "hooks/pre-commit").unlink(),
    ".git/info/attributes (new)": lambda work: write(work.repository.common / "info/attributes", "* filter=x\n"),
    "core.hookspath in .git/config (new)": lambda work: work.sh("config", "core.hooksPath", "x"),
    "core.fsmonitor in .git/config (new)": lambda work: work.sh("config", "core.fsmonitor", "x"),
    "filter.x.smudge in .git/config (new)": lambda work: work.sh("config", "filter.x.smudge", "x"),
    "alias.st in .git/config (new)": lambda work: work.sh("config", "alias.st", "push"),
    "includeif.gitdir:/x.path in .git/config (new)": lambda work: work.sh("config", "includeIf.gitdir:/x.path", "x"),
    "remote.origin.url in .git/config (changed)": lambda work: work.sh("remote", "set-url", "origin", "https://example.org/two"),
    "refs/replace/": lambda work: work.sh("replace", "HEAD", commit(work.path, "other", {"a": "b\n"})),
}


@pytest.mark.parametrize("name", DEEDS)
def test_what_a_person_s_git_would_run_or_follow_is_named(work: LoopWork, name: str) -> None:
    DEEDS[name](work)
    now = changes(work)
    assert [named[: len(name)] for named in now.followed] == [name]
    assert now.moved == ()


def test_settings_and_references_of_ordinary_work_are_not_named(work: LoopWork) -> None:
    commit(work.path, "work", {"a": "b\n"})
    for key, value in (("user.name", "A"), ("branch.main.remote", "origin"), ("core.fsmonitor", "false")):
        work.sh("config", key, value)
    work.sh("update-ref", "refs/heads/helmsman/another", "HEAD")
    work.sh("update-ref", "refs/remotes/origin/main", "HEAD")
    set_up_worktree(work.context, work.state)  # the next driver, after a crash
    assert changes(work) == GitChanges()


def test_branches_and_tags_that_moved_are_noted_but_not_a_merge_by_others(work: LoopWork) -> None:
    merging = work.configured(merge={"into": "main"})
    others = sh(work.repository.top, "commit-tree", "HEAD^{tree}", "-p", "main", "-m", "merged by another loop")
    own = commit(work.path, "work", {"a": "b\n"})
    work.sh("update-ref", "refs/heads/main", others)
    assert changes(merging) == GitChanges()
    work.sh("update-ref", "refs/heads/main", own)
    work.sh("tag", "--force", "an-old-tag")
    work.sh("branch", "--quiet", "-D", "an-old-branch")
    start = work.start[:12]
    moved = {"heads/an-old-branch": "none", "heads/main": own[:12], "tags/an-old-tag": own[:12]}
    assert changes(merging) == GitChanges(moved=tuple(f"refs/{name} ({start} to {end})" for name, end in moved.items()))


@pytest.mark.slow
def test_a_planted_hook_is_shown_everywhere_and_merged_only_after_an_answer(drive: Drive, repository: Path) -> None:
    before = sh(repository, "rev-parse", "main")
    driven = drive([says(shell=f"{HOOK}; sed -n p answer"), says(PROMISE, shell=SOLVE)], merge={"into": "main"})
    state, named = driven.state, ".git/hooks/post-merge (new)"
    assert (state.outcome, sh(repository, "rev-parse", "main")) == (Outcome.WAITING, before)
    assert state.gate is not None
    assert state.gate.kind is GateKind.MERGE
    assert f"since the loop began: {named}; " in state.gate.question
    shown = [[fact.line for fact in facts(record)] for record in read_records(open_repository(repository), "loop")]
    assert all(any(line.startswith("warn ") and named in line for line in lines) for lines in shown)
    assert named in next(fact.value for fact in front_facts(state) if fact.name == "Warning")
    assert any(line.startswith("WARNING ") and named in line for line in result_lines(result_of(state, "")))
    put(repository, Choice.APPROVE)
    assert resume(repository).merged is not None


@pytest.mark.slow
def test_a_package_installed_outside_of_the_repository_is_named_with_what_was_not_examined(drive: Drive, tmp_path: Path) -> None:
    packages, program = tmp_path / "venv/lib/python3.12/site-packages", tmp_path / "venv/bin/test-answer"
    for folder in (packages, program.parent):
        folder.mkdir(parents=True)
    write(program, "#!/bin/sh\ngrep -q 42 answer\n")
    program.chmod(0o755)
    driven = drive([says(PROMISE, shell=f"{SOLVE}; touch {packages}/answers.py")], checks=(str(program),))
    assert driven.state.outcome is Outcome.COMPLETED
    assert driven.state.ending is not None
    assert driven.state.ending.grounds is not None
    (unseen,) = [line for line in driven.state.ending.grounds.not_looked_at if line.startswith("packages outside")]
    assert unseen.endswith(f": {packages}/answers.py")
