"""Groups of loops: shares, order, resumption, and the choice of the best of several."""

import json
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from deployments.demo_model import Turn
from helmsman.errors import OperatorError
from helmsman.oversee.group import MOST_RUNS
from helmsman.records.decision import Decision, Outcome
from helmsman.records.request import Choice, Link, LoopRequest, ParallelRequest
from helmsman.records.state import LoopState, Spending
from tasks.groups import members as gathering
from tasks.groups.members import best_of, next_exit
from tasks.groups.parallel import Group, WorkerExit, due_loops, group_result, open_group, record_exit, store_choice
from tasks.loop.start import open_loop
from tasks.repository.git import open_repository
from tasks.repository.state_ref import known_state, replace_state, write_state
from tests.fakes.faults import Fault
from tests.fakes.judge_api import JudgeApi, Raw
from tests.fakes.processes import unique_tag
from tests.fakes.repositories import NOW, commit, loop_state, make_repository, sh
from tests.unit.builders import config

pytestmark = pytest.mark.feature("M5")


def request(folder: Path, count: int = 3, **changes: Any) -> ParallelRequest:
    loops = tuple(Link(goal=f"goal {number}", checks=("true",)) for number in range(1, count + 1))
    settings = {"limits": {"cost_usd": 9.0}, "workspace": {"root": str(folder / "trees")}, **changes.pop("settings", {})}
    return ParallelRequest(repository=str(folder / "repository"), group="g", loops=loops, settings=settings, **changes)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repository", {"a": "a\n"})


def group_of(asked: ParallelRequest) -> Group:
    return open_group(asked, open_repository(Path(asked.repository)))


def begin(group: Group) -> list[LoopRequest]:
    """As the run does it: whoever is due is at work from then on."""
    due = due_loops(group)
    for one in due:
        group.futures[one.loop] = Future[Any]()
        group.runs[one.loop] += 1
    return due


def limits(due: list[LoopRequest]) -> list[float]:
    return [one.settings["limits"]["cost_usd"] for one in due]


def end(group: Group, loop: str, outcome: Outcome | None, *, rule: str = "over", cost: float = 0.0, status: int = 0) -> None:
    """The loop's process ends, and leaves this in its state; None: it died, or never wrote one."""
    if outcome is not None:
        ending = Decision(kind="stop", rule=rule, reason="why", at=NOW, outcome=outcome)
        changed(group, loop, ending=ending, spending=Spending(cost_usd=cost))
    record_exit(group, WorkerExit(loop, status, "words"))


def changed(group: Group, loop: str, **changes: Any) -> LoopState:
    state = known_state(group.repository, loop)
    assert state is not None
    return replace_state(group.repository, state, state.model_copy(update=changes), "changed")


def test_shares_that_were_promised_are_held_also_before_a_loop_has_written_its_state(repository: Path, tmp_path: Path) -> None:
    group = group_of(request(tmp_path, workers=2))
    assert limits(begin(group)) == pytest.approx([3.0, 3.0])
    end(group, "g-1", None, status=2)  # refused before it had a state
    assert limits(begin(group)) == pytest.approx([6.0])
    assert group_result(group).problems == ("g-1: words",)


def test_a_loop_cancelled_with_its_group_resumes_in_the_next_run(repository: Path, tmp_path: Path) -> None:
    first = group_of(request(tmp_path, 1))
    (due,) = begin(first)
    open_loop(due, "", NOW)
    end(first, "g-1", Outcome.CANCELLED)
    assert begin(first) == []  # somebody cancelled that one
    (again,) = begin(group_of(request(tmp_path, 1)))
    assert (again.loop, again.reopen) == ("g-1", True)


def test_attempts_at_one_goal_never_merge_by_themselves_and_the_chosen_one_does(repository: Path, tmp_path: Path) -> None:
    merging = {"settings": {"merge": {"into": "main"}, "limits": {"cost_usd": "none"}}, "best": True, "reopen": True}
    group = group_of(request(tmp_path, 2, **merging))
    for due in begin(group):
        state = open_loop(due, "", NOW)
        assert state.config.merge.into == ""
        end(group, state.loop, Outcome.STOPPED)
    reopened = begin(group_of(request(tmp_path, 2, **merging)))
    assert [one.settings["merge"]["into"] for one in reopened] == ["", ""]
    end(group, "g-2", Outcome.COMPLETED)
    for _ in range(2):  # whoever is killed in between goes on there
        again = group_of(request(tmp_path, 2, **merging))
        assert store_choice(again, again.chosen or Choice(loop="g-2", reason="small"))
    kept = known_state(group.repository, "g-2")
    assert kept is not None
    assert kept.config.merge.into == "main"
    last = group_of(request(tmp_path, 2, **merging))
    assert [(one.loop, one.reopen) for one in begin(last)] == [("g-2", False)]
    assert not group_result(last).done  # it is chosen and not merged yet


