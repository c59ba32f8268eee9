"""What an iteration or a loop teaches, by rules alone: strategies, antipatterns and conventions.

A lesson says what the next agent could not read from the repository in a minute. It rests on evidence: failures that ended after
work that had not ended them, or a criterion that the judge rejected first, for a strategy; the same failure in spite of work for
an antipattern; a decision with its reason, in a completed loop, for a convention. `bench/lessons.py` measures it.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal

from helmsman.memory.words import joined, listed, orders, quoted, tells, terms
from helmsman.oversee.cycles import OF_THE_WORLD, place
from helmsman.oversee.progress import Identity, identity
from helmsman.plain import short_line
from helmsman.records.agent import ErrorVector, FailureClass
from helmsman.records.control import Movement
from helmsman.records.decision import Outcome
from helmsman.records.lessons import LONGEST_DETAIL, LONGEST_TEXT, Episode, LessonKind, Observation, Summary
from helmsman.records.state import LoopState
from helmsman.texts import plural

SUCCESS = 0.9  # completion from which an iteration got there
INTERVENED = 2  # level of learning at which a class of failure has come often enough, by `helmsman.oversee.learning`
IN_SESSIONS = 3  # iterations in a row whose sessions met the same kind of trouble
TIMES = 2  # times in each of these sessions
LOOKED_BACK = 12  # episodes before one that are looked at
MOST_CHOICES, MOST_TRIED, LEAST_TRIED = 10, 3, 2
_APPROACH, _TRIED, _CHOSE, _SIDE, _REASON = 280, 90, 160, 120, 160
_PROVEN, _GREEN, _NEARLY, _ISSUE, _TROUBLE, _JUDGED = 0.9, 0.8, 0.7, 0.8, 0.7, 0.8
_CHOICES = (0.7, 0.8)  # confidence of a decision with one and with both of reason and rejected alternative

GOT_ON = frozenset({Movement.WAITED, Movement.FORWARD})
"""Iterations that nobody may call in vain: without work, or with progress that may be needed."""
ONE_OF_MANY = frozenset({FailureClass.TEST, FailureClass.TYPES, FailureClass.LINT})
"""Of these one may end while others stay. Of any other class the first failure hides the rest."""
BY_MACHINE = OF_THE_WORLD.union(map(FailureClass, ("usage", "missing_command", "missing_module", "permission")))
"""What fails inside a session by what the machine has and allows. That tests fail there is work, and how to edit is known."""


def after_iteration(episode: Episode, earlier: Sequence[Episode] = ()) -> tuple[Observation, ...]:
    """What this iteration teaches. `earlier`: those of its loop before it, in any order."""
    mine = {(one.iteration, one.attempt): one for one in earlier if one.uid == episode.uid}
    before = [mine[at] for at in sorted(mine) if at < (episode.iteration, episode.attempt)][-LOOKED_BACK:]
    return (*_strategies(episode, before), *_criteria(episode, before), *_antipatterns(episode, before))


def after_loop(state: LoopState, summary: Summary) -> tuple[Observation, ...]:
    """What a loop teaches beyond its iterations: only one that completed shows that its way leads there. Decisions, as its agent
    noted them, with what the work does not show: why, or what else.
    """
    iterations = f"Loop {short_line(summary.loop, 80)}, {plural(summary.iterations, 'iteration')}."
    rests_on, found = (iterations, "From the notes of a completed loop."), list[Observation]()
    for one in state.memory.decisions[-MOST_CHOICES:] if summary.outcome is Outcome.COMPLETED else ():
        # whether it says what was chosen, and nothing to whoever reads it
        sound = terms(one.chose) and tells(f"{one.chose} {one.rejected}")
        if not sound or orders(f"{one.chose} {one.rejected} {one.reason} {one.revisit_if}") or not (one.reason or one.rejected):
            continue
        rejected = f", not {quoted(one.rejected, _SIDE)}" if one.rejected else ""
        sentences = (
            f"Completed work in this project chose {quoted(one.chose, _CHOSE)}{rejected}.",
            f"Its reason: {quoted(one.reason, _SIDE)}." if one.reason else "",
            f"It would look again if {quoted(one.revisit_if, _SIDE)}." if one.revisit_if else "",
        )
        confidence = _CHOICES[bool(one.reason and one.rejected)]
        found.append(observation(summary, LessonKind.CONVENTION, joined(sentences, LONGEST_TEXT), rests_on, confidence))
    return tuple(found)


def observation(
    of: Episode | Summary,
    kind: LessonKind,
    text: str,
    detail: Iterable[str],
    confidence: float,
    failures: tuple[FailureClass, ...] = (),
    tests: tuple[str, ...] = (),
    by: Literal["rules", "model"] = "rules",
) -> Observation:
    """Of an antipattern, the class is the first of its failures."""
    warns = kind is LessonKind.ANTIPATTERN
    return Observation(
        kind=kind,
        text=text,
        detail=joined(detail, LONGEST_DETAIL),
        subject=of.subject.model_copy(update={"failures": failures, "tests": tests}),
        failure=failures[0] if warns else None,
        confidence=confidence,
        good=not warns,
        source=of.uid,
        by=by,
    )


def _strategies(episode: Episode, before: Sequence[Episode]) -> Iterator[Observation]:
    """Of the iteration, and of none before it, that brought the work to its proof, or to where little is missing. Nothing where
    no other way was tried before: that this one ended the failures stands in the history.
    """
    best = max((one.completion for one in before if one.checked), default=0.0)
    got_there = episode.completion >= SUCCESS > best and episode.movement is Movement.FORWARD
    if not episode.checked or not (got_there or episode.completion >= 1 > best):
        return
    confidence = _PROVEN if episode.completion >= 1 else _GREEN if episode.green else _NEARLY
    # Classes and tests that failed before it and do not after it. Of tests that is known only where all pass.
    after = {error.kind for error in episode.errors}
    classes = tuple(kind for kind in episode.subject.failures if kind not in after)
    tests = episode.subject.tests if episode.green else ()
    approach, told = _telling(episode.approach), set(classes) - {FailureClass.OTHER}
    tried = [way for way in _tried(_tries(episode, before, classes, tests)) if way != approach]
    if not tried or not (approach or episode.files):
        return
    sentences = (
        f"This ended the failures of earlier work{f': {quoted(approach, _APPROACH)}' if approach else ''}.",
        f"These had not: {', '.join(quoted(way, _TRIED) for way in tried)}.",
        f"Failing before: {listed(tests, 3, 120)}." if tests else f"It ended {_named(classes)}." if told else "",
        _changed(episode),
    )
    text = joined(sentences, LONGEST_TEXT)
    yield observation(episode, LessonKind.STRATEGY, text, _rests_on(episode, tests), confidence, classes, tests)


def _changed(episode: Episode) -> str:
    return f"Changed: {listed(episode.files, 3, 60)}." if episode.files else ""


def _tries(
    episode: Episode, before: Sequence[Episode], classes: Sequence[FailureClass], tests: Sequence[str]
) -> Iterator[Episode]:
    """Earlier iterations before and after which the same failed that this one has ended."""
    hiding = set(classes) - ONE_OF_MANY
    open_ = {identity(error) for one in before[-1:] for error in one.errors if error.kind in classes}
    known = set[Identity]()
    for one, after in pairwise((*before, episode)):
        left = {identity(error) for error in one.errors}
        by_test = set(tests).intersection(one.subject.tests, after.subject.tests)
        by_class = hiding.intersection(one.subject.failures, (error.kind for error in one.errors))
        if one.checked and (by_test or by_class or open_ & left & known):
            yield one
        known = left if one.checked else known


def _tried(episodes: Iterable[Episode]) -> tuple[str, ...]:
    """What was done in vain in them, each once, the newest ones."""
    vain = (one for one in episodes if one.movement not in GOT_ON)
    return tuple(dict.fromkeys(way for one in vain if (way := _telling(one.approach))))[-MOST_TRIED:]


def _rests_on(episode: Episode, tests: Sequence[str] = ()) -> Iterator[str]:
    yield f"Loop {short_line(episode.loop, 80)}, iteration {episode.iteration}: completion {episode.completion:.0%}."
    yield f"Tests that it ended: {listed(tests, 5, 120)}." if tests else ""


def _criteria(episode: Episode, before: Sequence[Episode]) -> Iterator[Observation]:
    """What the judge rejected first and then found met. Its reasons are about the work, and stand nowhere in the repository."""
    rejected = {one.criterion: one.reason for earlier in before for one in earlier.verdicts if not one.met}
    for one in episode.verdicts:
        reason = rejected.get(one.criterion, "")
        if one.met and tells(reason) and not orders(one.reason):
            first = f"A judge rejected such work first: {quoted(reason, _REASON)}."
            accepted = f"Accepted later: {quoted(one.reason, _REASON)}." if one.reason else ""
            text = joined((first, accepted, _changed(episode)), LONGEST_TEXT)
            yield observation(episode, LessonKind.STRATEGY, text, _rests_on(episode), _JUDGED)


def _antipatterns(episode: Episode, before: Sequence[Episode]) -> Iterator[Observation]:
    """Each class of failure once."""
    found: dict[FailureClass, Observation] = {}
    for error, row, why in _by_class(episode, before):
        tried = _tried(row)
        if len(tried) >= LEAST_TRIED:  # that something fails is seen at once; what did not help is not
            ways = ", ".join(quoted(way, _TRIED) for way in tried)
            text = f"{quoted(place(error), _SIDE)} failed on. Tried without effect: {ways}."
            found.setdefault(error.kind, _antipattern(episode, error, text, why, _ISSUE))
    worked = [*(one for one in before if one.movement is not Movement.WAITED), episode]
    for error in episode.troubles:  # inside the sessions of so many iterations; told once, when there are enough of them
        sessions = [any(met.times >= TIMES for met in _at(error, one.troubles)) for one in worked[-IN_SESSIONS - 1 :]]
        new = len(sessions) == IN_SESSIONS or not sessions[0]
        if error.kind in BY_MACHINE and error.where and len(sessions) >= IN_SESSIONS and all(sessions[-IN_SESSIONS:]) and new:
            why = f"{_named((error.kind,))} inside the sessions of {IN_SESSIONS} iterations in a row"
            said = f"{quoted(place(error), _SIDE)}: {quoted(error.message, _REASON)}"
            text = f"{_named((error.kind,)).capitalize()} in one session after the other at {said}."
            found.setdefault(error.kind, _antipattern(episode, error, text, why, _TROUBLE))
    yield from found.values()


def _antipattern(episode: Episode, error: ErrorVector, text: str, why: str, confidence: float) -> Observation:
    tests = (place(error),) if error.where else ()
    detail = (f"Loop {short_line(episode.loop, 80)}, up to iteration {episode.iteration}: {why}.",)
    return observation(episode, LessonKind.ANTIPATTERN, text, detail, confidence, (error.kind,), tests)


def _by_class(episode: Episode, before: Sequence[Episode]) -> Iterator[tuple[ErrorVector, Sequence[Episode], str]]:
    """What has just failed so often in a row, at one place, that something else was ordered; in which episodes, and how often."""
    known = {item.kind: item.level for item in before[-1].learning} if before else {}
    for item in episode.learning:
        if item.level < INTERVENED or known.get(item.kind, 0) >= INTERVENED:
            continue
        row = [*(one for one in before if one.checked), episode][-max(item.in_row, 1) :]
        errors = [error for error in episode.errors if error.kind is item.kind]
        issue = next((error for error in errors if place(error) and all(any(_at(error, one.errors)) for one in row)), None)
        if issue and item.kind is not FailureClass.OTHER:  # then the place is a program, of which nothing more is known
            yield issue, row, f"{_named((item.kind,))} in {plural(item.in_row, 'iteration')} in a row"


def _telling(approach: str) -> str:
    """The parts of an approach that say what was done."""
    return "; ".join(part for part in approach.split("; ") if tells(part))


def _named(kinds: Sequence[FailureClass]) -> str:
    return f"{', '.join(kind.replace('_', ' ') for kind in kinds)} failures"


def _at(place_of: ErrorVector, errors: Iterable[ErrorVector]) -> Iterator[ErrorVector]:
    """Errors of the same class at the same place."""
    return (one for one in errors if one.kind is place_of.kind and place(one) == place(place_of))
