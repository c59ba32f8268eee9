"""Bounded records of iterations and ended loops for memory."""

import re
from collections.abc import Iterator, Sequence

from helmsman.memory.words import WORDS, join_fitting
from helmsman.oversee.signals import IterationView
from helmsman.plain import clean_lines, short_line
from helmsman.records.control import Movement, Overseen
from helmsman.records.lessons import Episode, GradedCriterion, Recalled, Subject, Summary, TaskType
from helmsman.records.state import LoopState

LONGEST_GOAL, LONGEST_APPROACH, LONGEST_SUBJECT, LONGEST_NAME = 2_000, 300, 120, 200
LONGEST_REASON = 160
MOST_TESTS, MOST_FILES, MOST_CRITERIA = 20, 20, 20
UNDESCRIPTIVE = ("helmsman:", "Merge branch", "Merge remote", "fixup!", "squash!")
"""Prefixes of commit subjects that do not describe the work."""
LONGEST_READ, SENTENCES = 2_000, 8  # of a goal, to classify the kind of work
_PLACEHOLDERS = re.compile("|".join(WORDS["placeholders"]))
_RULES = tuple(
    (TaskType(row["kind"]), re.compile(_PLACEHOLDERS.sub(lambda match: WORDS["placeholders"][match[0]], row["pattern"])))
    for row in WORDS["kinds"]
)
_FILLER = re.compile(r"^(?:(?:please|now|can|could|we|you|i|the|your|our|task|goal|is|want|need|must|should|have|to)\b\W*)+")
_SENTENCE_END = re.compile(r"\n|(?<=[.!?;:])\s")


def subject_of(state: LoopState, project: str, known: TaskType | None = None) -> Subject:
    """Subject of the due iteration.

    The kind of work is that of the whole loop: by its preset, its goal, or the failures before any work. `known`: the kind
    determined earlier in this loop.
    """
    checked = (
        moment
        for moment in reversed(state.history)
        if moment.checked and (moment.movement is not Movement.WAITED or moment.iteration == 0)
    )
    last = next(checked, None)
    initial_failures = next((moment.failing for moment in state.history if moment.iteration == 0 and moment.failing_tests), ())
    return Subject(
        project=project,
        task_type=known or task_type(state.config.goal, initial_failures, state.config.preset),
        text=clean_lines(state.config.goal[: 2 * LONGEST_GOAL])[:LONGEST_GOAL].strip(),
        failures=tuple(dict.fromkeys(error.kind for error in last.errors)) if last else (),
        tests=failing_tests(state),
    )


def failing_tests(state: LoopState) -> tuple[str, ...]:
    failures = state.checks.failures if state.checks else ()
    names = (name for result in failures if result.counts for name in result.counts.failing)
    return _distinct_names(names, MOST_TESTS)


def task_type(goal: str, failing: tuple[str, ...] = (), preset: str = "") -> TaskType:
    """Classify the work of a loop by its preset, else by the verb and object at the start of its goal, else as `other`.

    `failing`: tests that fail before any work.
    """
    preset_type = WORDS["presets"].get(preset, preset)
    if preset_type in set(TaskType):
        return TaskType(preset_type)
    sentences = [line.strip("#>*+-` \t") for line in _SENTENCE_END.split(goal[:LONGEST_READ].casefold())]
    for sentence in [line for line in sentences if line][:SENTENCES]:
        start = _FILLER.sub("", sentence)
        rule_kind = next((rule_kind for rule_kind, pattern in _RULES if pattern.search(start)), None)
        if rule_kind:
            return rule_kind
    return TaskType.TEST_FIX if failing else TaskType.OTHER


def episode(view: IterationView, overseen: Overseen, subject: Subject, recalled: Recalled) -> Episode:
    """Episode of one iteration, up to the judge. `subject`: at its start; `recalled`: lessons in its prompt."""
    state, evidence, moment = view.state, view.evidence, overseen.moment
    # undecided criteria say nothing about the work
    verdicts = [verdict for verdict in evidence.judgement.criteria if not verdict.cannot_tell] if evidence.judgement else []
    # the work as subjects of its commits, oldest first, as many as fit
    commits = reversed(evidence.execution.change.commits)
    subjects = (commit.subject for commit in commits if not commit.subject.startswith(UNDESCRIPTIVE))
    approach_parts = dict.fromkeys(short_line(subject, LONGEST_SUBJECT) for subject in subjects)
    return Episode(
        uid=state.uid,
        loop=state.loop,
        iteration=state.due,
        attempt=state.attempt,
        subject=subject,
        at=view.now,
        seconds=(view.now - view.started_at).total_seconds(),
        cost_usd=evidence.usage.cost_usd,
        tokens=evidence.usage.tokens,
        completion=1.0 if evidence.proven else overseen.oversight.progress.completion,
        # without a summary the agent never worked
        movement=moment.movement if moment else Movement.WAITED,
        checked=moment.checked if moment else False,
        green=moment.green if moment else False,
        errors=moment.errors if moment else (),
        troubles=moment.troubles if moment else (),
        approach=join_fitting(approach_parts, LONGEST_APPROACH, "; "),
        files=_distinct_names(evidence.execution.change.files, MOST_FILES),
        told=tuple(reminder.lesson for reminder in recalled.reminders),
        guarded=tuple(guardrail.id for guardrail in recalled.guardrails),
        learning=overseen.oversight.learning,
        verdicts=tuple(
            GradedCriterion(criterion=verdict.criterion, met=verdict.met, reason=short_line(verdict.reason, LONGEST_REASON))
            for verdict in verdicts[:MOST_CRITERIA]
        ),
    )


def summary(state: LoopState, subject: Subject) -> Summary:
    """Summary of an ended loop. Raises ValueError if it has not ended."""
    ending = state.ending
    if ending is None or ending.outcome is None:
        raise ValueError(f"the loop {state.loop} has not ended, so it has no summary yet")
    return Summary(
        uid=state.uid,
        loop=state.loop,
        subject=subject,
        outcome=ending.outcome,
        rule=ending.rule,
        iterations=state.iteration,
        seconds=state.spending.seconds,
        cost_usd=state.spending.cost_usd,
        tokens=state.spending.tokens,
        untold=state.untold,
        started_at=state.created_at,
        ended_at=ending.at,
    )


def _distinct_names(names: Sequence[str] | Iterator[str], most: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in (short_line(name, LONGEST_NAME) for name in names) if name))[:most]
