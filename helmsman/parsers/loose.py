"""Read values from untrusted JSON: a wrong type reads as empty, and all results are bounded."""

from collections.abc import Mapping
from typing import Any, cast

LARGEST = 10**15  # larger than every number that we read, including milliseconds since 1970


def text(value: object, limit: int = 200) -> str:
    """Return the first characters of a string; empty for other types."""
    return _storable(value[:limit]) if isinstance(value, str) else ""


def last(value: object, limit: int) -> str:
    """Return the last characters of a string; empty for other types."""
    return _storable(value[-limit:]) if isinstance(value, str) else ""


def ends(value: object, limit: int) -> str:
    """Return the first and last `limit` characters of a string; empty for other types."""
    if not isinstance(value, str):
        return ""
    return _storable(value if len(value) <= 2 * limit else f"{value[:limit]}\n{value[-limit:]}")


def count(value: object) -> int:
    """Return a non-negative integer, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST else 0


def amount(value: object) -> float | None:
    """Return a non-negative number, else None; NaN, infinity and excessive numbers do not count."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LARGEST:
        return float(value)
    return None


def mapping(value: object) -> Mapping[str, Any]:
    """Return an object, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def items(value: object) -> list[Any]:
    """Return a list, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def at(value: object, path: str) -> object:
    """Return the value at a dotted path, else None. A number indexes a list; `*End` is the first key with that suffix."""
    for part in path.split("."):
        if isinstance(value, list):
            listed, index = cast("list[object]", value), int(part) if part.isdecimal() else len(cast("list[object]", value))
            value = listed[index] if index < len(listed) else None
            continue
        table = mapping(value)
        value = table.get(key_with_suffix(table, part[1:]) if part.startswith("*") else part)
    return value


def key_with_suffix(table: Mapping[str, Any], end: str) -> str:
    """Return the first key with this suffix, else an empty string."""
    return next((key for key in table if key.endswith(end)), "")


def _storable(value: str) -> str:
    # JSON may contain half of a surrogate pair, which UTF-8 cannot encode.
    return value.encode("utf-8", "replace").decode("utf-8")
