"""Loops in a row: which of them is due, by real repositories in which they have come as far as they have."""

import tempfile
from pathlib import Path
from typing import Any

import pytest

from deployments.group import chain, next_command_lines, parallel, parallel_request
from helmsman.errors import OperatorError, TransientError
from helmsman.records.decision import Outcome
from helmsman.records.gates import Gate, GateKind
from helmsman.records.request import ChainRequest, Link, LoopRequest, ParallelLoop, ParallelRequest, ParallelResult
from helmsman.records.state import LoopState
from tasks.groups.parallel import Group, WorkerExit, due_loops, group_result, open_group, record_exit
from tasks.loop.start import open_loop
from tasks.repository.git import open_repository
from tasks.repository.loop_context import loop_context
from tasks.repository.state_ref import replace_state
from tasks.repository.worktree import ensure_worktree, remove_worktree
from tests.fakes.repositories import NOW, commit, make_repository
from tests.unit.builders import STOP

pytestmark = [pytest.mark.feature("M11"), pytest.mark.usefixtures("home")]
GOALS = "the first", "the second", "the third"
QUESTION = Gate(key="learnings-1-1", kind=GateKind.LEARNINGS, question="May that be committed?", asked_at=NOW)
ENDED = STOP.model_copy(update={"outcome": Outcome.STOPPED})


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "top")


def in_a_row(top: Path, loops: int = 2, own: dict[str, Any] | None = None, **fields: Any) -> Group:
    """As a run opens it, by the older form of such a request. `own`: settings of the first loop."""
    links = tuple(Link(goal=goal, checks=("true",), settings={}) for goal in GOALS[:loops])
    links = (links[0].model_copy(update={"settings": own or {}}), *links[1:])
    asked = ChainRequest(repository=str(top), chain="num", loops=links, **fields)
    return open_group(asked.as_group, open_repository(top))


def due(group: Group) -> LoopRequest:
    (found,) = due_loops(group)
    return found


def start_due_loop(group: Group) -> LoopState:
    """The loop that is due, with its state written and its worktree made, as a driver does it."""
    state = open_loop(due(group), "", NOW)
    context = loop_context(group.request.repository, state)
    context.folder.root.mkdir(parents=True)
    if not state.config.workspace.in_place:
        ensure_worktree(context.repository, context.worktree, state.branch, state.head)
    return state


def completed(group: Group, **changes: object) -> LoopState:
    """It has, and did not leave yet."""
    state = start_due_loop(group)
    head = commit(loop_context(group.request.repository, state).worktree, "the work", {f"{state.loop}.txt": "done\n"})
    return with_changes(group, state, head=head, verified=head, ending=STOP, **changes)


def with_changes(group: Group, state: LoopState, **changes: object) -> LoopState:
    return replace_state(group.repository, state, state.model_copy(update=changes), "a test goes on")


def remove_loop_worktree(group: Group, state: LoopState) -> None:
    context = loop_context(group.request.repository, state)
    remove_worktree(context.repository, context.worktree)


def test_a_loop_that_completed_leaves_what_it_leaves_before_the_next_one_begins_on_its_work(top: Path) -> None:
    group = in_a_row(top)
    state = completed(group)
    assert due(group) == LoopRequest(repository=str(top), loop="num-1")
    remove_loop_worktree(group, state)
    assert (due(group).loop, due(group).base) == ("num-2", "helmsman/num-1")


def test_an_open_question_is_asked_before_the_next_loop_starts(top: Path) -> None:
    group = in_a_row(top)
    state = completed(group, gate=QUESTION)
    remove_loop_worktree(group, state)
    assert due(group).loop == "num-1"
    with_changes(group, state, gate=None)
    assert due(group).loop == "num-2"


def test_a_loop_whose_process_succeeded_is_not_run_again_even_without_a_handoff(top: Path) -> None:
    group = in_a_row(top)
    completed(group, gate=QUESTION)
    record_exit(group, WorkerExit("num-1", 1, "killed"))
    assert due(group).loop == "num-1"
    record_exit(group, WorkerExit("num-1", 0, ""))
    assert due(group).loop == "num-2"


def test_a_loop_that_did_not_complete_is_resumed_and_blocks_later_ones(top: Path) -> None:
    group = in_a_row(top, reopen=True)
    with_changes(group, start_due_loop(group), ending=ENDED)
    assert (due(group).loop, due(group).reopen) == ("num-1", True)
    group.runs["num-1"] += 1
    assert due_loops(group) == []
    assert group_result(group).problems == ("num-2: its prerequisites were not completed",)


def test_in_place_a_loop_starts_from_the_checkout_of_the_previous_one(top: Path) -> None:
    group = in_a_row(top, settings={"workspace": {"in_place": True}})
    first = completed(group)
    assert due(group).loop == "num-1"  # nothing shows there that it has left
    record_exit(group, WorkerExit("num-1", 0, ""))
    assert due(group).base == ""
    second = start_due_loop(group)
    assert (second.branch, second.base_commit) == ("main", first.head)


def test_a_loop_s_own_settings_and_limits_apply_at_start_and_resume(top: Path) -> None:
    limits = {"limits": {"iterations": 5, "cost_usd": 3.0}}
    group = in_a_row(top, own={"limits": {"iterations": 50}}, settings=limits, reopen=True)
    state = start_due_loop(group)
    assert (state.config.limits.iterations, state.config.limits.cost_usd) == (50, 3.0)
    with_changes(group, state, ending=ENDED)
    assert due(group).settings == {"limits": {"iterations": 50, "cost_usd": 3.0}}


