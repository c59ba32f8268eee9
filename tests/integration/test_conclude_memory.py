"""Memory at the end of a loop, after a resume, and without secrets."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from helmsman.config import LoopConfig
from helmsman.records.agent import FailureClass
from helmsman.records.decision import Outcome
from helmsman.records.iteration import Choice, WorkingMemory
from helmsman.records.lessons import Episode, Lesson, LessonKind
from helmsman.records.state import LoopState
from tasks.loop.remember import conclude_memory, needs_model_lessons
from tasks.memory import URL, open_store, project_id
from tasks.system.secrets import without_secrets
from tests.fakes.repositories import LoopWork
from tests.integration.memory_stores import DAY, NOW, episode, guardrail, lesson
from tests.unit.builders import STOP, check, report

TEST = FailureClass.TEST
LATER = NOW + DAY


@pytest.fixture
def store_url(tmp_path: Path) -> str:
    """One database is enough: other tests show that both give the same results."""
    return f"sqlite:///{tmp_path / 'memory' / 'memory.db'}"


@pytest.fixture
def url(store_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(URL, store_url)
    return store_url


def ended(work: LoopWork, outcome: Outcome, at: datetime, iterations: int, **fields: Any) -> LoopState:
    ending = STOP.model_copy(update={"outcome": outcome, "at": at})
    return work.state.model_copy(update={"ending": ending, "updated_at": at, "iteration": iterations, **fields})


def kept(work: LoopWork, number: int, *failed: FailureClass, **fields: Any) -> Episode:
    return episode(number, *failed, uid=work.state.uid, project=project_id(work.repository), **fields)


def put(url: str, *known: Lesson | Episode) -> None:
    with open_store(url, NOW) as store, store.change() as change:
        for one in known:
            _ = change.put_lesson(one) if isinstance(one, Lesson) else change.put_episode(one)


def counts(url: str, *names: str) -> list[tuple[int, int]]:
    """Uses and successes of lessons."""
    with open_store(url, NOW) as store:
        return [(one.uses, one.successes) for one in map(store.lesson, names) if one]


def resumed_loop(work: LoopWork, url: str) -> tuple[LoopState, LoopState]:
    """A stopped loop, and the same loop completed after a resume. `both` was in the prompts of both parts."""
    anti = lesson("anti", "Skipping tests hides it", kind=LessonKind.ANTIPATTERN, failure=TEST, uses=0)
    put(url, *(lesson(name, f"Lesson {name} of its own", uses=0) for name in ("first", "second", "both")), anti)
    put(url, kept(work, 1, TEST, told=("first", "both"), guarded=("g",)))
    stopped = ended(work, Outcome.STOPPED, NOW, 1)
    conclude_memory(work.context, stopped)
    put(url, kept(work, 2, told=("second", "both", "anti"), at=LATER))
    checks = report(check(passed=True, command="make test"))
    return stopped, ended(work, Outcome.COMPLETED, LATER, 2, checks=checks)


@pytest.mark.feature("L1", "L2")
def test_a_resumed_loop_keeps_its_last_end_and_each_part_credits_its_lessons(work: LoopWork, url: str) -> None:
    stopped, completed = resumed_loop(work, url)
    assert counts(url, "first", "second", "both") == [(1, 0), (0, 0), (1, 0)]
    for state in (completed, completed, stopped):  # again, and by a driver that knows less
        conclude_memory(work.context, state)
        with open_store(url, NOW) as store:
            assert [(one.outcome, one.iterations) for one in store.summaries()] == [("completed", 2)]
        assert counts(url, "first", "second", "both", "anti") == [(1, 0), (1, 1), (2, 1), (1, 1)]


@pytest.mark.feature("L5")
def test_each_part_of_a_resumed_loop_counts_for_its_guardrails(work: LoopWork, url: str) -> None:
    with open_store(url, NOW) as store, store.change() as change:
        change.put_guardrail(guardrail("g", project=project_id(work.repository), failure=TEST))
        change.put_guardrail(guardrail("h", project=project_id(work.repository), failure=TEST))
    _, completed = resumed_loop(work, url)
    put(url, kept(work, 3, guarded=("h",), at=LATER))
    conclude_memory(work.context, completed)
    with open_store(url, NOW) as store:
        found = {one.id: (one.loops, one.unneeded) for one in store.guardrails(project_id(work.repository))}
    assert found == {"g": (1, 0), "h": (1, 1)}


@pytest.mark.feature("L2")
def test_a_model_is_asked_once_for_each_end_with_iterations(work: LoopWork, url: str) -> None:
    config = LoopConfig.model_validate({**work.state.config.model_dump(), "memory": {"extraction": "model"}})
    put(url, kept(work, 1, TEST))
    stopped = ended(work, Outcome.STOPPED, NOW, 1, config=config)
    assert needs_model_lessons(stopped)
    conclude_memory(work.context, stopped)
    assert not needs_model_lessons(stopped)
    assert not needs_model_lessons(ended(work, Outcome.FAILED, LATER, 1, config=config))  # nothing was done since
    put(url, kept(work, 2, at=LATER))
    completed = ended(work, Outcome.COMPLETED, LATER, 2, config=config)
    assert needs_model_lessons(completed)
    conclude_memory(work.context, completed)
    assert not needs_model_lessons(completed)


@pytest.mark.feature("L1", "L2")
def test_no_secret_of_the_notes_becomes_a_lesson(work: LoopWork, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "s3cr3t-of-the-shop"
    monkeypatch.setenv("MY_API_TOKEN", secret)
    notes = WorkingMemory(decisions=(Choice(chose=f"the header X-Auth {secret} for the shop's page", reason="it asks for it"),))
    for number in range(2):
        state = ended(work, Outcome.COMPLETED, NOW, 1, memory=notes, uid=f"u{number}")
        conclude_memory(work.context, without_secrets(state))  # as its driver has it
    with open_store(url, NOW) as store:
        everything = store.export()
        (known,) = store.lessons(kind=LessonKind.CONVENTION)
    assert "X-Auth [MY_API_TOKEN]" in known.text
    assert known.uses == 2
    assert secret not in everything
