"""What proves that the work is done, and what becomes of a request without proof."""

from typing import Any

import pytest

from helmsman.oversee.answers import apply_answer
from helmsman.oversee.decide import decide
from helmsman.oversee.gates import due_gate
from helmsman.oversee.summary import with_baseline
from helmsman.records.advance import end, untested_checks
from helmsman.records.agent import Change, Execution, Survivor
from helmsman.records.checks import Finding, TestCounts, TrustedRun, Weight
from helmsman.records.claims import Contradiction, StatusReport
from helmsman.records.decision import Outcome
from helmsman.records.gates import Answer, Choice, GateKind
from helmsman.records.plan import CurrentItem, PlanItem, PlanProgress
from helmsman.records.proof import WAIVABLE_RULES, DoneSignals, Proof, SinceStart
from helmsman.records.state import LoopState
from helmsman.verify.completion import (
    NOT_BY_WORK,
    ONLY_CHANGED,
    UNCHANGED,
    UNPROVEN,
    criteria_of_doubts,
    prove,
    required_tests,
    rests_on_start_alone,
)
from helmsman.verify.new_tests import NO_NEW_TEST, asks_for_tests, failures_on_start, may_be_done, needs_test, select_overlay
from helmsman.verify.outcomes import outcomes
from tests.unit.builders import ASKED, NOW, SILENT, call, check, config, evidence, report, situation, state

pytestmark = pytest.mark.feature("V9")

GREEN, RED = report(check(passed=True)), report(check(passed=False))
SAME, SILENT_WORK, SHOWN = (
    SinceStart(unchanged=True),
    SinceStart(needs_test=True),
    SinceStart(needs_test=True, failing=("pytest",)),
)
EMPTY = SinceStart(without_test=("pytest",))
NO_TEST = {"counts": {"skipped": 2}}
JUDGED = config(judge={"criteria": ["it is done"]})
HAND = CurrentItem(item=PlanItem(id="T1", title="one"), remaining=1)


def claim(since: SinceStart, **done: int) -> Any:
    return situation(state=state(done=DoneSignals.model_validate(done)), checks=GREEN, claims=ASKED, since_start=since)


@pytest.mark.parametrize(
    ("since", "done", "outcome", "words"),
    [
        (SAME, {}, None, UNCHANGED),
        (SAME, {"unproven": 1}, None, UNCHANGED),
        (SAME, {"unchanged": 1}, Outcome.NOTHING_CHANGED, UNCHANGED),
        (SILENT_WORK, {}, None, UNPROVEN),
        (SILENT_WORK, {"unproven": 1}, Outcome.UNPROVEN, UNPROVEN),
        (SHOWN, {}, Outcome.COMPLETED, "its new tests fail without the work"),
        (SinceStart(), {}, Outcome.COMPLETED, "every check passes"),
        (EMPTY, {"unproven": 1}, Outcome.UNPROVEN, "no test ran in pytest"),
    ],
)
def test_the_second_request_without_proof_ends_the_loop(
    since: SinceStart, done: dict[str, int], outcome: Outcome | None, words: str
) -> None:
    decision = decide(claim(since, **done))
    assert (decision.outcome, decision.kind) == (outcome, "stop" if outcome else "continue")
    assert words in decision.reason


def test_no_question_if_a_finding_blocks() -> None:
    found = Finding(rule="trusted.expectations", weight=Weight.BLOCK, path="check.sh", message="it was changed", honest="")
    asked = {"state": state(done=DoneSignals(unproven=1)), "checks": GREEN, "claims": ASKED, "findings": (found,)}
    assert decide(situation(**asked, since_start=EMPTY)).outcome is None


