"""What a model draws from a loop that has ended: what it is asked, and what of its answer counts.

Rules come first, and a model's lesson weighs less. It is held by the iterations that it cites: a strategy needs one that got on,
an antipattern a class of failure that two of them show, a convention a loop that completed. What cites nothing is no lesson.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, ValidationError

from helmsman.budget import fence, fit
from helmsman.memory.extraction import observation
from helmsman.memory.words import orders, tells, terms
from helmsman.parsers.answers import StrictAnswer, form_of, printable, read_answer
from helmsman.plain import clean, short_line
from helmsman.prompts import render, render_pieces
from helmsman.records.agent import FailureClass
from helmsman.records.control import Movement
from helmsman.records.decision import Outcome
from helmsman.records.iteration import Question
from helmsman.records.lessons import Episode, LessonKind, Observation, Summary
from helmsman.records.state import LoopState
from helmsman.texts import plural
from helmsman.tokens import trim

GOAL_TOKENS, FACTS_TOKENS = 2_000, 8_000
SHOWN = 40  # iterations that a model is shown: the newest ones
MOST_LESSONS = 6
LONGEST, LONGEST_WHY = 300, 300
FEWEST_WORDS = 4  # telling words that a lesson has at least
WITNESSES = 2  # iterations that have to show a class of failure until it is an antipattern
COMPLETED, UNFINISHED = 0.7, 0.5
"""Confidence: below what rules say of the same, and enough to be told once a second loop bears it out."""
_CHOICES, _LINE = 10, 300

_FAILURES = tuple(map(str, FailureClass))
_Kind = Literal["strategy", "antipattern", "convention"]


class _Answer(StrictAnswer):
    lessons: list[Any] = Field(max_length=100)
    """Each is read by itself: one that cites nothing takes no other with it."""


class _Found(StrictAnswer):
    kind: _Kind
    lesson: str = Field(min_length=1, max_length=LONGEST)
    why: str = Field(max_length=LONGEST_WHY)
    failure: str = Field(json_schema_extra={"enum": [*_FAILURES, "none"]})
    iterations: list[int] = Field(min_length=1, max_length=SHOWN)


class _Asked(StrictAnswer):
    lessons: list[_Found]


def lessons_request(state: LoopState, summary: Summary, episodes: Sequence[Episode]) -> Question:
    """What a model is asked about a loop that has ended."""
    chosen = ((f"- {one.chose}", f", because {one.reason}" if one.reason else "") for one in state.memory.decisions[-_CHOICES:])
    facts = render_pieces(
        "lessons_facts",
        outcome=summary.outcome,
        iterations=plural(summary.iterations, "iteration"),
        rule=clean(summary.rule),
        episodes="\n".join(map(_line, shown(episodes, summary.uid))) or "(none)",
        decisions="\n".join(short_line(chose + why, _LINE) for chose, why in chosen),
    )
    return Question(
        rules=render("lessons_system"),
        task=render("lessons_task", goal=fence(trim(clean(state.config.goal.strip()), GOAL_TOKENS))),
        facts=fit(facts, FACTS_TOKENS),
        closing=render("lessons_form", most=MOST_LESSONS, lesson=LONGEST, why=LONGEST_WHY, failures=", ".join(_FAILURES)),
        form=form_of(_Asked),
    )


def read_lessons(text: str, summary: Summary, episodes: Sequence[Episode]) -> tuple[Observation, ...] | str:
    """The lessons in a model's answer that the iterations bear out; or why it is no answer. Never raises."""
    answer = read_answer(text, "lessons", _Answer)
    if isinstance(answer, str):
        return answer
    by_number = {one.iteration: one for one in shown(episodes, summary.uid)}
    found: dict[str, Observation] = {}
    for one in _read(answer.lessons, summary, by_number):
        found.setdefault(one.text.casefold(), one)
    return tuple(found.values())[:MOST_LESSONS]


def shown(episodes: Sequence[Episode], uid: str) -> tuple[Episode, ...]:
    """Of a loop's iterations those that a model is shown, oldest first: of many the newest, of several attempts the last."""
    mine = {one.iteration: one for one in sorted(episodes, key=lambda one: (one.iteration, one.attempt)) if one.uid == uid}
    return tuple(mine.values())[-SHOWN:]


def _line(episode: Episode) -> str:
    checks = "no checks" if not episode.checked else "green" if episode.green else "red"
    done = episode.approach or "nothing committed"
    failing = "; ".join(f"{error.kind} at {error.where or '?'}: {error.message}" for error in episode.errors[:2])
    first = short_line(f"{episode.iteration}. {episode.movement}, {checks}, {episode.completion:.0%}: {done}", 2 * _LINE)
    return f"{first}\n{short_line(f'   fails: {failing}', 2 * _LINE)}" if failing else first


def _read(items: Sequence[object], summary: Summary, episodes: Mapping[int, Episode]) -> Iterator[Observation]:
    """Those that can be read, say something, and are borne out."""
    for item in items:
        try:
            found = _Found.model_validate(item)
        except ValidationError:
            continue
        text = " ".join(printable(found.lesson).split())
        cited = [episodes[number] for number in dict.fromkeys(found.iterations) if number in episodes]
        known = len(cited) == len(set(found.iterations))
        said = f"{found.lesson}\n{found.why}"
        # a sentence on the work: no order to its reader, no fence, no address of another place
        harmless = tells(found.lesson) and not orders(said) and not any(mark in said for mark in ("```", "://", "<!--"))
        if known and harmless and len(terms(text)) >= FEWEST_WORDS and _borne_out(found, summary, cited):
            numbers = ", ".join(str(number) for number in dict.fromkeys(found.iterations))
            drawn = f"A model drew it from iterations {numbers} of loop {short_line(summary.loop, 80)}."
            failures = (FailureClass(found.failure),) if found.kind == LessonKind.ANTIPATTERN else ()
            confidence = COMPLETED if summary.outcome is Outcome.COMPLETED else UNFINISHED
            detail = (drawn, short_line(found.why, LONGEST_WHY))
            yield observation(summary, LessonKind(found.kind), text, detail, confidence, failures, by="model")


def _borne_out(found: _Found, summary: Summary, cited: Sequence[Episode]) -> bool:
    if found.kind == LessonKind.CONVENTION:
        return summary.outcome is Outcome.COMPLETED
    if found.kind == LessonKind.STRATEGY:
        return any(one.movement is Movement.FORWARD or one.completion >= 1 for one in cited)
    failing = [one for one in cited if any(error.kind == found.failure for error in (*one.errors, *one.troubles))]
    return len(failing) >= WITNESSES
