"""Levels of learning (Bateson): the same class of failure again and again is met one level higher, and the effect is measured.

Level 1 repeats, level 2 changes what is worked by, level 3 is a matter for a person, by way of the ladder.
"""

from collections.abc import Mapping, Sequence

from helmsman.oversee.cycles import checked, fewer_fail
from helmsman.records.moments import Moment, Movement
from helmsman.records.oversight import Learnt
from helmsman.records.session import FailureClass
from helmsman.records.verdict import Severity, Signal
from helmsman.texts import counted

TRIED, UNLEARNABLE = 2, 3
"""Levels: something else was ordered and is being tried; that was in vain."""
STAGNATION = 2
"""Iterations in a row with the same class that count as standing still: S0's second failure."""
INTERVENTION = 3
"""In a row until something else is ordered: S0's third failure, the gutter."""
RECURRENCES = 2
"""Times that it may come back after an intervention until it is a matter for a person; S10 leaves the number open."""
AWAY = 3
"""Iterations without it that prove an intervention."""

INTERVENTIONS: Mapping[FailureClass, str] = {
    FailureClass.TEST: (
        "Read the failing test and its fixtures in full, write down what it demands and what the code does "
        "instead, and change the code at the place where the two part. Run that one test until it passes, then all of them."
    ),
    FailureClass.BUILD: (
        "The build comes first. Take the first error only, go back to the last commit that builds if its cause is "
        "unclear, and move in steps that each build."
    ),
    FailureClass.TYPES: (
        "Settle the types before the code. Write the signatures and data types that the change needs, let the type "
        "checker pass on them, then fill in the bodies."
    ),
    FailureClass.LINT: (
        "Run the project's formatter and the linter's own fixes first, then fix what is left rule by rule, "
        "reading the explanation of each rule."
    ),
    FailureClass.SYNTAX: (
        "Write the broken file anew in small pieces, and parse it after each one before you go on to the next."
    ),
    FailureClass.MISSING_MODULE: (
        "List what the project declares and has installed, and build on that. Where a package is truly needed, "
        "declare it the way the project does and prove the import in a one-line command."
    ),
    FailureClass.MISSING_FILE: (
        "List the folder before you name a path. Create what the goal asks for and is missing, and refer to the rest "
        "by the path that the listing shows."
    ),
    FailureClass.MISSING_COMMAND: (
        "Find out with `command -v` which tools there are, use the project's own scripts and targets, and "
        "choose a way that needs only those."
    ),
    FailureClass.USAGE: (
        "Read the program's own help or signature first, copy the call from there, and try it alone before you build on it."
    ),
    FailureClass.EDIT: (
        "Read the file right before each edit and take the text to replace from that reading; for many changes "
        "write the file as a whole."
    ),
    FailureClass.PERMISSION: (
        "Stay inside the workspace and the tools that are allowed, and note which permission the goal needs, "
        "and what for, so that a person can grant it."
    ),
    FailureClass.NETWORK: (
        "Work as if there were no network. Use what is in the repository and installed, put a local stand-in "
        "where a service is called, and note what truly needs the outside."
    ),
    FailureClass.TIMEOUT: (
        "Find the step that takes the time by running its parts alone, give it less to do or a better "
        "algorithm, and bound every wait."
    ),
    FailureClass.RESOURCES: (
        "Find what fills memory or disk by measuring its parts, work on the data in pieces, and close and "
        "delete what is no longer used."
    ),
    FailureClass.GIT: (
        "Look at `git status` first, leave branches and history to the loop, and change only files in the worktree."
    ),
    FailureClass.EXCEPTION: (
        "Reproduce the exception alone with the smallest input, follow the trace down to the first line of the "
        "project's own code, write a test for that case, and fix the cause there."
    ),
    FailureClass.OTHER: (
        "Cut what fails into its smallest part that can be run alone, write down what you expect of it "
        "and what it prints, and go on from the first difference."
    ),
}
"""Orders to the next iteration on level 2: a rule to work by, a change of the plan, or the task cut in another way."""


def learn(
    before: tuple[Learnt, ...], history: Sequence[Moment], *, intervened: bool
) -> tuple[tuple[Learnt, ...], tuple[Signal, ...]]:
    """Classes of failure after the newest iteration, and what follows from them.

    `intervened`: whether what was ordered before it reached the agent; else nothing can be said of its effect.
    """
    if not history or history[-1].movement is Movement.WAITED or not history[-1].checked:
        return before, ()
    seen = checked(history, AWAY)
    known = {item.kind: item for item in before}
    kinds = dict.fromkeys((*known, *(error.kind for error in seen[-1].errors)))
    learnt = tuple(_next(known.get(kind, Learnt(kind=kind)), seen, intervened=intervened) for kind in kinds)
    told = (_told(known.get(item.kind, Learnt(kind=item.kind)), item) for item in learnt)
    return learnt, tuple(signal for signal in told if signal is not None)