@pytest.mark.feature("V19")
def test_completion_names_its_grounds_and_gaps() -> None:
    plain = decide(claim(SHOWN)).grounds
    assert plain
    assert plain.rests_on[0] == "`pytest` on the work in a clean checkout: the check passes"
    assert plain.rests_on[1:] == (
        "the start's tests on the work's source: not run, no test or setting of the start was changed",
        "the work's tests on the start's source: not run, no test was added or changed",
    )
    assert any("no judge was asked" in line for line in plain.not_looked_at)
    copy = TrustedRun(put_back=("tests/test_a.py",), report=GREEN)
    rested = decide(claim(SHOWN.model_copy(update={"tests_of_start": copy, "on_start": RED}))).grounds
    assert rested
    assert rested.rests_on[1:] == (
        "the start's tests and settings on the work's source (tests/test_a.py): the check passes",
        "the work's tests on the start's source: the check fails",
    )
    assert decide(claim(SILENT_WORK)).grounds is None


@pytest.mark.parametrize(
    ("known", "fields", "due"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"config": JUDGED}, False),
        (True, {"plan": PlanProgress(ticked={"T1": 1}), "hand": CurrentItem()}, False),
        (True, {"plan": PlanProgress(), "hand": CurrentItem()}, True),
        (True, {"plan": PlanProgress(), "hand": HAND}, False),
    ],
)
def test_a_new_test_is_needed_if_all_passed_at_the_start(*, known: bool | None, fields: dict[str, Any], due: bool) -> None:
    hand = fields.get("hand")
    of = state(green_at_start=known, **{name: value for name, value in fields.items() if name != "hand"})
    assert needs_test(of, evidence(of, checks=GREEN, plan=hand)) is due


@pytest.mark.feature("V16")
@pytest.mark.parametrize(("goal", "outcome"), [("Fix it.", Outcome.COMPLETED), ("Fix it and add a regression test.", None)])
def test_a_new_test_must_fail_on_the_start_only_if_the_goal_asks_for_tests(goal: str, outcome: Outcome | None) -> None:
    """What was red before fails there in any case, so it shows no new test."""
    of, old, new = config(goal=goal), "tests/test_a.py::test_old", "tests/test_a.py::test_new"
    for failing, expected in (((old,), outcome), ((old, new), Outcome.COMPLETED)):
        on_start = report(check(passed=False, counts=TestCounts(failed=len(failing), failing=failing)))
        table = outcomes(GREEN, TrustedRun(), {old}, goal, of.invariants, on_start).table
        known = state(config=of, green_at_start=False)
        needed = needs_test(known, evidence(known, checks=GREEN))
        since = SinceStart(needs_test=needed, failing=("pytest",), tests=failing, table=table)
        decided = decide(situation(state=known, checks=GREEN, claims=ASKED, since_start=since))
        assert decided.outcome is expected
        assert (NO_NEW_TEST in decided.reason) is (expected is None)


@pytest.mark.feature("V16")
@pytest.mark.parametrize(
    ("goal", "asks"),
    [
        ("Fix the bug and add a regression test", True),
        ("Add a test suite for the parser", True),
        ("Implement x. Include unit tests.", True),
        ("Fix it. Don't add tests, they exist.", False),
        ("Do not write any tests; just fix it", False),
        ("Create a test server for staging", False),
        ("Write a test data generator", False),
    ],
)
def test_a_goal_asks_for_tests_only_in_so_many_words(goal: str, *, asks: bool) -> None:
    assert asks_for_tests(goal) is asks


@pytest.mark.feature("V13", "V16")
def test_a_change_of_a_failing_test_that_the_goal_asks_for_must_fail_without_the_work() -> None:
    goal, test = "Update test_a to kilometres.", "tests/test_a.py::test_a"
    of, red = config(goal=goal), report(check(passed=False, counts=TestCounts(failed=1, failing=(test,))))
    trusted = TrustedRun(put_back=("tests/test_a.py",), report=red)
    for on_start, outcome in ((GREEN, None), (red, Outcome.COMPLETED)):
        table = outcomes(GREEN, trusted, {test}, goal, of.invariants, on_start).table
        decided = decide(
            situation(
                state=state(config=of, green_at_start=False), checks=GREEN, claims=ASKED, since_start=SinceStart(table=table)
            )
        )
        assert decided.outcome is outcome
        assert (ONLY_CHANGED in decided.reason) is (outcome is None)


