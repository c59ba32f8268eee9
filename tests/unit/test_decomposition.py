"""When a goal is too much for one loop, and how it is split."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.orient.decomposition import (
    MANY_CRITERIA,
    MANY_ITERATIONS,
    ONE_LOOPS,
    acceptance_criteria,
    chain_file,
    split,
    too_much,
)
from helmsman.records.lessons import Estimate, Range, TaskType
from tests.unit.builders import config


def goal(criteria: int) -> str:
    return "The shop sells:\n" + "".join(f"- thing {number} is sold\n" for number in range(criteria))


def estimate(median: float) -> Estimate:
    span = Range(low=1, median=median, high=100)
    return Estimate(task_type=TaskType.FEATURE, loops=5, completed=1, iterations=span, minutes=span, dollars=span)


@pytest.mark.feature("M11")
@pytest.mark.parametrize(("criteria", "advised"), [(0, False), (MANY_CRITERIA, False), (MANY_CRITERIA + 1, True), (14, True)])
def test_more_criteria_than_a_loop_carries_well_are_better_split(criteria: int, advised: bool) -> None:
    signal = too_much(config(goal(criteria)), None)
    assert (signal is not None) == advised
    if signal:
        assert f"{criteria} criteria" in signal.message
        assert "helmsman chain --draft" in signal.message


@pytest.mark.feature("M11")
def test_the_judges_criteria_count_where_the_goal_lists_none() -> None:
    criteria = [{"id": f"c{number}", "text": f"part {number} is there"} for number in range(11)]
    assert too_much(config("Build it", judge={"criteria": criteria}), None) is not None


@pytest.mark.feature("M11")
@pytest.mark.parametrize(("median", "advised"), [(MANY_ITERATIONS, False), (MANY_ITERATIONS + 1, True)])
def test_work_that_took_more_iterations_than_a_loop_should_is_better_split(median: float, advised: bool) -> None:
    assert (too_much(config(), estimate(median)) is not None) == advised


@pytest.mark.feature("M11")
@given(st.lists(st.text(min_size=1, max_size=20), max_size=60))
def test_a_split_loses_nothing_keeps_the_order_and_gives_no_loop_too_much(criteria: list[str]) -> None:
    parts = split(criteria)
    assert [one for part in parts for one in part] == criteria
    assert all(0 < len(part) <= ONE_LOOPS for part in parts)
    assert not parts or max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.feature("M11")
@given(
    st.lists(st.text(alphabet="ab\"\\'\x00\x7f\u2028é ", min_size=1, max_size=12).filter(lambda text: text.split()), max_size=14)
)
def test_a_draft_is_a_chain_whatever_the_goal_says(criteria: list[str]) -> None:
    told = "The work:\n" + "\n".join(f"- {' '.join(text.split())}" for text in criteria)
    drafted = tomllib.loads(chain_file(config(told)))["loops"]
    assert len(drafted) == max(1, len(split(acceptance_criteria(config(told)))))
    assert all(link["goal"].startswith("The work:") for link in drafted)


@pytest.mark.feature("M11")
@pytest.mark.parametrize("judged", [1, 2, 3, 12])
def test_a_draft_holds_what_the_goal_lists_whatever_the_rubric_asks(judged: int) -> None:
    criteria = [{"id": f"c{number}", "text": f"part {number} is there"} for number in range(judged)]
    drafted = chain_file(config("The shop sells:\n- bread\n- milk", judge={"criteria": criteria}))
    assert "\n- bread\n- milk" in drafted