def test_a_loop_whose_process_dies_before_the_merge_leaves_the_group_incomplete(repository: Path, tmp_path: Path) -> None:
    group = group_of(request(tmp_path, 1, settings={"merge": {"into": "main"}}))
    for _ in range(MOST_RUNS):
        (due,) = begin(group)
        open_loop(due, "", NOW)
        end(group, "g-1", Outcome.COMPLETED, status=1)
    assert begin(group) == []
    result = group_result(group)
    assert (result.done, result.completed, result.problems) == (False, 0, ("g-1: words",))
    assert result.loops[0].reason.startswith("the work is verified and not merged; ")


def test_a_group_resumes_only_with_its_original_goals(repository: Path, tmp_path: Path) -> None:
    (due,) = begin(group_of(request(tmp_path, 1)))
    open_loop(due, "", NOW)
    other = request(tmp_path, 1).model_copy(update={"loops": (Link(goal="another goal", checks=("true",)),)})
    with pytest.raises(OperatorError, match="group g was started with other goals"):
        group_of(other)


def test_a_completed_group_is_not_run_again_with_other_settings_for_when_work_is_done(repository: Path, tmp_path: Path) -> None:
    (due,) = begin(group := group_of(request(tmp_path, 1)))
    open_loop(due, "", NOW)
    end(group, "g-1", Outcome.COMPLETED)
    other_check = request(tmp_path, 1).model_copy(update={"loops": (Link(goal="goal 1", checks=("false",)),)})
    with pytest.raises(OperatorError, match=r"(?s)group g was started .*: checks\n.*expected: .*'true'.*found: .*'false'"):
        group_of(other_check)
    with pytest.raises(OperatorError, match="for when work is done: completion\n"):
        group_of(request(tmp_path, 1, settings={"completion": {"required_tests": ["test_a"]}}))
    group_of(request(tmp_path, 1, settings={"limits": {"iterations": 3}}))  # which does not decide that


def test_a_stopped_loop_keeps_a_persons_settings_and_takes_new_ones_but_no_other_checks(repository: Path, tmp_path: Path) -> None:
    (due,) = begin(group := group_of(request(tmp_path, 1)))
    state = open_loop(due, "", NOW)
    end(group, "g-1", Outcome.STOPPED)
    changed(group, "g-1", config=state.config.model_copy(update={"checks": config(checks=["sh check.sh"]).checks}))
    group_of(request(tmp_path, 1))  # the command that started it
    strict = {"completion": {"required_tests": ["test_a"]}}
    with pytest.raises(OperatorError, match="for when work is done: completion\n"):
        group_of(request(tmp_path, 1, settings=strict))
    group_of(request(tmp_path, 1, settings=strict, reopen=True))
    other_check = request(tmp_path, 1, reopen=True).model_copy(update={"loops": (Link(goal="goal 1", checks=("false",)),)})
    with pytest.raises(OperatorError, match="for when work is done: checks\n"):
        group_of(other_check)


@pytest.mark.feature("M8")
def test_items_with_dependencies_require_a_merge_branch_and_start_from_it(repository: Path, tmp_path: Path) -> None:
    commit(repository, "plan", {"tasks.md": "- [x] T1 [P] One\n- [ ] T2 [P] Two\n- [ ] T3 Three (needs T2)\n"})
    asked = request(tmp_path, 0, settings={"plan": {"file": "tasks.md"}, "checks": ["true"]})
    with pytest.raises(OperatorError, match=r"item T3 of tasks\.md depends on others"):
        group_of(asked)
    group = group_of(asked.model_copy(update={"settings": {**asked.settings, "merge": {"into": "main"}}}))
    (due,) = begin(group)
    main = sh(repository, "rev-parse", "main")
    assert (due.loop, due.base, due.settings["plan"]) == ("g-t2", main, {"file": "tasks.md", "item": "T2"})
    assert [one.outcome for one in group_result(group).loops] == [Outcome.COMPLETED, None, None]
    open_loop(due, "", NOW)
    end(group, "g-t2", Outcome.FAILED)
    assert begin(group) == []
    assert group_result(group).problems == ("g-t3: its prerequisites were not completed",)


@pytest.mark.feature("M8")
def test_an_item_keeps_its_identity_when_reworded_or_moved_and_a_person_s_tick_counts(repository: Path, tmp_path: Path) -> None:
    commit(repository, "plan", {"tasks.md": "- [ ] T2 [P] Two\n- [ ] T3 [P] Three\n"})
    asked = request(tmp_path, 0, settings={"plan": {"file": "tasks.md"}, "checks": ["true"], "merge": {"into": "main"}})
    group = group_of(asked)
    for due in begin(group):
        open_loop(due, "", NOW)
        end(group, due.loop, Outcome.STOPPED)
    commit(repository, "fixed", {"tasks.md": "- [x] T1 [P] New\n- [x] T2 [P] Two, said better\n- [ ] T3 [P] Three\n"})
    again = group_of(asked.model_copy(update={"reopen": True}))
    assert [one.loop for one in begin(again)] == ["g-t3"]
    assert [one.outcome for one in group_result(again).loops] == [Outcome.COMPLETED, Outcome.COMPLETED, Outcome.STOPPED]