def test_what_passes_at_the_start_by_now_proves_nothing() -> None:
    of, tests = config(), ("tests/test_a.py::test_a", "tests/test_a.py::test_b")
    for passing_now, outcome in ((tests[:1], Outcome.COMPLETED), (tests, None)):
        own = report(check(passed=True, counts={"passed": 2}))
        table = outcomes(own, TrustedRun(), set(tests).difference(passing_now), of.goal, of.invariants).table
        assert rests_on_start_alone(of, table) is (outcome is not None)
        decided = decide(claim(SinceStart(table=table, passing_now=passing_now)))
        assert decided.outcome is outcome
        assert (NOT_BY_WORK in decided.reason) is (outcome is None)


def test_an_unchecked_start_is_not_green() -> None:
    assert state().green_at_start is None
    assert [with_baseline(state(), found).green_at_start for found in (GREEN, RED)] == [True, False]


def test_checks_without_tests_passed_and_ran_none() -> None:
    cases: dict[str, tuple[bool, dict[str, int] | None, dict[str, int], tuple[str, ...], bool]] = {
        "all skipped": (True, {"skipped": 2}, {}, (), True),
        "none there": (True, {}, {}, (), True),
        "one ran": (True, {"passed": 1, "skipped": 2}, {}, (), False),
        "no runner": (True, None, {}, (), False),
        "not counted any more": (True, None, {"pytest": 3}, (), True),
        "red": (False, {"skipped": 2}, {}, (), False),
        "as at the start": (True, {"skipped": 2}, {}, ("pytest",), False),
    }
    for case, (passed, counts, most, at_start, empty) in cases.items():
        assert untested_checks(report(check(passed=passed, counts=counts)), most, at_start) == (("pytest",) if empty else ()), (
            case
        )


@pytest.mark.feature("V5")
def test_files_collected_at_the_start_are_stored() -> None:
    one = check(passed=True)
    found = report(*(one.model_copy(update={"collected": (path, "checks/a.py")}) for path in ("checks/b.py", "checks/c.py")))
    assert with_baseline(state(), found).collected_at_start == ("checks/b.py", "checks/a.py", "checks/c.py")


@pytest.mark.parametrize(
    ("found", "done", "asked"),
    [
        ({"claims": ASKED}, {}, True),
        ({"claims": SILENT}, {}, False),
        ({"claims": ASKED, "checks": RED}, {}, False),
        ({"claims": SILENT}, {"test_only_in_row": 2}, True),
        ({"claims": SILENT, "plan": HAND}, {}, True),
    ],
)
def test_work_is_compared_with_the_start_only_if_it_may_be_done(
    *, found: dict[str, Any], done: dict[str, int], asked: bool
) -> None:
    of = state(done=DoneSignals.model_validate(done))
    assert may_be_done(of, evidence(of, **{"checks": GREEN, **found})) is asked


@pytest.mark.feature("V16")
def test_only_tests_and_their_support_are_copied_onto_the_start() -> None:
    tests = (
        "tests/test_a.py",
        "tests/data.json",
        "src/a.test.ts",
        "pkg/a_test.go",
        "check_test.sh",
        "t/stars.t",
        "StarsSpec.hs",
        "cli-test.exp",
        "cli.spec",
        "kept/rules.txt",
    )
    sources = ("src/a.py", "src/spec.py", "contest.sh", "README.md", "src/latest.c")
    of = config(invariants={"trusted": ["kept/**"]})
    assert select_overlay((*tests, *sources), of) == tests


