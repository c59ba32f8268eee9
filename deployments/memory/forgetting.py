"""`helmsman memory forget`: what somebody wants nobody to be told again."""

from collections.abc import Iterator
from pathlib import Path

from deployments.dialogue import YES, is_anybody_there, typed
from deployments.memory.opened import Memory, answer, found_one, opened_memory, unknown
from deployments.memory.pages import said
from helmsman.errors import OperatorError
from helmsman.plain import clean
from helmsman.records.lessons import Guardrail, Lesson
from tasks.memory import delete


def forget(repo: Path, name: str, *, ask: bool, as_json: bool) -> None:
    with opened_memory(repo) as memory:
        one = found_one(memory, name)
        if ask:
            _confirm(one)
        _remove(memory, one)
        memory.notes.extend(_left(memory, one))
        kind = "guardrail" if isinstance(one, Guardrail) else "lesson"
        line = f"forgotten: {kind} {clean(one.id)}: {said(one)}"
        answer(memory, [line], {"forgotten": kind, kind: one.model_dump(mode="json")}, as_json=as_json)


def _confirm(one: Lesson | Guardrail) -> None:
    if not is_anybody_there():
        return
    answered = typed(f"{clean(one.id)}: {said(one)}\nForget it for good? [y/N]") or ""
    if answered.lower() not in YES:
        raise OperatorError("nothing was forgotten", remedy="--yes forgets without asking")


def _remove(memory: Memory, one: Lesson | Guardrail) -> None:
    if isinstance(one, Guardrail) and memory.repository and one.project == memory.project:
        file = delete(memory.repository, memory.store, one, memory.now)
        memory.notes.extend(filter(None, (file.warning, "guardrails.md is without it now" if file.changed else "")))
        return
    with memory.store.change() as change:
        gone = change.forget(one.id)
    if not gone:  # somebody else was quicker
        raise unknown(one.id)


def _left(memory: Memory, one: Lesson | Guardrail) -> Iterator[str]:
    """Where it is still, and how it could come back."""
    stats = memory.store.stats()
    if stats.backups:
        yield f"daily copies of the store that may hold it still: {len(stats.backups)}"
    if stats.damaged:
        yield f"damaged files of the store that may hold it still, beside it: {', '.join(stats.damaged)}"
    if isinstance(one, Lesson):
        return
    if one.project != memory.project:
        yield "the guardrails.md of its own repository keeps its words, as a note; --repo DIR names that repository"
    if one.failure:
        yield "failures of its class may make it anew; one that is deleted in guardrails.md instead is not made again"
