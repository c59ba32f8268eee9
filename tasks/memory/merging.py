"""What becomes of records that a file brings: the newer one stays, and nothing is lost."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from helmsman.records.lessons import MOST_SOURCES, Guardrail, Lesson
from tasks.memory.changing import Changing
from tasks.memory.exchange import Content
from tasks.memory.keys import moment
from tasks.memory.port import Imported, Merged

Fate: TypeAlias = Literal["added", "replaced", "kept"]


def merge(change: Changing, content: Content) -> Imported:
    """Put a file's content into the store, inside the caller's transaction."""
    return Imported(
        lessons=_told(_lesson(change, lesson) for lesson in content.lessons),
        guardrails=_told(_guardrails(change, content.guardrails)),
        episodes=_told(_added(change.put_episode(episode)) for episode in content.episodes),
        summaries=_told(_added(change.put_summary(summary)) for summary in content.summaries),
    )


def _lesson(change: Changing, theirs: Lesson) -> Fate:
    ours = change.lesson(theirs.id)
    if ours is None:
        change.put_lesson(theirs)
        return "added"
    if moment(theirs.updated_at) <= moment(ours.updated_at):
        return "kept"
    sources = dict.fromkeys([*ours.sources, *theirs.sources])
    change.put_lesson(theirs.model_copy(update={"sources": tuple(sources)[-MOST_SOURCES:]}))
    return "replaced"


def _guardrails(change: Changing, brought: Iterable[Guardrail]) -> Iterator[Fate]:
    for theirs in brought:
        ours = change.guardrail(theirs.id)
        if ours is None or _touched(theirs) > _touched(ours):
            change.put_guardrail(theirs)
            yield "replaced" if ours else "added"
        else:
            yield "kept"


def _touched(guardrail: Guardrail) -> int:
    """When something last happened to it."""
    return max(moment(at) for at in (guardrail.created_at, guardrail.loaded_at, guardrail.retired_at) if at)


def _added(new: bool) -> Fate:
    return "added" if new else "kept"


def _told(fates: Iterable[Fate]) -> Merged:
    count = Counter(fates)
    return Merged(added=count["added"], replaced=count["replaced"], kept=count["kept"])
