"""Two loops that tick neighbouring lines of one plan and merge into one branch: their ticks never conflict."""

from pathlib import Path

import pytest

from helmsman.config import LoopConfig
from helmsman.records.iteration import Evidence
from helmsman.records.plan import ItemProof
from tasks.repository.plan import tick
from tasks.repository.worktree import measure_change
from tests.fakes.proven_loops import AT_MOST_TWO, ProvenLoop, make_proven_loop
from tests.fakes.repositories import commit, make_repository, record_of, sh

pytestmark = [pytest.mark.slow, pytest.mark.feature("M4", "M8")]

PLAN = "- [ ] T001 Write a\n- [ ] T002 Write b\n- [ ] T003 Write c\n"
CHECK = {**AT_MOST_TWO, "check.sh": "grep -q 'x. T00' tasks.md\n", "tasks.md": PLAN}
"""The checks of a merge see the ticks of it."""


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "top", CHECK)


def worked(top: Path, folder: Path, name: str, item: str, files: dict[str, str], plan: str = PLAN) -> ProvenLoop:
    """A loop that did one item, and ticked it; what its agent did to the plan itself is undone on the way."""
    landing = make_proven_loop(top, folder / name, files, loop=name)
    settings = landing.state.config.model_dump() | {"plan": {"file": "tasks.md"}}
    landing.change(config=LoopConfig.model_validate(settings))
    tree, start = landing.context.worktree, landing.state.base_commit
    commit(tree, "All of it", {"tasks.md": PLAN.replace("[ ]", "[x]")})
    commit(tree, "helmsman: restore the plan", {"tasks.md": plan})
    execution = record_of(landing.state, 1).execution.model_copy(update={"change": measure_change(tree, start)})
    evidence = Evidence(execution=execution, item=ItemProof(item=item, title="Write", proven=True))
    done = tick(landing.context, landing.state, evidence, record_of(landing.state, 1).decision)
    landing.change(head=done.commit)
    return landing


def test_ticks_on_neighbouring_lines_are_both_in_the_plan(top: Path, tmp_path: Path) -> None:
    one = worked(top, tmp_path, "one", "T001", {"a.py": "1\n"})
    two = worked(top, tmp_path, "two", "T002", {"b.py": "1\n"})
    one.land()
    two.land()
    assert sh(top, "show", "main:tasks.md") == "- [x] T001 Write a\n- [x] T002 Write b\n- [ ] T003 Write c"
    assert two.state.merged is not None
    assert two.state.merging.trouble is None
    assert "it lacks our changes" not in sh(top, "log", "-1", "--format=%B", "main")


def test_a_conflict_elsewhere_leaves_no_marker_in_the_plan(top: Path, tmp_path: Path) -> None:
    one = worked(top, tmp_path, "one", "T001", {"app.py": "ONE\ntwo\nthree\n"})
    two = worked(top, tmp_path, "two", "T002", {"app.py": "(one)\ntwo\nthree\n"})
    one.land()
    two.land()
    assert [file.path for file in two.trouble.files] == ["app.py"]
    assert sh(top, "show", f"{two.trouble.head}:tasks.md") == "- [x] T001 Write a\n- [x] T002 Write b\n- [ ] T003 Write c"
    assert (two.context.worktree / "tasks.md").read_text().count("[x]") == 2


def test_a_plan_deleted_meanwhile_stays_deleted(top: Path, tmp_path: Path) -> None:
    two = worked(top, tmp_path, "two", "T002", {"b.py": "1\n"})
    sh(top, "rm", "--quiet", "tasks.md")
    commit(top, "no plan any more", {"check.sh": "true\n"})
    two.land()
    assert two.state.merged is not None
    assert "tasks.md" not in sh(top, "ls-tree", "--name-only", "main").split()


def test_a_plan_that_a_person_edits_while_another_loop_ticks_nearby_gets_no_markers(top: Path, tmp_path: Path) -> None:
    edited = f"{PLAN.replace('T001 Write a', 'T001 Write a well')}- [ ] T004 Write d\n"
    two = worked(top, tmp_path, "two", "T002", {"b.py": "1\n"}, edited)
    worked(top, tmp_path, "one", "T001", {"a.py": "1\n"}).land()
    commit(top, "one more", {"tasks.md": f"{sh(top, 'show', 'main:tasks.md')}\n- [ ] T005 Write e\n"})
    two.land()
    assert sh(top, "show", "main:tasks.md") == ("- [x] T001 Write a\n- [x] T002 Write b\n- [ ] T003 Write c\n- [ ] T005 Write e")
    said = sh(top, "log", "-1", "--format=%B", "main")
    assert "tasks.md was changed on both sides, so the version of main applies" in said
    assert "it lacks our changes: T001 (Write a well), T004 (Write d)" in said


def test_a_tick_does_not_go_to_what_the_base_has_made_of_its_item(top: Path, tmp_path: Path) -> None:
    two = worked(top, tmp_path, "two", "T002", {"app.py": "ONE\n"}, f"- [ ] T000 Before\n{PLAN}")
    other = "- [ ] T002 Something else\n- [ ] T009 New\n"
    commit(top, "made anew", {"tasks.md": other, "app.py": "(one)\n"})
    two.land()
    assert [file.path for file in two.trouble.files] == ["app.py"]
    assert "the tick of T002" in two.trouble.why
    assert sh(top, "show", f"{two.trouble.head}:tasks.md") == other.rstrip("\n")
