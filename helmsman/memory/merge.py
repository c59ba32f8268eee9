"""How what is observed becomes a lesson, and how lessons grow, are told to other loops, and are told no more.

What says the same about the same work is one, and is counted.
Lessons stay apart by project, kind of work and kind of lesson. An antipattern is one by its class of failure and the test that it
names; all else by its words.

Uses are loops, not observations: whatever one loop repeats, it is one witness. An antipattern is borne out where work went on
without it and failed; a strategy or a convention where the work got on. Once told, both are judged by what came of it.
"""

import re
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from difflib import SequenceMatcher

from helmsman.memory.words import terms
from helmsman.records.lessons import MOST_SOURCES, Lesson, LessonKind, Observation, Tier
from helmsman.texts import plural

SAME = 0.87  # likeness from which two sentences count as one lesson
MOST_TESTS = 20
CONFIDENCE, USES = 0.6, 2  # from which a lesson holds beyond its loop (L3)
ENOUGH_USES, LOWEST_SUCCESS = 5, 0.4  # a lesson that fails more often than this after so many uses does not hold
LONGEST_UNSEEN = timedelta(days=180)  # a project moves on: what nobody met for half a year may not be so any more
UNSEEN = "not seen or told for "  # how the reason begins that a new observation lifts
_LONGEST_READ = 4_000
_OTHER_REACH = 0.5  # likeness, at most, of what holds of a whole class of failures and what holds of one test
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


def similar(one: Lesson, other: Lesson) -> float:
    """How much two of them are the same lesson, 0 to 1. From `SAME` they are."""
    if (one.kind, one.project, one.task_type) != (other.kind, other.project, other.task_type):
        return 0.0
    if one.kind is not LessonKind.ANTIPATTERN:
        return alike(_said(one), _said(other))
    if one.failure is not other.failure or (one.tests and other.tests and set(one.tests).isdisjoint(other.tests)):
        return 0.0
    by_rules = one.by == other.by == "rules" and one.failure is not None
    score = 1.0 if by_rules else alike(_said(one), _said(other))
    return score if bool(one.tests) == bool(other.tests) else min(score, _OTHER_REACH)


def _said(one: Lesson) -> str:
    """What it is about: of our own sentences the first words that they quote."""
    found = _QUOTATION.search(one.text) if one.by == "rules" else None
    return found[1] if found else one.text


def _exact(text: str) -> frozenset[str]:
    return frozenset(found.casefold().strip("`") for found in _EXACT.findall(text))


def learn(known: Iterable[Lesson], seen: Observation, id: str, now: datetime, told: Collection[str] = ()) -> Lesson:  # noqa: A002
    """What becomes of an observation: of the known lessons the one that says the same, grown, or a new one of this id.

    `told`: ids of lessons that the loop had been told of, so that `credited` counts that loop.
    """
    new = Lesson(
        **seen.model_dump(include={"kind", "text", "detail", "failure", "confidence", "by"}),
        id=id,
        project=seen.subject.project,
        task_type=seen.subject.task_type,
        tests=seen.subject.tests[:MOST_TESTS],
        # borne out by work that got on, an antipattern by work that did not
        successes=int(seen.good is not (seen.kind is LessonKind.ANTIPATTERN)),
        sources=(seen.source,),
        created_at=now,
        updated_at=now,
    )
    best = max(known, key=lambda one: similar(one, new), default=None)
    grown = merged(best, new, told=best.id in told) if best and similar(best, new) >= SAME else new
    return reviewed(grown, now)


def merged(lesson: Lesson, new: Lesson, *, told: bool = False) -> Lesson:
    """The lesson with what one observation more made."""
    use = not told and not set(new.sources) <= set(lesson.sources)
    # whose words serve better: a person's before the rules' before a model's, then what is better borne out
    borne_out = lesson.observed == 1 and new.confidence > lesson.confidence and new.by != "person"
    better = borne_out if new.by == lesson.by else _RANK[new.by] > _RANK[lesson.by]
    total = lesson.confidence * lesson.observed + new.confidence
    return lesson.model_copy(
        update={
            "confidence": min(1.0, max(0.0, total / (lesson.observed + 1))),
            "observed": lesson.observed + 1,
            "uses": lesson.uses + use,
            "successes": lesson.successes + (use and new.successes),
            "sources": (*(one for one in lesson.sources if one not in new.sources), *new.sources)[-MOST_SOURCES:],
            "tests": tuple(dict.fromkeys((*lesson.tests, *new.tests)))[:MOST_TESTS],
            "failure": lesson.failure or new.failure,
            "updated_at": max(new.updated_at, lesson.updated_at),
            **({"text": new.text, "detail": new.detail, "by": new.by} if better else {}),
        }
    )


def credited(lesson: Lesson, *, good: bool, now: datetime) -> Lesson:
    """The lesson after a loop that was told of it has ended. `good`: it went well; of an antipattern, its class did not recur."""
    return lesson.model_copy(
        update={"uses": lesson.uses + 1, "successes": lesson.successes + good, "used_at": max(now, lesson.used_at or now)}
    )


def reviewed(lesson: Lesson, now: datetime) -> Lesson:
    """The lesson in the tier where it belongs, retired where it has to be. A person's lesson is only a person's to end; only what
    had not been met for long comes back once it is.
    """
    unseen = now - max(lesson.updated_at, lesson.used_at or lesson.updated_at)
    if lesson.retired and not (lesson.retired.startswith(UNSEEN) and unseen <= LONGEST_UNSEEN):
        return lesson
    promoted = lesson.confidence >= CONFIDENCE and lesson.uses >= USES  # and stays so: what proves it wrong retires it
    why = ""
    if lesson.by != "person" and lesson.uses >= ENOUGH_USES and lesson.success_rate < LOWEST_SUCCESS:
        kept = "it did not recur" if lesson.kind is LessonKind.ANTIPATTERN else "it went well"
        why = f"{kept} in {lesson.successes} of {plural(lesson.uses, 'use')}, fewer than {LOWEST_SUCCESS:.0%}"
    elif lesson.by != "person" and unseen > LONGEST_UNSEEN:
        why = f"{UNSEEN}{plural(unseen.days, 'day')} ({LONGEST_UNSEEN.days} are allowed)"
    return lesson.model_copy(update={"tier": Tier.SEMANTIC if promoted else lesson.tier, "retired": why})
