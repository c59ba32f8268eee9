"""Records for tests of the store. Imports little, because processes of tests import it."""

from datetime import UTC, datetime, timedelta
from typing import Any

from helmsman.records.agent import ErrorVector, FailureClass
from helmsman.records.control import Movement
from helmsman.records.decision import Outcome
from helmsman.records.lessons import Episode, Guardrail, Lesson, LessonKind, Subject, Summary, TaskType

NOW = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
DAY = timedelta(days=1)


def lesson(id: str = "a", text: str = "Run the migrations before the tests", **more: Any) -> Lesson:  # noqa: A002 - as the record
    usual = {"kind": LessonKind.STRATEGY, "project": "shop", "task_type": TaskType.FEATURE, "confidence": 0.8}
    return Lesson.model_validate({"id": id, "text": text, "created_at": NOW, "updated_at": NOW, **usual, **more})


def guardrail(id: str = "g", **more: Any) -> Guardrail:  # noqa: A002 - as the record
    usual = {"project": "shop", "instruction": "Read the file before you edit it", "created_at": NOW}
    return Guardrail.model_validate({"id": id, **usual, **more})


def subject(project: str = "shop", task_type: TaskType = TaskType.FEATURE) -> Subject:
    return Subject(project=project, task_type=task_type, text="Let people pay by invoice")


def episode(iteration: int, *failed: FailureClass, uid: str = "u1", project: str = "shop", **more: Any) -> Episode:
    usual = {"loop": "pay", "attempt": 1, "at": NOW, "seconds": 60, "cost_usd": 0.5, "movement": Movement.FORWARD}
    seen = {"checked": True, "green": not failed, "completion": 0.5, "errors": [ErrorVector(kind=kind) for kind in failed]}
    record = {"uid": uid, "iteration": iteration, "subject": subject(project), **usual, **seen, **more}
    return Episode.model_validate(record)


def summary(uid: str, ended: datetime = NOW, project: str = "shop", task_type: TaskType = TaskType.FEATURE) -> Summary:
    spent = {"iterations": 4, "seconds": 900.0, "cost_usd": 2.0}
    moments = {"started_at": ended - DAY, "ended_at": ended}
    about = subject(project, task_type)
    return Summary.model_validate(
        {"uid": uid, "loop": "pay", "subject": about, "outcome": Outcome.COMPLETED, "rule": "done", **spent, **moments}
    )
