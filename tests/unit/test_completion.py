"""What has to be true before the work is done, whoever says so."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.records.agent import Change, Execution, Survivor
from helmsman.records.checks import Finding, Weight
from helmsman.records.claims import Contradiction, StatusReport
from helmsman.records.proof import WAIVABLE_RULES, DoneSignals, Proof, SinceStart
from helmsman.verify.completion import prove, required_tests
from helmsman.verify.items import criteria_of_doubts
from tests.unit.builders import ASKED, SILENT, call, check, config, evidence, report, state

pytestmark = pytest.mark.feature("V9")

GREEN = report(check(passed=True))
RED = report(check(passed=False))
BLOCKING = Finding(
    rule="tests.deleted", weight=Weight.BLOCK, path="tests/a.py", line=3, message="test_a was deleted", honest="keep it"
)
WARNING = BLOCKING.model_copy(update={"weight": Weight.HINT})
UNTRUE = Contradiction(layer="contradiction", said="I changed b.py", found="git shows no change in b.py", source="last message")


def changed(*files: str) -> Execution:
    change = Change(start="b" * 40, commit="c" * 40, tree="d" * 40, files=files, files_changed=len(files))
    return Execution(call=call(), change=change)


def proof(before: DoneSignals | None = None, sections: dict[str, Any] | None = None, **found: Any) -> Proof:
    of = config(**(sections or {}))
    return prove(of, before or DoneSignals(), evidence(state(of), **{"checks": GREEN, "claims": ASKED, **found}))


def rules(of: Proof) -> list[str]:
    return [denial.rule for denial in of.denied]


def test_asking_under_green_checks_with_nothing_against_it_is_enough() -> None:
    assert proof().open


@pytest.mark.parametrize("found", [{"claims": SILENT}, {"checks": RED}, {"checks": None}, {"checks": report()}])
def test_without_a_request_or_with_checks_that_fail_or_did_not_run_nothing_is_done(found: dict[str, Any]) -> None:
    assert not proof(**found).open


@pytest.mark.feature("V5")
def test_a_finding_that_blocks_is_named_with_its_place() -> None:
    denied = proof(findings=(BLOCKING,))
    assert (rules(denied), denied.open) == (["invariants"], False)
    assert "test_a was deleted (tests.deleted, tests/a.py:3)" in denied.objections


@pytest.mark.feature("V5")
def test_a_process_of_the_agent_that_cannot_be_ended_stands_against_being_done() -> None:
    left = (Survivor(pid=42, started=1.5, name="python3"), Survivor(pid=43, started=0, name="unknown processes"))
    denied = proof(execution=Execution(call=call().model_copy(update={"survivors": left}), change=changed().change))
    assert (rules(denied), denied.open) == (["processes"], False)
    assert denied.objections == "processes that the agent started are still running: python3 (pid 42), unknown processes"


@pytest.mark.feature("V6")
def test_nothing_that_the_agent_says_of_its_work_stands_against_being_done() -> None:
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
def test_the_tests_that_criteria_name_are_required_as_well() -> None:
    sections: dict[str, Any] = {
        "completion": {"required_tests": ["test_a"]},
        "judge": {"criteria": [{"text": "x", "tests": ["test_b", "test_a"]}]},
    }
    assert required_tests(config(**sections)) == ("test_a", "test_b")


@pytest.mark.parametrize(("indicators", "opens"), [((), False), ((True,), True), ((True, False, False, False, False), False)])
def test_the_dual_gate_wants_two_indicators_among_the_last_five(indicators: tuple[bool, ...], opens: bool) -> None:
    before = DoneSignals(indicators=indicators)
    assert proof(before, sections={"completion": {"indicators": 2}}).open is opens


def test_three_iterations_that_change_nothing_but_tests_are_a_request() -> None:
    before = DoneSignals(test_only_in_row=2)
    saturated = proof(before, claims=SILENT, execution=changed("tests/test_a.py", "tests/test_b.py"))
    assert (saturated.open, saturated.how) == (True, "the last 3 iterations changed nothing but tests")


def test_without_checks_an_operator_who_agreed_to_that_gets_a_proof_of_nothing() -> None:
    assert proof(sections={"checks": ()}, checks=report()).open
    assert not proof(sections={"checks": ()}, checks=None).open


@given(
    asks=st.booleans(),
    checks=st.sampled_from([None, report(), RED, GREEN]),
    findings=st.sampled_from([(), (WARNING,), (BLOCKING,), (WARNING, BLOCKING)]),
    done=st.builds(DoneSignals, asked_in_row=st.integers(0, 9), test_only_in_row=st.integers(0, 9)),
)
def test_nothing_opens_the_gate_but_green_checks_without_a_blocking_finding(
    asks: bool, checks: Any, findings: Any, done: DoneSignals
) -> None:
    found = proof(done, claims=ASKED if asks else SILENT, checks=checks, findings=findings)
    if found.open:
        assert checks is GREEN
        assert BLOCKING not in findings
        assert found.asked


@pytest.mark.feature("V14")
def test_a_hidden_check_that_fails_is_named_and_denies_what_the_visible_ones_prove() -> None:
    seen = (check(passed=True), check(passed=False, name="against the table", head="expected 9"))
    denied = proof(hidden=tuple(one.for_agent for one in seen))
    assert (rules(denied), denied.open, denied.objections) == (["hidden"], False, "a hidden check fails: against the table")
    assert proof(hidden=seen[:1]).open


@pytest.mark.feature("V15")
def test_answers_that_seem_looked_up_are_asked_of_a_person_or_else_of_the_judge() -> None:
    found = SinceStart(looked_up=("area gives None for each of 9 inputs beside those of its tests: area(1, 2)",))
    denied = proof(since_start=found)
    assert (rules(denied), denied.refusing_rules <= WAIVABLE_RULES) == (["looked_up"], True)
    judged = {"judge": {"criteria": ("it works",)}}
    assert proof(sections=judged, since_start=found).open
    (criterion,) = criteria_of_doubts((), found.looked_up)
    assert found.looked_up[0] in criterion.text


@pytest.mark.feature("V16")
def test_a_check_that_passes_whatever_its_tests_expect_proves_nothing_even_to_a_judge() -> None:
    denied = proof(sections={"judge": {"criteria": ("it works",)}}, since_start=SinceStart(cannot_fail=("pytest",)))
    assert (rules(denied), denied.refusing_rules <= WAIVABLE_RULES) == (["unproven"], True)
    assert "these checks pass as well, so they show nothing: pytest" in denied.objections
    assert proof(since_start=SinceStart(cannot_fail=())).open
