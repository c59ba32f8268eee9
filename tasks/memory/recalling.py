"""What the store is asked for an iteration: a few bounded questions, whatever it holds."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from helmsman.errors import TransientError
from helmsman.memory.estimates import FEWEST, NEWEST, estimate
from helmsman.memory.learned_guardrails import MOST_GUARDRAILS
from helmsman.memory.recall import MEMORY_TOKENS, Found, guardrails_cost, reminders
from helmsman.records.decision import Outcome
from helmsman.records.lessons import Guardrail, LessonKind, Recalled, Subject, Tier

if TYPE_CHECKING:
    from tasks.memory.reads import Reads

FOUND = 30  # lessons that are looked at by their words: of all projects, and as many of this one
BESIDE = 5  # lessons of a sort that are looked at whatever their words are
GOAL = 1_000  # characters of a goal that are looked for before the names of its tests; the rest comes after them
TESTS = 8

_WORD = re.compile(r"\w+")
_PARTS = "test tests spec specs src lib py js jsx ts tsx mjs go rs rb java kt php cs"
_IN_EVERY_NAME = frozenset(_PARTS.split())  # parts of the names of tests that say nothing


def recall(store: "Reads", subject: Subject, now: datetime, allowance: int = MEMORY_TOKENS) -> Recalled:
    """What memory has to say, in so many tokens. A store that does not answer has nothing to say, and that is told."""
    try:
        return _recalled(store, subject, now, allowance)
    except TransientError as error:
        return Recalled(subject=subject, problem=" ".join(str(error).split()))


def _recalled(store: "Reads", subject: Subject, now: datetime, allowance: int) -> Recalled:
    # guardrails that the prompt has room for, a person's first, then those whose failure is there now, then the newest
    ranked = sorted(store.guardrails(subject.project), key=lambda one: one.created_at, reverse=True)
    ranked.sort(key=lambda one: (one.by != "person", one.failure not in subject.failures))
    guardrails: list[Guardrail] = []
    for one in ranked:
        if len(guardrails) < MOST_GUARDRAILS and guardrails_cost([*guardrails, one]) <= allowance:
            guardrails.append(one)
    # all projects are asked what similar work took only where this one has too little to tell
    own = store.summaries(subject.task_type, subject.project, limit=NEWEST)
    enough = sum(one.outcome is Outcome.COMPLETED for one in own) >= FEWEST
    room = allowance - guardrails_cost(guardrails)
    return Recalled(
        subject=subject,
        guardrails=tuple(guardrails),
        reminders=reminders(_found(store, subject), subject, now, room) if room > 0 else (),
        estimate=estimate(own if enough else store.summaries(subject.task_type, limit=NEWEST), subject),
    )


def _found(store: "Reads", subject: Subject) -> Iterator[Found]:
    """By words, and what may hold for the project whatever the words are."""
    project, told = subject.project, Tier.SEMANTIC
    yield from store.search(asked(subject), tier=told, limit=FOUND, project=project)
    beside = store.lessons(project, LessonKind.CONVENTION, subject.task_type, told, limit=BESIDE)
    if subject.failures:
        beside += store.lessons(project, LessonKind.ANTIPATTERN, tier=told, limit=BESIDE)
    yield from (Found(lesson, 0.0, 0) for lesson in beside)


def asked(subject: Subject) -> str:
    """The words that are looked for. Only so many count, so those of the tests are not left to the end."""
    names = [word for test in subject.tests[:TESTS] for word in _WORD.findall(test.replace("_", " "))]
    telling = [word for word in names if word.casefold() not in _IN_EVERY_NAME]
    return " ".join([subject.text[:GOAL], *telling, subject.text[GOAL:]])
