"""What kind of work a goal asks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.memory.episodes import LONGEST_READ, task_type
from helmsman.records.lessons import TaskType

pytestmark = pytest.mark.feature("L1")
OTHER_NAMES = {"cleanup": "refactor", "test-fix": "test_fix", "dependencies": "migration"}


@pytest.mark.parametrize(
    ("goal", "kind"),
    [
        ("Add CSV export to the invoices page", "feature"),
        ("Fix the crash when the cart is empty. Document it.", "bugfix"),
        ("# Cart\n\n1. Total() raises IndexError for an empty cart", "bugfix"),
        ("Please make the tests pass", "test_fix"),
        ("Your task is to add unit tests for the cart", "tests"),
        ("Implement the missing functions so that all tests pass", "feature"),
        ("refactor(billing): smaller classes", "refactor"),
        ("Reports are slow", "performance"),
        ("Upgrade Django to version 5", "migration"),
        ("Investigate why builds differ", "research"),
    ],
)
def test_a_goal_has_the_kind_that_its_verb_and_object_say(goal: str, kind: str) -> None:
    assert task_type(goal, ("test_add",)) == kind


def test_an_unusual_goal_is_other_work_or_mends_the_tests_that_fail() -> None:
    assert task_type("Orders above 100 euros ship for free") is TaskType.OTHER
    assert task_type("Orders above 100 euros ship for free", ("test_add",)) is TaskType.TEST_FIX


@pytest.mark.parametrize("name", [*TaskType, *OTHER_NAMES])
def test_a_preset_says_the_kind_whatever_the_goal_says(name: str) -> None:
    assert task_type("Add CSV export", preset=name) == OTHER_NAMES.get(name, name)


UNITS = ["add ", "make tests ", "write a ", "from to ", "[[", "\u2028"]


@given(st.text() | st.sampled_from(UNITS).map(lambda unit: unit * 100_000))
def test_any_goal_has_a_kind_by_its_beginning(goal: str) -> None:
    assert task_type(goal) is task_type(goal[:LONGEST_READ])
