"""How what is observed becomes a lesson, and how lessons grow: what says the same about the same work is one, and is counted.

Lessons stay apart by project, kind of work and kind of lesson. An antipattern is one by its class of failure and the test that it
names; all else by its words.

Uses are loops, not observations: whatever one loop repeats, it is one witness. An antipattern is borne out where work went on
without it and failed; a strategy or a convention where the work got on. Once told, both are judged by what came of it.
"""

import re
from datetime import datetime
from difflib import SequenceMatcher

from helmsman.memory.words import terms
from helmsman.records.lessons import MOST_SOURCES, Lesson, LessonKind, Observation

SAME = 0.87
"""Likeness from which two sentences count as one lesson."""
MOST_TESTS = 20
_LONGEST_READ = 4_000
_OTHER_REACH = 0.5
"""Likeness, at most, of what holds of a whole class of failures and what holds of one test."""
_RANK = {"model": 0, "rules": 1, "person": 2}
_EXACT = re.compile(
    r"(?i)\b(?:not|never|no|without|avoid|cannot|\w+n['\u2019]t|before|after|until|first|last|always|only|instead|out|off|up|down)\b"
    r"|`[^`\s]+\s[^`]+`|\w+(?:[_./:]+\w+)+|\w*\d\w*"
)
"""Words that turn a sentence, commands, names and numbers. Two lessons kept apart cost a line in a prompt; two that are merged
though they differ in one of these teach something wrong.
"""
_QUOTATION = re.compile("“([^”]*)”")


def alike(one: str, other: str) -> float:
    """The share of telling words that two sentences have in common, in the same order, 0 to 1."""
    first, second = sorted((one[:_LONGEST_READ], other[:_LONGEST_READ]))
    if first == second:
        return 1.0
    mine, theirs = terms(first), terms(second)
    if not mine or _exact(first) != _exact(second):
        return 0.0
    return SequenceMatcher(None, mine, theirs, autojunk=False).ratio()


def similar(one: Lesson | Observation, other: Lesson | Observation) -> float:
    """How much two of them are the same lesson, 0 to 1. From `SAME` they are."""
    if one.kind is not other.kind or _place(one) != _place(other):
        return 0.0
    if one.kind is LessonKind.ANTIPATTERN:
        return _same_antipattern(one, other)
    return alike(_said(one), _said(other))


def is_same(one: Lesson | Observation, other: Lesson | Observation) -> bool:
    return similar(one, other) >= SAME


def core(text: str) -> str:
    """The first quotation of a text, or the whole of it."""
    found = _QUOTATION.search(text)
    return found[1] if found else text


def new_lesson(observation: Observation, id: str, now: datetime) -> Lesson:  # noqa: A002 - the field's name
    """A lesson that one observation makes."""
    return Lesson(
        id=id,
        kind=observation.kind,
        project=observation.subject.project,
        task_type=observation.subject.task_type,
        text=observation.text,
        detail=observation.detail,
        failure=observation.failure,
        tests=observation.subject.tests[:MOST_TESTS],
        confidence=observation.confidence,
        successes=int(_bears_out(observation)),
        sources=(observation.source,),
        by=observation.by,
        created_at=now,
        updated_at=now,
    )


def merged(lesson: Lesson, observation: Observation, now: datetime, *, told: bool = False) -> Lesson:
    """The lesson with one observation more. `told`: the loop had been told of it, so that `credited` counts that loop."""
    new = not told and observation.source not in lesson.sources
    worded = _better(observation, lesson)
    total = lesson.confidence * lesson.observed + observation.confidence
    return lesson.model_copy(
        update={
            "confidence": _share(total / (lesson.observed + 1)),
            "observed": lesson.observed + 1,
            "uses": lesson.uses + new,
            "successes": lesson.successes + (new and _bears_out(observation)),
            "sources": _with_source(lesson.sources, observation.source),
            "tests": tuple(dict.fromkeys((*lesson.tests, *observation.subject.tests)))[:MOST_TESTS],
            "failure": lesson.failure or observation.failure,
            "updated_at": max(now, lesson.updated_at),
            **({"text": observation.text, "detail": observation.detail, "by": observation.by} if worded else {}),
        }
    )


def credited(lesson: Lesson, *, good: bool, now: datetime) -> Lesson:
    """The lesson after a loop that was told of it has ended. `good`: it went well; of an antipattern, its class did not recur."""
    return lesson.model_copy(
        update={"uses": lesson.uses + 1, "successes": lesson.successes + good, "used_at": max(now, lesson.used_at or now)}
    )


def _place(one: Lesson | Observation) -> tuple[str, str]:
    """Whose lesson it is: project and kind of work."""
    if isinstance(one, Observation):
        return one.subject.project, one.subject.task_type
    return one.project, one.task_type


def _same_antipattern(one: Lesson | Observation, other: Lesson | Observation) -> float:
    mine, theirs = _tests(one), _tests(other)
    if one.failure is not other.failure or (mine and theirs and mine.isdisjoint(theirs)):
        return 0.0
    by_rules = one.by == other.by == "rules" and one.failure is not None
    score = 1.0 if by_rules else alike(_said(one), _said(other))
    return score if bool(mine) == bool(theirs) else min(score, _OTHER_REACH)


def _said(one: Lesson | Observation) -> str:
    """What it is about: of our own sentences the first words that they quote."""
    return core(one.text) if one.by == "rules" else one.text


def _exact(text: str) -> frozenset[str]:
    return frozenset(found.casefold().strip("`") for found in _EXACT.findall(text))


def _tests(one: Lesson | Observation) -> frozenset[str]:
    return frozenset(one.subject.tests if isinstance(one, Observation) else one.tests)


def _bears_out(observation: Observation) -> bool:
    """Whether the work speaks for the lesson: for an antipattern, work that did not get on."""
    return observation.good is not (observation.kind is LessonKind.ANTIPATTERN)


def _better(observation: Observation, lesson: Lesson) -> bool:
    """Whether its words serve better: a person's before the rules' before a model's, then what is better borne out."""
    if observation.by != lesson.by:
        return _RANK[observation.by] > _RANK[lesson.by]
    return lesson.observed == 1 and observation.confidence > lesson.confidence and observation.by != "person"


def _with_source(sources: tuple[str, ...], source: str) -> tuple[str, ...]:
    """Newest last, the newest ones kept."""
    return (*(known for known in sources if known != source), source)[-MOST_SOURCES:]


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))