@pytest.mark.feature("V16")
@pytest.mark.parametrize(
    ("work", "start", "shown"),
    [
        (
            {"passed": True},
            {"passed": False, "counts": {"passed": 1, "failed": 1, "failing": ["test_b"]}},
            (("pytest",), ("test_b",)),
        ),
        ({"passed": True}, {"passed": True}, ((), ())),
        ({"passed": True, **NO_TEST}, {"passed": False}, ((), ())),
        ({"passed": False}, {"passed": False}, ((), ())),
        ({"passed": True}, {"passed": False, "timed_out": True}, ((), ())),
        ({"passed": True}, {"passed": False, "flaky": ["pytest"]}, ((), ())),
    ],
)
def test_a_check_proves_the_work_if_it_reliably_fails_on_the_start(
    work: dict[str, Any], start: dict[str, Any], shown: tuple[tuple[str, ...], tuple[str, ...]]
) -> None:
    assert failures_on_start(report(check(**work)), report(check(name="pytest (new tests on the old source)", **start))) == shown


def ended(outcome: Outcome) -> LoopState:
    return end(state(iteration=2), decide(claim(SILENT_WORK, unproven=1)).model_copy(update={"outcome": outcome}), NOW)


@pytest.mark.feature("H1")
def test_a_person_may_accept_unproven_work() -> None:
    state = ended(Outcome.UNPROVEN)
    gate = due_gate(state, NOW)
    assert gate is not None
    assert gate.kind is GateKind.UNPROVEN
    asked = state.model_copy(update={"gate": gate, "gates_asked": 1})
    after = {
        choice: apply_answer(asked, Answer(gate=gate.key, kind=gate.kind, choice=choice, via="engine", at=NOW), NOW)
        for choice in gate.choices
    }
    assert {choice: one.outcome for choice, one in after.items() if choice is not Choice.TAKE_OVER} == {
        Choice.ACCEPT: Outcome.COMPLETED, Choice.APPROVE: None, Choice.STOP: Outcome.UNPROVEN,
    }  # fmt: skip
    assert due_gate(after[Choice.STOP], NOW) is None
    assert after[Choice.APPROVE].done == DoneSignals()
    assert due_gate(ended(Outcome.NOTHING_CHANGED), NOW) is None


GREEN_REPORT = report(check(passed=True))
RED_REPORT = report(check(passed=False))
BLOCKING = Finding(
    rule="tests.deleted", weight=Weight.BLOCK, path="tests/a.py", line=3, message="test_a was deleted", honest="keep it"
)
UNTRUE = Contradiction(layer="contradiction", said="I changed b.py", found="git shows no change in b.py", source="last message")


def changed(*files: str) -> Execution:
    change = Change(start="b" * 40, commit="c" * 40, tree="d" * 40, files=files, files_changed=len(files))
    return Execution(call=call(), change=change)


def proof(before: DoneSignals | None = None, sections: dict[str, Any] | None = None, **found: Any) -> Proof:
    of = config(**(sections or {}))
    return prove(of, before or DoneSignals(), evidence(state(of), **{"checks": GREEN_REPORT, "claims": ASKED, **found}))


def rules(of: Proof) -> list[str]:
    return [denial.rule for denial in of.denied]


def test_a_request_with_passing_checks_and_no_denial_suffices() -> None:
    assert proof().open


@pytest.mark.parametrize("found", [{"claims": SILENT}, {"checks": RED_REPORT}, {"checks": None}, {"checks": report()}])
def test_nothing_is_done_without_a_request_and_passing_checks(found: dict[str, Any]) -> None:
    assert not proof(**found).open


@pytest.mark.feature("V5")
def test_blocking_findings_are_named_with_their_location() -> None:
    denied = proof(findings=(BLOCKING,))
    assert (rules(denied), denied.open) == (["invariants"], False)
    assert "test_a was deleted (tests.deleted, tests/a.py:3)" in denied.objections


