"""Records of iterations and loops in memory."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.memory.episodes import LONGEST_APPROACH, LONGEST_GOAL, episode, subject_of, summary
from helmsman.oversee.signals import IterationView
from helmsman.records.agent import Commit, FailureClass
from helmsman.records.checks import TestCounts
from helmsman.records.control import Movement, Overseen
from helmsman.records.decision import Outcome
from helmsman.records.lessons import Episode, Guardrail, LessonKind, Recalled, Reminder, TaskType
from tests.unit.builders import HOUR, NOW, STOP, check, config, iteration_view, report, state
from tests.unit.full_records import CALL, CHANGE, OVERSIGHT
from tests.unit.histories import SIDEWAYS, STILL, error, history, red
from tests.unit.memory_builders import subject

pytestmark = pytest.mark.feature("L1")
RED = check(passed=False, counts=TestCounts(passed=3, failed=2, failing=("tests/test_app.py::test_add", "test_\x1bsub")))


def with_commits(*subjects: str) -> IterationView:
    """An iteration with these commits, the oldest first."""
    commits = tuple(Commit(id=str(number), subject=text) for number, text in enumerate(subjects))[::-1]
    change = CHANGE.model_copy(update={"commits": commits})
    return iteration_view(state=state(iteration=3, attempt=2), execution={"call": CALL, "change": change})


def episode_of(view: IterationView, overseen: Overseen | None = None, recalled: Recalled | None = None) -> Episode:
    return episode(view, overseen or Overseen(), subject(), recalled or Recalled())


def test_a_subject_has_the_current_failures() -> None:
    before = state(
        config("Fix the crash\x1b[2J when the cart is empty"),
        history=history(red(STILL, "a")),
        checks=report(RED, check(passed=True)),
    )
    found = subject_of(before, "shop-1234")
    assert found.project == "shop-1234"
    assert found.task_type is TaskType.BUGFIX
    assert found.failures == (FailureClass.TEST,)
    assert found.tests == ("tests/test_app.py::test_add", "test_ sub")
    assert "\x1b" not in found.text


@given(st.text())
def test_a_subject_is_bounded_whatever_the_goal(goal: str) -> None:
    hostile = config(f"x{goal}" + "long " * 5000)
    found = subject_of(state(hostile), "shop")
    assert len(found.text) <= LONGEST_GOAL
    assert all(letter.isprintable() or letter == "\n" for letter in found.text)


def test_an_episode_has_the_values_of_the_record() -> None:
    moment = history(red(SIDEWAYS, "a", files=("a.py",), troubles=(error(FailureClass.EDIT),) * 3))[0]
    reminder = Reminder(lesson="l1", kind=LessonKind.STRATEGY, text="Guard it.", why="", score=1)
    guardrail = Guardrail(id="g1", project="shop", instruction="Look first.", created_at=NOW)
    recalled = Recalled(reminders=(reminder,), guardrails=(guardrail,))
    overseen = Overseen(moment=moment, oversight=OVERSIGHT)
    kept = episode_of(with_commits("Guard the total", "Test the guard"), overseen, recalled)
    assert (kept.uid, kept.loop, kept.iteration, kept.attempt, kept.at) == ("u1", "mend-it", 4, 2, NOW)
    assert (kept.movement, kept.checked, kept.green) == (Movement.SIDEWAYS, True, False)
    assert kept.completion == OVERSIGHT.progress.completion
    assert (kept.cost_usd, kept.tokens, kept.seconds) == (CALL.usage.cost_usd, CALL.usage.tokens, 60.0)
    assert kept.approach == "Guard the total; Test the guard"
    assert kept.files == CHANGE.files
    assert (kept.told, kept.guarded) == (("l1",), ("g1",))
    assert kept.troubles == moment.troubles
    assert kept.learning == OVERSIGHT.learning


def test_the_approach_is_made_of_the_agents_commits() -> None:
    mixed = with_commits(
        "helmsman: keep what iteration 3 left uncommitted", "Merge branch 'main'", "Do it\x07 well", "Do it\x07 well"
    )
    assert episode_of(mixed).approach == "Do it well"
    assert episode_of(with_commits()).approach == ""


@given(st.lists(st.text(max_size=400), max_size=40))
def test_an_episode_is_bounded_whatever_was_committed(subjects: list[str]) -> None:
    kept = episode_of(with_commits(*subjects))
    assert len(kept.approach) <= LONGEST_APPROACH
    assert kept.approach.isprintable()


def test_a_summary_is_a_loop_in_numbers() -> None:
    spent = {"agent_calls": 3, "cost_usd": 1.5, "tokens": 900, "seconds": 120.0}
    ended = state(iteration=3, spending=spent, ending=STOP.model_copy(update={"at": NOW + HOUR}))
    found = summary(ended, subject())
    assert (found.uid, found.outcome, found.rule, found.iterations) == ("u1", Outcome.COMPLETED, "completion.verified", 3)
    assert (found.cost_usd, found.tokens, found.seconds) == (1.5, 900, 120.0)
    assert found.ended_at - found.started_at == timedelta(hours=1)
