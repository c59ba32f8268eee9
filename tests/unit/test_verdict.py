"""From outcomes to a verdict: the table of cases, and what it comes to."""

from typing import Any

import pytest

from helmsman.config.goals import InvariantsConfig
from helmsman.records.checks import CheckReport, CheckResult, Finding, Judgement, JudgementOutcome, TestCounts, TrustedRun, Weight
from helmsman.records.proof import SinceStart
from helmsman.records.verification import EXIT_STATUS, Grounds, Reason, Verdict, Verification
from helmsman.render.verification import MARK, table_lines, verification_markdown
from helmsman.verify.outcomes import Names, outcome_table, weigh_changes
from helmsman.verify.verdict import Runs, grounds, verdict
from tests.unit.builders import check, report
from tests.unit.rendered import read

pytestmark = pytest.mark.feature("V19")

FILE = "tests/test_app.py"
A, B, NEW = f"{FILE}::test_a", f"{FILE}::test_b", "tests/test_new.py::test_new"
NAMES = Names("the base", "the head")
APPROVED = Judgement(outcome=JudgementOutcome.APPROVED, cause="")


def ran(*failing: str, passing: tuple[str, ...] = (), **fields: Any) -> CheckReport:
    counts = TestCounts(passed=len(passing) or 3 - len(failing), failed=len(failing), failing=failing)
    fields = {"exit_code": 1 if failing else 0, **fields}
    return report(check(passed=not failing, counts=counts, passing=passing, **fields))


def plain(**fields: Any) -> CheckReport:
    return report(check(passed=fields.pop("passed", False), **{"exit_code": 1, **fields}))


def plain_pass() -> CheckReport:
    return report(check(passed=True, counts=TestCounts(passed=1)))


def judged(
    base: CheckReport,
    head: CheckReport,
    trusted: CheckReport | None = None,
    on_base: CheckReport | None = None,
    *,
    goal: str = "",
    **fields: Any,
) -> tuple[Verdict, list[str]]:
    copy, config = TrustedRun(put_back=(FILE,), report=trusted), fields.pop("config", InvariantsConfig())
    table = weigh_changes(outcome_table(head, base, trusted, on_base, NAMES), head, copy, goal, config)
    since = SinceStart(table=table, unchanged=fields.pop("unchanged", False))
    word, reasons = verdict(Runs(head, since, base, **fields))
    return word, [reason.rule for reason in reasons]


GREEN, GONE = ran(), report(check(passed=True, counts=TestCounts()))
LATE = report(CheckResult(name="x", command="x", passed=False, exit_code=None, seconds=1, timed_out=True))
ABSENT = plain(exit_code=127, tail="sh: 1: pytest: not found")


def test_runs_give_the_expected_verdict() -> None:
    for base, head, trusted, on_base, expected in [
        (ran(A), GREEN, None, None, ("verified", ["proven"])),
        (ran(A), GREEN, GREEN, None, ("verified", ["proven"])),
        (GREEN, GREEN, None, ran(NEW), ("verified", ["proven"])),
        (plain(), plain(passed=True, exit_code=0), None, None, ("verified", ["proven"])),
        (GREEN, GREEN, None, None, ("inconclusive", ["unproven"])),
        (GREEN, GREEN, None, GREEN, ("inconclusive", ["unproven"])),
        (ran(A), GREEN, ran(A), None, ("not_verified", ["changed_to_pass"])),
        (ran(FILE), GREEN, ran(FILE), None, ("inconclusive", ["expectations", "unproven"])),
        (GREEN, GREEN, LATE, None, ("inconclusive", ["expectations", "unproven"])),
        (GREEN, GREEN, ran(B), None, ("inconclusive", ["expectations", "unproven"])),
        (ran(A), GREEN, ran(B), None, ("inconclusive", ["expectations"])),
        (GREEN, ran(A), None, None, ("not_verified", ["broken"])),
        (ran(A, B), ran(B), None, None, ("inconclusive", ["already_red"])),
    ]:
        assert judged(base, head, trusted, on_base) == expected


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        (ABSENT, ABSENT, ("inconclusive", ["cannot_start"])),
        (GREEN, ABSENT, ("not_verified", ["broken"])),
        (GREEN, LATE, ("inconclusive", ["no_end"])),
        (LATE, GREEN, ("inconclusive", ["base_unknown"])),
        (GREEN, GONE, ("inconclusive", ["no_test_ran", "unproven"])),
        (GREEN, ran(A, flaky=(A,)), ("inconclusive", ["flaky"])),
    ],
)
def test_inconclusive_runs_never_pass(base: CheckReport, head: CheckReport, expected: tuple[Verdict, list[str]]) -> None:
    assert judged(base, head) == expected


