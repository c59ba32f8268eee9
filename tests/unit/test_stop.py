"""An agent that says it is done is sent back by failing checks, a bounded number of times, and by nothing else."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.guardrails.stop import STOP_BLOCKS, TEXT_TOKENS, allow_stop, block_message, judge_stop
from helmsman.records.agent import StopAttempt
from helmsman.records.checks import CheckResult, TestCounts
from helmsman.tokens import tokens
from tests.unit.builders import check

pytestmark = pytest.mark.feature("A4")

PASSES = check(passed=True)
HANGS = check(passed=False, exit_code=None, timed_out=True)
CANNOT_START = check(passed=False, exit_code=None, error="no such program")
STOPPED = check(passed=False, exit_code=None)


def fails(name: str = "pytest", tests: int = 0, **fields: Any) -> CheckResult:
    names = tuple(f"test_{number}" for number in range(tests))
    counts = TestCounts(failed=tests, failing=names) if tests else None
    return check(passed=False, name=name, command=name, counts=counts, **fields)


def stop_attempt(*results: CheckResult, before: Sequence[StopAttempt] = ()) -> StopAttempt:
    return judge_stop(results, allow_stop(before, active=bool(before), full=False), 1.23456)


def blocked(*rounds: CheckResult) -> list[bool]:
    """Of one attempt to end after the other, whatever comes of each."""
    attempts: list[StopAttempt] = []
    for result in rounds:
        attempts.append(stop_attempt(result, before=attempts))
    return [attempt.blocked for attempt in attempts]


def test_a_failing_check_blocks_the_stop_and_is_recorded() -> None:
    attempt = stop_attempt(PASSES, fails("pytest", 3), fails("lint"))
    assert attempt.blocked
    assert (attempt.failing, attempt.failing_tests, attempt.seconds) == (("pytest", "lint"), 3, 1.235)
    assert attempt.why == "2 of 3 checks fail: pytest, lint"


def test_a_stop_is_allowed_if_no_check_that_ran_fails() -> None:
    cases = {
        "all pass": ((PASSES, PASSES), "every check that ran passes"),
        "those that ran pass": ((PASSES, HANGS, CANNOT_START), "every check that ran passes"),
        "hangs": ((HANGS,), "no check finished"),
        "cannot start": ((CANNOT_START,), "no check finished"),
        "stopped": ((STOPPED,), "no check finished"),
        "none": ((), "no check finished"),
    }
    for case, (results, why) in cases.items():
        attempt = stop_attempt(*results)
        assert (attempt.blocked, attempt.why, attempt.failing) == (False, why, ()), case


def test_a_stop_is_blocked_at_most_twice() -> None:
    assert blocked(*[fails(tests=3)] * 30) == [True] * STOP_BLOCKS + [False] * 28
    assert blocked(*[fails(tests=tests) for tests in (9, 8, 7, 6)]) == [True, True, False, False]


# what it is told ------------------------------------------------------------------------------------------------------


def test_the_message_names_the_failing_checks_and_no_limit() -> None:
    result = fails("pytest -q", 2, head="collected 9 items", tail="2 failed, 7 passed")
    assert block_message([PASSES, result, HANGS]) == (
        "`pytest -q` fails, so the work is not done yet.\n"
        "```\ntest_0\ntest_1\n```\n"
        "Go on with this. If you cannot, end with one line, `BLOCKED: ` or `CONTINUE: ` and the reason."
    )
    assert "`pytest -q`, `lint` and 1 more fail, so the work is not done yet." in block_message(
        [result, fails("lint"), fails("types")]
    )


def test_the_message_names_failing_tests_or_the_end_of_the_output() -> None:
    cases = {
        "tests": (fails("a", 7), "test_0\ntest_1\ntest_2\ntest_3\ntest_4\n[2 more]"),
        "places": (
            fails("a", 9, listed=("a.py:1 | test_0", "a.py:2 | test_1", "a.py:3", "b.py")),
            "a.py:1 | test_0\na.py:2 | test_1\na.py:3\n[1 more]",
        ),
        "no tests": (fails(head="1\n2\n3\n4\n", listed=("1", "2", "3", "4")), "2\n3\n4"),
        "output": (fails(head="1\n2\n\n3\n4\n"), "2\n3\n4"),
        "its end": (fails(head="1\n", tail="8\n9\n"), "8\n9"),
        "nothing": (fails(head=" \n", exit_code=3), "exit code 3, no output"),
    }
    for case, (result, shown) in cases.items():
        assert f"```\n{shown}\n```" in block_message([result]), case


FOREIGN = st.text(max_size=50).map(lambda text: text * 200)


@given(outputs=st.lists(FOREIGN, min_size=1, max_size=8), name=FOREIGN, tests=st.lists(FOREIGN, max_size=60))
def test_the_message_is_short_for_any_output_and_ends_with_an_instruction(
    outputs: list[str], name: str, tests: list[str]
) -> None:
    counts = TestCounts(failed=len(tests), failing=tuple(tests))
    results = [fails(f"{name}{number}", head=output, tail=output) for number, output in enumerate(outputs)]
    text = block_message([result.model_copy(update={"counts": counts}) for result in results])
    assert tokens(text) <= TEXT_TOKENS
    assert text.endswith("or `CONTINUE: ` and the reason.")
