"""What an iteration or a loop teaches, by rules alone: strategies, antipatterns and conventions.

A lesson says what the next agent could not read from the repository in a minute. It rests on evidence: failures that ended, or a
criterion that the judge rejected first, for a strategy; the same failure in spite of work for an antipattern; a completed loop
for a convention. It does not need the agent's notes.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from helmsman.memory.phrases import cleaned, details, listed, orders, quoted, sentences, tells
from helmsman.memory.words import terms
from helmsman.oversee.detectors.windows import OF_THE_WORLD, place
from helmsman.oversee.learning import INTERVENTIONS
from helmsman.oversee.movement import identity
from helmsman.records.lessons import Episode, LessonKind, Observation, Summary
from helmsman.records.memory import Choice
from helmsman.records.moments import Movement
from helmsman.records.session import ErrorVector, FailureClass
from helmsman.records.state import LoopState
from helmsman.records.verdict import Outcome
from helmsman.texts import counted

SUCCESS = 0.9
"""Completion from which an iteration got there."""
INTERVENED = 2
"""Level of learning at which a class of failure has come often enough, by `helmsman.oversee.learning`."""
RETURNS = 2
"""Times that one and the same failure may come back after it was gone."""
IN_SESSIONS = 3
"""Iterations in a row whose sessions met the same kind of trouble."""
TIMES = 2
"""Times in each of these sessions."""
LOOKED_BACK = 12
"""Episodes before one that are looked at."""
MOST_CHOICES, MOST_TRIED = 10, 3
_APPROACH, _TRIED, _CHOSE, _SIDE, _REASON = 280, 90, 160, 120, 160
_PROVEN, _GREEN, _NEARLY, _ISSUE, _CLASS, _TROUBLE, _RESOLVED, _JUDGED = 0.9, 0.8, 0.7, 0.8, 0.75, 0.7, 0.8, 0.8
_CHOICES = (0.6, 0.7, 0.8)
"""Confidence of a decision with none, one and both of reason and rejected alternative."""

BY_HABIT = frozenset(
    {
        FailureClass.EDIT,
        FailureClass.USAGE,
        FailureClass.MISSING_COMMAND,
        FailureClass.MISSING_MODULE,
        FailureClass.MISSING_FILE,
        FailureClass.PERMISSION,
        FailureClass.GIT,
        *OF_THE_WORLD,
    }
)
"""What fails inside a session by the way of working. That tests fail there is work."""
OTHER_WAYS: Mapping[FailureClass, str] = {kind: text.partition(": ")[2] for kind, text in INTERVENTIONS.items()}


def after_iteration(episode: Episode, earlier: Sequence[Episode] = ()) -> tuple[Observation, ...]:
    """What this iteration teaches. `earlier`: those of its loop before it, in any order."""
    before = _before(episode, earlier)
    return (*_strategies(episode, before), *_criteria(episode, before), *_antipatterns(episode, before))


def after_loop(state: LoopState, summary: Summary, episodes: Sequence[Episode]) -> tuple[Observation, ...]:
    """What a loop teaches beyond its iterations: only one that completed shows that its way leads there."""
    if summary.outcome is not Outcome.COMPLETED:
        return ()
    whole = sorted((one for one in episodes if one.uid == summary.uid), key=_order)
    taught = [one for number, one in enumerate(whole) if any(_strategies(one, whole[max(number - LOOKED_BACK, 0) : number]))]
    return (*_resolutions(whole, taught), *_choices(state, summary))


def _before(episode: Episode, earlier: Sequence[Episode]) -> Sequence[Episode]:
    """The episodes of this loop before this one, newest last."""
    mine = (one for one in earlier if one.uid == episode.uid and _order(one) < _order(episode))
    return sorted(mine, key=_order)[-LOOKED_BACK:]


def _order(episode: Episode) -> tuple[int, int]:
    return episode.iteration, episode.attempt


def _strategies(episode: Episode, before: Sequence[Episode]) -> Iterator[Observation]:
    if _got_there(episode, before):
        confidence = _PROVEN if episode.completion >= 1 else _GREEN if episode.green else _NEARLY
        yield from _strategy("This ended the failures of earlier work", episode, confidence)


def _got_there(episode: Episode, before: Sequence[Episode]) -> bool:
    """Whether this iteration, and none before it, brought the work to its proof, or to where little is missing."""
    best = max((one.completion for one in before if one.checked), default=0.0)
    proven = episode.completion >= 1 > best
    return episode.checked and (proven or (episode.completion >= SUCCESS > best and episode.movement is Movement.FORWARD))


def _strategy(how: str, episode: Episode, confidence: float) -> Iterator[Observation]:
    """Nothing where no failure ended, or where neither commits nor files say by what."""
    classes, tests = _ended(episode)
    approach = _telling(episode.approach)
    if not (classes or tests) or not (approach or episode.files):
        return
    text = sentences(
        (
            f"{how}: {quoted(approach, _APPROACH)}." if approach else f"{how}.",
            f"Failing before: {listed(tests, 3, 120)}." if tests else f"It ended {_named(classes)}.",
            f"Changed: {listed(episode.files, 3, 60)}." if episode.files else "",
        )
    )
    subject = episode.subject.model_copy(update={"failures": classes, "tests": tests})
    yield Observation(
        kind=LessonKind.STRATEGY,
        text=text,
        detail=_rests_on(episode, tests),
        subject=subject,
        confidence=confidence,
        good=True,
        source=episode.uid,
    )


def _ended(episode: Episode) -> tuple[tuple[FailureClass, ...], tuple[str, ...]]:
    """Classes and tests that failed before it and do not after it. Of tests that is known only where all pass."""
    after = {error.kind for error in episode.errors}
    classes = tuple(kind for kind in episode.subject.failures if kind not in after)
    return classes, episode.subject.tests if episode.green else ()


def _rests_on(episode: Episode, tests: Sequence[str]) -> str:
    return details(
        (
            f"Loop {cleaned(episode.loop, 80)}, iteration {episode.iteration}: completion {episode.completion:.0%}.",
            f"Tests that it ended: {listed(tests, 5, 120)}." if tests else "",
        )
    )


def _criteria(episode: Episode, before: Sequence[Episode]) -> Iterator[Observation]:
    """What the judge rejected first and then found met. Its reasons are about the work, and stand nowhere in the repository."""
    rejected = {one.criterion: one.reason for earlier in before for one in earlier.verdicts if not one.met}
    for one in episode.verdicts:
        reason = rejected.get(one.criterion, "")
        if one.met and tells(reason) and not orders(one.reason):
            text = sentences(
                (
                    f"A judge rejected such work first: {quoted(reason, _REASON)}.",
                    f"Accepted later: {quoted(one.reason, _REASON)}." if one.reason else "",
                    f"Changed: {listed(episode.files, 3, 60)}." if episode.files else "",
                )
            )
            yield Observation(
                kind=LessonKind.STRATEGY,
                text=text,
                detail=_rests_on(episode, ()),
                subject=episode.subject.model_copy(update={"failures": (), "tests": ()}),
                confidence=_JUDGED,
                good=True,
                source=episode.uid,
            )


def _antipatterns(episode: Episode, before: Sequence[Episode]) -> Iterator[Observation]:
    """Each class of failure once: of several reasons the first."""
    found: dict[FailureClass, Observation] = {}
    for error, row, why, confidence in (*_by_class(episode, before), *_by_return(episode, before), *_by_habit(episode, before)):
        found.setdefault(error.kind, _antipattern(episode, error, row, why, confidence))
    yield from found.values()


_Repeated = tuple[ErrorVector, Sequence[Episode], str, float]
"""What fails again, the episodes in which it did, why that is too often, and how sure it is."""


def _by_class(episode: Episode, before: Sequence[Episode]) -> Iterator[_Repeated]:
    """Classes that have just come so often in a row that something else was ordered."""
    known = {item.kind: item.level for item in before[-1].learning} if before else {}
    for item in episode.learning:
        if item.level < INTERVENED or known.get(item.kind, 0) >= INTERVENED:
            continue
        row = [*(one for one in before if one.checked), episode][-max(item.in_row, 1) :]
        errors = [error for error in episode.errors if error.kind is item.kind]
        if errors:
            issue = next((error for error in errors if place(error) and all(_fails_at(one, error) for one in row)), None)
            why = f"{_named((item.kind,))} in {counted(item.in_row, 'iteration')} in a row"
            yield issue or ErrorVector(kind=item.kind), row, why, _ISSUE if issue else _CLASS


def _by_return(episode: Episode, before: Sequence[Episode]) -> Iterator[_Repeated]:
    """One and the same failure that was gone and is back, again."""
    checked = [one for one in before if one.checked]
    if not checked or episode.movement is Movement.FORWARD or not episode.checked:
        return
    for error in episode.errors:
        row = [_has(one, error) for one in (*checked, episode)]
        back = [now and not was for was, now in pairwise(row)]
        if back[-1] and sum(back) + row[0] == RETURNS + 1 and error.kind not in OF_THE_WORLD:
            failing = [one for one in (*checked, episode) if _has(one, error)]
            yield error, failing, f"the same failure came back {counted(RETURNS, 'time')} after it was gone", _ISSUE


def _by_habit(episode: Episode, before: Sequence[Episode]) -> Iterator[_Repeated]:
    """Troubles inside the sessions of so many iterations; told once, when there are enough of them."""
    worked = [*(one for one in before if one.movement is not Movement.WAITED), episode]
    for error in episode.troubles:
        row = [_troubled(one, error.kind) for one in worked[-IN_SESSIONS - 1 :]]
        new = len(row) == IN_SESSIONS or not row[0]
        if error.kind in BY_HABIT and len(row) >= IN_SESSIONS and all(row[-IN_SESSIONS:]) and new:
            why = f"{_named((error.kind,))} inside the sessions of {IN_SESSIONS} iterations in a row"
            yield ErrorVector(kind=error.kind), worked[-IN_SESSIONS:], why, _TROUBLE


def _antipattern(episode: Episode, error: ErrorVector, row: Sequence[Episode], why: str, confidence: float) -> Observation:
    """What to do instead, in our words; what was tried in vain, in the agent's."""
    tried = tuple(dict.fromkeys(way for one in row if (way := _telling(one.approach))))[-MOST_TRIED:]
    where = f" at {quoted(place(error), _SIDE)}" if error.where else ""
    text = sentences(
        (
            f"Where {_named((error.kind,))} come again{where}: {OTHER_WAYS[error.kind]}",
            f"Tried in vain: {', '.join(quoted(way, _TRIED) for way in tried)}." if tried else "",
        )
    )
    tests = (place(error),) if error.where else ()
    return Observation(
        kind=LessonKind.ANTIPATTERN,
        text=text,
        detail=details((f"Loop {cleaned(episode.loop, 80)}, up to iteration {episode.iteration}: {why}.",)),
        subject=episode.subject.model_copy(update={"failures": (error.kind,), "tests": tests}),
        failure=error.kind,
        confidence=confidence,
        good=False,
        source=episode.uid,
    )


