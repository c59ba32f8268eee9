"""What becomes of records that a file brings: a person's word stays, else the newer one, and nothing is lost."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Literal, TypeAlias, TypeVar

from helmsman.memory.guardrails import REMOVED
from helmsman.records.lessons import MOST_SOURCES, Guardrail, Lesson
from tasks.memory.changing import Changing
from tasks.memory.exchange import Content
from tasks.memory.keys import moment
from tasks.memory.port import Imported, Merged

Fate: TypeAlias = Literal["added", "replaced", "kept"]
Transactions: TypeAlias = Callable[[], AbstractContextManager[Changing]]
R = TypeVar("R")
AT_A_TIME = 500
"""Records in one transaction: loops that write meanwhile wait for no more. An import that broke off is done once more."""


def merge(transactions: Transactions, content: Content) -> Imported:
    """Put a file's content into the store, which is known to be whole."""
    return Imported(
        lessons=_merged(transactions, content.lessons, _lesson),
        guardrails=_merged(transactions, content.guardrails, _guardrail),
        episodes=_merged(transactions, content.episodes, lambda change, one: _added(change.put_episode(one))),
        summaries=_merged(transactions, content.summaries, lambda change, one: _added(change.put_summary(one))),
    )


def _merged(transactions: Transactions, records: Sequence[R], put: Callable[[Changing, R], Fate]) -> Merged:
    count: Counter[Fate] = Counter()
    for first in range(0, len(records), AT_A_TIME):
        with transactions() as change:
            count.update(put(change, one) for one in records[first : first + AT_A_TIME])
    return Merged(added=count["added"], replaced=count["replaced"], kept=count["kept"])


def _lesson(change: Changing, theirs: Lesson) -> Fate:
    ours = change.lesson(theirs.id)
    if ours is None:
        change.put_lesson(theirs)
        return "added"
    if _met(theirs) <= _met(ours):
        return "kept"
    sources = dict.fromkeys([*ours.sources, *theirs.sources])
    change.put_lesson(theirs.model_copy(update={"sources": tuple(sources)[-MOST_SOURCES:]}))
    return "replaced"


def _guardrail(change: Changing, theirs: Guardrail) -> Fate:
    ours = change.guardrail(theirs.id)
    if ours is not None and _standing(theirs) <= _standing(ours):
        return "kept"
    change.put_guardrail(theirs)
    return "replaced" if ours else "added"


def _met(lesson: Lesson) -> int:
    """When it was seen or told last: what came of that is in its numbers, and may have retired it."""
    return max(moment(at) for at in (lesson.updated_at, lesson.used_at) if at)


def _standing(guardrail: Guardrail) -> tuple[bool, int]:
    """A person's words, or that a person removed it, stand above whatever is newer."""
    return guardrail.edited or guardrail.retired.startswith(REMOVED), _touched(guardrail)


def _touched(guardrail: Guardrail) -> int:
    """When something last happened to it."""
    return max(moment(at) for at in (guardrail.created_at, guardrail.loaded_at, guardrail.retired_at) if at)


def _added(new: bool) -> Fate:
    return "added" if new else "kept"
