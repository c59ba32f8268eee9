"""Whether an item of a plan is proven, what follows where it is not, and how a loop's standing with its plan moves on."""

from typing import Any

import pytest

from helmsman.orient.brief import brief
from helmsman.orient.hats import scene_of
from helmsman.oversee.answers import apply_answer
from helmsman.oversee.decide import Situation, decide
from helmsman.oversee.gates import due_gate
from helmsman.oversee.progress import progress_of
from helmsman.oversee.summary import summarize, with_baseline
from helmsman.parsers.plan_order import is_named_by, noted_item, refers_to
from helmsman.records.advance import advance, reopen
from helmsman.records.agent import AgentOutcome
from helmsman.records.checks import CriterionVerdict, Finding, Judgement, JudgementOutcome, TestCounts, Weight
from helmsman.records.claims import Claim, Claims, Contradiction, StatusReport
from helmsman.records.control import IterationSummary, Movement, RolledBack
from helmsman.records.decision import Outcome
from helmsman.records.gates import Answer, Choice
from helmsman.records.iteration import Evidence
from helmsman.records.plan import CurrentItem, ItemProof, ItemSketch, PlanEdit, PlanItem, PlanProgress, Tick
from helmsman.records.proof import SinceStart
from helmsman.records.state import LoopState
from helmsman.verify.completion import CANNOT_FAIL, NO_EVIDENCE, apply_judgement, criterion_of, prove, prove_item
from tests.unit import builders
from tests.unit.builders import NOW

pytestmark = pytest.mark.feature("M8")

FILE = {"file": "plan.toml"}
GREEN = builders.report(builders.check(passed=True))
RED = builders.report(builders.check(passed=False))
CHECKED = PlanItem(id="T001", title="Write the parser", check="make parser")
PLAIN = PlanItem(id="T001", title="Write the parser")
LOOKS = PlanItem(id="T001", title="Look at the parser", verify=True)
NOTED = Claims(claims=(Claim(kind="item_done", subject="T001: the parser", said="T001", source="progress.md"),))


NAMED = SinceStart(tests=("tests/test_parser.py::test_t001_reads",))
UNSHOWN = "nothing shows that it is done: add a test that names `T001`"


def own(*, passed: bool, **fields: Any) -> Any:
    return builders.report(builders.check(passed=passed, command="make parser", name="make parser", **fields))


def hand(item: PlanItem = PLAIN, **fields: Any) -> CurrentItem:
    sketch = (ItemSketch(id=item.id, title=item.title), ItemSketch(id="T002", title="Print"))
    left = {"left": (item.id, "T002"), "remaining": 2, "next": "T002", "total": 2, "sketch": sketch}
    return CurrentItem.model_validate({"item": item, **left, **fields})


def loop(**fields: Any) -> LoopState:
    return builders.state(builders.config(plan=fields.pop("plan_config", FILE)), **fields)


def found(item: PlanItem, *, changed: int = 1, **fields: Any) -> Evidence:
    execution = fields.pop("execution", builders.execution(files_changed=changed))
    return Evidence.model_validate({"execution": execution, "checks": GREEN, "plan": hand(item), **fields})


def missing(item: PlanItem, before: LoopState | None = None, **fields: Any) -> str:
    proof = prove_item(before or loop(), found(item, **fields))
    assert proof is not None
    assert proof.proven == (not proof.missing)
    return proof.why


EARLIER = builders.check(passed=False, command="make lexer", name="make lexer")
FINDING = Finding(rule="tests.deleted", weight=Weight.BLOCK, path="a.py", line=1, message="a test is gone", honest="put it back")
LIE = Contradiction(layer="contradiction", said="all pass", found="1 fails", source="last message")