def _resolutions(episodes: Sequence[Episode], taught: Sequence[Episode]) -> Iterator[Observation]:
    """What ended, for good, a class of failure that had come too often."""
    stubborn = {item.kind: None for one in episodes for item in one.learning if item.level >= INTERVENED}
    checked = [one for one in episodes if one.checked]
    ends: dict[tuple[int, int], Episode] = {}
    for kind in stubborn:
        failing = [number for number, one in enumerate(checked) if any(error.kind is kind for error in one.errors)]
        if failing and failing[-1] + 1 < len(checked):
            end = checked[failing[-1] + 1]
            ends[_order(end)] = end
    known = {_order(one) for one in taught}
    for order, end in ends.items():
        if order not in known:
            yield from _strategy("This ended failures that had come again and again", end, _RESOLVED)


def _choices(state: LoopState, summary: Summary) -> Iterator[Observation]:
    """Decisions that a completed loop rests on, as its agent noted them."""
    for choice in state.memory.decisions[-MOST_CHOICES:]:
        if _sound(choice):
            confidence = _CHOICES[bool(choice.reason) + bool(choice.rejected)]
            yield _of_loop(LessonKind.CONVENTION, summary, _choice(choice), confidence, "From the notes of a completed loop.")


def _sound(choice: Choice) -> bool:
    """Whether it says what was chosen, and nothing to whoever reads it."""
    said = f"{choice.chose} {choice.rejected} {choice.reason} {choice.revisit_if}"
    return bool(terms(choice.chose)) and tells(f"{choice.chose} {choice.rejected}") and not orders(said)


