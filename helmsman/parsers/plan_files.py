"""Read plans from files of any supported format, and tick items in them without changing other values."""

import hashlib
import json
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

from helmsman.config.goals import ENDINGS, Kind
from helmsman.config.layers import did_you_mean, display
from helmsman.parsers import plan_markdown
from helmsman.parsers.plan_form import Item, PlanError, Story, item_of, require_few_items, slug
from helmsman.parsers.plan_order import validate_plan, with_done
from helmsman.records.plan import MOST_ITEMS, Plan, PlanItem
from helmsman.toml_text import describe_error, find_line, parse_toml

LARGEST = 1_500_000  # maximum bytes of a plan file
BOM = b"\xef\xbb\xbf"  # written by some editors on Windows


# --- prd.json: a list of stories with `passes`, as in other loops, or an object with such a list -----------------------------

LISTS = ("userStories", "user_stories", "stories", "items", "features", "tasks")


def read_json(text: str) -> Plan:
    """Parse stories. Errors have the number of the story, as the parser reports no lines."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PlanError(getattr(error, "lineno", 0), f"invalid JSON: {error}") from None
    items = list[PlanItem]()
    for number, values in enumerate(_stories(content)[: MOST_ITEMS + 1], 1):
        if not isinstance(values, dict):
            raise PlanError(0, f"story {number}: expected an object, found {display(values)}")
        try:
            present = {key: value for key, value in cast("dict[str, Any]", values).items() if value is not None}
            items.append(item_of(Story, present, 0))
        except PlanError as error:
            raise PlanError(0, f"story {number}: {error.why}") from None
    return Plan(kind="json", items=tuple(items))


def tick_json(text: str, place: int) -> str:
    """Serialize the values again with the file's indent, and `passes` set to true in the story at that place."""
    content = json.loads(text)
    story = _stories(content)[place]
    story["done" if story.get("passes") is None and story.get("done") is not None else "passes"] = True
    indent, escaped = re.search(r"\n([ \t]+)", text), text.isascii() or "\\u" in text
    written = json.dumps(content, indent=indent[1] if indent else None, ensure_ascii=escaped)
    return written.replace("\n", "\r\n" if "\r\n" in text else "\n") + text[len(text.rstrip()) :]


def _stories(content: Any) -> list[Any]:
    values = cast("dict[str, Any]", content) if isinstance(content, dict) else {"": content}
    for name in ("", *LISTS):
        if isinstance(listed := values.get(name), list):
            return cast("list[Any]", listed)
    raise PlanError(0, f"expected a list of stories, under one of {', '.join(LISTS)}; found none")


# --- plan.toml: our own format, one [[item]] table for each item ------------------------------------------------------------

_HEADING = re.compile(r"^([ \t]*)\[\[[ \t]*[\"']?item[\"']?[ \t]*\]\][ \t]*(?:#[^\r\n]*)?\r?$", re.MULTILINE)
"""Header of an item. The standard library's TOML parser gives no positions, and a tick must change only one word."""
_OPEN_MARK = re.compile(r"(^[ \t]*[\"']?done[\"']?[ \t]*=[ \t]*)false\b", re.MULTILINE)


def read_toml(text: str) -> Plan:
    try:
        values = parse_toml(text)
    except (ValueError, RecursionError) as error:
        raise PlanError(*describe_error(error, text)) from None
    if other := next((key for key in values if key != "item"), None):
        why = f"unknown key {display(other)}{did_you_mean(other, ['item'])}; items are [[item]] tables"
        raise PlanError(find_line(text, other) or 1, why)
    tables, starts = cast("list[Any]", values.get("item", [])), [start for start, _ in _blocks(text)]
    if not isinstance(values.get("item", []), list) or not all(isinstance(table, dict) for table in tables):
        raise PlanError(0, "item: expected [[item]] tables, in double brackets")
    if len(tables) != len(starts):
        raise PlanError(0, "write each item as its own [[item]] table, so that it can be ticked")
    items = (item_of(Item, table, text.count("\n", 0, start) + 1) for table, start in zip(tables, starts, strict=True))
    return Plan(kind="toml", items=tuple(items))


