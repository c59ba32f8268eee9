"""Values out of JSON that nobody vouches for: a wrong type reads as nothing, and everything read is bounded."""

from collections.abc import Mapping
from typing import Any, cast

LARGEST = 10**15  # above every number that we read, milliseconds since 1970 included


def text(value: object, limit: int = 200) -> str:
    """The first characters of a text, else nothing."""
    return _storable(value[:limit]) if isinstance(value, str) else ""


def last(value: object, limit: int) -> str:
    """The last characters of a text, else nothing."""
    return _storable(value[-limit:]) if isinstance(value, str) else ""


def ends(value: object, limit: int) -> str:
    """The first and the last characters of a text, so many of each, else nothing."""
    if not isinstance(value, str):
        return ""
    return _storable(value if len(value) <= 2 * limit else f"{value[:limit]}\n{value[-limit:]}")


def count(value: object) -> int:
    """A whole number from 0, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST else 0


def amount(value: object) -> float | None:
    """A number from 0, else None; NaN, infinity and the over-large are no numbers here."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LARGEST:
        return float(value)
    return None


def mapping(value: object) -> Mapping[str, Any]:
    """An object, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def items(value: object) -> list[Any]:
    """A list, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def at(value: object, path: str) -> object:
    """What lies under keys with dots between them, else None. A number counts in a list; `*End` is the first key that ends so."""
    for part in path.split("."):
        if isinstance(value, list):
            listed, index = cast("list[object]", value), int(part) if part.isdecimal() else len(cast("list[object]", value))
            value = listed[index] if index < len(listed) else None
            continue
        table = mapping(value)
        value = table.get(key_ending(table, part[1:]) if part.startswith("*") else part)
    return value


def key_ending(table: Mapping[str, Any], end: str) -> str:
    """The first key that ends so, or nothing."""
    return next((key for key in table if key.endswith(end)), "")


def _storable(value: str) -> str:
    # JSON may carry half of a surrogate pair, which UTF-8 cannot.
    return value.encode("utf-8", "replace").decode("utf-8")