def test_a_red_test_that_no_longer_runs_is_asked_about_whatever_else_was_fixed() -> None:
    asked = "inconclusive", ["expectations"]
    assert judged(ran(A, B), ran(passing=(B,))) == asked
    assert judged(ran(A, B), ran(passing=(B,)), ran(passing=(B,))) == asked
    assert judged(ran(A, B, passing=(NEW,)), ran(passing=(B, NEW)), ran(passing=(A, B, NEW))) == ("verified", ["proven"])
    subtests = "test_a (t.T.test_a) [x]", "test_a (t.T.test_a) (n=1)"
    assert (
        judged(report(check(passed=False, exit_code=1, counts=TestCounts(failed=2, failing=subtests))), plain_pass())[0]
        == "verified"
    )
    one_skipped = report(check(passed=True, counts=TestCounts(passed=2, skipped=1)))
    assert judged(ran(A), one_skipped)[1] == ["expectations", "unproven"]


def test_a_new_test_proves_the_change_if_its_file_does_not_load_without_it() -> None:
    head, unloaded = ran(passing=(A, "tests.test_new::test_new[x]")), ran("tests.test_new")
    for names, expected in (((), []), (("test_new",), ["tests.test_new::test_new[x]"])):
        table = outcome_table(head, ran(passing=(A,)), None, unloaded, NAMES, names)
        assert [case.name for case in table.of("proves")] == expected


def test_an_empty_change_is_inconclusive() -> None:
    assert judged(GREEN, GREEN, unchanged=True) == ("inconclusive", ["unchanged"])
    assert grounds(Runs(CheckReport(tree=""), SinceStart(unchanged=True))) == Grounds()


def test_a_judge_replaces_proof_but_does_not_excuse_broken_tests() -> None:
    assert judged(GREEN, GREEN, ran(B), judgement=APPROVED) == ("verified", ["judge"])
    assert judged(GREEN, ran(A), judgement=APPROVED)[0] == "not_verified"
    rejected = Judgement(outcome=JudgementOutcome.REJECTED, cause="c1 is not met")
    assert judged(ran(A), GREEN, judgement=rejected) == ("not_verified", ["judge"])
    undecided = Judgement(outcome=JudgementOutcome.UNDECIDED, cause="not shown")
    assert judged(ran(A), GREEN, judgement=undecided) == ("inconclusive", ["judge"])


def test_goal_and_operator_may_permit_changed_expectations() -> None:
    asked = judged(ran(A), GREEN, ran(B), goal="Update test_b to expect kilometres.")
    assert asked == ("verified", ["proven"])
    word = "tests::child"  # a plain word of the goal is no name of a test
    assert judged(ran(A), GREEN, ran(word), goal="Change the fare of a child to 200.")[0] == "inconclusive"
    assert (
        judged(ran(A), GREEN, ran(word), goal="Change the fare of a child, also in its test: update the test child.")[0]
        == "verified"
    )
    blocking = InvariantsConfig(changed_expectations="block")
    assert judged(ran(A), GREEN, ran(B), config=blocking) == ("not_verified", ["changed_to_pass"])


def test_reported_cases_are_named_changed_ones_first() -> None:
    base, head = ran(A, passing=(B, "gone")), ran(passing=(A, B, NEW))
    table = outcome_table(head, base, None, ran(passing=(A, B, NEW)), NAMES)
    told = [(case.name, case.outcome, case.consequence) for case in table.cases]
    assert told == [
        (A, "FAIL_TO_PASS", "proves"),
        (NEW, "PASS_TO_PASS", "reported"),
        ("gone", "GONE", "reported"),
        (B, "PASS_TO_PASS", "nothing"),
    ]
    assert table.unnamed == 0
    assert "does not prove the change" in table.cases[1].why