@pytest.mark.feature("V5")
def test_leftover_processes_of_the_agent_deny_completion() -> None:
    left = (Survivor(pid=42, started=1.5, name="python3"), Survivor(pid=43, started=0, name="unknown processes"))
    denied = proof(execution=Execution(call=call().model_copy(update={"survivors": left}), change=changed().change))
    assert (rules(denied), denied.open) == (["processes"], False)
    assert denied.objections == "processes that the agent started are still running: python3 (pid 42), unknown processes"


@pytest.mark.feature("V6")
def test_statements_of_the_agent_never_deny_completion() -> None:
    assert proof(contradictions=(UNTRUE,), claims=ASKED.model_copy(update={"status": StatusReport(tests_status="failing")})).open


@pytest.mark.feature("V10")
def test_a_required_test_must_have_run() -> None:
    sections = {"completion": {"required_tests": ["test_a", "test_b"]}}
    ran = report(check(passed=True, ran=("test_a",)))
    denied = proof(sections=sections, checks=ran)
    assert (rules(denied), denied.objections) == (["required_tests"], "required tests did not run: test_b")
    both = report(check(passed=True, ran=("test_a",)), check(passed=True, ran=("test_b",)))
    assert proof(sections=sections, checks=both).open


@pytest.mark.feature("V10")
def test_tests_named_by_criteria_are_required() -> None:
    sections: dict[str, Any] = {
        "completion": {"required_tests": ["test_a"]},
        "judge": {"criteria": [{"text": "x", "tests": ["test_b", "test_a"]}]},
    }
    assert required_tests(config(**sections)) == ("test_a", "test_b")


@pytest.mark.parametrize(("indicators", "opens"), [((), False), ((True,), True), ((True, False, False, False, False), False)])
def test_the_dual_gate_needs_two_indicators_in_the_last_five(indicators: tuple[bool, ...], opens: bool) -> None:
    before = DoneSignals(indicators=indicators)
    assert proof(before, sections={"completion": {"indicators": 2}}).open is opens


def test_three_test_only_iterations_are_a_request() -> None:
    before = DoneSignals(test_only_in_row=2)
    saturated = proof(before, claims=SILENT, execution=changed("tests/test_a.py", "tests/test_b.py"))
    assert (saturated.open, saturated.how) == (True, "the last 3 iterations changed nothing but tests")


def test_without_checks_the_proof_is_empty_if_the_operator_agreed() -> None:
    assert proof(sections={"checks": ()}, checks=report()).open
    assert not proof(sections={"checks": ()}, checks=None).open


@pytest.mark.feature("V14")
def test_a_failing_hidden_check_denies_completion() -> None:
    seen = (check(passed=True), check(passed=False, name="against the table", head="expected 9"))
    denied = proof(hidden=tuple(one.for_agent for one in seen))
    assert (rules(denied), denied.open, denied.objections) == (["hidden"], False, "a hidden check fails: against the table")
    assert proof(hidden=seen[:1]).open


@pytest.mark.feature("V15")
def test_suspected_lookups_are_a_question_for_the_judge_or_a_person() -> None:
    found = SinceStart(looked_up=("area returns None for each of 9 inputs near those of its tests: area(1, 2)",))
    denied = proof(since_start=found)
    assert (rules(denied), denied.refusing_rules <= WAIVABLE_RULES) == (["looked_up"], True)
    judged = {"judge": {"criteria": ("it works",)}}
    assert proof(sections=judged, since_start=found).open
    (criterion,) = criteria_of_doubts((), found.looked_up)
    assert found.looked_up[0] in criterion.text


@pytest.mark.feature("V16")
def test_a_check_that_cannot_fail_denies_completion_even_with_a_judge() -> None:
    denied = proof(sections={"judge": {"criteria": ("it works",)}}, since_start=SinceStart(cannot_fail=("pytest",)))
    assert (rules(denied), denied.refusing_rules <= WAIVABLE_RULES) == (["unproven"], True)
    assert "so they prove nothing: pytest" in denied.objections
    assert proof(since_start=SinceStart(cannot_fail=())).open
