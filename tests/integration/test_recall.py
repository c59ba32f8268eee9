"""Recall for an iteration from a real store."""

from pathlib import Path
from typing import Any

import pytest

from helmsman.config import LoopConfig
from helmsman.memory.learned_guardrails import MOST_GUARDRAILS
from helmsman.memory.recall import guardrails_cost, lessons_section, reminders_cost
from helmsman.records.agent import FailureClass
from helmsman.records.lessons import Lesson, LessonKind, Recalled, Subject, TaskType, Tier
from helmsman.tokens import tokens
from tasks.loop.remember import recall_memory
from tasks.memory import Store, open_store, recall, search_text
from tests.fakes.repositories import make_repository, start_loop
from tests.integration.memory_stores import DAY, NOW, guardrail, lesson, summary

pytestmark = pytest.mark.feature("L4")

SUBJECT = Subject(
    project="shop",
    task_type=TaskType.FEATURE,
    text="People shall pay by invoice; the voucher parser must stay as it is",
    failures=(FailureClass.TYPES,),
    tests=("tests/test_checkout.py::test_gift_card",),
)


@pytest.fixture
def store_url(tmp_path: Path) -> str:
    """One database is enough: other tests show that both give the same results."""
    return f"sqlite:///{tmp_path / 'memory' / 'memory.db'}"


def known_lesson(id: str, text: str, **more: Any) -> Lesson:  # noqa: A002 - the record's own word
    return lesson(id, text, **{"tier": Tier.SEMANTIC, "confidence": 0.9, "uses": 4, "successes": 4, **more})


def put(store: Store, *lessons: Lesson) -> None:
    with store.change() as change:
        for one in lessons:
            change.put_lesson(one)


def recalled_ids(recalled: Recalled) -> list[str]:
    return [one.lesson for one in recalled.reminders]


def test_lessons_are_recalled_by_words_tests_class_and_project(store_url: str) -> None:
    with open_store(store_url, NOW) as store:
        put(
            store,
            known_lesson("words", "Pay by invoice: reuse the voucher parser, it knows amounts"),
            known_lesson("tests", "Seed the rates first", tests=("tests/test_checkout.py::test_gift_card",)),
            known_lesson("class", "Casting hides it", kind=LessonKind.ANTIPATTERN, failure=FailureClass.TYPES),
            known_lesson("convention", "Money is Decimal everywhere", kind=LessonKind.CONVENTION),
            known_lesson("elsewhere", "An invoice parser pays people back, card by card, at the checkout", project="bank"),
            known_lesson("unfit", "Rotate the certificates of the mail gateway"),
        )
        recalled = recall(store, SUBJECT, NOW)
    assert recalled_ids(recalled) == ["tests", "words", "convention", "elsewhere", "class"]
    assert "of this project; the same type of work (feature)" in recalled.reminders[0].why
    assert "1 of its 1 test fails now" in recalled.reminders[0].why


def test_lessons_of_this_project_are_found_among_many_better_matches_of_others(store_url: str) -> None:
    with open_store(store_url, NOW) as store:
        others = (
            known_lesson(f"n{number}", f"Pay by invoice: the voucher parser of shop {number}", project="bank")
            for number in range(200)
        )
        put(store, known_lesson("own", "Check the voucher before people pay; keep an invoice"), *others)
        assert "own" in recalled_ids(recall(store, SUBJECT, NOW))


def test_a_long_goal_leaves_room_for_the_names_of_failing_tests() -> None:
    long = SUBJECT.model_copy(update={"text": " ".join(f"kiln{number}a" for number in range(400))})
    words = search_text(long).split()
    assert words.index("gift") < words.index("kiln200a") < words.index("kiln399a")
    assert "py" not in words


def test_guardrails_come_first_within_the_allowance(store_url: str) -> None:
    with open_store(store_url, NOW) as store:
        put(
            store,
            *(
                known_lesson(f"n{number}", f"Pay by invoice, voucher parser, kiln{number}ab, glaze{number}cd")
                for number in range(5)
            ),
        )
        with store.change() as change:
            change.put_guardrail(guardrail("new", created_at=NOW + DAY))
            change.put_guardrail(guardrail("person", by="person", instruction="Ask before you deploy " * 4))
            change.put_guardrail(guardrail("fails", failure=FailureClass.TYPES, created_at=NOW - DAY))
            change.put_guardrail(guardrail("other", project="bank"))
            change.put_guardrail(guardrail("gone", retired="useless"))
        whole_house = recall(store, SUBJECT, NOW)
        assert [one.id for one in whole_house.guardrails] == ["person", "fails", "new"]
        for allowance in range(0, 400, 7):
            recalled = recall(store, SUBJECT, NOW, allowance)
            assert guardrails_cost(recalled.guardrails) + reminders_cost(recalled.reminders) <= allowance
            assert tokens(lessons_section(recalled)) <= allowance
        with store.change() as change:
            for number in range(MOST_GUARDRAILS):
                change.put_guardrail(guardrail(f"more{number}"))
        assert len(recall(store, SUBJECT, NOW).guardrails) == MOST_GUARDRAILS


def test_the_estimate_is_of_this_project_only(store_url: str) -> None:
    with open_store(store_url, NOW) as store:
        with store.change() as change:
            for number in range(2):
                change.put_summary(summary(f"own{number}", NOW - number * DAY))
            for number in range(9):
                change.put_summary(summary(f"other{number}", NOW - number * DAY, "bank"))
        assert recall(store, SUBJECT, NOW).estimate is None
        with store.change() as change:
            change.put_summary(summary("own2", NOW - 300 * DAY))
        seen = recall(store, SUBJECT, NOW).estimate
        assert seen is not None
        assert (seen.project, seen.loops, seen.iterations.median) == ("shop", 3, 4)


def test_a_failing_store_is_reported_without_raising(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HELMSMAN_MEMORY_URL", raising=False)
    work = start_loop(make_repository(tmp_path / "top", {"app.py": "1\n"}), tmp_path / "tree")
    (tmp_path / "folder").mkdir()
    memory = {"use": True, "url": f"sqlite:///{tmp_path / 'folder'}"}
    config = LoopConfig.model_validate({**work.state.config.model_dump(), "memory": memory})
    recalled = recall_memory(work.context, work.state.model_copy(update={"config": config}), NOW)
    assert "the memory store fails" in recalled.problem
    assert "\n" not in recalled.problem
    assert recalled.reminders == ()
