"""What outlives a loop, beside its steps: recalled before an iteration, kept after it, concluded at the loop's end.

Nothing here stops an iteration: what cannot be read or kept is named, and the loop goes on without it. Whoever ends a loop hears
of what cannot be concluded, and goes on as well.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from uuid import uuid4

from helmsman.errors import Cancelled, HelmsmanError
from helmsman.memory.episodes import episode, subject_of, summary
from helmsman.memory.extraction import after_iteration, after_loop
from helmsman.memory.guardrail_effect import after_iteration as with_effect
from helmsman.memory.guardrail_effect import after_loop as concluded
from helmsman.memory.guardrail_effect import failed
from helmsman.memory.learned_guardrails import MOST_GUARDRAILS, create
from helmsman.memory.lessons_question import lessons_request, read_lessons
from helmsman.memory.merge import credited, learn, reviewed
from helmsman.oversee.oversee import Observed, oversee
from helmsman.oversee.signals import IterationView
from helmsman.plain import clean
from helmsman.records.agent import FailureClass
from helmsman.records.decision import Outcome
from helmsman.records.events import MemoryNoted
from helmsman.records.lessons import (
    Episode,
    ExtractedLessons,
    Guardrail,
    Learned,
    Lesson,
    LessonKind,
    Observation,
    Recalled,
    Subject,
)
from helmsman.records.state import LoopState
from tasks.memory import Change, Reads, Store, chosen_url, looking, opening, project_of, recall, sync_edits, write_down
from tasks.models.asking import Asking, Credentials, written
from tasks.repository.instructions import read_orders
from tasks.repository.loop_context import LoopContext
from tasks.system.journal import publish

CONCLUDED = frozenset(Outcome) - {Outcome.WAITING, Outcome.CANCELLED}
"""Ends that say something of the work: a loop that waits goes on, and one that was cancelled is wanted no more."""

LOOKED_AT = 100  # iterations that one looks back at: what an iteration costs must not grow with the loop


def with_estimate(context: LoopContext, state: LoopState, now: datetime) -> LoopState:
    """The loop with what similar work took, as far as anybody knows."""
    found = recalled(context, state, now)
    kind = found.subject.task_type if found.subject else None
    return state.model_copy(update={"estimate": found.estimate, "task_type": kind, "updated_at": now})


def recalled(context: LoopContext, state: LoopState, now: datetime, *, only_look: bool = False) -> Recalled:
    """What memory says to the iteration that is due. What a person wrote into guardrails.md since the last one counts.

    `only_look`: nothing is made, repaired or written, and what a person wrote into guardrails.md waits.
    """
    config = state.config.memory
    if not config.use:
        return Recalled()
    problems = list[str]()
    with _observed("recall", problems), looking(chosen_url(config.url)) if only_look else _store(state, now) as store:
        if store is None:
            return Recalled()
        subject = _subject(context, state)
        if not only_look and isinstance(store, Store):
            sync_edits(context.repository, store, subject.project, now)
        return recall(store, subject, now)
    return Recalled(problem="; ".join(problems))


def remember(context: LoopContext, view: IterationView, recalled: Recalled) -> Learned:
    """Keep an iteration and what it teaches, and return the lessons. Called again for the same one, it changes nothing.

    `recalled`: what its prompt carried. What the overseer makes of the iteration is found out as it will be in its own step,
    without what only that step reads: a lesson does not rest on it.
    """
    learned, state = Learned(), view.state
    with _observed("remember"), _store(state, view.now) as store:
        kept = episode(view, oversee(view, Observed()), recalled.subject or _subject(context, state), recalled)
        with store.change() as change:
            now = kept.iteration, kept.attempt
            earlier = [one for one in change.episodes(kept.uid, LOOKED_AT) if (one.iteration, one.attempt) < now]
            observations = after_iteration(kept, earlier)
            learned = Learned(lessons=tuple(one.text for one in observations))
            if not change.put_episode(kept):
                return learned
            for one in observations:
                _observe(change, one, kept.at, _told((*earlier, kept)))
            notes = _guarded(change, context, state, kept, kept.at)
        write_down(context.repository, store, kept.subject.project, kept.at)
        _note(notes)
    return learned


def conclude(context: LoopContext, state: LoopState, *, asked: Sequence[Observation] = ()) -> None:
    """Keep what a loop that has ended teaches as a whole. `asked`: what a model made of it.

    Of one that had ended before and was resumed, only what came since says what lessons and guardrails were worth.
    """
    if state.ending is None or not _ends(state):
        return
    now = state.ending.at
    with _store(state, now) as store:
        ended = summary(state, _subject(context, state))
        with store.change() as change:
            new = _since_its_end(change, state.uid)
            if not change.put_summary(ended):
                return
            episodes = change.episodes(state.uid)
            for one in (*after_loop(state, ended), *asked):
                _observe(change, one, now, _told(episodes))
            _credit(change, _told(new), new, now, good=ended.outcome is Outcome.COMPLETED)
            judged = _put_changed(change, ended.subject.project, lambda one: concluded(one, new, now))
        write_down(context.repository, store, ended.subject.project, now)
        _note(_told_of(one for one in judged if one.retired))


def to_be_asked(state: LoopState) -> bool:
    """Whether a model is to be asked what this loop teaches: once for each end that iterations led to, where that is wanted."""
    if state.config.memory.extraction != "model" or not _ends(state):
        return False
    with _store(state, state.updated_at) as store:
        return store.summary(state.uid) is None or bool(_since_its_end(store, state.uid))


def drawn(context: LoopContext, state: LoopState, credentials: Credentials) -> ExtractedLessons:
    """What a model says of it."""
    with _store(state, state.updated_at) as store:
        episodes = store.episodes(state.uid)
        ended = summary(state, _subject(context, state))
        by = Asking(state.config, credentials, f"{context.tag(state)}/lessons", context.folder.cancel.exists)
        read = partial(read_lessons, summary=ended, episodes=episodes)
        found, writing = written(by, partial(lessons_request, state, ended, episodes), read)
        return ExtractedLessons(observations=found or (), usage=writing.usage, reason=writing.reason)


def learnt(context: LoopContext, state: LoopState) -> tuple[list[Lesson], list[Guardrail]]:
    """Everything that is known of the loop's project."""
    if not state.config.memory.use:
        return [], []
    with _store(state, state.updated_at) as store:
        project = project_of(context.repository)
        return store.lessons(project), store.guardrails(project)


