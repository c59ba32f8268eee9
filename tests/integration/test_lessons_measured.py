"""What is learnt of whole loops, and how much of it a reviewer keeps: what docs/memory.md says."""

from pathlib import Path

import pytest

from bench.lessons import learnt, lived_loops, read_marks, recorded, taught
from helmsman.records.lessons import LessonKind
from tasks.repository.git import open_repository
from tests.fakes.repositories import make_repository

pytestmark = pytest.mark.feature("L2")


def test_a_reviewer_keeps_most_of_what_written_loops_teach() -> None:
    shown = learnt(one for loop in lived_loops() for one in taught(loop))[:50]
    marks = [read_marks().of(one) for one in shown]
    assert [one.text for one, mark in zip(shown, marks, strict=True) if mark == "?"] == []  # new words want a new reading
    assert marks.count("keep") / len(marks) >= 0.6
    assert {one.kind for one in shown} == set(LessonKind)


def test_a_repository_without_loops_teaches_nothing(tmp_path: Path) -> None:
    assert list(recorded(open_repository(make_repository(tmp_path / "top", {"a": ""})))) == []
