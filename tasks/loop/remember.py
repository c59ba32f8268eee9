"""A loop's use of the memory store: recall before an iteration, remember after it, conclude at the loop's end.

Nothing here stops an iteration: read and write errors are reported, and the loop continues without memory. An error at the
loop's end is reported to the caller, which continues as well.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from uuid import uuid4

from helmsman.errors import Cancelled, HelmsmanError
from helmsman.memory.episodes import episode, subject_of, summary
from helmsman.memory.extraction import lessons_of_iteration, lessons_of_loop
from helmsman.memory.learned_guardrails import MOST_GUARDRAILS, create, failure_classes, update_after_iteration, update_after_loop
from helmsman.memory.lessons_question import lessons_request, read_lessons
from helmsman.memory.merge import credit, learn, review
from helmsman.oversee.oversee import Observations, oversee
from helmsman.oversee.signals import IterationView
from helmsman.plain import clean
from helmsman.records.agent import FailureClass
from helmsman.records.decision import Outcome
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
from tasks.loop.oversee import read_instructions
from tasks.memory import (
    Change,
    Reads,
    Store,
    memory_url,
    open_for_reading,
    open_store,
    project_id,
    recall,
    sync_edits,
    write_guardrails,
)
from tasks.models.asking import write_text
from tasks.models.sending import WRITING_SECONDS, CallSettings, Credentials
from tasks.repository.loop_context import LoopContext
from tasks.system.journal import note

CONCLUSIVE = frozenset(Outcome) - {Outcome.WAITING, Outcome.CANCELLED}
"""Outcomes that say something about the work: a waiting loop continues, and a cancelled one is no longer wanted."""

MOST_EPISODES = 100  # earlier iterations that are read: the cost of an iteration must not grow with the loop


def with_estimate(context: LoopContext, state: LoopState, now: datetime) -> LoopState:
    """The loop with an estimate from similar work, as far as the memory has any."""
    memory = recall_memory(context, state, now)
    kind = memory.subject.task_type if memory.subject else None
    return state.model_copy(update={"estimate": memory.estimate, "task_type": kind, "updated_at": now})


def recall_memory(context: LoopContext, state: LoopState, now: datetime, *, only_look: bool = False) -> Recalled:
    """Recall the memory for the next iteration, after syncing a person's edits of guardrails.md.

    `only_look`: read only; nothing is created, repaired or written, and edits of guardrails.md are not synced.
    """
    config = state.config.memory
    if not config.use:
        return Recalled()
    problems = list[str]()
    with (
        _reporting_errors("recall", problems),
        open_for_reading(memory_url(config.url)) if only_look else _store(state, now) as store,
    ):
        if store is None:
            return Recalled()
        subject = _subject(context, state)
        if not only_look and isinstance(store, Store):
            sync_edits(context.repository, store, subject.project, now)
        return recall(store, subject, now)
    return Recalled(problem="; ".join(problems))


def remember(context: LoopContext, view: IterationView, recalled: Recalled) -> Learned:
    """Store an iteration and its lessons, and return these. Idempotent.

    `recalled`: the memory in its prompt. The overseer's result is computed as in its own step, without the input that only
    that step reads: lessons do not depend on it.
    """
    learned, state = Learned(), view.state
    with _reporting_errors("remember"), _store(state, view.now) as store:
        current = episode(view, oversee(view, Observations()), recalled.subject or _subject(context, state), recalled)
        with store.change() as change:
            key = current.iteration, current.attempt
            earlier = [past for past in change.episodes(current.uid, MOST_EPISODES) if (past.iteration, past.attempt) < key]
            observations = lessons_of_iteration(current, earlier)
            learned = Learned(lessons=tuple(observation.text for observation in observations))
            if not change.put_episode(current):
                return learned
            for observation in observations:
                _observe(change, observation, current.at, _prompted_lessons((*earlier, current)))
            notes = _update_guardrails(change, context, state, current, current.at)
        write_guardrails(context.repository, store, current.subject.project, current.at)
        note(*notes)
    return learned


def conclude_memory(context: LoopContext, state: LoopState, *, extracted: Sequence[Observation] = ()) -> None:
    """Store the lessons of a whole loop that has ended. `extracted`: those that a model drew.

    For a resumed loop only the iterations since its last end count for the worth of lessons and guardrails.
    """
    if state.ending is None or not _is_concluded(state):
        return
    now = state.ending.at
    with _store(state, now) as store:
        ended = summary(state, _subject(context, state))
        with store.change() as change:
            new = _since_its_end(change, state.uid)
            if not change.put_summary(ended):
                return
            episodes = change.episodes(state.uid)
            for observation in (*lessons_of_loop(state, ended), *extracted):
                _observe(change, observation, now, _prompted_lessons(episodes))
            _credit(change, _prompted_lessons(new), new, now, good=ended.outcome is Outcome.COMPLETED)
            judged = _put_changed(change, ended.subject.project, lambda guardrail: update_after_loop(guardrail, new, now))
        write_guardrails(context.repository, store, ended.subject.project, now)
        note(*_guardrail_lines(guardrail for guardrail in judged if guardrail.retired))


def needs_model_lessons(state: LoopState) -> bool:
    """Whether to ask a model for this loop's lessons: with `memory.extraction = "model"`, once per end reached by iterations."""
    if state.config.memory.extraction != "model" or not _is_concluded(state):
        return False
    with _store(state, state.updated_at) as store:
        return store.summary(state.uid) is None or bool(_since_its_end(store, state.uid))


