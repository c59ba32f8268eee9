"""Query the store for an iteration: a few bounded queries, whatever its size."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from helmsman.memory.estimates import NEWEST, estimate
from helmsman.memory.learned_guardrails import MOST_GUARDRAILS
from helmsman.memory.recall import MEMORY_TOKENS, SearchHit, guardrails_cost, reminders
from helmsman.records.lessons import Guardrail, LessonKind, Recalled, Subject, Tier

if TYPE_CHECKING:
    from tasks.memory.reads import Reads

SEARCHED = 30  # lessons to search by words: of all projects, and as many of this one
EXTRA = 5  # lessons of a kind to consider regardless of words
GOAL = 1_000  # characters of a goal to search for before the names of its tests; the rest follows them
TESTS = 8

_WORD = re.compile(r"\w+")
_PARTS = "test tests spec specs src lib py js jsx ts tsx mjs go rs rb java kt php cs"
_INSIGNIFICANT = frozenset(_PARTS.split())  # insignificant parts of test names


def recall(store: "Reads", subject: Subject, now: datetime, allowance: int = MEMORY_TOKENS) -> Recalled:
    """Recall memory for the prompt, within the token allowance. Raises TransientError if the store fails."""
    # guardrails within the allowance: a person's first, then those for current failures, then the newest
    ranked = sorted(store.guardrails(subject.project), key=lambda item: item.created_at, reverse=True)
    ranked.sort(key=lambda item: (item.by != "person", item.failure not in subject.failures))
    guardrails: list[Guardrail] = []
    for item in ranked:
        if len(guardrails) < MOST_GUARDRAILS and guardrails_cost([*guardrails, item]) <= allowance:
            guardrails.append(item)
    tokens_left = allowance - guardrails_cost(guardrails)
    return Recalled(
        subject=subject,
        guardrails=tuple(guardrails),
        reminders=reminders(_search_lessons(store, subject), subject, now, tokens_left) if tokens_left > 0 else (),
        estimate=estimate(store.summaries(subject.task_type, subject.project, limit=NEWEST), subject),
    )


def _search_lessons(store: "Reads", subject: Subject) -> Iterator[SearchHit]:
    """Lessons by words, and those that may apply to the project regardless of words."""
    project, tier = subject.project, Tier.SEMANTIC
    yield from store.search(search_text(subject), tier=tier, limit=SEARCHED, project=project)
    further = store.lessons(project, LessonKind.CONVENTION, subject.task_type, tier, limit=EXTRA)
    if subject.failures:
        further += store.lessons(project, LessonKind.ANTIPATTERN, tier=tier, limit=EXTRA)
    yield from (SearchHit(lesson, 0.0, 0) for lesson in further)


def search_text(subject: Subject) -> str:
    """Text to search for. The number of words is limited, so those of the tests are not last."""
    names = [word for test in subject.tests[:TESTS] for word in _WORD.findall(test.replace("_", " "))]
    significant = [word for word in names if word.casefold() not in _INSIGNIFICANT]
    return " ".join([subject.text[:GOAL], *significant, subject.text[GOAL:]])
