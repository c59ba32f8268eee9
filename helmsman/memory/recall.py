"""Which lessons a prompt carries: what fits the work that is due, has proved itself and is not too old, in few words.

Its score is the product of relevance (to the fourth power), confidence, the share of uses that went well, and freshness.
Relevance is what lesson and work have in common (words, failing tests, a class of failure), less for another type of work and for
another project. A lesson that has too little in common is not told, even where nothing else is there.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from helmsman.config.memory import MemoryConfig
from helmsman.memory.telling import cost
from helmsman.memory.words import terms
from helmsman.records.lessons import Lesson, LessonKind, Reminder, Subject, Tier
from helmsman.texts import counted

SAME_TEST = 0.6
"""What it counts for, from 0 to 1, that the tests a lesson is about fail now…"""
SAME_CLASS = 0.26
"""…that its class of failure is there now…"""
OWN_CONVENTION = 0.22
"""…that it is a convention of this project: it holds whatever the goal's words are."""
ENOUGH_WORDS = 3
"""Words in common from which they count in full: in a small store a single one may be all that anybody knows of a goal."""
OTHER_TYPE = 0.8
"""What remains of the relevance of a lesson of another type of work…"""
OTHER_PROJECT = 0.75
"""…and of another project."""
LEAST = 0.2
"""Relevance below which a lesson is not told. A class in common is enough within a project, and nowhere else; a convention is
told without a word in common where it stems from the same type of work.
"""
POWER = 4
"""Relevance weighs that much more than what a lesson is worth: what is sure and new and beside the point helps nobody."""
HALF_LIFE = timedelta(days=180)
"""Of freshness, for a lesson that nobody saw again…"""
OLD = 0.7
"""…which is this at least: what proved itself stays worth telling."""
ALIKE = 0.7
"""Share of their words from which only the better one of two lessons is told, also where the rest makes them opposites."""

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Found:
    """A lesson that a search came upon."""

    lesson: Lesson
    text: float
    """How well its words fit those that were looked for, 0 to 1, whatever else was found; 0 where it was found without words."""
    words: int
    """How many of them it holds."""


@dataclass(frozen=True)
class _Weighed:
    found: Found
    own: bool
    score: float

    @property
    def lesson(self) -> Lesson:
        return self.found.lesson

    @property
    def warns(self) -> bool:
        return self.lesson.kind is LessonKind.ANTIPATTERN


def reminders(
    found: Iterable[Found], subject: Subject, config: MemoryConfig, now: datetime, allowance: int
) -> tuple[Reminder, ...]:
    """What is told of all that was found, in so many tokens.

    The best are chosen; told are this project's before those of others, and antipatterns last.
    """
    weighed = [one for each in _once(found) if (one := _weigh(each, subject, config, now)) is not None]
    chosen = _chosen(sorted(weighed, key=_best_first), subject, config, now, allowance)
    return tuple(reminder for _, reminder in sorted(chosen, key=lambda pair: _as_told(pair[0])))


def _once(found: Iterable[Found]) -> Iterable[Found]:
    """Each lesson once, as it fits best, whichever way it was come upon."""
    best: dict[str, Found] = {}
    for one in found:
        known = best.get(one.lesson.id)
        if known is None or one.text > known.text:
            best[one.lesson.id] = one
    return best.values()


def _weigh(found: Found, subject: Subject, config: MemoryConfig, now: datetime) -> _Weighed | None:
    """None where it may not be told."""
    lesson = found.lesson
    if not (_has_proved_itself(lesson, config) and _concerns(lesson, subject)):
        return None
    relevance = _relevance(found, subject)
    if relevance < LEAST:
        return None
    score = relevance**POWER * lesson.confidence * lesson.success_rate * _freshness(lesson, now)
    return _Weighed(found, lesson.project == subject.project, score)


def _has_proved_itself(lesson: Lesson, config: MemoryConfig) -> bool:
    stands = lesson.tier is Tier.SEMANTIC and not lesson.retired and bool(lesson.text.strip())
    return stands and lesson.confidence >= config.min_confidence and lesson.success_rate >= config.min_success


def _concerns(lesson: Lesson, subject: Subject) -> bool:
    """Other projects have other conventions; and a warning is for those who stand where it applies."""
    if lesson.kind is LessonKind.CONVENTION:
        return lesson.project == subject.project
    if lesson.kind is LessonKind.ANTIPATTERN:
        return lesson.failure in subject.failures or lesson.task_type is subject.task_type
    return True