def _next(item: Learnt, seen: Sequence[Moment], *, intervened: bool) -> Learnt:
    """The class after the newest of `seen`."""
    if not _has(seen[-1], item.kind):
        return _gone(item, seen, intervened=intervened)
    if _gained(item.kind, seen):  # it fails less: the level it is worked on serves
        level = item.level if item.level >= TRIED else 0
        return item.model_copy(update={"seen": item.seen + 1, "in_row": 1, "recurred": 0, "level": level})
    again = item.model_copy(update={"seen": item.seen + 1, "in_row": item.in_row + 1})
    if item.level < TRIED:
        return _repeated(again, seen[-1].iteration)
    return _recurred(again, intervened=intervened)


def _gone(item: Learnt, seen: Sequence[Moment], *, intervened: bool) -> Learnt:
    """It stayed away this time; for long enough, and the intervention has helped."""
    if item.level < TRIED:
        return item.model_copy(update={"in_row": 0, "level": 0})
    since = [moment for moment in seen[-AWAY:] if moment.iteration > (item.intervened_at or 0)]
    if len(since) < AWAY or any(_has(moment, item.kind) for moment in since):
        return item.model_copy(update={"in_row": 0})
    return item.model_copy(update={"in_row": 0, "level": 0, "helped": True if intervened else item.helped})


def _repeated(item: Learnt, iteration: int) -> Learnt:
    """The same class, no better: one level up where it came often enough."""
    if item.in_row >= INTERVENTION:
        return item.model_copy(update={"level": TRIED, "intervened_at": iteration, "recurred": 0, "helped": None})
    return item.model_copy(update={"level": 1 if item.in_row >= STAGNATION else 0})


def _recurred(item: Learnt, *, intervened: bool) -> Learnt:
    """It came back in spite of what was ordered."""
    recurred = item.recurred + intervened
    if recurred < RECURRENCES:
        return item.model_copy(update={"recurred": recurred})
    return item.model_copy(update={"recurred": recurred, "level": UNLEARNABLE, "helped": False})


def _told(before: Learnt, after: Learnt) -> Signal | None:
    """What there is to say of one class, where it failed again without a gain."""
    if after.level == 1 and after.in_row > before.in_row:
        message = (
            f"the same class of failure, {after.kind}, in {after.in_row} iterations in a row ({INTERVENTION} order a change)"
        )
        return Signal(rule="learning.repeated", severity=Severity.LOG, message=message, value=after.in_row, threshold=STAGNATION)
    if after.level == UNLEARNABLE and after.recurred > before.recurred and after.recurred % RECURRENCES == 0:
        return _unlearnable(after)
    worse = after.level > before.level or after.recurred > before.recurred
    return _stagnation(before, after) if after.level >= TRIED and worse else None


def _stagnation(before: Learnt, after: Learnt) -> Signal:
    """An intervention, ordered now or still open."""
    new = after.level > before.level
    message = (
        f"the same class of failure, {after.kind}, in {after.in_row} iterations in a row "
        f"({INTERVENTION} trip this): working on as before does not end it"
        if new
        else f"{after.kind} failures came back in {counted(after.recurred, 'iteration')} since a change was ordered after "
        f"iteration {after.intervened_at} ({RECURRENCES} make it a matter for a person)"
    )
    return Signal(
        rule="learning.stagnation",
        severity=Severity.REDIRECT if new else Severity.WARN,
        message=message,
        value=after.in_row if new else after.recurred,
        threshold=INTERVENTION if new else RECURRENCES,
        instruction=INTERVENTIONS[after.kind],
    )


def _unlearnable(item: Learnt) -> Signal:
    """REDIRECT, not PAUSE: the ladder brings it before a person, once another approach and a redesign had their chance."""
    message = (
        f"{item.kind} failures were seen in {item.seen} iterations; something else was ordered after iteration "
        f"{item.intervened_at}, and they came back {item.recurred} times since ({RECURRENCES} are allowed): look whether the "
        "goal, the checks or the environment can be met at all"
    )
    return Signal(
        rule="learning.unlearnable",
        severity=Severity.REDIRECT,
        message=message,
        value=item.recurred,
        threshold=RECURRENCES,
        instruction=INTERVENTIONS[item.kind],
    )


def _has(moment: Moment, kind: FailureClass) -> bool:
    return any(error.kind is kind for error in moment.errors)


def _gained(kind: FailureClass, seen: Sequence[Moment]) -> bool:
    """Whether it got on, though the class still fails: forward, fewer failures of it than lately, or fewer failing tests."""
    *before, newest = seen
    if newest.movement is Movement.FORWARD:
        return True
    if not before or not _has(before[-1], kind):
        return False
    earlier = [moment for moment in before if _has(moment, kind)]  # what swings is below the last one every second time
    now = _extent(newest, kind)
    return all(0 < now < _extent(moment, kind) or fewer_fail(moment, newest) for moment in earlier)


def _extent(moment: Moment, kind: FailureClass) -> int:
    """Things that failed so; 0 where nothing tells."""
    known = [error.extent for error in moment.errors if error.kind is kind]
    return sum(known) if all(known) else 0