def _ends(state: LoopState) -> bool:
    return state.config.memory.use and state.ending is not None and state.outcome in CONCLUDED


def _since_its_end(reads: Reads, uid: str) -> Sequence[Episode]:
    """Iterations since the loop ended last, all where it never did. The one that led to an end was kept before it."""
    before = reads.summary(uid)
    return [one for one in reads.episodes(uid) if before is None or one.at > before.ended_at]


def _subject(context: LoopContext, state: LoopState) -> Subject:
    return subject_of(state, project_of(context.repository), state.task_type)


def _told(episodes: Iterable[Episode]) -> frozenset[str]:
    """Lessons that their prompts carried."""
    return frozenset(lesson for one in episodes for lesson in one.told)


def _observe(change: Change, seen: Observation, now: datetime, told: frozenset[str]) -> None:
    """Merge it into the lesson that says the same, or make one of it."""
    subject = seen.subject
    known = change.similar(seen.text, seen.kind, subject.project, subject.task_type)
    change.put_lesson(learn(known, seen, uuid4().hex[:12], now, told))


def _credit(change: Change, told: Iterable[str], episodes: Sequence[Episode], now: datetime, *, good: bool) -> None:
    """The loop has shown what the lessons were worth that it was told of."""
    failed = {error.kind for one in episodes for error in one.errors}
    for name in sorted(told):
        lesson = change.lesson(name)
        if lesson is None:
            continue
        warned = lesson.kind is LessonKind.ANTIPATTERN and lesson.failure is not None  # worth what it kept from failing again
        well = lesson.failure not in failed if warned else good
        change.put_lesson(reviewed(credited(lesson, good=well, now=now), now))


def _guarded(change: Change, context: LoopContext, state: LoopState, kept: Episode, now: datetime) -> tuple[str, ...]:
    """Count what the guardrails did in an iteration, and make those that are due. Returns what people should hear."""
    project = kept.subject.project
    _put_changed(change, project, lambda one: with_effect(one, kept))
    known = change.guardrails(project, retired=True)
    counts = {kind: change.failures(project, kind) for kind in FailureClass}
    orders = read_orders(context.worktree, state.config)
    made = create(project, change.episodes(kept.uid, LOOKED_AT), known, counts, orders, MOST_GUARDRAILS, now)
    for one in made.guardrails:
        change.put_guardrail(one)
    # told where it failed once more; what was refused before stays so without a word
    refused = [clean(one.why) for one in made.refused if one.guardrail.failure in failed(kept)]
    return (*_told_of(made.guardrails), *(f"no guardrail was made: {why}" for why in refused))


def _put_changed(change: Change, project: str, judge: Callable[[Guardrail], Guardrail]) -> list[Guardrail]:
    """Those of the project's active guardrails that are another one now."""
    changed = [after for one in change.guardrails(project) if (after := judge(one)) != one]
    for one in changed:
        change.put_guardrail(one)
    return changed


def _told_of(guardrails: Iterable[Guardrail]) -> Iterator[str]:
    for one in guardrails:
        what = f"retired ({clean(one.retired)})" if one.retired else "made"
        yield f"guardrail {one.id} {what}: {clean(one.trigger)}: {clean(one.instruction)}"


@contextmanager
def _store(state: LoopState, now: datetime) -> Generator[Store]:
    config = state.config.memory
    with opening(chosen_url(config.url), now) as store:
        _note(store.warnings)
        yield store


@contextmanager
def _observed(what: str, problems: list[str] | None = None) -> Generator[None]:
    """An observer: what breaks in the block is told, and the loop goes on."""
    try:
        yield
    except Cancelled:
        raise
    except Exception as error:  # noqa: BLE001 - memory must never stop the work
        told = clean(error.in_a_line if isinstance(error, HelmsmanError) else f"{type(error).__name__}: {error}")[:500]
        _note((f"nothing could be done ({what}): {told}",))
        if problems is not None:
            problems.append(told)


def _note(lines: Iterable[str]) -> None:
    said = tuple(lines)
    if said:
        publish(MemoryNoted(lines=said))
