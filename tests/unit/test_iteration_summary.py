"""Summaries of an iteration and of the base tree, and the quality of an iteration's feedback."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.simulation.evidence import loop_config
from bench.simulation.kinds import BY_NAME, make_profile
from bench.simulation.simulated_loop import BASE, run, start_loop
from helmsman.guardrails.context import rotation_reason
from helmsman.oversee.detectors import detect
from helmsman.oversee.progress import feedback_of
from helmsman.oversee.summary import summarize, with_baseline
from helmsman.records.agent import AgentOutcome, Change, Commit, ContextUse, Drift, ErrorVector, Execution, FailureClass, Guarded
from helmsman.records.checks import CheckReport, CheckResult, TestCounts
from helmsman.records.control import EscalationLevel, IterationSummary, Ladder, Movement, Progress
from helmsman.records.state import LoopState
from tests.unit.builders import ASKED, MINUTE, NOW, call, check, evidence, execution, report, state, usage_limited
from tests.unit.histories import BACK, SIDEWAYS, green, history, red, step

FAILED = "FAILED tests/test_a.py::test_sum - assert 3 == 4\n=== 1 failed, 4 passed in 0.02s ===\n"
TEXTS = st.text(max_size=300) | st.integers(0, 3000).map(lambda times: "x(" * times)


def summary_of(
    of: LoopState | None = None, *, history: tuple[IterationSummary, ...] = (), rung: int = 0, **fields: Any
) -> IterationSummary:
    before = of or state()
    stood = before.oversight.model_copy(update={"ladder": Ladder(rung=EscalationLevel(rung))})
    due = before.model_copy(update={"history": history, "oversight": stood})
    return summarize(due, evidence(**fields), Progress(completion=0.5), NOW - MINUTE, NOW)


@pytest.mark.feature("V4")
def test_an_iteration_is_remembered_in_numbers_and_identities() -> None:
    change = Change(
        start="b" * 40, commit="c" * 40, tree="d" * 40, commits=(Commit(id="c" * 40, subject="Add"),),
        files=("src/a.py", "src/b.py"), files_changed=2, insertions=7, deletions=3,
    )  # fmt: skip
    session = call(tools=(("Bash", 3), ("Edit", 2)), permission_denials=("WebFetch",))
    checks = report(check(passed=False, counts=TestCounts(passed=4, failed=1, failing=("test_sum",)), head=FAILED))
    made = summary_of(
        state(iteration=4, attempt=2),
        rung=1,
        execution=Execution(call=session, change=change),
        checks=checks,
        drift=Drift(deeds=4, related=1),
        claims=ASKED,
    )
    assert made.model_dump(exclude={"errors", "troubles"}) == {
        "iteration": 5, "attempt": 2, "at": NOW, "seconds": 60, "cost_usd": 0.5, "tokens": 120, "written": 20,
        "outcome": AgentOutcome.FINISHED, "movement": Movement.FORWARD, "completion": 0.5, "checked": True, "green": False,
        "start": "b" * 40, "commit": "c" * 40, "tree": "d" * 40, "files": ("src/a.py", "src/b.py"), "files_changed": 2,
        "insertions": 7, "deletions": 3, "commits": 1, "passing_tests": 4, "failing_tests": 1, "failing": ("pytest", "test_sum"),
        "tool_calls": 5, "untold": (), "denials": 1, "reverted": 0, "relevance": 0.25, "asked": True, "test_only": False,
        "undone": False, "rung": 1,
    }  # fmt: skip


@pytest.mark.feature("V4")
def test_a_failing_check_is_summarized_by_its_error() -> None:
    (error,) = summary_of(checks=report(check(passed=True), check(passed=False, head=FAILED))).errors
    assert (error.kind, error.where, error.message, error.extent) == (
        FailureClass.TEST, "tests/test_a.py::test_sum", "assert 3 == 4", 1,
    )  # fmt: skip


@pytest.mark.feature("V4")
def test_a_timeout_and_a_missing_program_have_their_own_failure_class() -> None:
    late = check(passed=False, timed_out=True, exit_code=None, error="no end within 60 s", head="starting\n")
    missing = check(passed=False, exit_code=127, head="sh: 1: pytst: not found\n")
    kinds = [error.kind for error in summary_of(checks=report(late, missing)).errors]
    assert kinds == [FailureClass.TIMEOUT, FailureClass.MISSING_COMMAND]


@pytest.mark.feature("V4")
def test_files_that_were_edited_back_are_counted_by_the_name_that_the_guard_rails_use() -> None:
    rules = ("reverted", "unread", "reverted")
    seen = tuple(Guarded(rule=rule, tool="Edit", detail="src/a.py", denied=False) for rule in rules)
    assert summary_of(execution=execution(call(guarded=seen))).reverted == 2


@pytest.mark.feature("V4")
def test_an_iteration_without_work_of_the_agent_counts_as_waited() -> None:
    made = summary_of(execution=execution(usage_limited()), checks=None)
    assert (made.movement, made.checked, made.green, made.errors) == (Movement.WAITED, False, False, ())


@pytest.mark.feature("V4")
def test_all_green_is_every_check() -> None:
    assert summary_of(checks=report(check(passed=True), check(passed=True))).green
    assert not summary_of(checks=report(check(passed=True), check(passed=False))).green


FLAKY = check(passed=False, head=FAILED, counts=TestCounts(passed=4, failed=1, failing=("test_sum",)), flaky=("test_sum",))


@pytest.mark.feature("V4")
def test_flaky_failures_are_left_out() -> None:
    made = summary_of(checks=report(FLAKY, check(passed=True, name="unit", counts=TestCounts(passed=7))))
    assert (made.green, made.failing, made.errors, made.passing_tests, made.failing_tests) == (True, (), (), 7, 0)


@pytest.mark.feature("V4")
def test_a_failure_next_to_a_flaky_one_counts_in_full() -> None:
    counts = TestCounts(passed=4, failed=2, failing=("test_sum", "test_add"))
    made = summary_of(checks=report(FLAKY.model_copy(update={"counts": counts})))
    assert (made.green, made.failing, made.failing_tests) == (False, ("pytest", "test_sum", "test_add"), 2)
    other = summary_of(checks=report(FLAKY, check(passed=False, name="lint", head="E501\n")))
    assert (other.green, other.failing, len(other.errors)) == (False, ("lint",), 1)


@pytest.mark.feature("V4")
@pytest.mark.parametrize("passed", [True, False], ids=["green", "red"])
@pytest.mark.parametrize(("files", "only"), [(("tests/test_a.py",), True), (("tests/test_a.py", "src/a.py"), False), ((), False)])
def test_whether_only_tests_were_written_comes_from_the_files(files: tuple[str, ...], only: bool, passed: bool) -> None:
    change = Change(start="b" * 40, commit="c" * 40, tree="d" * 40, files=files, files_changed=len(files))
    made = summary_of(execution=Execution(call=call(), change=change), checks=report(check(passed=passed)))
    assert made.test_only is only


@pytest.mark.feature("V4")
@given(
    names=st.lists(TEXTS, max_size=40),
    outputs=st.lists(TEXTS, max_size=8),
    code=st.none() | st.integers(-300, 300),
)
def test_summaries_are_bounded(names: list[str], outputs: list[str], code: int | None) -> None:
    files = tuple(names)
    odd = {"exit_code": code, "counts": TestCounts(failing=files)}
    results = [check(passed=False, name=out, command=out, head=out, tail=out, error=out, **odd) for out in outputs]
    errors = tuple(ErrorVector(kind=FailureClass.OTHER, where=str(number)) for number in range(20))
    change = Change(start="b" * 40, commit="c" * 40, tree="d" * 40, files=files, files_changed=len(files))
    made = summary_of(execution=Execution(call=call(errors=errors), change=change), checks=report(*results))
    assert (len(made.files) <= 20, len(made.failing) <= 20, len(made.errors) <= 5, len(made.troubles)) == (True, True, True, 3)
    assert all(len(name) <= 200 for name in (*made.files, *made.failing))
    assert all(len(error.where) <= 200 and len(error.message) <= 300 for error in made.errors)


def counted_report(passed: int, failed: int) -> CheckReport:
    counts = TestCounts(passed=passed, failed=failed, failing=tuple(f"test_{number}" for number in range(failed)))
    result = CheckResult(name="pytest", command="pytest", passed=not failed, exit_code=int(failed > 0), seconds=1, counts=counts)
    return CheckReport(tree="base", results=(result,))


def new_loop() -> LoopState:
    profile = make_profile(BY_NAME["steady"], 1)
    return start_loop(profile, loop_config(profile)).state.model_copy(update={"history": (), "checks": None})


def history_with_base(*steps: object, base: CheckReport) -> tuple[IterationSummary, ...]:
    return (*with_baseline(new_loop(), base).history, *history(*steps))  # pyright: ignore[reportArgumentType]


def alert_rules(moments: tuple[IterationSummary, ...]) -> set[str]:
    return {signal.rule for signal in detect(moments, new_loop().config.detect)[0]}


@pytest.mark.feature("S4", "S8")
def test_the_baseline_is_recorded_and_costs_nothing() -> None:
    state, began = with_baseline(new_loop(), counted_report(6, 2)), new_loop()
    (moment,) = state.history
    assert (moment.iteration, moment.commit, moment.tree, moment.failing_tests) == (0, BASE, "base", 2)
    assert state.checks == state.best_checks == counted_report(6, 2)
    assert state.oversight.best is not None
    assert state.oversight.best.commit == BASE
    assert state.oversight.progress.completion == moment.completion > 0
    assert state.most_tests == {"pytest": 8}
    assert (state.due, state.spending, state.head) == (began.due, began.spending, began.head)


@pytest.mark.feature("S4", "S8")
def test_the_baseline_can_be_replaced_only_before_the_first_iteration() -> None:
    first, second = counted_report(6, 2), counted_report(7, 1)
    assert with_baseline(with_baseline(new_loop(), first), second) == with_baseline(new_loop(), second)
    worked = new_loop().model_copy(update={"history": history(green())})
    assert with_baseline(worked, first) is worked
    later = new_loop().model_copy(update={"iteration": 1})
    assert with_baseline(later, first) is later


A = red(SIDEWAYS, "test_0", "test_1")
B = red(SIDEWAYS, "test_0", "test_2")


@pytest.mark.feature("S4", "S8")
def test_an_exchange_of_failures_is_seen_in_the_second_iteration() -> None:
    assert "limit_cycle" in alert_rules(history_with_base(B, A, base=counted_report(20, 2)))
    assert "limit_cycle" not in alert_rules(history(B, A))


@pytest.mark.feature("S4", "S8")
def test_the_base_does_not_count_as_an_idle_iteration() -> None:
    assert not alert_rules(history_with_base(A, A, base=counted_report(20, 2))) & {
        "stuck",
        "empty_sessions",
        "plateau",
        "same_error",
        "regressing",
    }
    assert "regressing" not in alert_rules(history_with_base(step(BACK), base=counted_report(20, 2)))
    assert alert_rules(history_with_base(base=counted_report(20, 2))) == set()


@pytest.mark.feature("S4", "S8")
@pytest.mark.parametrize("seed", range(4))
def test_work_that_only_gets_worse_goes_back_to_the_base_where_nothing_was_better(seed: int) -> None:
    of = make_profile(BY_NAME["regressing"], seed)
    _, seen = run(BY_NAME["regressing"], seed)
    back = {one.record.failed.back_to for one in seen if one.record.failed}
    assert of.onset > 0 or of.check not in {"pytest", "typed"} or not back or back == {BASE}


FULL = rotation_reason(ContextUse(tokens=190_000, window=200_000, heard=100_000, noise=1_000))


def summary_with(*kinds: FailureClass, green: bool = False, checked: bool = True, passing: int = 0) -> IterationSummary:
    return IterationSummary(
        iteration=3,
        at=NOW,
        outcome=AgentOutcome.FINISHED,
        movement=Movement.STILL,
        completion=0.5,
        green=green,
        checked=checked,
        passing_tests=passing,
        errors=tuple(ErrorVector(kind=kind) for kind in kinds),
    )


@pytest.mark.feature("S12")
def test_the_evidence_says_how_good_the_feedback_is() -> None:
    cases = {
        "green": (summary_with(green=True, passing=9), "green"),
        "one test fails": (summary_with(FailureClass.TEST, passing=8), "failing"),
        "all fail": (summary_with(FailureClass.TEST), "failing"),
        "unknown": (summary_with(), "failing"),
        "no build": (summary_with(FailureClass.SYNTAX, FailureClass.MISSING_MODULE), "broken"),
        "one part builds": (summary_with(FailureClass.BUILD, passing=8), "failing"),
        "tests run": (summary_with(FailureClass.BUILD, FailureClass.TEST), "failing"),
        "types": (summary_with(FailureClass.TYPES), "failing"),
        "unchecked": (summary_with(FailureClass.BUILD, checked=False), "none"),
    }
    for case, (seen, quality) in cases.items():
        assert feedback_of(seen, "") == quality
        assert feedback_of(seen, FULL) == quality, case
