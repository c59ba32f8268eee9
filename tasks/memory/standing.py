"""A project's guardrails between the store and guardrails.md: what a person wrote goes in, what changed comes out."""

from datetime import datetime

from helmsman.memory.guardrails_file import render
from helmsman.records.events import MemoryNoted
from helmsman.records.lessons import Guardrail
from tasks.memory.guardrails_file import Seen, guardrails_place, read_edits, write
from tasks.memory.port import Store
from tasks.repository.git import Repository
from tasks.telling.journal import publish


def heed(repository: Repository, store: Store, project: str, now: datetime) -> Seen:
    """Take over what a person made of the file since it was written. Returns the file as it was then."""
    seen = read_edits(guardrails_place(repository), store.guardrails(project, retired=True), project, now)
    _note(seen.warnings)
    if seen.edits is None or not seen.edits.changed:
        return seen
    edited = seen.edits.changed
    with store.change() as change:
        for one in edited:
            change.put_guardrail(one)
    _note(tuple(f"guardrails.md: a person has {_what(one)} {one.id}: {one.instruction}" for one in edited))
    return seen


def write_down(repository: Repository, store: Store, project: str, now: datetime) -> None:
    """Bring the file up to date. An edit that was made meanwhile is taken over first; where there is nothing, no file is made."""
    seen = heed(repository, store, project, now)
    known = store.guardrails(project, retired=True)
    if not known and seen.edits is None:
        return
    gone = sorted((one for one in known if one.retired), key=lambda one: one.retired_at or one.created_at, reverse=True)
    place = {one.id: at for at, one in enumerate(seen.edits.guardrails)} if seen.edits else {}
    standing = sorted((one for one in known if not one.retired), key=lambda one: place.get(one.id, len(place)))
    written = write(guardrails_place(repository), render(standing, gone, seen.edits.rest if seen.edits else ""), seen)
    _note((written.warning,) if written.warning else ())


def _what(one: Guardrail) -> str:
    if one.retired:
        return "removed"
    return "added" if one.by == "person" else "worded"


def _note(lines: tuple[str, ...]) -> None:
    if lines:
        publish(MemoryNoted(lines=lines))
