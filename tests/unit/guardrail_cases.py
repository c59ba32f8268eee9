"""Episodes and guardrails with defaults."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from helmsman.records.agent import ErrorVector, FailureClass
from helmsman.records.control import Movement
from helmsman.records.lessons import Episode, Guardrail, Subject, TaskType
from tests.unit.builders import NOW

PROJECT = "p1"
SUBJECT = Subject(project=PROJECT, task_type=TaskType.TEST_FIX, text="make the tests pass")
TEST, TYPES, LINT, NETWORK = FailureClass.TEST, FailureClass.TYPES, FailureClass.LINT, FailureClass.NETWORK
Counts = Mapping[FailureClass, tuple[int, int]]


def failure(kind: FailureClass = TEST, where: str = "") -> ErrorVector:
    return ErrorVector(kind=kind, where=where, message="assert 1 == 2")


def episode(iteration: int = 1, *errors: ErrorVector, movement: Movement = Movement.SIDEWAYS, **fields: Any) -> Episode:
    """An iteration that ended with these failures; green without any."""
    given = {"uid": "u1", "loop": "mend-it", "iteration": iteration, "attempt": 1, "subject": SUBJECT, "seconds": 60}
    found = {"checked": True, "green": not errors, "completion": 0.5, "errors": errors, "cost_usd": 0.1, "movement": movement}
    return Episode.model_validate({**given, "at": NOW + timedelta(minutes=iteration), **found, **fields})


def failing_episodes(times: int, kind: FailureClass = TEST, where: str = "", **fields: Any) -> list[Episode]:
    """Consecutive iterations with the same failure and no progress."""
    return [episode(number, failure(kind, where), **fields) for number in range(1, times + 1)]


def forward(times: int, kind: FailureClass = TEST) -> list[Episode]:
    """Iterations that each get past one failing test to the next."""
    return [
        episode(number, failure(kind, f"tests/test_a.py::test_{number}"), movement=Movement.FORWARD) for number in range(times)
    ]


def guardrail(**fields: Any) -> Guardrail:
    given = {"id": "g0000000a", "project": PROJECT, "failure": TEST, "instruction": "Read the test first.", "created_at": NOW}
    return Guardrail.model_validate({**given, **fields})