def lessons_from_model(context: LoopContext, state: LoopState, credentials: Credentials) -> ExtractedLessons:
    """Ask a model for the lessons of the loop."""
    with _store(state, state.updated_at) as store:
        episodes = store.episodes(state.uid)
        ended = summary(state, _subject(context, state))
        tag, stop = f"{context.tag(state)}/lessons", context.folder.cancel.exists
        asking = CallSettings(state.config, credentials, tag, stop, WRITING_SECONDS)
        read = partial(read_lessons, summary=ended, episodes=episodes)
        observations, reason, usage = write_text(asking, partial(lessons_request, state, ended, episodes), read)
        return ExtractedLessons(observations=observations or (), usage=usage, reason=reason)


def known_lessons(context: LoopContext, state: LoopState) -> tuple[list[Lesson], list[Guardrail]]:
    """All lessons and guardrails of the loop's project."""
    if not state.config.memory.use:
        return [], []
    with _store(state, state.updated_at) as store:
        project = project_id(context.repository)
        return store.lessons(project), store.guardrails(project)


def _is_concluded(state: LoopState) -> bool:
    return state.config.memory.use and state.ending is not None and state.outcome in CONCLUSIVE


def _since_its_end(reads: Reads, uid: str) -> Sequence[Episode]:
    """Iterations since the loop last ended, or all. The iteration that led to an end was stored before it."""
    before = reads.summary(uid)
    return [episode for episode in reads.episodes(uid) if before is None or episode.at > before.ended_at]


def _subject(context: LoopContext, state: LoopState) -> Subject:
    return subject_of(state, project_id(context.repository), state.task_type)


def _prompted_lessons(episodes: Iterable[Episode]) -> frozenset[str]:
    """Ids of the lessons in the episodes' prompts."""
    return frozenset(lesson for episode in episodes for lesson in episode.told)


def _observe(change: Change, observation: Observation, now: datetime, prompted: frozenset[str]) -> None:
    """Merge an observation into the lesson that says the same, or create one."""
    subject = observation.subject
    existing = change.similar(observation.text, observation.kind, subject.project, subject.task_type)
    change.put_lesson(learn(existing, observation, uuid4().hex[:12], now, prompted))


def _credit(change: Change, prompted: Iterable[str], episodes: Sequence[Episode], now: datetime, *, good: bool) -> None:
    """Credit or discredit the lessons in the loop's prompts by its outcome."""
    failed = {error.kind for episode in episodes for error in episode.errors}
    for name in sorted(prompted):
        lesson = change.lesson(name)
        if lesson is None:
            continue
        is_warning = lesson.kind is LessonKind.ANTIPATTERN and lesson.failure is not None  # useful if the failure did not recur
        helped = lesson.failure not in failed if is_warning else good
        change.put_lesson(review(credit(lesson, good=helped, now=now)))


def _update_guardrails(
    change: Change, context: LoopContext, state: LoopState, current: Episode, now: datetime
) -> tuple[str, ...]:
    """Count the guardrails' effects in an iteration, and create those that are due. Return lines for people."""
    project = current.subject.project
    _put_changed(change, project, lambda guardrail: update_after_iteration(guardrail, current))
    existing = change.guardrails(project, retired=True)
    counts = {kind: change.failures(project, kind) for kind in FailureClass}
    instructions = read_instructions(context.worktree, state.config)
    created = create(project, change.episodes(current.uid, MOST_EPISODES), existing, counts, instructions, MOST_GUARDRAILS, now)
    for guardrail in created.guardrails:
        change.put_guardrail(guardrail)
    # reported only where the failure recurred; earlier refusals are not repeated
    refused = [clean(refusal.why) for refusal in created.refused if refusal.guardrail.failure in failure_classes(current)]
    return (*_guardrail_lines(created.guardrails), *(f"no guardrail was created: {why}" for why in refused))


def _put_changed(change: Change, project: str, judge: Callable[[Guardrail], Guardrail]) -> list[Guardrail]:
    """Apply `judge` to the project's active guardrails; store and return those that it changes."""
    changed = [after for guardrail in change.guardrails(project) if (after := judge(guardrail)) != guardrail]
    for guardrail in changed:
        change.put_guardrail(guardrail)
    return changed


def _guardrail_lines(guardrails: Iterable[Guardrail]) -> Iterator[str]:
    for guardrail in guardrails:
        change = f"retired ({clean(guardrail.retired)})" if guardrail.retired else "made"
        yield f"guardrail {guardrail.id} {change}: {clean(guardrail.trigger)}: {clean(guardrail.instruction)}"


@contextmanager
def _store(state: LoopState, now: datetime) -> Generator[Store]:
    config = state.config.memory
    with open_store(memory_url(config.url), now) as store:
        note(*store.warnings)
        yield store


@contextmanager
def _reporting_errors(action: str, problems: list[str] | None = None) -> Generator[None]:
    """Report errors in the block, so that the loop continues. Raises Cancelled."""
    try:
        yield
    except Cancelled:
        raise
    except Exception as error:  # noqa: BLE001 - memory must never stop the work
        message = clean(error.one_line if isinstance(error, HelmsmanError) else f"{type(error).__name__}: {error}")[:500]
        note(f"the memory failed ({action}): {message}")
        if problems is not None:
            problems.append(message)
