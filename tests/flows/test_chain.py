"""Loops in a row on a real engine: each loop leaves before the next one begins, and what refuses a later one is told."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from deployments.group import chain
from helmsman.parsers.alignment_file import render
from helmsman.records.alignment import ALIGNMENT, Alignment, AlignmentQuestion
from helmsman.records.decision import Outcome
from helmsman.records.state import LoopState
from tasks.agents.catalogue import LoopSettings
from tasks.loop.start import create_loop
from tasks.repository.git import git, open_repository
from tasks.repository.loop_context import loop_context
from tasks.repository.state_ref import loop_names, read_state, replace_state
from tasks.repository.worktree import ensure_worktree
from tests.fakes.repositories import NOW, commit
from tests.fakes.scripted_agent import PROMISE, Call, calls_made, prompt_of, says, scripted_agent
from tests.unit.builders import STOP, config

pytestmark = [pytest.mark.feature("M11"), pytest.mark.timeout(400)]


def chain_options(folder: Path, calls: Sequence[Call], *settings: str, loops: int) -> dict[str, Any]:
    """A chain `num` whose loops want a file each, which their number names."""
    links = (f'[[loops]]\ngoal = "there is {n}"\nchecks = ["test -e {n}"]\n' for n in range(1, loops + 1))
    file = folder / "chain.toml"
    file.write_text("\n".join(['name = "num"', *links]))
    agent = scripted_agent(folder / "agent", calls)
    how = (f"claude.binary={agent}", "claude.permission_mode=acceptEdits", "steering.hooks=false", *settings)
    return {"file": file, "settings": how}


def makes(number: int, *more: str) -> Call:
    return says(PROMISE, shell="\n".join([f"touch {number}", *more, f"git add --all; git commit -qm {number}"]))


def states(repository: Path) -> list[LoopState]:
    opened = open_repository(repository)
    return [read_state(opened, name)[0] for name in sorted(loop_names(opened))]


@pytest.mark.slow
def test_in_place_each_loop_continues_on_the_last_branch_and_a_refused_start_is_reported(
    repository: Path, engine_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asking = Alignment(goal="there is 3", questions=(AlignmentQuestion(question="Why?"),))
    (tmp_path / "asking.md").write_text(render(asking))
    calls = [makes(1), makes(2, f"cp {tmp_path / 'asking.md'} {ALIGNMENT}")]
    assert chain(repository, **chain_options(tmp_path, calls, "workspace.in_place=true", loops=3), yes=True, as_json=True) == 2
    assert re.search(r"1 question in .* must be answered before a loop starts", capsys.readouterr().out)
    assert [(state.loop, state.outcome, state.branch) for state in states(repository)] == [
        ("num-1", Outcome.COMPLETED, "main"),
        ("num-2", Outcome.COMPLETED, "main"),
    ]
    assert git(repository, "log", "--format=%s", "main^").splitlines() == ["2", "1", "start"]  # and a handoff


@pytest.mark.slow
@pytest.mark.feature("L7", "E3")
def test_a_loop_that_dies_before_its_handoff_hands_over_before_the_next_one_starts(
    repository: Path, engine_url: str, tmp_path: Path
) -> None:
    commit(repository, "align", {ALIGNMENT: render(Alignment(goal="there is 1"))})
    state = create_loop(open_repository(repository), LoopSettings(config("there is 1", checks=("test -e 1",)), {}), "num-1", NOW)
    context = loop_context(str(repository), state)
    ensure_worktree(context.repository, context.worktree, state.branch, state.head)
    head = commit(context.worktree, "1", {"1": ""})
    replace_state(context.repository, state, state.model_copy(update={"head": head, "verified": head, "ending": STOP}), "done")
    assert chain(repository, **chain_options(tmp_path, [makes(2)], loops=2), yes=True, as_json=True) == 0
    second = states(repository)[1]
    assert git(repository, "log", "-1", "--format=%s", second.base_commit) == "Add the handoff of loop num-1\n"
    assert not context.worktree.exists()
    assert "Loop num-1 (" in prompt_of(tmp_path / "agent", 0)
    assert chain(repository, **chain_options(tmp_path, [makes(2)], loops=2), yes=True, as_json=True) == 0
    assert calls_made(tmp_path / "agent") == 1