def test_items_are_proven_by_their_check_or_a_test_never_by_a_claim() -> None:
    cases: list[tuple[PlanItem, dict[str, Any], str]] = [
        (CHECKED, {"own": own(passed=True)}, ""),
        (CHECKED, {"own": own(passed=False), "claims": NOTED}, "its check fails (exit code 1): make parser"),
        (CHECKED, {"own": None}, "its check was not run"),
        (
            CHECKED,
            {"own": builders.report(*own(passed=True).results, EARLIER)},
            "checks of items that are ticked fail now: make lexer",
        ),
        (CHECKED, {"own": own(passed=True, counts=TestCounts(skipped=1))}, "no test ran in its check: make parser"),
        (CHECKED, {"own": own(passed=True), "findings": (FINDING,)}, "a test is gone"),
        (CHECKED, {"own": own(passed=True), "contradictions": (LIE,)}, ""),
        (CHECKED, {"own": own(passed=True), "checks": None}, "so nothing was checked"),
        (PLAIN, {"since_start": NAMED}, ""),
        (PLAIN, {"since_start": NAMED, "changed": 0}, "no change was made for it"),
        (PLAIN, {"since_start": SinceStart(tests=("tests/test_a.py::test_t002",))}, UNSHOWN),
        (PLAIN, {}, UNSHOWN),
        (PLAIN, {"claims": Claims(status=StatusReport(tasks_completed=1))}, UNSHOWN),
        (PLAIN, {"claims": NOTED}, NO_EVIDENCE),
        (PLAIN, {"claims": builders.ASKED}, NO_EVIDENCE),
        (LOOKS, {"claims": NOTED, "changed": 0}, NO_EVIDENCE),
    ]
    for item, fields, why in cases:
        said = missing(item, **fields)
        assert why in said if why else not said


def test_a_newly_passing_test_that_names_the_item_proves_it() -> None:
    test = "tests/test_a.py::TestT001::test_parses"
    failing = builders.report(builders.check(passed=False, counts=TestCounts(failed=1, failing=(test,))))
    assert not missing(PLAIN, with_baseline(loop(), failing))
    # failing in between shows nothing: the agent may have written the test to fail
    assert UNSHOWN in missing(PLAIN, loop(checks=failing))


def test_an_item_check_that_needs_only_its_new_tests_shows_nothing() -> None:
    vacuous: dict[str, Any] = {"own": own(passed=True), "own_cannot_fail": True}
    assert missing(CHECKED, **vacuous) == CANNOT_FAIL
    assert not missing(CHECKED, **vacuous, since_start=NAMED)


def test_items_with_a_check_are_proven_despite_earlier_failures() -> None:
    """Checks of the whole are often red until its last item; what was green must stay so."""
    failing = builders.check(passed=False, counts=TestCounts(passed=3, failed=2))
    before, less = (
        loop(checks=builders.report(failing)),
        builders.report(failing.model_copy(update={"counts": TestCounts(passed=4, failed=1)})),
    )
    more = builders.report(failing.model_copy(update={"counts": TestCounts(passed=2, failed=3)}))
    assert not missing(CHECKED, before, own=own(passed=True), checks=less)
    assert "made checks worse" in missing(CHECKED, before, own=own(passed=True), checks=more)
    assert "made checks worse" in missing(CHECKED, loop(checks=GREEN), own=own(passed=True), checks=RED)
    assert "the check fails" in missing(CHECKED, loop(), own=own(passed=True), checks=RED)


def test_failures_caused_by_an_iteration_are_not_excused_in_the_next() -> None:
    begun = with_baseline(loop(plan=PlanProgress(total=2, now="T001")), GREEN)
    broke = with_proof(begun, found(CHECKED, own=own(passed=False), checks=RED))
    after = advance(begun, builders.record(**dict(broke)))
    assert after.checks == RED
    assert "made checks worse: pytest" in missing(CHECKED, after, own=own(passed=True), checks=RED)
    assert not missing(CHECKED, after, own=own(passed=True))
    won = advance(after, builders.record(**dict(with_proof(after, found(CHECKED, own=own(passed=True)))), tick=TICK))
    assert won.plan.floor == {GREEN.results[0].command: 0}