@pytest.mark.parametrize("changes", [{"best": True}, {"loops": ()}], ids=["attempts", "no goals"])
def test_attempts_and_plans_are_not_driven_in_a_row(top: Path, changes: dict[str, Any]) -> None:
    asked: dict[str, Any] = {
        "repository": str(top),
        "group": "num",
        "loops": (Link(goal="g", checks=("true",)),),
        "in_a_row": True,
    }
    with pytest.raises(OperatorError, match="loops in a row need a goal each"):
        open_group(ParallelRequest(**{**asked, **changes}), open_repository(top))


# --- what a file and the command line say -------------------------------------------------------------------------


def requested(top: Path, text: str, *settings: str) -> ParallelRequest:
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        return parallel_request(open_repository(top), {"file": Path(file.name), "settings": settings})


CHAIN = '[settings.limits]\ncost_usd = 3.0\niterations = 5\n[[loops]]\ngoal = "the first"\n[[loops]]\ngoal = "the second"\n'


def test_a_command_line_setting_keeps_other_settings_of_the_file(top: Path) -> None:
    request = requested(top, CHAIN, "limits.iterations=9")
    assert request.settings == {"limits": {"cost_usd": 3.0, "iterations": 9}}


def test_the_command_line_wins_over_what_the_file_says_of_one_loop(top: Path) -> None:
    """Or nobody could go on, by the same command with more, with a loop that has used up a limit of its own."""
    request = requested(top, f"{CHAIN}settings = {{ limits = {{ iterations = 2, tokens = 7 }} }}\n", "limits.iterations=9")
    assert request.loops[0].settings == {}
    assert request.loops[1].settings == {"limits": {"iterations": 9, "tokens": 7}}


def test_common_settings_apply_to_the_check_before_the_start(top: Path) -> None:
    with pytest.raises(OperatorError, match="no check is configured"):
        parallel(top, in_a_row=True, yes=True, as_json=True, goals=["the first"])
    settings = ["allow_no_checks=true", f"claude.binary={top / 'no-agent'}"]
    with pytest.raises((OperatorError, TransientError), match="no-agent"):  # which comes after the checks
        parallel(top, in_a_row=True, yes=True, as_json=True, goals=["the first"], settings=settings)


@pytest.mark.parametrize(
    ("file", "where"), [(None, r"runs \(`helmsman config`\)"), (Path("shop.toml"), r"runs \(shop\.toml and `helmsman config`\)")]
)
def test_without_consent_the_refusal_names_where_the_checks_are(top: Path, file: Path | None, where: str) -> None:
    with pytest.raises(OperatorError, match=f"not trusted yet(?s:.*){where}"):
        parallel(top, in_a_row=True, yes=False, as_json=True, file=file)


@pytest.mark.parametrize("chained", [True, False])
def test_a_missing_merge_branch_is_refused_before_any_loop_starts(top: Path, *, chained: bool) -> None:
    """Even before the agent's program is looked for."""
    settings = ["merge.into=nowhere", f"claude.binary={top / 'no-agent'}"]
    with pytest.raises(OperatorError, match="there is no branch nowhere"):
        parallel(top, in_a_row=chained, yes=True, as_json=True, goals=["a", "b"], checks=["true"], settings=settings)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[loops]]\nchecks = ['true']\n", r"loops\.0\.goal"),
        ("not toml", "the group of loops cannot be read"),
        (f'name = "No Name"\n{CHAIN}', r"not a valid name for a group(?s:.*)change `name` in .*\.toml, or give --name"),
    ],
)
def test_a_file_that_cannot_be_driven_is_refused_with_the_place(top: Path, text: str, told: str) -> None:
    with pytest.raises(OperatorError, match=told):
        requested(top, text)


def test_a_draft_splits_a_large_goal_and_is_such_a_file_itself(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    goal = "The shop sells:\n" + "\n".join(f"- thing {number}" for number in range(12))
    assert chain(top, draft=True, goals=[goal]) == 0
    drafted = requested(top, capsys.readouterr().out)
    assert [link.goal.count("- thing") for link in drafted.loops] == [4, 4, 4]


# --- what is told of it -------------------------------------------------------------------------------------------


def test_the_next_step_is_to_merge_the_last_branch_with_all_work(top: Path) -> None:
    group = in_a_row(top)
    for _ in range(2):
        remove_loop_worktree(group, completed(group))
    lines = list(next_command_lines(group_result(group), in_a_row=True))
    assert [line for line in lines if "git merge" in line] == ["next       git diff ...helmsman/num-2; git merge helmsman/num-2"]


def test_the_next_step_names_only_a_loop_that_started() -> None:
    result = ParallelResult(group="num", completed=0, loops=(ParallelLoop(loop="num-1", goal="one"),))
    assert list(next_command_lines(result, in_a_row=False)) == ["next       repeat the command to continue"]
    started = ParallelLoop(loop="num-2", goal="two", branch="helmsman/num-2")
    lines = next_command_lines(result.model_copy(update={"loops": (*result.loops, started)}), in_a_row=False)
    assert list(lines) == ["next       helmsman status num-2; repeat the command to continue"]
