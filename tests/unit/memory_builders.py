"""Episodes, lessons and summaries with defaults."""

from collections.abc import Sequence
from typing import Any

from helmsman.oversee.learning import learn
from helmsman.records.control import IterationSummary, Learning
from helmsman.records.decision import Outcome
from helmsman.records.lessons import Episode, Lesson, LessonKind, Observation, Subject, Summary, TaskType
from tests.unit.builders import HOUR, NOW

APPROACH = "Guard the total against an empty cart"


def subject(**fields: Any) -> Subject:
    return Subject.model_validate(
        {"project": "shop", "task_type": TaskType.BUGFIX, "text": "Fix the crash when the cart is empty", **fields}
    )


def episodes(history: Sequence[IterationSummary], **fields: Any) -> tuple[Episode, ...]:
    """What memory keeps of a history, with the levels of learning that it led to."""
    found: list[Episode] = []
    learning: tuple[Learning, ...] = ()
    for number, moment in enumerate(history, start=1):
        learning, _ = learn(learning, history[:number], intervened=True)
        before = found[-1] if found else None
        about = subject(failures=tuple(error.kind for error in before.errors) if before else ())
        found.append(_episode(moment, learning, {"subject": about, **fields}))
    return tuple(found)


def _episode(moment: IterationSummary, learning: tuple[Learning, ...], fields: dict[str, Any]) -> Episode:
    given = {"uid": "u1", "loop": "mend-it", "approach": f"Rework the {_LETTERS[moment.iteration % 26]} parser", **fields}
    kept = {name: getattr(moment, name) for name in _KEPT}
    return Episode.model_validate({**kept, "learning": learning, **given})


def observation(text: str = f"This got earlier work there: “{APPROACH}”.", **fields: Any) -> Observation:
    usual = {"kind": LessonKind.STRATEGY, "confidence": 0.8, "good": True, "source": "u1", "subject": subject()}
    return Observation.model_validate({**usual, "text": text, **fields})


def lesson(text: str = APPROACH, **fields: Any) -> Lesson:
    usual = {"id": "l1", "kind": LessonKind.STRATEGY, "project": "shop", "task_type": TaskType.BUGFIX, "confidence": 0.8}
    return Lesson.model_validate({**usual, "text": text, "created_at": NOW, "updated_at": NOW, **fields})


def summary(outcome: Outcome = Outcome.COMPLETED, **fields: Any) -> Summary:
    usual = {"uid": "u1", "loop": "mend-it", "rule": "completion.verified", "iterations": 3, "seconds": 900, "cost_usd": 1.5}
    times = {"started_at": NOW, "ended_at": NOW + HOUR}
    return Summary.model_validate({**usual, **times, "subject": subject(), "outcome": outcome, **fields})


_KEPT = (
    "iteration", "attempt", "at", "seconds", "cost_usd", "tokens", "movement", "checked", "green", "completion", "errors",
    "troubles", "files",
)  # fmt: skip
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
