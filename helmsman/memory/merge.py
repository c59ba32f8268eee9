"""Merging of observations into lessons, and promotion and retirement of lessons.

Observations that say the same about the same work become one lesson and are counted.
Lessons differ by project, kind of work and kind of lesson; antipatterns also by class of failure and test, others by their words.

Uses are loops, not observations: one loop is one witness. An antipattern is confirmed by failed work without it, a strategy or
a convention by progress. Once recalled, both are judged by the result.
"""

import re
from collections.abc import Collection, Iterable
from datetime import datetime
from difflib import SequenceMatcher

from helmsman.memory.words import terms
from helmsman.records.lessons import MOST_SOURCES, Lesson, LessonKind, Observation, Tier
from helmsman.texts import plural

SAME = 0.87  # similarity at which two sentences count as one lesson
MOST_TESTS = 20
CONFIDENCE, USES = 0.6, 2  # minimum for a lesson to be promoted beyond its loop (L3)
ENOUGH_USES, LOWEST_SUCCESS = 5, 0.4  # a lesson with a lower success rate after so many uses is retired
_LONGEST_READ = 4_000
_OTHER_REACH = 0.5  # largest similarity of a lesson on a class of failures and one on a single test
_EXACT = re.compile(
    r"(?i)\b(?:not|never|no|without|avoid|cannot|\w+n['\u2019]t|before|after|until|first|last|always|only|instead|out|off|up|down)\b"
    r"|`[^`\s]+\s[^`]+`|\w+(?:[_./:]+\w+)+|\w*\d\w*"
)
"""Words that change a meaning, commands, names and numbers. Two separate lessons cost a line in a prompt; merging two that
differ in one of these teaches something wrong.
"""
_QUOTATION = re.compile("“([^”]*)”")


def text_similarity(one: str, other: str) -> float:
    """Share of meaningful words that two sentences have in common in the same order, 0 to 1."""
    first, second = sorted((one[:_LONGEST_READ], other[:_LONGEST_READ]))
    if first == second:
        return 1.0
    terms_of_first, terms_of_second = terms(first), terms(second)
    if not terms_of_first or _exact_words(first) != _exact_words(second):
        return 0.0
    return SequenceMatcher(None, terms_of_first, terms_of_second, autojunk=False).ratio()


def lesson_similarity(one: Lesson, other: Lesson) -> float:
    """Similarity of two lessons, 0 to 1. At `SAME` or above they are the same."""
    if (one.kind, one.project, one.task_type) != (other.kind, other.project, other.task_type):
        return 0.0
    if one.kind is not LessonKind.ANTIPATTERN:
        return text_similarity(_subject_text(one), _subject_text(other))
    if one.failure is not other.failure or (one.tests and other.tests and set(one.tests).isdisjoint(other.tests)):
        return 0.0
    by_rules = one.by == other.by == "rules" and one.failure is not None
    score = 1.0 if by_rules else text_similarity(_subject_text(one), _subject_text(other))
    return score if bool(one.tests) == bool(other.tests) else min(score, _OTHER_REACH)


def _subject_text(lesson: Lesson) -> str:
    """Subject of a lesson: the first quotation in a rule's sentence."""
    quotation = _QUOTATION.search(lesson.text) if lesson.by == "rules" else None
    return quotation[1] if quotation else lesson.text


def _exact_words(text: str) -> frozenset[str]:
    return frozenset(match.casefold().strip("`") for match in _EXACT.findall(text))


def learn(known: Iterable[Lesson], seen: Observation, id: str, now: datetime, prompted: Collection[str] = ()) -> Lesson:  # noqa: A002
    """Merge an observation into the known lesson that says the same, or create a new one with this id.

    `prompted`: ids of lessons in the loop's prompts; `credit` counts that loop.
    """
    new = Lesson(
        **seen.model_dump(include={"kind", "text", "detail", "failure", "confidence", "by"}),
        id=id,
        project=seen.subject.project,
        task_type=seen.subject.task_type,
        tests=seen.subject.tests[:MOST_TESTS],
        # confirmed by progress, an antipattern by its absence
        successes=int(seen.good is not (seen.kind is LessonKind.ANTIPATTERN)),
        sources=(seen.source,),
        created_at=now,
        updated_at=now,
    )
    best = max(known, key=lambda lesson: lesson_similarity(lesson, new), default=None)
    grown = merge(best, new, prompted=best.id in prompted) if best and lesson_similarity(best, new) >= SAME else new
    return review(grown)


def merge(lesson: Lesson, new: Lesson, *, prompted: bool = False) -> Lesson:
    """Merge one more observation into the lesson."""
    is_new_use = not prompted and not set(new.sources) <= set(lesson.sources)
    # whose words to keep: the rules' before a model's, then those with more confidence
    has_more_confidence = lesson.observed == 1 and new.confidence > lesson.confidence
    takes_words = has_more_confidence if new.by == lesson.by else lesson.by == "model"
    total = lesson.confidence * lesson.observed + new.confidence
    return lesson.model_copy(
        update={
            "confidence": min(1.0, max(0.0, total / (lesson.observed + 1))),
            "observed": lesson.observed + 1,
            "uses": lesson.uses + is_new_use,
            "successes": lesson.successes + (is_new_use and new.successes),
            "sources": (*(source for source in lesson.sources if source not in new.sources), *new.sources)[-MOST_SOURCES:],
            "tests": tuple(dict.fromkeys((*lesson.tests, *new.tests)))[:MOST_TESTS],
            "failure": lesson.failure or new.failure,
            "updated_at": max(new.updated_at, lesson.updated_at),
            **({"text": new.text, "detail": new.detail, "by": new.by} if takes_words else {}),
        }
    )


def credit(lesson: Lesson, *, good: bool, now: datetime) -> Lesson:
    """The lesson after the end of a loop that was told it. `good`: success; for an antipattern, its class did not recur."""
    return lesson.model_copy(
        update={"uses": lesson.uses + 1, "successes": lesson.successes + good, "used_at": max(now, lesson.used_at or now)}
    )


def review(lesson: Lesson) -> Lesson:
    """The lesson in its tier, retired if it went well too rarely."""
    if lesson.retired:
        return lesson
    is_promoted = lesson.confidence >= CONFIDENCE and lesson.uses >= USES  # permanently: contrary evidence retires it
    why = ""
    if lesson.uses >= ENOUGH_USES and lesson.success_rate < LOWEST_SUCCESS:
        success_text = "it did not recur" if lesson.kind is LessonKind.ANTIPATTERN else "it went well"
        why = f"{success_text} in {lesson.successes} of {plural(lesson.uses, 'use')}, fewer than {LOWEST_SUCCESS:.0%}"
    return lesson.model_copy(update={"tier": Tier.SEMANTIC if is_promoted else lesson.tier, "retired": why})
