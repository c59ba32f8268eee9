"""Lessons that a model draws from an ended loop: the question, and the validation of its answer.

Rules come first, and a model's lesson weighs less. It must be supported by the iterations that it cites: a strategy by one with
progress, an antipattern by two with its class of failure, a convention by a completed loop.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, ValidationError

from helmsman.memory.extraction import observation
from helmsman.memory.words import describes_work, gives_orders, terms
from helmsman.parsers.answers import StrictAnswer, printable, read_answer, schema_of
from helmsman.plain import clean, short_line
from helmsman.prompts import fence, fit, render
from helmsman.records.agent import FailureClass
from helmsman.records.control import Movement
from helmsman.records.decision import Outcome
from helmsman.records.iteration import Question
from helmsman.records.lessons import Episode, LessonKind, Observation, Summary
from helmsman.records.state import LoopState
from helmsman.texts import plural
from helmsman.tokens import trim

GOAL_TOKENS, FACTS_TOKENS = 2_000, 8_000
SHOWN = 40  # newest iterations in the question
MOST_LESSONS = 6
LONGEST, LONGEST_WHY = 300, 300
FEWEST_WORDS = 4  # meaningful words of a lesson
WITNESSES = 2  # iterations with a class of failure that an antipattern needs
COMPLETED, UNFINISHED = 0.7, 0.5
"""Confidence: less than that of rules, and enough to be recalled once a second loop confirms the lesson."""
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
    """The question about an ended loop."""
    decisions = (
        (f"- {decision.chose}", f", because {decision.reason}" if decision.reason else "")
        for decision in state.memory.decisions[-_CHOICES:]
    )
    facts = render(
        "lessons_facts",
        outcome=summary.outcome,
        iterations=plural(summary.iterations, "iteration"),
        rule=clean(summary.rule),
        episodes="\n".join(map(_episode_line, shown_episodes(episodes, summary.uid))) or "(none)",
        decisions="\n".join(short_line(chose + why, _LINE) for chose, why in decisions),
    )
    return Question(
        rules=render("lessons_system"),
        task=render("lessons_task", goal=fence(trim(clean(state.config.goal.strip()), GOAL_TOKENS))),
        facts=fit(facts, FACTS_TOKENS),
        closing=render("lessons_form", most=MOST_LESSONS, lesson=LONGEST, why=LONGEST_WHY, failures=", ".join(_FAILURES)),
        form=schema_of(_Asked),
    )


def read_lessons(text: str, summary: Summary, episodes: Sequence[Episode]) -> tuple[Observation, ...] | str:
    """The lessons of a model's answer that the iterations support, or why it is not an answer. Never raises."""
    answer = read_answer(text, "lessons", _Answer)
    if isinstance(answer, str):
        return answer
    by_number = {episode.iteration: episode for episode in shown_episodes(episodes, summary.uid)}
    lessons: dict[str, Observation] = {}
    for lesson in _valid_lessons(answer.lessons, summary, by_number):
        lessons.setdefault(lesson.text.casefold(), lesson)
    return tuple(lessons.values())[:MOST_LESSONS]


def shown_episodes(episodes: Sequence[Episode], uid: str) -> tuple[Episode, ...]:
    """Iterations for the question, oldest first: the newest ones of the loop, with the last attempt of each."""
    by_iteration = {
        episode.iteration: episode
        for episode in sorted(episodes, key=lambda episode: (episode.iteration, episode.attempt))
        if episode.uid == uid
    }
    return tuple(by_iteration.values())[-SHOWN:]


def _episode_line(episode: Episode) -> str:
    checks = "no checks" if not episode.checked else "green" if episode.green else "red"
    work = episode.approach or "nothing committed"
    failing = "; ".join(f"{error.kind} at {error.where or '?'}: {error.message}" for error in episode.errors[:2])
    summary_line = short_line(f"{episode.iteration}. {episode.movement}, {checks}, {episode.completion:.0%}: {work}", 2 * _LINE)
    return f"{summary_line}\n{short_line(f'   fails: {failing}', 2 * _LINE)}" if failing else summary_line


def _valid_lessons(items: Sequence[object], summary: Summary, episodes: Mapping[int, Episode]) -> Iterator[Observation]:
    """Yield valid, meaningful and supported lessons."""
    for item in items:
        try:
            lesson = _Found.model_validate(item)
        except ValidationError:
            continue
        text = " ".join(printable(lesson.lesson).split())
        cited = [episodes[number] for number in dict.fromkeys(lesson.iterations) if number in episodes]
        cites_known = len(cited) == len(set(lesson.iterations))
        full_text = f"{lesson.lesson}\n{lesson.why}"
        # a sentence about the work: no instruction to its reader, no fence, no URL
        is_harmless = (
            describes_work(lesson.lesson)
            and not gives_orders(full_text)
            and not any(mark in full_text for mark in ("```", "://", "<!--"))
        )
        if cites_known and is_harmless and len(terms(text)) >= FEWEST_WORDS and _is_supported(lesson, summary, cited):
            numbers = ", ".join(str(number) for number in dict.fromkeys(lesson.iterations))
            origin = f"A model drew it from iterations {numbers} of loop {short_line(summary.loop, 80)}."
            failures = (FailureClass(lesson.failure),) if lesson.kind == LessonKind.ANTIPATTERN else ()
            confidence = COMPLETED if summary.outcome is Outcome.COMPLETED else UNFINISHED
            detail = (origin, short_line(lesson.why, LONGEST_WHY))
            yield observation(summary, LessonKind(lesson.kind), text, detail, confidence, failures, by="model")


def _is_supported(lesson: _Found, summary: Summary, cited: Sequence[Episode]) -> bool:
    if lesson.kind == LessonKind.CONVENTION:
        return summary.outcome is Outcome.COMPLETED
    if lesson.kind == LessonKind.STRATEGY:
        return any(episode.movement is Movement.FORWARD or episode.completion >= 1 for episode in cited)
    failing = [
        episode for episode in cited if any(error.kind == lesson.failure for error in (*episode.errors, *episode.troubles))
    ]
    return len(failing) >= WITNESSES
