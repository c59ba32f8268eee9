"""`plan.toml`: our own form, one `[[item]]` table for each item."""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, cast

from helmsman.layers import did_you_mean, shown
from helmsman.plans import fields
from helmsman.plans.complaint import Complaint
from helmsman.records.plan import Plan, PlanItem
from helmsman.toml_of import fault_of, line_of, toml_of

_HEADING = re.compile(r"^\ufeff?([ \t]*)\[\[[ \t]*[\"']?item[\"']?[ \t]*\]\][ \t]*(?:#[^\r\n]*)?\r?$", re.MULTILINE)
"""The standard library reads TOML and does not say where a value stands; a tick has to change one word and nothing else."""
_DONE = re.compile(r"(^[ \t]*[\"']?done[\"']?[ \t]*=[ \t]*)false\b", re.MULTILINE)
KEYS = ("id", "title", "details", "acceptance", "priority", "needs", "parallel", "verify", "check", "done")


def read(text: str) -> Plan:
    values = _parsed(text)
    for key in values:
        if key != "item":
            line = line_of(text, key) or 1
            raise Complaint(line, f"unknown key {shown(key)}{did_you_mean(key, ['item'])}; items are [[item]] tables")
    tables, blocks = _tables(values), _blocks(text)
    if len(tables) != len(blocks):
        raise Complaint(0, "write each item as a table of its own, under a line [[item]], so that it can be ticked")
    return Plan(kind="toml", items=tuple(_item(table, text, *block) for table, block in zip(tables, blocks, strict=True)))


def tick(text: str, place: int) -> str:
    """The same text with `done = true` in the table at that place."""
    start, end = _blocks(text)[place]
    before, block, after = text[:start], text[start:end], text[end:]
    if (known := _DONE.sub(r"\1true", block, count=1)) != block:
        return f"{before}{known}{after}"
    heading, kept, feed = _HEADING.match(block), block.rstrip(), "\r\n" if "\r\n" in text else "\n"
    return f"{before}{kept}{feed}{heading[1] if heading else ''}done = true{block[len(kept) :]}{after}"


def _blocks(text: str) -> list[tuple[int, int]]:
    """Where each `[[item]]` begins and ends."""
    starts = [found.start() for found in _HEADING.finditer(text)]
    return list(pairwise([*starts, len(text)]))


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


def _item(values: Mapping[str, Any], text: str, start: int, end: int) -> PlanItem:
    line = text.count("\n", 0, start) + 1

    def at(key: str) -> int:
        found = re.search(rf"^[ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*=", text[start:end], re.MULTILINE)
        return line + text.count("\n", start, start + found.start()) if found else line

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
