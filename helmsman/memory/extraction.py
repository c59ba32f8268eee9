"""Rule-based extraction of lessons from iterations and loops: strategies, antipatterns and conventions.

A lesson says what the next agent could not read from the repository in a minute. It rests on evidence: for a strategy, failures
that ended after work without effect, or a criterion that the judge first rejected; for an antipattern, the same failure despite
work; for a convention, a decision with its reason in a completed loop. `bench/lessons.py` measures it.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal

from helmsman.memory.words import describes_work, gives_orders, join_fitting, join_quoted, quote, terms
from helmsman.oversee.cycles import ENVIRONMENT_FAILURES, place
from helmsman.oversee.progress import Identity, identity
from helmsman.plain import short_line
from helmsman.records.agent import ErrorVector, FailureClass
from helmsman.records.control import Movement
from helmsman.records.decision import Outcome
from helmsman.records.lessons import LONGEST_DETAIL, LONGEST_TEXT, Episode, LessonKind, Observation, Summary
from helmsman.records.state import LoopState
from helmsman.texts import plural

SUCCESS = 0.9  # completion at which an iteration succeeded
INTERVENED = 2  # level of learning, by `helmsman.oversee.learning`, at which a class of failure is frequent enough
IN_SESSIONS = 3  # iterations in a row with the same kind of trouble in their sessions
TIMES = 2  # occurrences in each of these sessions
LOOKED_BACK = 12  # earlier episodes that are considered
MOST_CHOICES, MOST_TRIED, LEAST_TRIED = 10, 3, 2
_APPROACH, _TRIED, _CHOSE, _SIDE, _REASON = 280, 90, 160, 120, 160
_PROVEN, _GREEN, _NEARLY, _ISSUE, _TROUBLE, _JUDGED = 0.9, 0.8, 0.7, 0.8, 0.7, 0.8
_CHOICES = (0.7, 0.8)  # confidence of a decision with one or both of reason and rejected alternative

NOT_FAILED = frozenset({Movement.WAITED, Movement.FORWARD})
"""Iterations that do not count as failed attempts: without work, or with progress."""
INDEPENDENT_FAILURES = frozenset({FailureClass.TEST, FailureClass.TYPES, FailureClass.LINT})
"""Failures of these classes end independently. Of any other class the first failure hides the rest."""
MACHINE_FAILURES = ENVIRONMENT_FAILURES.union(map(FailureClass, ("usage", "missing_command", "missing_module", "permission")))
"""Failures inside a session that depend on the machine. Failing tests there are normal work, and how to edit is known."""


def lessons_of_iteration(episode: Episode, earlier: Sequence[Episode] = ()) -> tuple[Observation, ...]:
    """Lessons of this iteration. `earlier`: previous episodes in any order."""
    by_attempt = {(past.iteration, past.attempt): past for past in earlier if past.uid == episode.uid}
    before = [by_attempt[at] for at in sorted(by_attempt) if at < (episode.iteration, episode.attempt)][-LOOKED_BACK:]
    return (*_strategies(episode, before), *_criteria(episode, before), *_antipatterns(episode, before))


def lessons_of_loop(state: LoopState, summary: Summary) -> tuple[Observation, ...]:
    """Conventions from the noted decisions of a completed loop, with what the work does not show: reasons or alternatives.

    Other loops do not show that their way leads to the goal.
    """
    iterations = f"Loop {short_line(summary.loop, 80)}, {plural(summary.iterations, 'iteration')}."
    details, lessons = (iterations, "From the notes of a completed loop."), list[Observation]()
    for decision in state.memory.decisions[-MOST_CHOICES:] if summary.outcome is Outcome.COMPLETED else ():
        # it says what was chosen, and orders nothing
        is_usable = terms(decision.chose) and describes_work(f"{decision.chose} {decision.rejected}")
        if (
            not is_usable
            or gives_orders(f"{decision.chose} {decision.rejected} {decision.reason} {decision.revisit_if}")
            or not (decision.reason or decision.rejected)
        ):
            continue
        rejected = f", not {quote(decision.rejected, _SIDE)}" if decision.rejected else ""
        sentences = (
            f"Completed work in this project chose {quote(decision.chose, _CHOSE)}{rejected}.",
            f"Its reason: {quote(decision.reason, _SIDE)}." if decision.reason else "",
            f"To be revisited if {quote(decision.revisit_if, _SIDE)}." if decision.revisit_if else "",
        )
        confidence = _CHOICES[bool(decision.reason and decision.rejected)]
        lessons.append(observation(summary, LessonKind.CONVENTION, join_fitting(sentences, LONGEST_TEXT), details, confidence))
    return tuple(lessons)


def observation(
    origin: Episode | Summary,
    kind: LessonKind,
    text: str,
    detail: Iterable[str],
    confidence: float,
    failures: tuple[FailureClass, ...] = (),
    tests: tuple[str, ...] = (),
    by: Literal["rules", "model"] = "rules",
) -> Observation:
    """Build an observation; the class of an antipattern is its first failure."""
    warns = kind is LessonKind.ANTIPATTERN
    return Observation(
        kind=kind,
        text=text,
        detail=join_fitting(detail, LONGEST_DETAIL),
        subject=origin.subject.model_copy(update={"failures": failures, "tests": tests}),
        failure=failures[0] if warns else None,
        confidence=confidence,
        good=not warns,
        source=origin.uid,
        by=by,
    )


def _strategies(episode: Episode, before: Sequence[Episode]) -> Iterator[Observation]:
    """Strategy of the first iteration that proved or nearly completed the work. None if nothing else was tried before: the
    history shows already that this one ended the failures.
    """
    best = max((past.completion for past in before if past.checked), default=0.0)
    has_succeeded = episode.completion >= SUCCESS > best and episode.movement is Movement.FORWARD
    if not episode.checked or not (has_succeeded or episode.completion >= 1 > best):
        return
    confidence = _PROVEN if episode.completion >= 1 else _GREEN if episode.green else _NEARLY
    # Classes and tests that failed before but not after it. For tests this is known only if all pass.
    after = {error.kind for error in episode.errors}
    classes = tuple(kind for kind in episode.subject.failures if kind not in after)
    tests = episode.subject.tests if episode.green else ()
    approach, named_classes = _descriptive_parts(episode.approach), set(classes) - {FailureClass.OTHER}
    earlier_approaches = [
        earlier for earlier in _ineffective_approaches(_failed_attempts(episode, before, classes, tests)) if earlier != approach
    ]
    if not earlier_approaches or not (approach or episode.files):
        return
    sentences = (
        f"This ended the failures of earlier work{f': {quote(approach, _APPROACH)}' if approach else ''}.",
        f"These did not: {', '.join(quote(earlier, _TRIED) for earlier in earlier_approaches)}.",
        f"Failing before: {join_quoted(tests, 3, 120)}."
        if tests
        else f"It ended {_join_kinds(classes)}."
        if named_classes
        else "",
        _changed_files(episode),
    )
    text = join_fitting(sentences, LONGEST_TEXT)
    yield observation(episode, LessonKind.STRATEGY, text, _evidence_lines(episode, tests), confidence, classes, tests)


def _changed_files(episode: Episode) -> str:
    return f"Changed: {join_quoted(episode.files, 3, 60)}." if episode.files else ""


def _failed_attempts(
    episode: Episode, before: Sequence[Episode], classes: Sequence[FailureClass], tests: Sequence[str]
) -> Iterator[Episode]:
    """Earlier iterations that left a failure unchanged that this one ended."""
    hiding = set(classes) - INDEPENDENT_FAILURES
    open_ = {identity(error) for previous in before[-1:] for error in previous.errors if error.kind in classes}
    known = set[Identity]()
    for previous, after in pairwise((*before, episode)):
        remaining = {identity(error) for error in previous.errors}
        by_test = set(tests).intersection(previous.subject.tests, after.subject.tests)
        by_class = hiding.intersection(previous.subject.failures, (error.kind for error in previous.errors))
        if previous.checked and (by_test or by_class or open_ & remaining & known):
            yield previous
        known = remaining if previous.checked else known


def _ineffective_approaches(episodes: Iterable[Episode]) -> tuple[str, ...]:
    """The newest distinct approaches without effect."""
    without_effect = (episode for episode in episodes if episode.movement not in NOT_FAILED)
    return tuple(dict.fromkeys(approach for episode in without_effect if (approach := _descriptive_parts(episode.approach))))[
        -MOST_TRIED:
    ]


def _evidence_lines(episode: Episode, tests: Sequence[str] = ()) -> Iterator[str]:
    yield f"Loop {short_line(episode.loop, 80)}, iteration {episode.iteration}: completion {episode.completion:.0%}."
    yield f"Tests that it fixed: {join_quoted(tests, 5, 120)}." if tests else ""


def _criteria(episode: Episode, before: Sequence[Episode]) -> Iterator[Observation]:
    """Strategies from criteria that the judge first rejected and then found met. Its reasons are not in the repository."""
    rejected = {verdict.criterion: verdict.reason for earlier in before for verdict in earlier.verdicts if not verdict.met}
    for verdict in episode.verdicts:
        reason = rejected.get(verdict.criterion, "")
        if verdict.met and describes_work(reason) and not gives_orders(verdict.reason):
            rejection = f"A judge first rejected such work: {quote(reason, _REASON)}."
            acceptance = f"Accepted later: {quote(verdict.reason, _REASON)}." if verdict.reason else ""
            text = join_fitting((rejection, acceptance, _changed_files(episode)), LONGEST_TEXT)
            yield observation(episode, LessonKind.STRATEGY, text, _evidence_lines(episode), _JUDGED)


def _antipatterns(episode: Episode, before: Sequence[Episode]) -> Iterator[Observation]:
    """Antipatterns, at most one for each class of failure."""
    lessons: dict[FailureClass, Observation] = {}
    for error, row, why in _repeated_failures(episode, before):
        approaches = _ineffective_approaches(row)
        if len(approaches) >= LEAST_TRIED:  # a failure is obvious; what did not help is not
            joined_approaches = ", ".join(quote(approach, _TRIED) for approach in approaches)
            text = f"{quote(place(error), _SIDE)} kept failing. Tried without effect: {joined_approaches}."
            lessons.setdefault(error.kind, _antipattern(episode, error, text, why, _ISSUE))
    worked = [*(past for past in before if past.movement is not Movement.WAITED), episode]
    for error in episode.troubles:  # in the sessions of several iterations; reported once, when there are enough
        sessions = [
            any(trouble.times >= TIMES for trouble in _errors_at(error, past.troubles)) for past in worked[-IN_SESSIONS - 1 :]
        ]
        is_new = len(sessions) == IN_SESSIONS or not sessions[0]
        if (
            error.kind in MACHINE_FAILURES
            and error.where
            and len(sessions) >= IN_SESSIONS
            and all(sessions[-IN_SESSIONS:])
            and is_new
        ):
            why = f"{_join_kinds((error.kind,))} inside the sessions of {IN_SESSIONS} iterations in a row"
            quotation = f"{quote(place(error), _SIDE)}: {quote(error.message, _REASON)}"
            text = f"{_join_kinds((error.kind,)).capitalize()} in consecutive sessions at {quotation}."
            lessons.setdefault(error.kind, _antipattern(episode, error, text, why, _TROUBLE))
    yield from lessons.values()


def _antipattern(episode: Episode, error: ErrorVector, text: str, why: str, confidence: float) -> Observation:
    tests = (place(error),) if error.where else ()
    detail = (f"Loop {short_line(episode.loop, 80)}, up to iteration {episode.iteration}: {why}.",)
    return observation(episode, LessonKind.ANTIPATTERN, text, detail, confidence, (error.kind,), tests)


def _repeated_failures(episode: Episode, before: Sequence[Episode]) -> Iterator[tuple[ErrorVector, Sequence[Episode], str]]:
    """Failures at one place that just reached the level of intervention, with their episodes and a text with the count."""
    levels = {item.kind: item.level for item in before[-1].learning} if before else {}
    for item in episode.learning:
        if item.level < INTERVENED or levels.get(item.kind, 0) >= INTERVENED:
            continue
        row = [*(past for past in before if past.checked), episode][-max(item.in_row, 1) :]
        errors = [error for error in episode.errors if error.kind is item.kind]
        issue = next(
            (error for error in errors if place(error) and all(any(_errors_at(error, past.errors)) for past in row)), None
        )
        if issue and item.kind is not FailureClass.OTHER:  # for OTHER the place is only a program
            yield issue, row, f"{_join_kinds((item.kind,))} in {plural(item.in_row, 'iteration')} in a row"


def _descriptive_parts(approach: str) -> str:
    """The parts of an approach that describe work."""
    return "; ".join(part for part in approach.split("; ") if describes_work(part))


def _join_kinds(kinds: Sequence[FailureClass]) -> str:
    return f"{', '.join(kind.replace('_', ' ') for kind in kinds)} failures"


def _errors_at(place_of: ErrorVector, errors: Iterable[ErrorVector]) -> Iterator[ErrorVector]:
    """Errors of the same class at the same place."""
    return (error for error in errors if error.kind is place_of.kind and place(error) == place(place_of))
