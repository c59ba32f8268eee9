"""A store as one JSON document, and back: a person's word stays, else the newer one, and nothing is lost.

The document's SHA-256 is that of its canonical form without the checksum itself: keys sorted, nothing between the tokens, UTF-8.
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
from tasks.memory.search import moment

if TYPE_CHECKING:
    from tasks.memory.store import Change

FORMAT = "helmsman-memory"
VERSION = 1
LONGEST_FILE = 256 * 2**20  # bytes; a hundred thousand lessons are less
AT_A_TIME = 500
"""Records in one transaction: loops that write meanwhile wait for no more. An import that broke off is done once more."""
SECTIONS = {
    "episodes": select(tables.episodes.c.body).order_by(tables.episodes.c.number),
    "guardrails": select(tables.guardrails.c.body).order_by(tables.guardrails.c.id),
    "lessons": select(tables.lessons.c.body).order_by(tables.lessons.c.number),
    "summaries": select(tables.summaries.c.body).order_by(tables.summaries.c.number),
}

Fate = Literal["added", "replaced", "kept"]
R = TypeVar("R", bound=BaseModel)


class Content(BaseModel, extra="forbid"):
    """What a file brings."""

    format: Literal["helmsman-memory"]
    version: int = Field(strict=True, ge=1, le=VERSION)
    exported_at: str
    sha256: str
    episodes: list[Episode]
    guardrails: list[Guardrail]
    lessons: list[Lesson]
    summaries: list[Summary]


Merged = dict[str, int]
"""How many records of one sort were added, replaced as the file's were newer, or kept as the store's were as new."""


def written(connection: Connection) -> str:
    """The document, in its canonical form and with its checksum."""
    facts = {"exported_at": datetime.now(UTC).isoformat(timespec="seconds"), "format": FORMAT, "version": VERSION}
    kept = {name: [json.loads(body) for body in connection.scalars(bodies)] for name, bodies in SECTIONS.items()}
    document = {**facts, **kept}
    return _canonical({**document, "sha256": _checksum(document)}) + "\n"


def _checksum(document: Mapping[str, Any]) -> str:
    plain = _canonical({name: value for name, value in document.items() if name != "sha256"})
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()


def _canonical(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def read(file: Path) -> Content:
    """Check a document from its first byte to its last. Raises OperatorError that names the place."""
    document = _document(file)
    version, signed = document.get("version"), document.get("sha256")
    if type(version) is int and version > VERSION:
        what, expected = "it was written by a newer version of this program", f"version {VERSION} at most"
        raise _wrong(what, expected=expected, found=f"version {version}"[:100], remedy="update this program")
    checksum = _checksum(document)
    if signed != checksum:
        remedy = "it was changed or truncated after the export: export it again"
        raise _wrong("sha256 does not match", expected=checksum, found=clean(repr(signed))[:100], remedy=remedy)
    try:
        content = Content.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).removeprefix(".")
        raise _wrong(f"{clean(place)[:200]} is wrong", found=clean(first["msg"])[:200]) from None
    cleaned = {"guardrails": [*map(_cleaned, content.guardrails)], "lessons": [*map(_cleaned, content.lessons)]}
    return content.model_copy(update=cleaned)


def _document(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as handle:
            raw = handle.read(LONGEST_FILE + 1)
    except OSError as error:
        raise _wrong("the file cannot be read", found=clean(str(error))) from None
    if len(raw) > LONGEST_FILE:
        raise _wrong("the file is too big", expected=f"{LONGEST_FILE >> 20} MiB at most", found="more")
    try:
        document: Any = json.loads(raw)
    except (ValueError, RecursionError) as error:  # also what is no UTF-8
        raise _wrong(f"{clean(file.name)} is not a complete JSON document", found=clean(str(error))[:200]) from None
    if not isinstance(document, dict):
        raise _wrong(f"{clean(file.name)} is not an exported memory", expected="a JSON object", found=type(document).__name__)
    return cast("dict[str, Any]", document)


def _cleaned(record: R) -> R:
    """The words that an agent is told, without what could move a cursor. Their length stays."""
    names = [name for name in ("text", "detail", "instruction", "trigger", "origin") if hasattr(record, name)]
    return record.model_copy(update={name: "\n".join(map(clean, getattr(record, name).split("\n"))) for name in names})


def _wrong(what: str, *, expected: str = "", found: str = "", remedy: str = "") -> OperatorError:
    usual = "give a file that `helmsman memory export` wrote"
    return OperatorError(f"nothing was imported: {what}", expected=expected, found=found, remedy=remedy or usual)


def merge(transactions: Callable[[], AbstractContextManager["Change"]], content: Content) -> dict[str, Merged]:
    """Put a file's content into the store, which is known to be whole. Returns by section what became of it."""

    def merged(records: Sequence[R], put: Callable[["Change", R], Fate]) -> Merged:
        count: Counter[str] = Counter(added=0, replaced=0, kept=0)
        for first in range(0, len(records), AT_A_TIME):
            with transactions() as change:
                count.update(put(change, one) for one in records[first : first + AT_A_TIME])
        return dict(count)

    return {
        "lessons": merged(content.lessons, _lesson),
        "guardrails": merged(content.guardrails, _guardrail),
        "episodes": merged(content.episodes, lambda change, one: "added" if change.put_episode(one) else "kept"),
        "summaries": merged(content.summaries, lambda change, one: "added" if change.put_summary(one) else "kept"),
    }


def _lesson(change: "Change", theirs: Lesson) -> Fate:
    """The one that was seen or told last: what came of that is in its numbers, and may have retired it."""
    ours = change.lesson(theirs.id)
    met = [max(moment(at) for at in (one.updated_at, one.used_at) if at) for one in (ours, theirs) if one]
    if ours and met[1] <= met[0]:
        return "kept"
    sources = tuple(dict.fromkeys([*(ours.sources if ours else ()), *theirs.sources]))
    change.put_lesson(theirs.model_copy(update={"sources": sources[-MOST_SOURCES:]}))
    return "replaced" if ours else "added"


def _guardrail(change: "Change", theirs: Guardrail) -> Fate:
    """A person's words, or that a person removed it, stand above whatever is newer: that something last happened to it."""

    def rank(one: Guardrail) -> tuple[bool, int]:
        touched = max(moment(at) for at in (one.created_at, one.loaded_at, one.retired_at) if at)
        return one.edited or one.retired.startswith(REMOVED), touched

    ours = change.guardrail(theirs.id)
    if ours and rank(theirs) <= rank(ours):
        return "kept"
    change.put_guardrail(theirs)
    return "replaced" if ours else "added"
