"""Tests that judge a fix stay as they are, and a broken build comes before new work."""

from dataclasses import replace
from typing import Any

import pytest

from helmsman.guardrails import Allow, Deny, Rule, Rules, Session, ToolCall, evaluate, is_fix

pytestmark = pytest.mark.feature("A2")

TREE = "/nest/dev/shop"
THERE = {f"{TREE}/tests/test_shop.py", f"{TREE}/shop.py"}
FIX = Rules(TREE, exists=THERE.__contains__, fix=True, tests="tests/test_shop.py".__eq__)


def edit(path: str, old: str, new: str, **more: Any) -> ToolCall:
    return ToolCall("Edit", {"file_path": f"{TREE}/{path}", "old_string": old, "new_string": new, **more}, TREE)


def bash(command: str) -> ToolCall:
    return ToolCall("Bash", {"command": command}, TREE)


def rule(call: ToolCall, rules: Rules = FIX) -> tuple[type, Rule | None]:
    answer = evaluate(call, Session(TREE), rules)
    return type(answer), None if isinstance(answer, Allow) else answer.rule


@pytest.mark.parametrize(
    "call",
    [
        edit("tests/test_shop.py", "assert total([1]) == 1", "assert total([1])"),
        edit("tests/test_shop.py", "def test_total(): ...", ""),
        ToolCall("MultiEdit", {"file_path": "tests/test_shop.py", "edits": [{"old_string": "3", "new_string": "4"}]}, TREE),
        bash("sed -i 's/== 3/== 4/' tests/test_shop.py"),
        bash("rm tests/test_shop.py"),
        bash("git rm -q tests/test_shop.py"),
        bash("git -C tests rm test_shop.py"),
    ],
)
def test_removing_content_of_a_judging_test_is_denied(call: ToolCall) -> None:
    assert rule(call) == (Deny, "judging_tests")
    assert rule(call, replace(FIX, fix=False)) == (Allow, None)


@pytest.mark.parametrize(
    "call",
    [
        edit("tests/test_shop.py", "def test_total(): ...", "def test_total(): ...\n\ndef test_more(): ..."),
        edit("tests/test_new.py", "", "def test_new(): ..."),
        ToolCall("Write", {"file_path": f"{TREE}/tests/test_new.py", "content": "def test_new(): ..."}, TREE),
        bash("cat >> tests/test_shop.py <<'END'\ndef test_more(): ...\nEND"),
        bash("git checkout -- tests/test_shop.py"),
        bash("pytest tests/test_shop.py"),
        edit("shop.py", "return 1", "return 2"),
    ],
)
def test_adding_or_restoring_tests_is_allowed(call: ToolCall) -> None:
    assert rule(call) == (Allow, None)


FIXES = (
    "Fix the discount so that the sum is right",
    "# Task\n\nfix the race in the queue",
    "Get all our checks green",
    "make the tests pass",
    "Fix what makes the checkout fail.\nAdd a test for it.",
    "fix " * 100_000,
)
OTHER_GOALS = (
    "",
    "The shop crashes when the cart is empty",
    "Add crash reporting",
    "Make round() use banker's rounding; checks must stay green",
    "Fix the cart. The tests in tests/test_cart.py are wrong and must be rewritten",
    "Show failing jobs on the dashboard",
    "Replace moment by date-fns. Make all checks pass",
    "Upgrade to Django 5 and fix the deprecations",
    "Fix the sum; adapt the tests where they assert the old one",
    "Fix the failing tests",
    "Update the snapshots after the redesign and fix the build",
    "Deflake the integration suite: fix the flaky ones",
)


def test_a_goal_is_a_fix_only_if_existing_tests_judge_it() -> None:
    assert [goal for goal in FIXES if not is_fix(goal)] == []
    assert [goal for goal in OTHER_GOALS if is_fix(goal)] == []