def _relevance(found: Found, subject: Subject) -> float:
    """Things in common add up as chances do: each takes its share of what the others leave open."""
    lesson = found.lesson
    own = lesson.project == subject.project
    apart = 1 - _share(found) * min(found.words / ENOUGH_WORDS, 1)
    apart *= 1 - SAME_TEST * _same_tests(lesson, subject)
    apart *= 1 - SAME_CLASS * (lesson.failure in subject.failures)
    apart *= 1 - OWN_CONVENTION * (own and lesson.kind is LessonKind.CONVENTION)
    type_fits = lesson.task_type is subject.task_type
    return (1 - apart) * (1 if type_fits else OTHER_TYPE) * (1 if own else OTHER_PROJECT)


def _share(found: Found) -> float:
    return min(max(found.text, 0.0), 1.0)


def _same_tests(lesson: Lesson, subject: Subject) -> float:
    """Share of the fewer."""
    fewer = min(len(lesson.tests), len(subject.tests))
    return _tests_in_common(lesson, subject) / fewer if fewer else 0.0


def _tests_in_common(lesson: Lesson, subject: Subject) -> int:
    return len(set(lesson.tests) & set(subject.tests))


def _age(lesson: Lesson, now: datetime) -> timedelta:
    """None at all where a clock went wrong."""
    return max(now - lesson.updated_at, timedelta(0))


def _freshness(lesson: Lesson, now: datetime) -> float:
    return OLD + (1 - OLD) * 0.5 ** (_age(lesson, now) / HALF_LIFE)


def _best_first(one: _Weighed) -> tuple[float, float, str]:
    return -one.score, -one.lesson.updated_at.timestamp(), one.lesson.id


def _as_told(one: _Weighed) -> tuple[bool, bool, float, float, str]:
    return one.warns, not one.own, *_best_first(one)


def _chosen(
    ranked: Sequence[_Weighed], subject: Subject, config: MemoryConfig, now: datetime, allowance: int
) -> list[tuple[_Weighed, Reminder]]:
    """From the best on: so many of either sort, nothing twice, as far as the allowance reaches."""
    room = {True: config.antipatterns, False: config.lessons}
    chosen: list[tuple[_Weighed, Reminder]] = []
    said: list[tuple[LessonKind, frozenset[str]]] = []
    for one in ranked:
        words = (one.lesson.kind, frozenset(terms(one.lesson.text))) if room[one.warns] else None
        if words is None or any(_alike(words, other) for other in said):
            continue
        reminder = _reminder(one, subject, now)
        if cost([*(told for _, told in chosen), reminder]) <= allowance:
            room[one.warns] -= 1
            chosen.append((one, reminder))
            said.append(words)
        if not any(room.values()):
            break
    return chosen


def _alike(one: tuple[LessonKind, frozenset[str]], other: tuple[LessonKind, frozenset[str]]) -> bool:
    """Of the same kind: a warning may hold the words of what works, and both are needed."""
    return one[0] is other[0] and len(one[1] & other[1]) >= ALIKE * len(one[1] | other[1])


def _reminder(one: _Weighed, subject: Subject, now: datetime) -> Reminder:
    lesson = one.lesson
    why = "; ".join(_because(one, subject, now))
    return Reminder(lesson=lesson.id, kind=lesson.kind, text=lesson.text, why=why, score=round(one.score, 4))


def _because(one: _Weighed, subject: Subject, now: datetime) -> Iterator[str]:
    lesson, same = one.lesson, _tests_in_common(one.lesson, subject)
    yield "of this project" if one.own else "of another project"
    fits = lesson.task_type is subject.task_type
    yield f"the same type of work ({lesson.task_type})" if fits else f"another type of work ({lesson.task_type})"
    yield f"it holds {counted(one.found.words, 'word')} of what is asked, {_share(one.found):.0%} by weight"
    if same:
        yield f"{same} of its {counted(len(lesson.tests), 'test')} {'fails' if same == 1 else 'fail'} now"
    if lesson.failure is not None and lesson.failure in subject.failures:
        yield f"its class of failure ({lesson.failure}) is there now"
    yield f"confidence {lesson.confidence:.2f}"
    yield f"{lesson.successes} of {counted(lesson.uses, 'use')} went well"
    yield f"seen {counted(_age(lesson, now) // _DAY, 'day')} ago"