@pytest.mark.parametrize("head", [GONE, plain(passed=True, exit_code=0)], ids=["counts none", "ends before it counts"])
def test_a_failing_case_is_gone_if_no_test_ran(head: CheckReport) -> None:
    assert [case.outcome for case in outcome_table(head, ran(A), None, None, NAMES).cases] == ["GONE"]
    assert judged(ran(A), head) == ("inconclusive", ["no_test_ran", "expectations", "unproven"])
    _, reasons = verdict(Runs(head, SinceStart(table=outcome_table(head, ran(A), None, None, NAMES)), ran(A)))
    why = f"{A}: failed on the base and was not run, or was skipped, on the head"
    assert reasons[-1].why == f"no test that runs failed before; {why}"


def test_only_verified_ends_with_zero() -> None:
    assert EXIT_STATUS == {"verified": 0, "not_verified": 1, "inconclusive": 2}


@pytest.mark.feature("V16")
@pytest.mark.parametrize("fails", ["a new test", "nothing but what was red"])
def test_new_tests_must_fail_on_the_base_only_if_the_goal_asks_for_tests(fails: str) -> None:
    on_base = ran(A, NEW) if fails == "a new test" else ran(A)
    assert judged(ran(A), GREEN, None, on_base) == ("verified", ["proven"])
    asked = judged(ran(A), GREEN, None, on_base, test_asked_for=True)
    assert asked == (("verified", ["proven"]) if fails == "a new test" else ("inconclusive", ["no_new_test"]))
    assert judged(ran(A), GREEN, None, on_base, test_asked_for=True, judgement=APPROVED)[0] == "verified"


def test_changed_protected_files_are_not_verified() -> None:
    finding = Finding(rule="protected", weight=Weight.BLOCK, path="api.py", message="it was changed", honest="")
    assert judged(ran(A), GREEN, findings=(finding,)) == ("not_verified", ["invariants"])
    assert judged(ran(A), GREEN, findings=(finding.model_copy(update={"weight": Weight.HINT}),))[0] == "verified"


def test_cases_are_listed_by_consequence_and_unchanged_ones_counted() -> None:
    """However the runners named them."""
    both = ("t::same", "t::fixed", "t::reworded", "t::broken", "t::red")
    base = ran("t::red", "t::fixed", passing=("t::same", "t::broken", "t::reworded"))
    head = ran("t::red", "t::broken", passing=("t::same", "t::fixed", "t::reworded"))
    trusted = ran("t::red", "t::broken", "t::reworded", passing=("t::same", "t::fixed"))
    lines = list(table_lines(outcome_table(head, base, trusted, None, NAMES)))
    named = [name for line in lines for name in both if line.endswith(name)]
    assert named == ["t::broken", "t::reworded", "t::fixed", "t::red"]
    assert lines[-1].split() == ["PASS_TO_PASS", "1", "case"]


def test_the_comment_has_the_verdict_and_names_cannot_end_its_fence() -> None:
    name = "t::a\n```\n# done <b>"
    table = outcome_table(ran(passing=(name,)), ran(name), None, None, NAMES)
    grounds = Grounds(rests_on=("the check passes",), not_looked_at=("mutants",))
    reason = Reason(rule="x", verdict="verified", why="it <b>passes")
    found = Verification(
        verdict="verified", exit_status=0, reasons=(reason,), base="a" * 40, head="b" * 40, table=table, grounds=grounds
    )
    comment = verification_markdown(found)
    page = read(comment.partition("\n")[2])
    assert comment.startswith(f"{MARK}\n")
    assert (page.headings, page.strangers, len(page.fences)) == (["Helmsman verify: VERIFIED"], [], 1)
    assert all(words in page.fences[0] for words in ("# done <b>", "rests on   the check passes", "not seen   mutants"))
