"""Recall: which lessons a prompt contains, and their wording.

The score of a lesson is the product of relevance (to the fourth power), confidence and success rate; ties go to the one that
was seen last.
Relevance is what lesson and work have in common (words, failing tests, a class of failure), less for another type of work and
for another project. A lesson with too little in common is left out, even if there is no other.

All of it is quoted: anyone with write access, including an agent, may have written the store and guardrails.md.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from helmsman.memory.estimates import format_estimate
from helmsman.plain import clean
from helmsman.prompts import render
from helmsman.records.lessons import Guardrail, Lesson, LessonKind, Recalled, Reminder, Subject, Tier
from helmsman.texts import plural
from helmsman.tokens import tokens

MEMORY_TOKENS = 1200  # of lessons and guardrails in a prompt: half a page, next to the goal and the failures
MIN_CONFIDENCE, MIN_SUCCESS = 0.7, 0.6
"""Least confidence and success rate of a recalled lesson (L4). The rate of an antipattern counts loops that followed it."""
MOST_LESSONS, MOST_ANTIPATTERNS = 5, 2  # strategies and conventions, and antipatterns, in one prompt (L4)
SAME_TEST = 0.6  # weight, from 0 to 1, of a lesson's tests failing now…
SAME_CLASS = 0.26  # …of its class of failure being present…
OWN_CONVENTION = 0.22  # …and of a convention of this project, which applies to any goal
ENOUGH_WORDS = 3
"""Words in common that count in full: in a small store a single one may be all that matches a goal."""
OTHER_TYPE = 0.8  # factor on the relevance of a lesson of another type of work…
OTHER_PROJECT = 0.75  # …and of another project
LEAST = 0.2
"""Least relevance of a recalled lesson. A common class is enough within a project only; a convention needs no common word if
it comes from the same type of work.
"""
POWER = 4  # exponent of relevance against a lesson's quality: certain but irrelevant lessons help nobody

_HEADINGS = {
    LessonKind.CONVENTION: "How this project does things:",
    LessonKind.STRATEGY: "What led to success:",
    LessonKind.ANTIPATTERN: "What failed repeatedly; do something else:",
}


@dataclass(frozen=True)
class SearchHit:
    """A lesson that a search found."""

    lesson: Lesson
    text: float
    """How well its words match the query, 0 to 1, independent of other results; 0 if found without words."""
    words: int  # matching words


class _Weighed(NamedTuple):
    hit: SearchHit
    own: bool  # of the same project
    tests: int  # of the lesson that fail now
    score: float

    @property
    def lesson(self) -> Lesson:
        return self.hit.lesson

    @property
    def warns(self) -> bool:
        return self.lesson.kind is LessonKind.ANTIPATTERN


def reminders(hits: Iterable[SearchHit], subject: Subject, now: datetime, allowance: int) -> tuple[Reminder, ...]:
    """Choose the best of the found lessons, limited by number of each sort, in at most `allowance` tokens.

    Lessons of this project come before those of others, and antipatterns last.
    """
    # each lesson once, with its best match, however it was found
    best = {hit.lesson.id: hit for hit in sorted(hits, key=lambda hit: hit.text)}
    relevant = [weighed for hit in best.values() if (weighed := _score(hit, subject))]
    relevant.sort(key=lambda item: (-item.score, -item.lesson.updated_at.timestamp(), item.lesson.id))
    room_left = {True: MOST_ANTIPATTERNS, False: MOST_LESSONS}
    chosen: list[tuple[_Weighed, Reminder]] = []
    for candidate in relevant:
        lesson, why = candidate.lesson, _reasons(candidate, subject, now)
        reminder = Reminder(lesson=lesson.id, kind=lesson.kind, text=lesson.text, why=why, score=round(candidate.score, 4))
        earlier = [reminder for _, reminder in chosen]
        if room_left[candidate.warns] and reminders_cost([*earlier, reminder]) <= allowance:
            room_left[candidate.warns] -= 1
            chosen.append((candidate, reminder))
    return tuple(reminder for _, reminder in sorted(chosen, key=lambda pair: (pair[0].warns, not pair[0].own)))


def _score(hit: SearchHit, subject: Subject) -> _Weighed | None:
    """Score a lesson; None if it is unproven or has too little in common. Common features combine like probabilities: each takes
    its share of the remainder.
    """
    lesson = hit.lesson
    is_usable = lesson.tier is Tier.SEMANTIC and not lesson.retired and lesson.text.strip()
    if not is_usable or lesson.confidence < MIN_CONFIDENCE or lesson.success_rate < MIN_SUCCESS:
        return None
    # other projects have other conventions, and a warning needs a situation where it applies
    applies = lesson.failure in subject.failures or lesson.task_type is subject.task_type
    if lesson.kind is LessonKind.CONVENTION:
        applies = lesson.project == subject.project
    if not applies and lesson.kind is not LessonKind.STRATEGY:
        return None
    own, tests = lesson.project == subject.project, len(set(lesson.tests) & set(subject.tests))
    smaller = min(len(lesson.tests), len(subject.tests))
    unrelated = 1 - hit.text * min(hit.words / ENOUGH_WORDS, 1)
    unrelated *= 1 - SAME_TEST * (tests / smaller if smaller else 0)
    unrelated *= 1 - SAME_CLASS * (lesson.failure in subject.failures)
    unrelated *= 1 - OWN_CONVENTION * (own and lesson.kind is LessonKind.CONVENTION)
    type_fits = lesson.task_type is subject.task_type
    relevance = (1 - unrelated) * (1 if type_fits else OTHER_TYPE) * (1 if own else OTHER_PROJECT)
    score = relevance**POWER * lesson.confidence * lesson.success_rate
    return _Weighed(hit, own, tests, score) if relevance >= LEAST else None


def _reasons(candidate: _Weighed, subject: Subject, now: datetime) -> str:
    """Why a lesson was chosen, for people."""
    lesson, hit = candidate.lesson, candidate.hit
    verb = "fails" if candidate.tests == 1 else "fail"
    has_class = lesson.failure is not None and lesson.failure in subject.failures
    reasons = (
        "of this project" if candidate.own else "of another project",
        f"{'the same' if lesson.task_type is subject.task_type else 'another'} type of work ({lesson.task_type})",
        f"{plural(hit.words, 'word')} in common with the goal, {hit.text:.0%} by weight",
        f"{candidate.tests} of its {plural(len(lesson.tests), 'test')} {verb} now" if candidate.tests else "",
        f"its class of failure ({lesson.failure}) occurs now" if has_class else "",
        f"confidence {lesson.confidence:.2f}",
        f"{lesson.successes} of {plural(lesson.uses, 'use')} went well",
        f"seen {plural(max((now - lesson.updated_at).days, 0), 'day')} ago",
    )
    return "; ".join(filter(None, reasons))


def lessons_section(recalled: Recalled) -> str:
    """Section at the end of the prompt, where models pay most attention: lessons of other work, then of this project."""
    lines = "\n".join(f"- {_guardrail_line(one)}" for one in recalled.guardrails)
    lines_of = {kind: [f"- {clean(one.text).strip()}" for one in recalled.reminders if one.kind is kind] for kind in _HEADINGS}
    kinds = [{"heading": _HEADINGS[kind], "lines": "\n".join(texts)} for kind, texts in lines_of.items() if texts]
    sections = render("lessons", kinds=kinds) if kinds else "", render("guardrails", lines=lines) if lines else ""
    return "\n".join(filter(None, sections))


def reminders_cost(reminders: Sequence[Reminder]) -> int:
    return tokens(lessons_section(Recalled(reminders=tuple(reminders))))


def guardrails_cost(guardrails: Sequence[Guardrail]) -> int:
    """Tokens of guardrails in a prompt, including the preceding newline."""
    return tokens("\n" + lessons_section(Recalled(guardrails=tuple(guardrails)))) if guardrails else 0


def recalled_lines(recalled: Recalled) -> Iterator[str]:
    """Recalled lessons of an iteration and the reasons, for people."""
    if recalled.problem:
        yield f"memory     none: {clean(recalled.problem)}"
    for one in recalled.guardrails:
        yield f"guardrail  {_guardrail_line(one)}"
    for one in recalled.reminders:
        yield f"recalled   {one.kind}: {clean(one.text)}"
        yield f"           because: {clean(one.why)}; score {one.score:.2f}"
    if recalled.estimate is not None:
        yield f"estimate   {format_estimate(recalled.estimate)}"


def _guardrail_line(one: Guardrail) -> str:
    instruction, trigger = clean(one.instruction).strip(), clean(one.trigger).strip()
    return f"{trigger}: {instruction}" if trigger else instruction
