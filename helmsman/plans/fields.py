"""The fields of an item as TOML and JSON give them: of the right kind, or a complaint with the line."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from helmsman.layers import shown
from helmsman.plans.complaint import Complaint
from helmsman.records.plan import LAST_RANK, LONGEST_ID, MOST_ITEMS

LONGEST_TITLE = 300
LONGEST_DETAILS = 8_000
LONGEST_CHECK = 2_000
MOST_ACCEPTANCE = 50
MOST_NEEDS = 200
RANKS: Mapping[str, int] = {"critical": 0, "high": 1, "medium": 2, "low": 3}
"""What the usual words for a priority come to."""
SLUG = 40
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
_NO_WORD = re.compile(r"[^a-z0-9]+")


def text_of(values: Mapping[str, Any], key: str, line: int) -> str:
    """Empty where the key is not there."""
    value = values.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Complaint(line, f"{key}: expected text, found {shown(value)}")
    return value.strip()[:LONGEST_DETAILS]


def check_of(command: str, line: int) -> str:
    """The command of a check, whole or not at all: of one that was cut, nobody knows what it proves."""
    if len(command) > LONGEST_CHECK:
        raise Complaint(line, f"check: longer than {LONGEST_CHECK:,} characters; put it into a script")
    return command


def few(key: str, found: Sequence[str], line: int, most: int) -> tuple[str, ...]:
    """All of them, or a complaint: what would be left out, nobody would wait for or look at."""
    if len(found) > most:
        raise Complaint(line, f"{key}: {len(found)} entries, {most} may be")
    return tuple(found)


def require_few_items(lines: Sequence[int]) -> None:
    """Where the items of a plan begin."""
    if len(lines) > MOST_ITEMS:
        raise Complaint(lines[MOST_ITEMS], f"{len(lines):,} items, {MOST_ITEMS:,} may be")


def texts_of(values: Mapping[str, Any], key: str, line: int, most: int) -> tuple[str, ...]:
    value = values.get(key)
    if value is None:
        return ()
    found = cast("list[Any]", value) if isinstance(value, list) else [value]
    if not all(isinstance(one, str) for one in found):
        raise Complaint(line, f"{key}: expected texts in a list, found {shown(value)}")
    return tuple(one.strip()[:LONGEST_DETAILS] for one in few(key, cast("list[str]", found), line, most) if one.strip())


def flag_of(values: Mapping[str, Any], key: str, line: int) -> bool:
    value = values.get(key)
    if value is not None and not isinstance(value, bool):
        raise Complaint(line, f"{key}: expected true or false, found {shown(value)}")
    return bool(value)


def rank_of(values: Mapping[str, Any], key: str, line: int) -> int:
    """Whole numbers from 0; without one an item comes last."""
    value = values.get(key)
    if value is None:
        return LAST_RANK
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LAST_RANK:
        raise Complaint(line, f"{key}: expected a whole number from 0 to {LAST_RANK}, 1 comes first, found {shown(value)}")
    return value


def id_of(name: str, line: int) -> str:
    if not _ID.fullmatch(name) or len(name) > LONGEST_ID:
        expected = f"letters, digits and . _ / - (at most {LONGEST_ID}, the first one a letter or a digit)"
        raise Complaint(line, f"id: expected {expected}, found {shown(name)}")
    return name


def slug(title: str) -> str:
    """An id for an item that has none: its first words. It stays as long as its title does."""
    words = _NO_WORD.sub("-", title.lower()).strip("-")
    return (words[:SLUG].rpartition("-")[0] if len(words) > SLUG and "-" in words[:SLUG] else words[:SLUG]) or "item"


def title_of(text: str, line: int) -> str:
    """On one line."""
    title = " ".join(text.split())[:LONGEST_TITLE]
    if not title:
        raise Complaint(line, "an item without a title")
    return title
