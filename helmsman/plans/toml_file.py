"""`plan.toml`: our own form, one `[[item]]` table for each item."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from helmsman.layers import did_you_mean, shown
from helmsman.plans import fields
from helmsman.plans.complaint import Complaint
from helmsman.plans.toml_text import Entry, entries
from helmsman.records.plan import Plan, PlanItem
from helmsman.toml_of import fault_of, toml_of

TABLE = "[[item"
KEYS = ("id", "title", "details", "acceptance", "priority", "needs", "parallel", "verify", "check", "done")


class _Placed(NamedTuple):
    """One `[[item]]` with what stands in it."""

    heading: Entry
    keys: Mapping[str, Entry]


def read(text: str) -> Plan:
    values = _parsed(text)
    for key in values:
        if key != "item":
            raise Complaint(
                _line_of(text, key), f"unknown key {shown(key)}{did_you_mean(key, ['item'])}; items are [[item]] tables"
            )
    tables, placed = _tables(values), _placed(text)
    if len(tables) != len(placed):
        raise Complaint(0, "write each item as a table of its own, under a line [[item]], so that it can be ticked")
    pairs = zip(tables, placed, strict=True)
    return Plan(kind="toml", items=tuple(_item(table, place) for table, place in pairs))


def tick(text: str, place: int) -> str:
    """The same text with `done = true` in the table at that place."""
    table = _placed(text)[place]
    known = table.keys.get("done")
    if known is not None:
        return f"{text[: known.value_start]}true{text[known.value_end :]}"
    last = max(table.keys.values(), key=lambda entry: entry.start, default=table.heading)
    blank = re.match(r"[ \t]*", text[last.start :])
    feed = "\r\n" if "\r\n" in text else "\n"
    line = f"{blank[0] if blank else ''}done = true{feed}"
    end = text.find("\n", last.value_end)
    return f"{text}{feed}{line}" if end < 0 else f"{text[: end + 1]}{line}{text[end + 1 :]}"


def _parsed(text: str) -> dict[str, Any]:
    try:
        return toml_of(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise Complaint(*fault_of(error, text)) from None


def _tables(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = values.get("item", [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in cast("list[Any]", found)):
        raise Complaint(0, "item: expected [[item]] tables, in double brackets")
    return cast("list[dict[str, Any]]", found)


def _placed(text: str) -> list[_Placed]:
    return list(_grouped(entries(text.replace("\ufeff", " ", 1))))


def _grouped(found: Iterator[Entry]) -> Iterator[_Placed]:
    keys: dict[str, Entry] | None = None
    for entry in found:
        if not entry.key:
            keys = {} if entry.table == TABLE else None
            if keys is not None:
                yield _Placed(entry, keys)
        elif keys is not None:
            keys[entry.key] = entry


def _item(values: Mapping[str, Any], place: _Placed) -> PlanItem:
    line = place.heading.line

    def at(key: str) -> int:
        return place.keys[key].line if key in place.keys else line

    for key in values:
        if key not in KEYS:
            raise Complaint(at(key), f"unknown key {shown(key)}{did_you_mean(key, KEYS)}")
    title = fields.title_of(fields.text_of(values, "title", at("title")), line)
    name = fields.text_of(values, "id", at("id"))
    return PlanItem(
        id=fields.id_of(name, at("id")) if name else "",
        title=title,
        details=fields.text_of(values, "details", at("details")),
        acceptance=fields.texts_of(values, "acceptance", at("acceptance"), fields.MOST_ACCEPTANCE),
        priority=fields.rank_of(values, "priority", at("priority")),
        needs=fields.texts_of(values, "needs", at("needs"), fields.MOST_NEEDS),
        parallel=fields.flag_of(values, "parallel", at("parallel")),
        verify=fields.flag_of(values, "verify", at("verify")),
        check=fields.check_of(fields.text_of(values, "check", at("check")), at("check")),
        done=fields.flag_of(values, "done", at("done")),
        line=line,
    )


def _line_of(text: str, key: str) -> int:
    return next((entry.line for entry in entries(text) if key in {entry.key, entry.table.strip("[")}), 1)