def test_a_loop_whose_task_ended_before_its_start_is_reported(repository: Path, tmp_path: Path) -> None:
    group = group_of(request(tmp_path, 1))
    (due,) = begin(group)
    future = Future[Any]()
    group.futures[due.loop] = future
    future.set_result(None)
    assert "is it reachable?" in next_exit(group).words


def test_loops_side_by_side_do_not_work_in_the_checkout_itself(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="a worktree each"):
        group_of(request(tmp_path, settings={"workspace": {"in_place": True}}))


def test_a_group_with_a_loop_that_cannot_start_is_refused_as_a_whole(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="there is no branch gone"):
        group_of(request(tmp_path, settings={"merge": {"into": "gone"}}))


def test_groups_of_one_name_in_two_repositories_end_no_process_of_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever carries the tag of a command that is over ends with it."""
    tags: list[str] = []

    def noted(_: object, __: object, tag: str, ___: object) -> Choice:
        tags.append(tag)
        return Choice(loop="g-1", reason="the first")

    monkeypatch.setattr(gathering, "best_of", noted)
    for name in ("one", "other", "one"):
        top = tmp_path / name
        gathering.choose_loop.fn(str(top if top.exists() else make_repository(top)), "g", ())
    assert tags[0] == tags[2] != tags[1]


SECRET = "a-secret-of-the-test-0123456789"
SMALL, LARGE = "g-1", "g-2"


def says(letter: str) -> Turn:
    answer = json.dumps({"best": letter, "reason": "its tests prove more"})
    return Turn(text=answer, usage={"input_tokens": 1000, "output_tokens": 100})


@pytest.fixture
def works(tmp_path: Path) -> list[LoopState]:
    """Two works that pass: a line, and ten."""
    top = make_repository(tmp_path / "repository", {"a.py": "1\n"})
    start = sh(top, "rev-parse", "HEAD")
    wanted = config(judge={"criteria": [{"id": "stable", "text": "The order is stable."}], "model": "claude-sonnet-4-6"})
    states: list[LoopState] = []
    for loop, lines in ((SMALL, 1), (LARGE, 10)):
        sh(top, "checkout", "--quiet", "--detach", start)
        head = commit(top, loop, {f"{loop}.py": "".join(f"{loop} {line} {SECRET}\n" for line in range(lines))})
        states.append(loop_state(start, loop=loop, config=wanted, head=head))
        write_state(open_repository(top), states[-1], over=None, record=None, subject="start")
    return states


def chosen(
    works: list[LoopState], folder: Path, monkeypatch: pytest.MonkeyPatch, *answers: Turn | Raw
) -> tuple[Choice, list[str]]:
    """The choice, and the prompts that it took."""
    with JudgeApi(answers) as api, unique_tag() as tag:
        for name, value in (("ANTHROPIC_API_KEY", SECRET), ("ANTHROPIC_BASE_URL", api.url)):
            monkeypatch.setenv(name, value)
        choice = best_of(open_repository(folder / "repository"), works, tag, lambda: False)
    return choice, [asked.prompt for asked in api.requests]


def test_a_model_compares_diffs_in_both_orders_and_its_consistent_choice_wins(
    works: list[LoopState], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice, prompts = chosen(works, tmp_path, monkeypatch, says("B"), says("A"))
    assert choice.loop == LARGE
    assert "its tests prove more" in choice.reason
    assert choice.cost_usd > 0
    first, second = prompts
    assert first.index("+g-1 0") < first.index("+g-2 0")
    assert second.index("+g-2 0") < second.index("+g-1 0")
    assert "The order is stable." in first


@pytest.mark.feature("X1")
def test_no_secret_of_ours_is_shown_to_it(works: list[LoopState], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, prompts = chosen(works, tmp_path, monkeypatch, says("A"), says("B"))
    assert all("+g-1 0" in prompt and SECRET not in prompt for prompt in prompts)


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ((says("A"), says("A")), "depends on the order"),
        ((says("B"), Fault(status=400, error_message="no credit", headers={"x-should-retry": "false"})), "no model chose"),
    ],
)
def test_rules_decide_without_a_consistent_choice_of_the_model(
    works: list[LoopState], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: tuple[Turn, Turn], why: str
) -> None:
    choice, _ = chosen(works, tmp_path, monkeypatch, *answers)
    assert choice.loop == SMALL
    assert why in choice.reason
    assert "1 line changed in 1 file" in choice.reason
    assert choice.cost_usd > 0


def test_without_criteria_no_model_is_asked(works: list[LoopState], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = [state.model_copy(update={"config": config()}) for state in works]
    choice, prompts = chosen(plain, tmp_path, monkeypatch, says("B"))
    assert (choice.loop, prompts, choice.cost_usd) == (SMALL, [], 0.0)
