"""Which lessons are told to other loops, and which are told no more."""

from datetime import datetime, timedelta

from helmsman.records.lessons import Lesson, LessonKind, Tier
from helmsman.texts import counted

CONFIDENCE, USES = 0.6, 2
"""From which a lesson holds beyond its loop (L3)."""
ENOUGH_USES, LOWEST_SUCCESS = 5, 0.4
"""A lesson that fails more often than this after so many uses does not hold."""
LONGEST_UNSEEN = timedelta(days=180)
"""A project moves on: what nobody met for half a year may not be so any more."""
UNSEEN = "not seen or told for "
"""How the reason begins that a new observation lifts."""


def reviewed(lesson: Lesson, now: datetime) -> Lesson:
    """The lesson in the tier where it belongs, retired where it has to be. A person's lesson is only a person's to end."""
    if lesson.retired and not _lifted(lesson, now):
        return lesson
    return lesson.model_copy(update={"tier": _tier(lesson), "retired": retirement(lesson, now)})


def retirement(lesson: Lesson, now: datetime) -> str:
    """Why it should be told no more; empty where it should."""
    if lesson.by == "person":
        return ""
    if lesson.uses >= ENOUGH_USES and lesson.success_rate < LOWEST_SUCCESS:
        kept = "it did not recur" if lesson.kind is LessonKind.ANTIPATTERN else "it went well"
        return f"{kept} in {lesson.successes} of {counted(lesson.uses, 'use')}, fewer than {LOWEST_SUCCESS:.0%}"
    unseen = now - _last(lesson)
    return f"{UNSEEN}{counted(unseen.days, 'day')} ({LONGEST_UNSEEN.days} are allowed)" if unseen > LONGEST_UNSEEN else ""


def _tier(lesson: Lesson) -> Tier:
    """Once promoted it stays so: what proves it wrong retires it."""
    promoted = lesson.confidence >= CONFIDENCE and lesson.uses >= USES
    return Tier.SEMANTIC if promoted else lesson.tier


def _lifted(lesson: Lesson, now: datetime) -> bool:
    """Whether it was retired only because it had not been met, and has been met since."""
    return lesson.retired.startswith(UNSEEN) and now - _last(lesson) <= LONGEST_UNSEEN


def _last(lesson: Lesson) -> datetime:
    return max(lesson.updated_at, lesson.used_at or lesson.updated_at)
