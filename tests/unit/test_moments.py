"""What is remembered of an iteration, and how much of it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.oversee.summary import summarize
from helmsman.records.agent import AgentOutcome, Change, Commit, Drift, ErrorVector, Execution, FailureClass, Guarded
from helmsman.records.checks import TestCounts
from helmsman.records.control import EscalationLevel, IterationSummary, Ladder, Movement, Progress
from helmsman.records.state import LoopState
from tests.unit.builders import ASKED, MINUTE, NOW, call, check, evidence, execution, report, state, usage_limited

pytestmark = pytest.mark.feature("V4")
FAILED = "FAILED tests/test_a.py::test_sum - assert 3 == 4\n=== 1 failed, 4 passed in 0.02s ===\n"
TEXTS = st.text(max_size=300) | st.integers(0, 3000).map(lambda times: "x(" * times)


def moment(
    of: LoopState | None = None, *, history: tuple[IterationSummary, ...] = (), rung: int = 0, **fields: Any
) -> IterationSummary:
    before = of or state()
    stood = before.oversight.model_copy(update={"ladder": Ladder(rung=EscalationLevel(rung))})
    due = before.model_copy(update={"history": history, "oversight": stood})
    return summarize(due, evidence(**fields), Progress(completion=0.5), NOW - MINUTE, NOW)


def test_an_iteration_is_remembered_in_numbers_and_identities() -> None:
    change = Change(
        start="b" * 40, commit="c" * 40, tree="d" * 40, commits=(Commit(id="c" * 40, subject="Add"),),
        files=("src/a.py", "src/b.py"), files_changed=2, insertions=7, deletions=3,
    )  # fmt: skip
    session = call(tools=(("Bash", 3), ("Edit", 2)), permission_denials=("WebFetch",))
    checks = report(check(passed=False, counts=TestCounts(passed=4, failed=1, failing=("test_sum",)), head=FAILED))
    made = moment(
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


def test_a_failing_check_is_remembered_by_what_it_says() -> None:
    (error,) = moment(checks=report(check(passed=True), check(passed=False, head=FAILED))).errors
    assert (error.kind, error.where, error.message, error.extent) == (
        FailureClass.TEST, "tests/test_a.py::test_sum", "assert 3 == 4", 1,
    )  # fmt: skip


def test_a_check_that_took_too_long_or_found_no_program_is_known_as_that() -> None:
    late = check(passed=False, timed_out=True, exit_code=None, error="no end within 60 s", head="starting\n")
    missing = check(passed=False, exit_code=127, head="sh: 1: pytst: not found\n")
    kinds = [error.kind for error in moment(checks=report(late, missing)).errors]
    assert kinds == [FailureClass.TIMEOUT, FailureClass.MISSING_COMMAND]


def test_files_that_were_edited_back_are_counted_by_the_name_that_the_guard_rails_use() -> None:
    rules = ("reverted", "unread", "reverted")
    seen = tuple(Guarded(rule=rule, tool="Edit", detail="src/a.py", denied=False) for rule in rules)
    assert moment(execution=execution(call(guarded=seen))).reverted == 2


def test_an_iteration_in_which_the_agent_never_got_to_work_waited() -> None:
    made = moment(execution=execution(usage_limited()), checks=None)
    assert (made.movement, made.checked, made.green, made.errors) == (Movement.WAITED, False, False, ())


def test_all_green_is_every_check() -> None:
    assert moment(checks=report(check(passed=True), check(passed=True))).green
    assert not moment(checks=report(check(passed=True), check(passed=False))).green


FLAKY = check(passed=False, head=FAILED, counts=TestCounts(passed=4, failed=1, failing=("test_sum",)), flaky=("test_sum",))


def test_what_fails_by_chance_is_left_out() -> None:
    made = moment(checks=report(FLAKY, check(passed=True, name="unit", counts=TestCounts(passed=7))))
    assert (made.green, made.failing, made.errors, made.passing_tests, made.failing_tests) == (True, (), (), 7, 0)


def test_a_failure_beside_one_by_chance_counts_in_full() -> None:
    counts = TestCounts(passed=4, failed=2, failing=("test_sum", "test_add"))
    made = moment(checks=report(FLAKY.model_copy(update={"counts": counts})))
    assert (made.green, made.failing, made.failing_tests) == (False, ("pytest", "test_sum", "test_add"), 2)
    other = moment(checks=report(FLAKY, check(passed=False, name="lint", head="E501\n")))
    assert (other.green, other.failing, len(other.errors)) == (False, ("lint",), 1)


@pytest.mark.parametrize("passed", [True, False], ids=["green", "red"])
@pytest.mark.parametrize(("files", "only"), [(("tests/test_a.py",), True), (("tests/test_a.py", "src/a.py"), False), ((), False)])
def test_whether_only_tests_were_written_comes_from_the_files(files: tuple[str, ...], only: bool, passed: bool) -> None:
    change = Change(start="b" * 40, commit="c" * 40, tree="d" * 40, files=files, files_changed=len(files))
    made = moment(execution=Execution(call=call(), change=change), checks=report(check(passed=passed)))
    assert made.test_only is only


@given(
    names=st.lists(TEXTS, max_size=40),
    outputs=st.lists(TEXTS, max_size=8),
    code=st.none() | st.integers(-300, 300),
)
def test_whatever_comes_in_a_moment_stays_small(names: list[str], outputs: list[str], code: int | None) -> None:
    files = tuple(names)
    odd = {"exit_code": code, "counts": TestCounts(failing=files)}
    results = [check(passed=False, name=out, command=out, head=out, tail=out, error=out, **odd) for out in outputs]
    errors = tuple(ErrorVector(kind=FailureClass.OTHER, where=str(number)) for number in range(20))
    change = Change(start="b" * 40, commit="c" * 40, tree="d" * 40, files=files, files_changed=len(files))
    made = moment(execution=Execution(call=call(errors=errors), change=change), checks=report(*results))
    assert (len(made.files) <= 20, len(made.failing) <= 20, len(made.errors) <= 5, len(made.troubles)) == (True, True, True, 3)
    assert all(len(name) <= 200 for name in (*made.files, *made.failing))
    assert all(len(error.where) <= 200 and len(error.message) <= 300 for error in made.errors)
