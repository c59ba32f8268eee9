"""Lessons of whole loops, and the share that a reviewer keeps: the figures of docs/memory.md."""

from pathlib import Path

import pytest

from bench.lessons import example_loops, lessons_of_example, lessons_of_repository, merge_lessons, read_marks
from helmsman.records.lessons import LessonKind
from tasks.repository.git import open_repository
from tests.fakes.repositories import make_repository

pytestmark = pytest.mark.feature("L2")


def test_a_reviewer_keeps_most_lessons_of_the_example_loops() -> None:
    lessons = merge_lessons(observation for loop in example_loops() for observation in lessons_of_example(loop))[:50]
    marks = [read_marks().mark_of(lesson) for lesson in lessons]
    assert [
        lesson.text for lesson, mark in zip(lessons, marks, strict=True) if mark == "?"
    ] == []  # a reviewer has to mark new texts
    assert marks.count("keep") / len(marks) >= 0.6
    assert {lesson.kind for lesson in lessons} == set(LessonKind)


def test_a_repository_without_loops_gives_no_lessons(tmp_path: Path) -> None:
    assert list(lessons_of_repository(open_repository(make_repository(tmp_path / "top", {"a": ""})))) == []
