"""The judge and a plan: what no command can prove of an item the judge is asked, by the item's own title and acceptance."""

from pathlib import Path
from typing import Any

import pytest

from deployments.demo_model import Turn
from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.claims import Claim, Claims
from helmsman.records.iteration import Evidence
from helmsman.records.plan import CurrentItem, PlanItem
from tasks.checks.judging import adjudicate
from tests.fakes.judge_api import JudgeApi
from tests.fakes.judge_questions import answer, criterion, judge_turn, undecided
from tests.fakes.repositories import LoopWork, commit, make_repository, start_loop

pytestmark = pytest.mark.feature("M8", "V7")

ITEM = PlanItem(id="T001", title="Read dates", acceptance=("a wrong date is an error with its line",))
NOTED = Claims(claims=(Claim(kind="item_done", subject="T001: dates", said="T001", source="progress.md"),))
GREEN = CheckReport(tree="t", results=(CheckResult(name="true", command="true", passed=True, exit_code=0, seconds=0),))
ASKED = NOTED.model_copy(update={"wants_to_finish": True, "how": "EXIT_SIGNAL"})


@pytest.fixture
def work(tmp_path: Path) -> LoopWork:
    begun = start_loop(make_repository(tmp_path / "top", {"app.py": "1\n"}), tmp_path / "tree")
    commit(begun.path, "dates", {"dates.py": "def read(text): ...\n"})
    judge = {"criteria": ["The whole is good"], "way": "api"}
    return begun.configured(judge=judge, plan={"file": "plan.toml"})


def verdict_on(work: LoopWork, api: JudgeApi, *, item: PlanItem = ITEM, remaining: int = 2, claims: Claims = NOTED) -> Evidence:
    left: dict[str, Any] = {"total": 3, "left": ("T001", "T002")[:remaining], "remaining": remaining}
    hand = CurrentItem.model_validate({"item": item, **left})
    evidence = Evidence(execution=work.execution(), checks=GREEN, claims=claims, plan=hand)
    return adjudicate(work.context, work.state, evidence, lambda: api.credentials, lambda _: None)


def judged(*met: tuple[str, bool]) -> Turn:
    return judge_turn(answer(*(criterion(name, met=flag) for name, flag in met)))


def test_the_judge_sees_only_the_item_in_the_middle_of_a_plan(work: LoopWork) -> None:
    with JudgeApi([judged(("plan.T001", True))]) as api:
        verdict = verdict_on(work, api)
        (request,) = api.requests
    assert verdict.item is not None
    assert (verdict.item.proven, verdict.proof.open) == (True, False)
    assert "Read dates\n- a wrong date is an error with its line" in request.prompt
    assert "The whole is good" not in request.prompt


def test_with_the_last_item_the_judge_decides_on_the_whole(work: LoopWork) -> None:
    with JudgeApi([judged(("c1", True), ("plan.T001", False)), judged(("c1", True), ("plan.T001", True))]) as api:
        rejected, approved = (verdict_on(work, api, remaining=1, claims=ASKED) for _ in range(2))
    assert [denial.rule for denial in rejected.proof.denied] == ["plan"]
    assert approved.proof.open
    assert approved.judgement is not None
    assert approved.judgement.approved


def test_undecided_items_are_for_a_person(work: LoopWork) -> None:
    with JudgeApi([judge_turn(answer(undecided("plan.T001")))]) as api:
        verdict = verdict_on(work, api)
    assert verdict.item is not None
    assert (verdict.item.proven, verdict.item.needs_word) == (False, True)
    assert verdict.item.why == "the judge cannot tell whether it is done: It is not shown."


def test_unproven_items_and_those_with_a_check_are_not_judged(work: LoopWork) -> None:
    with JudgeApi([judged(("plan.T001", True))]) as api:
        assert verdict_on(work, api, claims=Claims()).judgement is None
        assert verdict_on(work, api, item=ITEM.model_copy(update={"check": "true"})).judgement is None
        assert not api.requests
