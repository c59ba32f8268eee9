"""The plan's file in real git: only the loop ticks it, and whoever dies while it does neither loses a tick nor makes two."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from helmsman.records.checks import Weight
from helmsman.records.control import EscalationLevel, Ladder, Oversight
from helmsman.records.iteration import Evidence
from helmsman.records.plan import ItemProof, Tick
from helmsman.records.tracking import ConflictedFile, MergeProblem, Merging
from tasks.agents.catalogue import LoopSettings
from tasks.checks.judging import audit, revert_protected
from tasks.loop.start import create_loop
from tasks.repository.git import open_repository
from tasks.repository.plan import current_item, revert_plan, tick
from tasks.repository.worktree import commit_turn, restore, set_branch
from tests.fakes.repositories import BRANCH, NOW, LoopWork, commit, make_repository, record_of, start_loop

pytestmark = pytest.mark.feature("M8")

PLAN = "# Tasks\r\n- [ ] T001 Write a\r\n- [ ] T002 Write b (needs T001)\r\n"
ASKED = Oversight(ladder=Ladder(rung=EscalationLevel.REDESIGN, reason="limit_cycle: round and round"))
"""A loop whose way has failed, so that its plan may be made anew."""


@pytest.fixture
def work(tmp_path: Path) -> LoopWork:
    top = make_repository(tmp_path / "top", {"app.py": "1\n"})
    (top / "docs").mkdir()
    (top / "docs" / "tasks.md").write_bytes(PLAN.encode())
    commit(top, "plan")
    return start_loop(top, tmp_path / "tree").configured(plan={"file": "docs/tasks.md"})


def file_of(work: LoopWork, revision: str = BRANCH) -> str:
    return work.at("docs/tasks.md", revision)


def settled(work: LoopWork, files: dict[str, str] | None = None) -> Any:
    """What a turn of the agent comes to: what it left is committed, and then its plan is looked at."""
    if files:
        commit(work.path, "work", files)
    commit_turn(work.repository, work.path, work.state, work.start)
    return revert_plan(work.context, work.state, work.start)


def test_what_the_agent_does_to_the_plan_is_put_back_in_a_commit_that_says_so(work: LoopWork) -> None:
    touched = settled(work, {"docs/tasks.md": PLAN.replace("[ ]", "[x]"), "app.py": "2\n"})
    assert touched is not None
    assert (touched.kept, "ticks its items by evidence" in touched.why) == (False, True)
    assert work.sh("diff", "--name-only", work.start, BRANCH) == "app.py"
    assert work.sh("log", "-1", "--format=%s", BRANCH) == "helmsman: restore the plan"
    assert work.sh("status", "--porcelain") == ""
    assert revert_plan(work.context, work.state, work.start) is None


@pytest.mark.parametrize("how", ["gone", "a link", "a folder", "its folder is a file"])
def test_the_plan_file_is_restored_when_something_else_is_at_its_path(work: LoopWork, how: str) -> None:
    path = work.path / "docs" / "tasks.md"
    path.unlink()
    if how == "a link":
        path.symlink_to("../app.py")
    elif how == "a folder":
        path.mkdir()
        (path / "x").write_text("1\n")
    elif how == "its folder is a file":
        path.parent.rmdir()
        path.parent.write_text("1\n")
    touched = settled(work)
    assert touched is not None
    assert path.read_bytes() == PLAN.encode()
    assert work.sh("diff", "--name-only", work.start, BRANCH) == ""


def test_the_agent_resolves_a_conflict_in_the_plan(work: LoopWork) -> None:
    met = (ConflictedFile(path="docs/tasks.md", how="changed on both sides"),)
    at = {"into": "main", "base": work.start, "work": work.start, "head": work.start, "why": "in conflict"}
    trouble = MergeProblem.model_validate({"kind": "conflict", "files": met, **at})
    state = work.state.model_copy(update={"merging": Merging(trouble=trouble)})
    commit(work.path, "resolved", {"docs/tasks.md": PLAN.replace("Write b", "Write b well")})
    assert revert_plan(work.context, state, work.start) is None


@pytest.mark.feature("M9")
def test_after_a_failed_approach_the_agent_may_rewrite_the_plan_and_an_invalid_one_is_restored(
    work: LoopWork,
) -> None:
    asked = replace(work, state=work.state.model_copy(update={"oversight": ASKED}))
    hand = current_item(asked.context, asked.state, work.start)
    assert hand is not None
    assert hand.anew
    circle = settled(asked, {"docs/tasks.md": "- [ ] T003 x (needs T004)\n- [ ] T004 y (needs T003)\n"})
    assert circle is not None
    assert "line 1: dependency cycle" in circle.why
    assert file_of(work).replace("\r", "") == PLAN.replace("\r", "").rstrip("\n")
    anew = settled(asked, {"docs/tasks.md": "- [ ] T003 Begin at the other end\n"})
    assert anew is not None
    assert anew.kept
    assert "T003" in file_of(work)


def proven(work: LoopWork, item: str = "T001") -> Evidence:
    commit(work.path, "work", {"app.py": "2\n"})
    return Evidence(execution=work.execution(), item=ItemProof(item=item, title="Write a", proven=True))


def ticked(work: LoopWork, evidence: Evidence) -> Tick:
    return tick(work.context, work.state, evidence, record_of(work.state, 1).decision)


def test_a_tick_is_a_commit_of_its_own_that_can_be_recognised_and_changes_one_mark(work: LoopWork) -> None:
    evidence = proven(work)
    done = ticked(work, evidence)
    assert work.sh("rev-parse", BRANCH, "HEAD").split() == [done.commit, done.commit]
    assert work.sh("rev-parse", f"{BRANCH}^", f"{BRANCH}^{{tree}}").split() == [evidence.execution.change.commit, done.tree]
    assert (work.path / "docs" / "tasks.md").read_bytes() == PLAN.replace("[ ] T001", "[x] T001").encode()
    assert work.sh("log", "-1", "--format=%s%n%(trailers)", BRANCH) == (
        "Tick T001: Write a\nHelmsman-Loop: the-loop\nHelmsman-Tick: T001\n"
    ).rstrip("\n")
    assert work.sh("status", "--porcelain") == ""


def test_a_driver_that_died_anywhere_in_a_tick_does_it_again_to_the_same_end(work: LoopWork) -> None:
    """Before it moved the branch, between the files and the branch, and after it."""
    evidence = proven(work)
    done = ticked(work, evidence)
    before = evidence.execution.change.commit
    for stands_on in ("before", "between", "after"):
        if stands_on == "before":
            restore(work.path, before)
            set_branch(work.path, BRANCH, before)
        elif stands_on == "between":
            set_branch(work.path, BRANCH, before)
        assert ticked(work, evidence) == done
        assert work.sh("rev-parse", BRANCH) == done.commit
    assert work.sh("log", "--format=%s", f"{work.start}..{BRANCH}").splitlines() == ["Tick T001: Write a", "work"]


def test_where_everything_is_protected_the_loops_own_ticks_are_no_findings(work: LoopWork) -> None:
    done = ticked(work, proven(work))
    state = work.configured(invariants={"protect": ["**"]}).state.model_copy(update={"head": done.commit})
    assert {finding.path for finding in audit(work.context, state, work.execution())} == {"app.py"}
    assert revert_protected(work.context, state, done.commit) == ("app.py",)
    assert "[x] T001" in file_of(work)


def test_the_files_that_an_items_own_check_runs_are_hinted_at_and_put_back_as_those_of_the_loops_checks_are(
    tmp_path: Path,
) -> None:
    path, before = "check-a.sh", "test -e a.txt\n"
    top = make_repository(tmp_path / "top", {"tasks.md": "- [ ] T001 Write a (check: `sh check-a.sh`)\n", path: before})
    begun = start_loop(top, tmp_path / "tree").configured(plan={"file": "tasks.md"})
    head = commit(begun.path, "an easier one", {path: "exit 0\n"})
    (finding,) = audit(begun.context, begun.state, begun.execution())
    assert (finding.rule, finding.weight, finding.path) == ("settings", Weight.HINT, path)
    assert revert_protected(begun.context, begun.state, head) == (path,)
    assert begun.at(path, BRANCH) == before.rstrip("\n")


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"file": "docs/nowhere.md"}, "no such file"),
        ({"file": "later.md"}, "it is in the checkout, but not committed"),
        ({"file": "done.md"}, "to work without a plan: helmsman run … --set plan.file="),
        ({"file": "docs/tasks.md", "item": "T0001"}, "plan.item: 'T0001' is not an item of docs/tasks.md; did you mean T001"),
    ],
)
def test_a_plan_that_no_loop_could_follow_is_refused_before_anything_is_made(
    tmp_path: Path, settings: dict[str, str], complaint: str
) -> None:
    top = make_repository(tmp_path / "top", {"docs/tasks.md": PLAN, "done.md": "- [x] T001 a\n"})
    (top / "later.md").write_text(PLAN)
    config = LoopConfig.model_validate({"goal": "make it work", "checks": ["true"], "plan": settings})
    with pytest.raises(OperatorError) as caught:
        create_loop(open_repository(top), LoopSettings(config, {}), "the-loop", NOW)
    assert complaint in str(caught.value)


def test_an_item_that_left_its_plan_is_not_done(work: LoopWork) -> None:
    state = work.configured(plan={"file": "docs/tasks.md", "item": "T001"}).state
    start = commit(work.path, "a person words it anew", {"docs/tasks.md": "- [ ] T005 Write a well\n"})
    with pytest.raises(OperatorError) as caught:
        current_item(work.context, state, start)
    assert "'T001' is no longer an item of docs/tasks.md" in str(caught.value)
    assert "helmsman resume the-loop --set plan.item=" in str(caught.value)


@pytest.mark.parametrize("file", ["/etc/plan.toml", "a/../plan.toml", ".helmsman/plan.toml", ".git/plan.md", "plan.yaml"])
def test_a_plan_lies_in_the_repository(file: str) -> None:
    with pytest.raises(ValueError, match="plan"):
        LoopConfig.model_validate({"goal": "x", "plan": {"file": file}})
