"""A loop that begins with the work of another one: what it is told of that, and whose alignment it holds to."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from helmsman.errors import OperatorError
from helmsman.parsers.alignment_file import own_goal, render
from helmsman.records.alignment import ALIGNMENT, Alignment
from helmsman.records.iteration import Completed, WorkingMemory
from helmsman.records.state import LoopState
from tasks.agents.catalogue import LoopSettings
from tasks.loop.handoff import write_handoff
from tasks.loop.start import create_loop
from tasks.repository.git import open_repository
from tasks.repository.loop_context import loop_context
from tasks.repository.state_ref import replace_state
from tasks.repository.worktree import ensure_worktree, remove_worktree
from tests.fakes.repositories import NOW, commit, make_repository, sh, write
from tests.unit.builders import STOP, config

pytestmark = [pytest.mark.slow, pytest.mark.feature("L7", "M11"), pytest.mark.usefixtures("home")]
ONE, TWO, THREE = "The first goal", "The second goal", "The third goal"


def agreed(goal: str) -> str:
    return render(Alignment(goal=goal, deliverables=(f"all of {goal.lower()}",)))


def aligned_repository(tmp_path: Path, *options: str) -> Path:
    """In whose commit there is an alignment for the first goal."""
    return make_repository(tmp_path / "top", {ALIGNMENT: agreed(ONE)}, *options)


def create(top: Path, number: int, goal: str, base: str = "", **sections: Any) -> LoopState:
    return create_loop(open_repository(top), LoopSettings(config(goal, **sections), {}), f"num-{number}", NOW, base)


def completed(top: Path, state: LoopState, files: Mapping[str, str] | None = None) -> LoopState:
    """Its work done, proven and handed over, as far as its configuration says so."""
    context = loop_context(str(top), state)
    ensure_worktree(context.repository, context.worktree, state.branch, state.head)
    head = commit(context.worktree, "the work", files or {f"{state.loop}.txt": "done\n"})
    memory = WorkingMemory(completed=(Completed(text=f"made {state.loop}.txt"),))
    done = state.model_copy(update={"head": head, "verified": head, "memory": memory, "ending": STOP})
    replace_state(context.repository, state, done, "done")
    write_handoff(context, done)
    remove_worktree(context.repository, context.worktree)
    return done


def chained(top: Path, *goals: str, **sections: Any) -> list[LoopState]:
    """Loops with these goals, one on the work of the other; the last one has only begun."""
    states: list[LoopState] = []
    for number, goal in enumerate(goals, 1):
        if states:
            completed(top, states[-1])
        states.append(create(top, number, goal, states[-1].branch if states else "", **sections))
    return states


# --- the handoff --------------------------------------------------------------------------------------------------


def test_a_loop_inherits_the_handoff_of_the_loop_it_builds_on(tmp_path: Path) -> None:
    first, second, third = chained(make_repository(tmp_path / "top"), ONE, TWO, THREE)
    assert first.inherited == ""
    assert second.inherited.startswith(f"Loop num-1 (2026-11-22)\nGoal: {ONE}\n")
    assert "made num-1.txt" in second.inherited
    assert [line for line in third.inherited.split("\n") if line.startswith("Loop ")] == [
        "Loop num-2 (2026-11-22)",
        "Loop num-1 (2026-11-22)",
    ]


def test_a_handoff_that_is_also_in_the_file_appears_once(tmp_path: Path) -> None:
    _, second, third = chained(aligned_repository(tmp_path), ONE, TWO, THREE)
    assert second.inherited.count("Loop num-1 (") == 1
    assert (third.inherited.count("Loop num-1 ("), third.inherited.count("Loop num-2 (")) == (1, 1)


def test_a_loop_without_a_predecessor_inherits_the_file(tmp_path: Path) -> None:
    top = aligned_repository(tmp_path)
    completed(top, create(top, 1, ONE))
    sh(top, "tag", "done", "helmsman/num-1")
    sh(top, "merge", "--quiet", "helmsman/num-1")
    for number, base in enumerate(("", "done", "helmsman/num-1"), 2):
        assert create(top, number, TWO, base).inherited.count("made num-1.txt") == 1


# --- the alignment ------------------------------------------------------------------------------------------------


def test_a_goal_that_the_loop_before_has_reached_is_not_held_to_any_more(tmp_path: Path) -> None:
    first, second, third = chained(aligned_repository(tmp_path), ONE, TWO, THREE)
    assert "- all of the first goal" in first.config.goal
    assert (second.config.goal, third.config.goal) == (TWO, THREE)


@pytest.mark.parametrize("committed", [True, False])
def test_a_later_loop_does_not_take_its_goal_from_a_file_in_the_checkout(tmp_path: Path, *, committed: bool) -> None:
    top = aligned_repository(tmp_path) if committed else make_repository(tmp_path / "top")
    write(top, {ALIGNMENT: agreed(ONE)})
    first, second, third = chained(top, ONE, TWO, THREE)
    assert own_goal(first.config.goal) == ONE != first.config.goal
    assert (second.config.goal, third.config.goal) == (TWO, THREE)


def test_an_alignment_about_another_goal_in_the_work_before_it_is_not_its_own(tmp_path: Path) -> None:
    top = aligned_repository(tmp_path)
    completed(top, create(top, 1, ONE), {ALIGNMENT: agreed(THREE)})
    assert create(top, 2, TWO, "helmsman/num-1").config.goal == TWO


def test_a_file_outside_of_the_repository_is_rejected_with_a_message(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top")
    completed(top, create(top, 1, ONE))
    with pytest.raises(OperatorError, match="leads out of its repository"):
        create(top, 2, TWO, "helmsman/num-1", alignment="../x.md")
