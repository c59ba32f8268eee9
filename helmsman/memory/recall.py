"""Which lessons a prompt carries, and in which words: what fits the work that is due, and has proved itself.

Its score is the product of relevance (to the fourth power), confidence and the share of uses that went well; of equals the one
that was seen last comes first.
Relevance is what lesson and work have in common (words, failing tests, a class of failure), less for another type of work and for
another project. A lesson that has too little in common is not told, even where nothing else is there.

All that is told is quoted: a row of the store and a line of guardrails.md may come from whoever could write there, an agent too.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from helmsman.budget import whole
from helmsman.memory.estimates import in_words
from helmsman.memory.words import terms
from helmsman.plain import clean
from helmsman.prompts import Piece, render_pieces
from helmsman.records.lessons import Guardrail, Lesson, LessonKind, Recalled, Reminder, Subject, Tier
from helmsman.texts import plural
from helmsman.tokens import tokens

MEMORY_TOKENS = 1200  # of a prompt that lessons and guardrails may take: half a page, beside a goal and what fails
MIN_CONFIDENCE, MIN_SUCCESS = 0.7, 0.6
"""Confidence, and share of uses that went well, from which a lesson is told (L4). Of an antipattern: of loops that heeded it."""
MOST_LESSONS, MOST_ANTIPATTERNS = 5, 2  # strategies and conventions, and antipatterns, in one prompt (L4)
SAME_TEST = 0.6  # what it counts for, from 0 to 1, that the tests a lesson is about fail now…
SAME_CLASS = 0.26  # …that its class of failure is there now…
OWN_CONVENTION = 0.22  # …that it is a convention of this project: it holds whatever the goal's words are
ENOUGH_WORDS = 3
"""Words in common from which they count in full: in a small store a single one may be all that anybody knows of a goal."""
OTHER_TYPE = 0.8  # what remains of the relevance of a lesson of another type of work…
OTHER_PROJECT = 0.75  # …and of another project
LEAST = 0.2
"""Relevance below which a lesson is not told. A class in common is enough within a project, and nowhere else; a convention is
told without a word in common where it stems from the same type of work.
"""
POWER = 4  # relevance weighs that much more than what a lesson is worth: what is sure and new and beside the point helps nobody
ALIKE = 0.7
"""Share of their words from which only the better one of two lessons is told, also where the rest makes them opposites."""

_HEADINGS = {
    LessonKind.CONVENTION: "How this project does things:",
    LessonKind.STRATEGY: "What led to success:",
    LessonKind.ANTIPATTERN: "What failed again and again, so do something else:",
}


@dataclass(frozen=True)
class Found:
    """A lesson that a search came upon."""

    lesson: Lesson
    text: float
    """How well its words fit those that were looked for, 0 to 1, whatever else was found; 0 where it was found without words."""
    words: int  # how many of them it holds


class _Weighed(NamedTuple):
    found: Found
    own: bool  # of the same project
    tests: int  # that it is about and that fail now
    score: float

    @property
    def lesson(self) -> Lesson:
        return self.found.lesson

    @property
    def warns(self) -> bool:
        return self.lesson.kind is LessonKind.ANTIPATTERN


def reminders(found: Iterable[Found], subject: Subject, now: datetime, allowance: int) -> tuple[Reminder, ...]:
    """What is told of all that was found, in so many tokens.

    The best are chosen; told are this project's before those of others, and antipatterns last.
    """
    # each lesson once, as it fits best, whichever way it was come upon
    best = {one.lesson.id: one for one in sorted(found, key=lambda one: one.text)}
    weighed = (_weigh(one, subject) for one in best.values())
    relevant = [one for one in weighed if one is not None]
    relevant.sort(key=lambda one: (-one.score, -one.lesson.updated_at.timestamp(), one.lesson.id))
    chosen = _chosen(relevant, subject, now, allowance)
    return tuple(told for _, told in sorted(chosen, key=lambda pair: (pair[0].warns, not pair[0].own)))


def _weigh(found: Found, subject: Subject) -> _Weighed | None:
    """None where it has not proved itself, or has too little in common. Things in common add up as chances do: each takes its
    share of what the others leave open.
    """
    lesson = found.lesson
    told = lesson.tier is Tier.SEMANTIC and not lesson.retired and lesson.text.strip()
    if not told or lesson.confidence < MIN_CONFIDENCE or lesson.success_rate < MIN_SUCCESS:
        return None
    # other projects have other conventions; and a warning is for those who stand where it applies
    applies = lesson.failure in subject.failures or lesson.task_type is subject.task_type
    if lesson.kind is LessonKind.CONVENTION:
        applies = lesson.project == subject.project
    if not applies and lesson.kind is not LessonKind.STRATEGY:
        return None
    own, tests = lesson.project == subject.project, len(set(lesson.tests) & set(subject.tests))
    fewer = min(len(lesson.tests), len(subject.tests))
    apart = 1 - found.text * min(found.words / ENOUGH_WORDS, 1)
    apart *= 1 - SAME_TEST * (tests / fewer if fewer else 0)
    apart *= 1 - SAME_CLASS * (lesson.failure in subject.failures)
    apart *= 1 - OWN_CONVENTION * (own and lesson.kind is LessonKind.CONVENTION)
    type_fits = lesson.task_type is subject.task_type
    relevance = (1 - apart) * (1 if type_fits else OTHER_TYPE) * (1 if own else OTHER_PROJECT)
    score = relevance**POWER * lesson.confidence * lesson.success_rate
    return _Weighed(found, own, tests, score) if relevance >= LEAST else None


def _chosen(ranked: Sequence[_Weighed], subject: Subject, now: datetime, allowance: int) -> list[tuple[_Weighed, Reminder]]:
    """From the best on: so many of either sort, nothing twice, as far as the allowance reaches."""
    room = {True: MOST_ANTIPATTERNS, False: MOST_LESSONS}
    chosen: list[tuple[_Weighed, Reminder]] = []
    said: list[tuple[LessonKind, frozenset[str]]] = []
    for one in ranked:
        kind, words = one.lesson.kind, frozenset(terms(one.lesson.text))
        # of the same kind: a warning may hold the words of what works, and both are needed
        repeated = any(kind is other and len(words & held) >= ALIKE * len(words | held) for other, held in said)
        if repeated or not room[one.warns]:
            continue
        lesson, fits = one.lesson, one.lesson.task_type is subject.task_type
        failing = f"{one.tests} of its {plural(len(lesson.tests), 'test')} {'fails' if one.tests == 1 else 'fail'} now"
        known = lesson.failure is not None and lesson.failure in subject.failures
        reasons = (
            "of this project" if one.own else "of another project",
            f"{'the same' if fits else 'another'} type of work ({lesson.task_type})",
            f"it holds {plural(one.found.words, 'word')} of what is asked, {one.found.text:.0%} by weight",
            failing if one.tests else "",
            f"its class of failure ({lesson.failure}) is there now" if known else "",
            f"confidence {lesson.confidence:.2f}",
            f"{lesson.successes} of {plural(lesson.uses, 'use')} went well",
            f"seen {plural(max((now - lesson.updated_at).days, 0), 'day')} ago",
        )
        why = "; ".join(filter(None, reasons))
        told = Reminder(lesson=lesson.id, kind=kind, text=lesson.text, why=why, score=round(one.score, 4))
        if cost([*(reminder for _, reminder in chosen), told]) <= allowance:
            room[one.warns] -= 1
            chosen.append((one, told))
            said.append((kind, words))
        if not any(room.values()):
            break
    return chosen


def lessons_section(recalled: Recalled) -> Sequence[Piece]:
    """What the prompt says at its end, where models weigh most: first of other work, then of this project."""
    lines = "\n".join(f"- {_in_a_line(one)}" for one in recalled.guardrails)
    said = {kind: [f"- {clean(one.text).strip()}" for one in recalled.reminders if one.kind is kind] for kind in _HEADINGS}
    kinds = [{"heading": _HEADINGS[kind], "lines": "\n".join(texts)} for kind, texts in said.items() if texts]
    lessons = render_pieces("lessons", kinds=kinds) if kinds else ()
    return (*lessons, *(render_pieces("guardrails", lines=lines) if lines else ()))


def cost(reminders: Sequence[Reminder]) -> int:
    return tokens(whole(lessons_section(Recalled(reminders=tuple(reminders)))))


def guardrails_cost(guardrails: Sequence[Guardrail]) -> int:
    """Tokens that they take in a prompt, with the line end that parts them from what stands above."""
    return tokens("\n" + whole(lessons_section(Recalled(guardrails=tuple(guardrails))))) if guardrails else 0


def recalled_lines(recalled: Recalled) -> Iterator[str]:
    """For people: what memory said to an iteration, and why."""
    if recalled.problem:
        yield f"memory     none: {clean(recalled.problem)}"
    for one in recalled.guardrails:
        yield f"guardrail  {_in_a_line(one)}"
    for one in recalled.reminders:
        yield f"recalled   {one.kind}: {clean(one.text)}"
        yield f"           because: {clean(one.why)}; score {one.score:.2f}"
    if recalled.estimate is not None:
        yield f"estimate   {in_words(recalled.estimate)}"


def _in_a_line(one: Guardrail) -> str:
    instruction, trigger = clean(one.instruction).strip(), clean(one.trigger).strip()
    return f"{trigger}: {instruction}" if trigger else instruction