def _choice(choice: Choice) -> str:
    rejected = f", not {quoted(choice.rejected, _SIDE)}" if choice.rejected else ""
    return sentences(
        (
            f"Completed work in this project chose {quoted(choice.chose, _CHOSE)}{rejected}.",
            f"Its reason: {quoted(choice.reason, _SIDE)}." if choice.reason else "",
            f"It would look again if {quoted(choice.revisit_if, _SIDE)}." if choice.revisit_if else "",
        )
    )


def _of_loop(kind: LessonKind, summary: Summary, text: str, confidence: float, why: str) -> Observation:
    return Observation(
        kind=kind,
        text=text,
        detail=details((f"Loop {cleaned(summary.loop, 80)}, {counted(summary.iterations, 'iteration')}.", why)),
        subject=summary.subject.model_copy(update={"failures": (), "tests": ()}),
        confidence=confidence,
        good=True,
        source=summary.uid,
    )


def _telling(approach: str) -> str:
    """The parts of an approach that say what was done."""
    return "; ".join(part for part in approach.split("; ") if tells(part))


def _named(kinds: Sequence[FailureClass]) -> str:
    return f"{', '.join(kind.replace('_', ' ') for kind in kinds)} failures"


def _fails_at(episode: Episode, error: ErrorVector) -> bool:
    return any(other.kind is error.kind and place(other) == place(error) for other in episode.errors)


def _has(episode: Episode, error: ErrorVector) -> bool:
    return any(identity(other) == identity(error) for other in episode.errors)


def _troubled(episode: Episode, kind: FailureClass) -> bool:
    return any(error.kind is kind and error.times >= TIMES for error in episode.troubles)
