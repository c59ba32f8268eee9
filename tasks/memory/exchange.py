"""A store as one JSON document, and back.

The document's SHA-256 is that of its canonical form without the checksum itself: keys sorted, nothing between the tokens, UTF-8.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from sqlalchemy import Connection, Table, select

from helmsman.errors import OperatorError
from helmsman.plain import clean
from helmsman.records.lessons import Episode, Guardrail, Lesson, Summary
from tasks.memory import tables
from tasks.memory.keys import LONGEST_KEY

FORMAT = "helmsman-memory"
VERSION = 1
LONGEST_FILE = 256 * 2**20
"""Bytes; a hundred thousand lessons are less."""
LONGEST_RECORD = 2**16
"""Characters; what the loop writes is bounded far below."""
AT_A_TIME = 500
EARLIEST = 1970
"""The year of the oldest moment that is taken for one: room is left on both sides to reckon with it."""
PLACE = frozenset({"iteration", "attempt"})
"""Numbers that the tables hold in columns of their own."""
LARGEST, LARGEST_PLACE = 2**53, 2**31 - 1
SECTIONS: dict[str, Table] = {
    "episodes": tables.episodes,
    "guardrails": tables.guardrails,
    "lessons": tables.lessons,
    "summaries": tables.summaries,
}

R = TypeVar("R", bound=BaseModel)


@dataclass(frozen=True)
class Content:
    """What a file brings, checked."""

    episodes: list[Episode]
    guardrails: list[Guardrail]
    lessons: list[Lesson]
    summaries: list[Summary]


def written(connection: Connection) -> Iterator[str]:
    """The document in pieces, one record a line."""
    checksum = hashlib.sha256()
    for piece in _pieces(connection, datetime.now(UTC).isoformat(timespec="seconds")):
        checksum.update(piece.encode())
        yield piece + "\n"
    checksum.update(b"}")
    yield f',"sha256":"{checksum.hexdigest()}"}}\n'


def read(file: Path) -> Content:
    """Check a document from its first byte to its last. Raises OperatorError that names the place."""
    document = _document(file)
    _agree(document, "format", FORMAT)
    _refuse_newer(document)
    _agree(document, "version", VERSION)
    _only_known(document)
    records = {name: _section(document, name) for name in SECTIONS}
    _agree(document, "sha256", _checksum(document))
    return Content(
        episodes=_validated(records["episodes"], "episodes", Episode),
        guardrails=[_cleaned(one) for one in _validated(records["guardrails"], "guardrails", Guardrail)],
        lessons=[_cleaned(one) for one in _validated(records["lessons"], "lessons", Lesson)],
        summaries=_validated(records["summaries"], "summaries", Summary),
    )


def _pieces(connection: Connection, now: str) -> Iterator[str]:
    """The canonical form, cut between tokens, without its last brace."""
    yield '{"episodes":['
    yield from _records(connection, "episodes")
    yield f'],"exported_at":{_canonical(now)},"format":{_canonical(FORMAT)},"guardrails":['
    yield from _records(connection, "guardrails")
    yield '],"lessons":['
    yield from _records(connection, "lessons")
    yield '],"summaries":['
    yield from _records(connection, "summaries")
    yield f'],"version":{VERSION}'


def _records(connection: Connection, section: str) -> Iterator[str]:
    table = SECTIONS[section]
    question = select(table.c.body).order_by(*table.primary_key.columns).execution_options(yield_per=AT_A_TIME)
    for position, body in enumerate(connection.scalars(question)):
        yield ("," if position else "") + _canonical(json.loads(body))


def _canonical(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _checksum(document: Mapping[str, Any]) -> str:
    content = {name: value for name, value in document.items() if name != "sha256"}
    return hashlib.sha256(_canonical(content).encode("utf-8", "surrogatepass")).hexdigest()


def _document(file: Path) -> dict[str, Any]:
    raw = _raw(file)
    try:
        document: Any = json.loads(raw, parse_constant=_refused, parse_float=_finite)
    except (ValueError, RecursionError) as error:  # also what is no UTF-8
        raise _wrong(f"{clean(file.name)} is no whole JSON document", found=clean(str(error))[:200]) from None
    if not isinstance(document, dict):
        raise _wrong(f"{clean(file.name)} is no exported memory", expected="a JSON object", found=type(document).__name__)
    return {str(name): value for name, value in document.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _raw(file: Path) -> bytes:
    try:
        with file.open("rb") as handle:
            raw = handle.read(LONGEST_FILE + 1)
    except OSError as error:
        raise _wrong("the file cannot be read", found=clean(str(error))) from None
    if len(raw) > LONGEST_FILE:
        raise _wrong("the file is too big", expected=f"{LONGEST_FILE >> 20} MiB at most", found="more")
    return raw


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    found = float(text)
    return found if isfinite(found) else _refused(text[:100])


def _refuse_newer(document: Mapping[str, Any]) -> None:
    found = document.get("version")
    if type(found) is int and found > VERSION:
        what, expected = "it was written by a newer version of this program", f"version {VERSION} at most"
        raise _wrong(what, expected=expected, found=f"version {found}"[:100], remedy="update this program")


def _agree(document: Mapping[str, Any], name: str, expected: object) -> None:
    found = document.get(name)
    if type(found) is not type(expected) or found != expected:
        remedy = "it was changed or cut since it was exported: export it anew" if name == "sha256" else ""
        raise _wrong(f"{name} is not as expected", expected=str(expected), found=clean(repr(found))[:100], remedy=remedy)


def _only_known(document: Mapping[str, Any]) -> None:
    strangers = sorted(document.keys() - {*SECTIONS, "format", "version", "exported_at", "sha256"})
    if strangers:
        raise _wrong("the document has a part that nobody knows", found=clean(strangers[0])[:100])


def _section(document: Mapping[str, Any], name: str) -> list[Any]:
    found = document.get(name)
    if not isinstance(found, list):
        raise _wrong(f"{name} is not as expected", expected="a list", found=type(found).__name__)
    return found  # pyright: ignore[reportUnknownVariableType]


def _validated(raw: list[Any], section: str, record: type[R]) -> list[R]:
    return [_one(value, f"{section}[{position}]", record) for position, value in enumerate(raw)]


def _one(value: Any, place: str, record: type[R]) -> R:
    text = _canonical(value)
    if len(text) > LONGEST_RECORD:
        raise _wrong(f"{place} is too big", expected=f"{LONGEST_RECORD} characters at most", found=str(len(text)))
    try:
        found = record.model_validate_json(text.encode("utf-8", "surrogatepass"))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join([place, *map(str, first["loc"])])
        raise _wrong(f"{clean(where)[:200]} is wrong", found=clean(first["msg"])[:200]) from None
    _short_names(found, place)
    _usable_values(found, place)
    return found


def _short_names(record: BaseModel, place: str) -> None:
    for name in ("id", "uid", "project"):
        held = str(getattr(record, name, ""))
        if len(held) > LONGEST_KEY:
            raise _wrong(f"{place}.{name} is too long", expected=f"{LONGEST_KEY} characters at most", found=str(len(held)))


def _usable_values(record: BaseModel, place: str) -> None:
    """Only what every database holds, and what can be compared and reckoned with."""
    for name, held in record:
        expected = _lack(name, held)
        if expected:
            raise _wrong(f"{place}.{name} is wrong", expected=expected, found=str(held)[:100])


def _lack(name: str, held: object) -> str:
    """What a value should be and is not; empty where nothing is wrong with it."""
    if isinstance(held, datetime):
        usable = held.tzinfo is not None and EARLIEST <= held.year < MAXYEAR
        return "" if usable else f"a moment with its time zone, from {EARLIEST} on"
    least, most = (0, LARGEST_PLACE) if name in PLACE else (-LARGEST, LARGEST)
    wrong = isinstance(held, int | float) and not least <= held <= most
    return f"a number from {least:,} to {most:,}" if wrong else ""


def _cleaned(record: R) -> R:
    """The words that an agent is told, without what could move a cursor. Their length stays."""
    names = [name for name in ("text", "detail", "instruction", "trigger", "origin") if hasattr(record, name)]
    return record.model_copy(update={name: _plain(getattr(record, name)) for name in names})


def _plain(text: str) -> str:
    return "\n".join(map(clean, text.split("\n")))


def _wrong(what: str, *, expected: str = "", found: str = "", remedy: str = "") -> OperatorError:
    return OperatorError(
        f"nothing was imported: {what}",
        expected=expected,
        found=found,
        remedy=remedy or "give a file that `helmsman memory export` wrote",
    )
