"""Which loop of a chain is due, by real repositories in which its loops have come as far as they have."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from prefect.client.schemas.objects import State, StateType

from deployments.group import chain, chain_lines, chain_request
from helmsman.errors import OperatorError, WorldError
from helmsman.records.decision import Outcome
from helmsman.records.gates import Gate, GateKind
from helmsman.records.request import ChainRequest, Link, LoopRequest
from helmsman.records.state import LoopState
from helmsman.records.tracking import Merged
from tasks.groups.chaining import broke_off, chain_result, chained, next_loop
from tasks.loop.start import open_loop
from tasks.places import loop_folder
from tasks.repository.git import open_repository
from tasks.repository.state_ref import replace_state
from tasks.worktrees.workplace import workplace
from tasks.worktrees.worktree import ensure_worktree, remove_worktree
from tests.fakes.repositories import NOW, commit, make_repository, sh
from tests.unit.builders import STOP

pytestmark = pytest.mark.feature("M11")
CHECK = "true"
GOALS = "the first", "the second", "the third"
QUESTION = Gate(key="learnings-1-1", kind=GateKind.LEARNINGS, question="May that be committed?", asked_at=NOW)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELMSMAN_HOME", str(tmp_path / "state"))


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "top")


def chain_of(top: Path, *links: dict[str, Any], **fields: Any) -> ChainRequest:
    """With the goals above, and whatever else its links say."""
    loops = tuple(Link(goal=goal, checks=(CHECK,), **link) for goal, link in zip(GOALS, links, strict=False))
    return ChainRequest(repository=str(top), chain="num", loops=loops, **fields)


def due(request: ChainRequest, driven: str = "") -> LoopRequest:
    found = next_loop(request, driven)
    assert found is not None
    return found


def begun(request: ChainRequest, driven: str = "") -> LoopState:
    """The loop that is due, with its state written and its worktree made, as a driver does it."""
    state = open_loop(due(request, driven), "", NOW)
    place = workplace(request.repository, state)
    place.folder.root.mkdir(parents=True)
    if not state.config.workspace.in_place:
        ensure_worktree(place.repository, place.worktree, state.branch, state.head)
    return state


def completed(request: ChainRequest, driven: str = "", **changes: object) -> LoopState:
    """It has, and did not leave yet."""
    state = begun(request, driven)
    place = workplace(request.repository, state)
    head = commit(place.worktree, "the work", {f"{state.loop}.txt": "done\n"})
    return with_changes(request, state, head=head, verified=head, ending=STOP, **changes)


def with_changes(request: ChainRequest, state: LoopState, **changes: object) -> LoopState:
    repository = open_repository(Path(request.repository))
    return replace_state(repository, state, state.model_copy(update=changes), "a test goes on")


def left(request: ChainRequest, state: LoopState) -> None:
    place = workplace(request.repository, state)
    remove_worktree(place.repository, place.worktree)


# --- leaving ------------------------------------------------------------------------------------------------------


def test_a_loop_that_completed_and_did_not_leave_is_driven_before_the_next_one_begins(top: Path) -> None:
    request = chain_of(top, {}, {})
    state = completed(request)
    assert due(request) == LoopRequest(repository=str(top), loop="num-1")
    left(request, state)
    assert (due(request).loop, due(request).base) == ("num-2", "helmsman/num-1")


def test_a_question_that_is_open_is_asked_before_the_next_loop_begins(top: Path) -> None:
    request = chain_of(top, {}, {})
    state = completed(request, gate=QUESTION)
    left(request, state)
    assert due(request).loop == "num-1"
    with_changes(request, state, gate=None)
    assert due(request).loop == "num-2"


def test_a_loop_that_this_run_has_driven_is_not_driven_again_whatever_it_could_not_leave(top: Path) -> None:
    request = chain_of(top, {}, {})
    completed(request, gate=QUESTION)
    assert due(request, driven="num-1").loop == "num-2"
    completed(request, driven="num-1")
    assert due(request, driven="num-1").loop == "num-2"
    assert next_loop(request, driven="num-2") is None


def test_where_the_loop_was_never_driven_nothing_shows_that_it_has_left(top: Path, tmp_path: Path) -> None:
    request = chain_of(top, {}, {})
    left(request, completed(request))
    clone = tmp_path / "clone"
    sh(tmp_path, "clone", "--quiet", "--mirror", str(top), str(clone))
    elsewhere = request.model_copy(update={"repository": str(clone)})
    assert not loop_folder(open_repository(clone), "num-1").root.exists()
    assert (due(request).loop, due(elsewhere).loop) == ("num-2", "num-1")


def test_a_loop_that_has_ended_otherwise_is_gone_on_with(top: Path) -> None:
    request = chain_of(top, {}, {}, reopen=True)
    state = begun(request)
    with_changes(request, state, ending=STOP.model_copy(update={"outcome": Outcome.STOPPED}))
    assert due(request) == LoopRequest(repository=str(top), loop="num-1", reopen=True)
    assert due(request, driven="num-1").loop == "num-1"


# --- in place -----------------------------------------------------------------------------------------------------


def test_in_place_a_loop_begins_with_what_the_one_before_it_has_left_checked_out(top: Path) -> None:
    request = chain_of(top, {}, {}, settings={"workspace": {"in_place": True}})
    first = completed(request)
    assert due(request).loop == "num-1"  # nothing shows there that it has left
    assert due(request, driven="num-1").base == ""
    second = begun(request, driven="num-1")
    assert (second.branch, second.base_commit) == ("main", first.head)


# --- how a run ends -----------------------------------------------------------------------------------------------


def test_what_refuses_a_loop_that_has_not_begun_or_has_ended_before_is_told_in_the_place_of_an_older_end(top: Path) -> None:
    refused: State[Any] = State(type=StateType.FAILED, data=OperatorError("it has used up a limit"))
    request = chain_of(top, {}, {})
    assert broke_off(refused, chain_result(request))
    state = begun(request)
    with_changes(request, state, ending=STOP.model_copy(update={"outcome": Outcome.STOPPED}))
    assert broke_off(refused, chain_result(request))


@pytest.mark.parametrize("outcome", [Outcome.STOPPED, Outcome.CANCELLED, Outcome.WAITING])
def test_a_loop_that_ended_says_itself_why_the_chain_did(top: Path, outcome: Outcome) -> None:
    request = chain_of(top, {}, {})
    with_changes(request, begun(request), ending=STOP.model_copy(update={"outcome": outcome}))
    kind = StateType.CANCELLED if outcome is Outcome.CANCELLED else StateType.FAILED
    assert not broke_off(chained(request, State(type=kind, message="why")), chain_result(request))
    assert not broke_off(State(type=kind), chain_result(request))  # as the engine has it of a run that it was told to cancel


# --- settings -----------------------------------------------------------------------------------------------------

LIMITS = {"limits": {"iterations": 5, "cost_usd": 3.0}}
OWN = {"limits": {"iterations": 50}}


def test_a_loops_own_settings_count_when_it_begins_and_when_it_is_gone_on_with(top: Path) -> None:
    request = chain_of(top, {"settings": OWN}, settings=LIMITS, reopen=True)
    assert begun(request).config.limits.iterations == 50
    assert due(request).settings == {"limits": {"iterations": 50, "cost_usd": 3.0}}
    after = open_loop(due(request), "", NOW)
    assert (after.config.limits.iterations, after.config.limits.cost_usd) == (50, 3.0)


def requested(top: Path, text: str, *settings: str) -> ChainRequest:
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        return chain_request(open_repository(top), {"file": Path(file.name), "settings": settings})


CHAIN = '[settings.limits]\ncost_usd = 3.0\niterations = 5\n[[loops]]\ngoal = "the first"\n[[loops]]\ngoal = "the second"\n'


def test_a_setting_of_the_command_line_takes_nothing_away_that_the_file_says_beside_it(top: Path) -> None:
    request = requested(top, CHAIN, "limits.iterations=9")
    assert request.settings == {"limits": {"cost_usd": 3.0, "iterations": 9}}


def test_the_command_line_wins_over_what_the_file_says_of_one_loop(top: Path) -> None:
    """Or nobody could go on, by the same command with more, with a loop that has used up a limit of its own."""
    request = requested(top, f"{CHAIN}settings = {{ limits = {{ iterations = 2, tokens = 7 }} }}\n", "limits.iterations=9")
    assert request.loops[0].settings == {}
    assert request.loops[1].settings == {"limits": {"iterations": 9, "tokens": 7}}


def test_what_a_chain_says_of_all_its_loops_counts_when_they_are_looked_at_before_the_start(top: Path) -> None:
    with pytest.raises(OperatorError, match="no check is configured"):
        chain(top, yes=True, as_json=True, goals=["the first"])
    settings = ["allow_no_checks=true", f"claude.binary={top / 'no-agent'}"]
    with pytest.raises((OperatorError, WorldError), match="no-agent"):  # which comes after the checks
        chain(top, yes=True, as_json=True, goals=["the first"], settings=settings)


# --- what is told of it -------------------------------------------------------------------------------------------


def test_what_comes_next_is_to_merge_the_last_branch_unless_its_loop_has_done_that(top: Path) -> None:
    request = chain_of(top, {})
    state, repository = completed(request), open_repository(top)
    assert list(chain_lines(repository, chain_result(request)))[-1].endswith("git merge helmsman/num-1")
    merged = Merged(into="main", base="a" * 40, head=state.head, commit="b" * 40, at=NOW)
    with_changes(request, state, merged=merged)
    lines = list(chain_lines(repository, chain_result(request)))
    assert f"merged     into main as {'b' * 12}" in lines
    assert not any("git merge " in line for line in lines)
