"""Estimates from similar loops, and advice to split work."""

import tomllib
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.memory.estimates import NEWEST, estimate, format_estimate
from helmsman.orient.decomposition import (
    MANY_CRITERIA,
    MANY_ITERATIONS,
    ONE_LOOPS,
    acceptance_criteria,
    chain_file,
    oversize_warning,
    split,
)
from helmsman.records.decision import Outcome
from helmsman.records.lessons import Estimate, Range, Subject, Summary, TaskType
from tests.unit.builders import NOW, config

pytestmark = pytest.mark.feature("L4")

SUBJECT = Subject(project="shop", task_type=TaskType.BUGFIX, text="mend it")


def summary(number: int, iterations: int = 4, project: str = "shop", **fields: Any) -> Summary:
    ended = fields.pop("ended_at", NOW - timedelta(hours=number))
    kind = fields.pop("task_type", TaskType.BUGFIX)
    usual = {
        "uid": f"u{number}",
        "loop": "mend-it",
        "subject": Subject(project=project, task_type=kind, text="mend it"),
        "outcome": Outcome.COMPLETED,
        "rule": "completion.verified",
        "iterations": iterations,
        "seconds": iterations * 240.0,
        "cost_usd": iterations * 0.25,
        "started_at": ended - timedelta(hours=1),
        "ended_at": ended,
    }
    return Summary.model_validate({**usual, **fields})


def estimate_of(*summaries: Summary, subject: Subject = SUBJECT) -> Estimate | None:
    return estimate(summaries, subject)


def test_ranges_are_quartiles_of_completed_loops_of_this_project() -> None:
    seen = estimate_of(*(summary(number, iterations) for number, iterations in enumerate((3, 9, 4, 6, 5, 4, 2))))
    assert seen is not None
    assert (seen.project, seen.loops, seen.completed, seen.task_type) == ("shop", 7, 1.0, TaskType.BUGFIX)
    assert seen.iterations == Range(low=3, median=4, high=6)
    assert seen.minutes == Range(low=12, median=16, high=24)
    assert seen.dollars == Range(low=0.75, median=1.0, high=1.5)


@pytest.mark.feature("A5")
def test_loops_without_reported_costs_do_not_count_as_free() -> None:
    told, untold = (summary(1), summary(2)), [summary(number, cost_usd=0, untold=("cost",)) for number in (3, 4, 5)]
    seen, unpriced = estimate_of(*told, *untold), estimate_of(*untold)
    assert seen is not None
    assert unpriced is not None
    assert (seen.loops, seen.dollars) == (5, Range(low=1, median=1, high=1))
    assert unpriced.dollars is None
    assert "$" not in format_estimate(unpriced)


def test_an_estimate_needs_three_completed_loops() -> None:
    stopped = summary(3, outcome=Outcome.STOPPED)
    assert estimate_of(summary(1), summary(2), stopped) is None
    assert estimate_of(summary(1), summary(2), summary(4), stopped) is not None


def test_loops_that_did_not_complete_count_in_the_share_and_in_no_range() -> None:
    stopped = [summary(10 + number, 30, outcome=Outcome.STOPPED) for number in range(2)]
    seen = estimate_of(*(summary(number) for number in range(6)), *stopped)
    assert seen is not None
    assert (seen.loops, seen.completed, seen.iterations.high) == (6, 0.75, 4)


def test_only_the_newest_loops_count() -> None:
    old = [summary(100 + number, 20, ended_at=NOW - timedelta(days=2)) for number in range(NEWEST)]
    new = [summary(number, 3) for number in range(NEWEST)]
    seen = estimate_of(*old, *new)
    assert seen is not None
    assert (seen.loops, seen.iterations.high) == (NEWEST, 3)


def estimate_text(iterations: Range, minutes: Range, dollars: Range, **fields: Any) -> str:
    some = {"task_type": TaskType.BUGFIX, "project": "shop", "loops": 7, "completed": 7 / 9, **fields}
    return format_estimate(Estimate.model_validate({**some, "iterations": iterations, "minutes": minutes, "dollars": dollars}))


def test_an_estimate_reads_as_a_sentence() -> None:
    said = estimate_text(Range(low=3, median=4, high=6), Range(low=12, median=20, high=40), Range(low=0.8, median=1.2, high=2.1))
    assert said == (
        "similar work took 3 to 6 iterations (median 4), 12 to 40 minutes, $0.80 to $2.10; "
        "7 of 9 such loops completed (bugfix in this project)"
    )


def test_equal_bounds_are_one_figure_and_long_work_is_in_hours() -> None:
    said = estimate_text(
        Range(low=1, median=1, high=1),
        Range(low=90, median=100, high=150),
        Range(low=1, median=1, high=1),
        completed=1,
    )
    assert said == (
        "similar work took 1 iteration (median 1), 1.5 to 2.5 hours, $1.00; 7 of 7 such loops completed (bugfix in this project)"
    )


SUMMARIES = st.lists(
    st.builds(
        summary,
        st.integers(0, 10_000),
        st.integers(0, 40),
        project=st.sampled_from(["shop", "bank"]),
        outcome=st.sampled_from(Outcome),
        task_type=st.sampled_from([TaskType.BUGFIX, TaskType.BUGFIX, TaskType.DOCS]),
    ),
    max_size=80,
    unique_by=lambda one: one.uid,
)


@given(SUMMARIES, st.randoms())
def test_an_estimate_does_not_depend_on_the_order_of_loops(summaries: list[Summary], drawn: Any) -> None:
    seen = estimate_of(*summaries)
    drawn.shuffle(summaries)
    assert estimate_of(*summaries) == seen


# When a goal is too much for one loop, and how it is split


def goal(criteria: int) -> str:
    return "The shop sells:\n" + "".join(f"- thing {number} is sold\n" for number in range(criteria))


def took(median: float) -> Estimate:
    span = Range(low=1, median=median, high=100)
    return Estimate(task_type=TaskType.FEATURE, loops=5, completed=1, iterations=span, minutes=span, dollars=span)


@pytest.mark.feature("M11")
@pytest.mark.parametrize(("criteria", "advised"), [(0, False), (MANY_CRITERIA, False), (MANY_CRITERIA + 1, True), (14, True)])
def test_more_criteria_than_a_loop_carries_well_are_better_split(criteria: int, advised: bool) -> None:
    signal = oversize_warning(config(goal(criteria)), None)
    assert (signal is not None) == advised
    if signal:
        assert f"{criteria} criteria" in signal.message
        assert "helmsman chain --draft" in signal.message


@pytest.mark.feature("M11")
def test_the_judges_criteria_count_where_the_goal_lists_none() -> None:
    criteria = [{"id": f"c{number}", "text": f"part {number} is there"} for number in range(11)]
    assert oversize_warning(config("Build it", judge={"criteria": criteria}), None) is not None


@pytest.mark.feature("M11")
@pytest.mark.parametrize(("median", "advised"), [(MANY_ITERATIONS, False), (MANY_ITERATIONS + 1, True)])
def test_work_that_took_more_iterations_than_a_loop_should_is_better_split(median: float, advised: bool) -> None:
    assert (oversize_warning(config(), took(median)) is not None) == advised


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