def tick_toml(text: str, place: int) -> str:
    """Return the text with `done = true` in the table at that place."""
    start, end = _blocks(text)[place]
    before, block, after = text[:start], text[start:end], text[end:]
    if (ticked := _OPEN_MARK.sub(r"\1true", block, count=1)) != block:
        return f"{before}{ticked}{after}"
    heading, content, newline = _HEADING.match(block), block.rstrip(), "\r\n" if "\r\n" in text else "\n"
    return f"{before}{content}{newline}{heading[1] if heading else ''}done = true{block[len(content) :]}{after}"


def _blocks(text: str) -> list[tuple[int, int]]:
    """Return start and end of each `[[item]]`."""
    return list(pairwise([*(heading.start() for heading in _HEADING.finditer(text)), len(text)]))


# --- all formats ------------------------------------------------------------------------------------------------------

FORMS: Mapping[Kind, tuple[Callable[[str], Plan], Callable[[str, int], str]]] = {
    "json": (read_json, tick_json),
    "markdown": (plan_markdown.read, plan_markdown.tick),
    "toml": (read_toml, tick_toml),
}
"""For each format, a function that parses a plan, and one that ticks the item at a place in the text."""


def kind_of(path: str) -> Kind:
    """Return a plan's format by file suffix. Raises PlanError for an unknown one."""
    ending = posixpath.splitext(path)[1].lower()
    if ending not in ENDINGS:
        raise PlanError(0, f"expected a file that ends with {', '.join(ENDINGS)}, found {display(path)}")
    return ENDINGS[ending]


def read_plan(path: str, data: bytes) -> Plan:
    """Parse a plan file. Raises PlanError with the line if it is invalid."""
    return parse_plan(kind_of(path), _decode(data))


def parse_plan(kind: Kind, text: str) -> Plan:
    plan = FORMS[kind][0](text)
    if not plan.items:
        raise PlanError(0, "it contains no items")
    require_few_items([item.line for item in plan.items])
    return validate_plan(plan.model_copy(update={"items": tuple(_assign_ids(plan.items))}))


def tick_items(path: str, data: bytes, ids: Iterable[str]) -> bytes:
    """Return the bytes with these items ticked, ignoring unknown and ticked ones.

    The result parses as the same plan with those items done. Raises PlanError if that is impossible; then nothing may be written.
    """
    kind, after = kind_of(path), _decode(data)
    before, ids_to_tick = parse_plan(kind, after), frozenset(ids)
    for place in [number for number, item in enumerate(before.items) if item.id in ids_to_tick and not item.done]:
        after = FORMS[kind][1](after, place)
    # Ignore line numbers, which an inserted line shifts.
    actual, expected = (
        [{**dict(item), "line": 0} for item in plan.items] for plan in (parse_plan(kind, after), with_done(before, ids_to_tick))
    )
    if actual != expected:
        raise PlanError(0, f"{', '.join(sorted(ids_to_tick))} cannot be ticked without changing other parts of it")
    return (BOM if data.startswith(BOM) else b"") + after.encode()


def _decode(data: bytes) -> str:
    if len(data) > LARGEST:
        raise PlanError(0, f"it has {len(data):,} bytes, more than {LARGEST:,}")
    try:
        return data.removeprefix(BOM).decode()
    except UnicodeDecodeError as error:
        raise PlanError(data.count(b"\n", 0, error.start) + 1, "it is not UTF-8") from None


def _assign_ids(items: Sequence[PlanItem]) -> Iterable[PlanItem]:
    """Yield items with ids for those without: their first words, and a digest of the title if several begin alike.

    Ids contain no counter: after an insertion a tick would hit another item. So titles must be unique.
    """
    taken = Counter(item.id or slug(item.title) for item in items)
    titles = set[str]()
    for item in items:
        if item.id:
            yield item
            continue
        if item.title in titles:
            why = f"the title {display(item.title)} appears twice; give each an id"
            raise PlanError(item.line, why)
        titles.add(item.title)
        name = slug(item.title)
        digest = hashlib.sha256(item.title.encode()).hexdigest()[:6]
        yield item.model_copy(update={"id": name if taken[name] == 1 else f"{name}-{digest}"})
