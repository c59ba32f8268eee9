"""Export a store as one JSON document, and import it: people's edits win, then newer records, and nothing is lost.

The document's SHA-256 is computed from its canonical form without the checksum: sorted keys, no whitespace, UTF-8.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

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
SECTIONS = {
    "episodes": select(tables.episodes.c.body).order_by(tables.episodes.c.number),
    "guardrails": select(tables.guardrails.c.body).order_by(tables.guardrails.c.id),
    "lessons": select(tables.lessons.c.body).order_by(tables.lessons.c.number),
    "summaries": select(tables.summaries.c.body).order_by(tables.summaries.c.number),
}

Fate = Literal["added", "replaced", "kept"]
Merged = dict[str, int]
"""Number of records of one section that were added, replaced (the file's were newer), or kept."""


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
    try:
        with file.open("rb") as handle:
            return _parse(handle.read(LONGEST_FILE + 1))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        location = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).removeprefix(".")
        problem = f"{location or 'the document'}: {first['msg']}"
    except OSError as error:
        found = f"{clean(str(file))}: {error.strerror}"
        raise OperatorError("nothing was imported", expected="a readable file", found=found, remedy="correct its path") from error
    except (ValueError, RecursionError) as error:  # includes invalid UTF-8 and JSON
        problem = str(error)
    raise OperatorError(
        "nothing was imported",
        expected=f"a complete file that `helmsman memory export` of this version or an earlier one wrote, at {clean(str(file))}",
        found=clean(problem)[:300],
        remedy="export it again, or update this program",
    )


def _parse(raw: bytes) -> Content:
    if len(raw) > LONGEST_FILE:
        raise ValueError(f"more than {LONGEST_FILE >> 20} MiB")
    document: Any = json.loads(raw)
    content = Content.model_validate(document)
    if content.sha256 != _checksum(document):
        raise ValueError("another sha256: the file was changed or truncated after the export")
    return content


def merge(change: "Change", content: Content) -> dict[str, Merged]:
    """Merge validated content into the store. Returns the counts by section."""

    def count(fates: Iterable[Fate]) -> Merged:
        return {"added": 0, "replaced": 0, "kept": 0, **Counter(fates)}

    return {
        "lessons": count(_merge_lesson(change, lesson) for lesson in content.lessons),
        "guardrails": count(_merge_guardrail(change, guardrail) for guardrail in content.guardrails),
        "episodes": count("added" if change.put_episode(episode) else "kept" for episode in content.episodes),
        "summaries": count("added" if change.put_summary(summary) else "kept" for summary in content.summaries),
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