def test_lines_refer_to_the_item_that_they_begin_with() -> None:
    for said, name, title, meant in [
        ("T002: dates are printed", "T002", "Print dates", True),
        ("[x] `T002`: done", "T002", "Print dates", True),
        ("T001: dates are read; T002 is next", "T002", "Print dates", False),
        ("1.2.1: another", "1.2", "Guide", False),
        ("2 tests were added", "2", "Print dates", False),
        ("Print dates, as ISO says", "print-dates", "Print dates", True),
        ("Reading and print dates", "print-dates", "Print dates", False),
    ]:
        assert refers_to(said, name, title) is meant


def test_only_notes_since_the_item_became_current_count() -> None:
    sketch = (ItemSketch(id="T001", title="Write the parser"),)
    plan = PlanProgress(now="T001", sketch=sketch)
    line = "T001: the parser"
    assert noted_item(plan, [], [line]) == "T001"
    assert noted_item(plan, [line], [line]) == ""
    assert noted_item(plan, [line], [line, line]) == "T001"
    red = with_proof(loop(plan=plan), found(PLAIN, noted="T001", checks=RED))
    tried = advance(loop(plan=plan), builders.record(**dict(red)))
    assert tried.plan.noted
    assert missing(PLAIN, tried) == NO_EVIDENCE
    assert "the line `T001: done` to the notes" in missing(PLAIN, loop(plan=PlanProgress(now="T002", noted=True)))


def test_nothing_is_proven_in_an_iteration_that_regenerates_the_plan() -> None:
    execution = builders.execution().model_copy(update={"plan": PlanEdit(kept=True, why="anew")})
    proof = prove_item(loop(), found(PLAIN, claims=NOTED, execution=execution))
    assert proof is not None
    assert (proof.proven, proof.tried) == (False, False)
    tried = loop(plan=PlanProgress(now="T001", tries={"T001": 4}))
    evidence = with_proof(tried, found(PLAIN, claims=NOTED, execution=execution))
    assert advance(tried, builders.record(**dict(evidence))).plan.tries == {}


def test_the_judge_decides_on_items_without_other_proof() -> None:
    judge = builders.config(judge={"criteria": ("it is good",)}).judge
    wanted = PLAIN.model_copy(update={"acceptance": ("dates are read",)})
    criterion = criterion_of(wanted, judge)
    assert criterion is not None
    assert criterion.id == "plan.T001"
    assert "Write the parser\n- dates are read" in criterion.text
    assert criterion_of(PLAIN, builders.config().judge) is None
    proof = ItemProof(item="T001", missing=(NO_EVIDENCE,), needs_word=True)
    for met in (True, False):
        verdict = CriterionVerdict(criterion="plan.T001", met=met, votes_met=0, votes_cast=1, reason="no dates")
        outcome = JudgementOutcome.APPROVED if met else JudgementOutcome.REJECTED
        after = apply_judgement(proof, criterion, Judgement(outcome=outcome, cause="", criteria=(verdict,)))
        assert (after.proven, after.needs_word) == (met, False)
        assert ("no dates" in after.why) is not met


def with_proof(before: LoopState, evidence: Evidence) -> Evidence:
    evidence = evidence.model_copy(update={"item": prove_item(before, evidence)})
    return evidence.model_copy(update={"proof": prove(before.config, before.done, evidence)})


def decided(before: LoopState, evidence: Evidence) -> Any:
    return decide(Situation(before, with_proof(before, evidence), (), builders.NOW))


def test_a_loop_completes_when_every_item_is_proven() -> None:
    one_left = found(CHECKED, own=own(passed=True), claims=builders.ASKED)
    decision = decided(loop(), one_left)
    assert decision.kind == "continue"
    assert "items of plan.toml are not proven (1): T002" in decision.reason
    last = hand(CHECKED, total=2, done=1, left=("T001",), remaining=1, next="")
    decision = decided(loop(), found(CHECKED, own=own(passed=True)).model_copy(update={"plan": last}))
    assert (decision.outcome, decision.rule) == (Outcome.COMPLETED, "completion.verified")
    assert decision.reason.startswith("every item of the plan is ticked and every check passes")


