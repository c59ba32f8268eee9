"""Export a store as one JSON document, and import it: people's edits win, then newer records, and nothing is lost.

The document's SHA-256 is computed from its canonical form without the checksum: sorted keys, no whitespace, UTF-8.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from pydantic import BaseModel, Field, ValidationError
from sqlalchemy import Connection, select

from helmsman.errors import OperatorError
from helmsman.memory.learned_guardrails import REMOVED
from helmsman.plain import clean
from helmsman.records.lessons import MOST_SOURCES, Episode, Guardrail, Lesson, Summary
from tasks.memory import tables
from tasks.memory.search import microseconds

if TYPE_CHECKING:
    from tasks.memory.store import Change

FORMAT = "helmsman-memory"
VERSION = 1
LONGEST_FILE = 256 * 2**20  # bytes; more than a hundred thousand lessons
AT_A_TIME = 500
"""Records in one transaction, which limits the wait of loops. An interrupted import can be repeated."""
SECTIONS = {
    "episodes": select(tables.episodes.c.body).order_by(tables.episodes.c.number),
    "guardrails": select(tables.guardrails.c.body).order_by(tables.guardrails.c.id),
    "lessons": select(tables.lessons.c.body).order_by(tables.lessons.c.number),
    "summaries": select(tables.summaries.c.body).order_by(tables.summaries.c.number),
}

Fate = Literal["added", "replaced", "kept"]
R = TypeVar("R", bound=BaseModel)


class Content(BaseModel, extra="forbid"):
    """Content of an exported file."""

    format: Literal["helmsman-memory"]
    version: int = Field(strict=True, ge=1, le=VERSION)
    exported_at: str
    sha256: str
    episodes: list[Episode]
    guardrails: list[Guardrail]
    lessons: list[Lesson]
    summaries: list[Summary]


Merged = dict[str, int]
"""Number of records of one section that were added, replaced (the file's were newer), or kept."""


def export_text(connection: Connection) -> str:
    """The document in canonical form with its checksum."""
    facts = {"exported_at": datetime.now(UTC).isoformat(timespec="seconds"), "format": FORMAT, "version": VERSION}
    sections = {name: [json.loads(body) for body in connection.scalars(bodies)] for name, bodies in SECTIONS.items()}
    document = {**facts, **sections}
    return _canonical({**document, "sha256": _checksum(document)}) + "\n"


def _checksum(document: Mapping[str, Any]) -> str:
    canonical = _canonical({name: value for name, value in document.items() if name != "sha256"})
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def _canonical(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def read(file: Path) -> Content:
    """Read and validate a whole document. Raises OperatorError with the location of an error."""
    document = _load_document(file)
    version, signed = document.get("version"), document.get("sha256")
    if type(version) is int and version > VERSION:
        problem, expected = "it was written by a newer version of this program", f"version {VERSION} at most"
        raise _rejection(problem, expected=expected, found=f"version {version}"[:100], remedy="update this program")
    checksum = _checksum(document)
    if signed != checksum:
        remedy = "it was changed or truncated after the export: export it again"
        raise _rejection("sha256 does not match", expected=checksum, found=clean(repr(signed))[:100], remedy=remedy)
    try:
        content = Content.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        location = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).removeprefix(".")
        raise _rejection(f"{clean(location)[:200]} is wrong", found=clean(first["msg"])[:200]) from None
    cleaned = {"guardrails": [*map(_clean_record, content.guardrails)], "lessons": [*map(_clean_record, content.lessons)]}
    return content.model_copy(update=cleaned)


def _load_document(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as handle:
            raw = handle.read(LONGEST_FILE + 1)
    except OSError as error:
        raise _rejection("the file cannot be read", found=clean(str(error))) from None
    if len(raw) > LONGEST_FILE:
        raise _rejection("the file is too big", expected=f"{LONGEST_FILE >> 20} MiB at most", found="more")
    try:
        document: Any = json.loads(raw)
    except (ValueError, RecursionError) as error:  # includes invalid UTF-8
        raise _rejection(f"{clean(file.name)} is not a complete JSON document", found=clean(str(error))[:200]) from None
    if not isinstance(document, dict):
        raise _rejection(f"{clean(file.name)} is not an exported memory", expected="a JSON object", found=type(document).__name__)
    return cast("dict[str, Any]", document)


def _clean_record(record: R) -> R:
    """Remove terminal control characters from texts for an agent, without changing their length."""
    names = [name for name in ("text", "detail", "instruction", "trigger", "origin") if hasattr(record, name)]
    return record.model_copy(update={name: "\n".join(map(clean, getattr(record, name).split("\n"))) for name in names})


def _rejection(problem: str, *, expected: str = "", found: str = "", remedy: str = "") -> OperatorError:
    default = "give a file that `helmsman memory export` wrote"
    return OperatorError(f"nothing was imported: {problem}", expected=expected, found=found, remedy=remedy or default)


def merge(transactions: Callable[[], AbstractContextManager["Change"]], content: Content) -> dict[str, Merged]:
    """Merge validated content into the store. Returns the counts by section."""

    def merge_section(records: Sequence[R], put: Callable[["Change", R], Fate]) -> Merged:
        count: Counter[str] = Counter(added=0, replaced=0, kept=0)
        for first in range(0, len(records), AT_A_TIME):
            with transactions() as change:
                count.update(put(change, record) for record in records[first : first + AT_A_TIME])
        return dict(count)

    return {
        "lessons": merge_section(content.lessons, _merge_lesson),
        "guardrails": merge_section(content.guardrails, _merge_guardrail),
        "episodes": merge_section(content.episodes, lambda change, record: "added" if change.put_episode(record) else "kept"),
        "summaries": merge_section(content.summaries, lambda change, record: "added" if change.put_summary(record) else "kept"),
    }


def _merge_lesson(change: "Change", theirs: Lesson) -> Fate:
    """Keep the lesson that was updated or used last: its counters, and its retirement, include the latest results."""
    ours = change.lesson(theirs.id)
    times = [max(microseconds(at) for at in (lesson.updated_at, lesson.used_at) if at) for lesson in (ours, theirs) if lesson]
    if ours and times[1] <= times[0]:
        return "kept"
    sources = tuple(dict.fromkeys([*(ours.sources if ours else ()), *theirs.sources]))
    change.put_lesson(theirs.model_copy(update={"sources": sources[-MOST_SOURCES:]}))
    return "replaced" if ours else "added"


def _merge_guardrail(change: "Change", theirs: Guardrail) -> Fate:
    """Keep a guardrail that a person edited or removed, or else the one with the latest change."""

    def rank(guardrail: Guardrail) -> tuple[bool, int]:
        last_change = max(microseconds(at) for at in (guardrail.created_at, guardrail.loaded_at, guardrail.retired_at) if at)
        return guardrail.edited or guardrail.retired.startswith(REMOVED), last_change

    ours = change.guardrail(theirs.id)
    if ours and rank(theirs) <= rank(ours):
        return "kept"
    change.put_guardrail(theirs)
    return "replaced" if ours else "added"
