"""A guardrail removed for good, in the store and in its project's guardrails.md."""

from datetime import datetime

from helmsman.memory.guardrails_file import render
from helmsman.records.lessons import Guardrail
from tasks.memory.guardrails_file import Seen, Written, guardrails_place, read_edits, write
from tasks.memory.port import Store
from tasks.repository.git import Repository


def strike(repository: Repository, store: Store, gone: Guardrail, now: datetime) -> Written:
    """Remove it, and take over whatever else a person changed in the file. Returns what became of the file.

    The file is read while the guardrail is still known: later its words would be kept there as a note of somebody's.
    """
    seen = read_edits(guardrails_place(repository), store.guardrails(gone.project, retired=True), gone.project, now)
    with store.change() as change:
        for one in seen.edits.changed if seen.edits else ():
            if one.id != gone.id:
                change.put_guardrail(one)
        change.forget(gone.id)
    written = _written(repository, store, gone.project, seen)
    return Written(written.changed, "; ".join(filter(None, (*seen.warnings, written.warning))))


def _written(repository: Repository, store: Store, project: str, seen: Seen) -> Written:
    """Where there is no file, none is made; that one can't be used is among the warnings."""
    if seen.edits is None or not seen.usable:
        return Written()
    known = store.guardrails(project, retired=True)
    standing, retired = ([one for one in known if bool(one.retired) is value] for value in (False, True))
    return write(guardrails_place(repository), render(standing, retired, seen.edits.rest), seen)