def test_the_last_try_asks_a_person() -> None:
    before = loop(plan=PlanProgress(now="T001", total=2, tries={"T001": 4}))
    evidence = with_proof(before, found(CHECKED, own=own(passed=False)))
    decision = decide(Situation(before, evidence, (), builders.NOW))
    assert (decision.rule, decision.outcome) == ("plan.tries", Outcome.WAITING)
    for part in ("5 iterations", "T001 (Write the parser)", "make parser", "allows 5 more iterations"):
        assert part in decision.reason
    record = builders.record(decision, **dict(evidence))
    after = advance(before, record)
    gate = due_gate(after, builders.NOW)
    assert gate is not None
    assert gate.question == "Item T001 of the plan was tried 5 times without success. How should it continue?"
    assert reopen(after, after.config, builders.NOW).plan.tries == {}


def test_a_tick_is_progress_without_changed_checks_or_files() -> None:
    """The tree that it began with counts its items too, or the first iteration of every plan would look like a loss."""
    start = with_baseline(loop(plan=PlanProgress(total=2, now="T001")), GREEN)
    assert start.oversight.progress.items == 0
    ticked, missed = (with_proof(start, found(CHECKED, changed=0, own=own(passed=passed))) for passed in (True, False))
    moved = [summarize(start, one, progress_of(one, start.oversight.progress, {}), NOW, NOW).movement for one in (ticked, missed)]
    assert moved == [Movement.FORWARD, Movement.STILL]


@pytest.mark.feature("M10")
def test_the_current_item_may_choose_the_hat() -> None:
    sketch = (ItemSketch(id="T001", title="Look", done=True), ItemSketch(id="T002", title="See", verify=True, parallel=True))
    assert scene_of(loop(plan=PlanProgress(now="T002", sketch=sketch))).item == "[VERIFY] [P] See"
    assert scene_of(loop(plan=PlanProgress(now="T001", sketch=sketch))).item == ""


TICK = Tick(item="T001", commit="e" * 40, tree="f" * 40)


def test_a_tick_advances_to_its_commit_and_the_next_item() -> None:
    before = loop(plan=PlanProgress(now="T001", tries={"T001": 2}, missing="x", changed=True))
    evidence = with_proof(before, found(CHECKED, own=own(passed=True)))
    after = advance(before, builders.record(**dict(evidence), tick=TICK))
    assert after.head == TICK.commit
    plan = after.plan
    assert (plan.now, plan.done, plan.tries, plan.missing, plan.changed, plan.ticked) == ("T002", 1, {}, "", False, {"T001": 1})
    assert [one.done for one in plan.sketch] == [True, False]


def test_without_a_tick_the_try_and_its_gaps_are_stored() -> None:
    evidence = with_proof(loop(), found(CHECKED, own=own(passed=False)))
    plan = advance(loop(), builders.record(**dict(evidence))).plan
    assert (plan.now, plan.tries, plan.changed, plan.tried) == ("T001", {"T001": 1}, True, 1)
    assert "make parser" in plan.missing
    assert plan.own is not None


def test_reverted_work_loses_its_tick() -> None:
    back = RolledBack(iteration=2, ref="r", commit="c" * 40, back_to="b" * 40, why="worse")
    before = loop(plan=PlanProgress(now="T002", done=1, total=2, ticked={"T001": 1}), iteration=1, history=(moment(1, "c" * 40),))
    evidence = with_proof(before, found(PLAIN.model_copy(update={"id": "T002"})).model_copy(update={"plan": hand(PLAIN, done=1)}))
    after = advance(before, builders.record(**dict(evidence), iteration=2, failed=back, moment=moment(2, "c" * 40)))
    assert after.plan.ticked == {}
    assert after.plan.done == 0


def moment(iteration: int, commit: str) -> Any:
    known = {"iteration": iteration, "at": builders.NOW, "outcome": AgentOutcome.FINISHED, "movement": Movement.SIDEWAYS}
    return IterationSummary.model_validate({**known, "completion": 0.1, "commit": commit})


# --- what the agent is told -----------------------------------------------------------------------------------------


def prompt_for(item: PlanItem, before: LoopState | None = None, **fields: Any) -> str:
    return brief(before or loop(), builders.orientation(plan=hand(item, **fields))).prompt


def test_the_prompt_holds_exactly_the_item_in_hand_with_what_proves_it() -> None:
    text = brief(loop(), builders.orientation(plan=hand(CHECKED))).prompt
    for part in (
        "T001 of `plan.toml`",
        "0 of 2 items are done",
        "make parser",
        "The loop ticks it in `plan.toml`",
        "followed by 1 other.",
    ):
        assert part in text
    assert "T002" not in text
    assert "plan.toml" not in brief(builders.state(), builders.orientation()).prompt


def test_it_is_told_of_the_claim_that_is_needed_of_verifying_and_of_the_last_item() -> None:
    assert "a line `T001: done` into your notes" in prompt_for(PLAIN)
    assert "It asks for verification" in prompt_for(LOOKS)
    assert "When it is done, end with `CONTINUE: `: other items remain" in prompt_for(PLAIN)
    assert "It is the last item" in prompt_for(PLAIN, remaining=1)
    assert "Every item of `plan.toml`" in brief(loop(), builders.orientation(plan=CurrentItem(total=2, done=2))).prompt


def test_it_is_told_how_often_it_was_tried_what_was_missing_and_what_its_check_printed() -> None:
    result = own(passed=False, head="line 7: no dates").results[0]
    before = loop(plan=PlanProgress(now="T001", tries={"T001": 2}, missing="its check fails", own=result))
    assert "2 of 5 iterations were spent on it" in prompt_for(CHECKED, before)
    assert "line 7: no dates" in brief(before, builders.orientation(plan=hand(CHECKED))).prompt
    assert "line 7: no dates" not in prompt_for(PLAIN, before)


@pytest.mark.feature("M9")
def test_only_where_its_way_has_failed_it_may_make_the_plan_anew_and_a_change_that_was_put_back_is_told() -> None:
    assert "may be changed in this iteration" not in prompt_for(PLAIN)
    assert "may be changed in this iteration" in prompt_for(PLAIN, anew=True)
    touched = loop(plan=PlanProgress(touched=PlanEdit(why="nobody asked")))
    assert "was changed and reverted: nobody asked" in prompt_for(PLAIN, touched)


@pytest.mark.parametrize(
    ("test", "name", "title", "named"),
    [
        ("tests/test_login.py::test_us_001_login", "US-001", "Log in", True),
        ("testUS001Login", "US-001", "Log in", True),
        ("test_us_0011", "US-001", "Log in", False),
        ("test_log_in_now", "US-001", "Log in now", True),
        ("test1", "T1", "Write", False),
        ("test_1_2", "1.2", "Write dates", False),
        ("test_print_dates", "print-dates", "Print dates", True),
    ],
)
def test_tests_name_items_by_id_or_title(test: str, name: str, title: str, *, named: bool) -> None:
    assert is_named_by(test, name, title) is named


def test_a_person_decides_on_items_that_only_the_agent_calls_done() -> None:
    before = loop(plan=PlanProgress(now="T001", total=2, tries={"T001": 1}, sketch=(ItemSketch(id="T001", title="Parse"),)))
    evidence = with_proof(before, found(PLAIN, claims=NOTED))
    decision = decide(Situation(before, evidence, (), NOW))
    assert (decision.rule, decision.outcome) == ("plan.person", Outcome.WAITING)
    after = advance(before, builders.record(decision, **dict(evidence)))
    gate = due_gate(after, NOW)
    assert gate is not None
    assert "T001 of the plan (Write the parser)" in gate.question
    asked = after.model_copy(update={"gate": gate})
    for done, outcome in ((0, None), (1, Outcome.COMPLETED)):
        state = asked.model_copy(update={"plan": asked.plan.model_copy(update={"done": done})})
        said = Answer(gate=gate.key, kind=gate.kind, choice=Choice.APPROVE, via="engine", at=NOW)
        ticked = apply_answer(state, said, NOW)
        assert (ticked.outcome, ticked.plan.done, ticked.plan.ticked, ticked.plan.tries) == (outcome, done + 1, {"T001": 1}, {})
    judged_one = decided(before, evidence.model_copy(update={"claims": Claims()}))
    assert judged_one.kind == "continue"
