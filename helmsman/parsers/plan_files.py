"""Plans from the text of their files, and ticks in it: by the name of the file. A tick changes the mark, and nothing else."""

import hashlib
import json
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, cast

from helmsman.config.goals import ENDINGS, Kind
from helmsman.config.layers import did_you_mean, display
from helmsman.parsers import plan_markdown
from helmsman.parsers.plan_form import Item, PlanError, Story, item_of, require_few_items, slug
from helmsman.parsers.plan_order import require_sound, with_done
from helmsman.records.plan import MOST_ITEMS, Plan, PlanItem
from helmsman.toml_of import fault_of, line_of, toml_of

LARGEST = 1_500_000  # bytes of a plan's file


# --- prd.json: stories with `passes`, as other loops write them; a list of them, or an object that holds one -----------------

LISTS = ("userStories", "user_stories", "stories", "items", "features", "tasks")
_DECODER = json.JSONDecoder()
_BETWEEN = re.compile(r"[ \t\r\n,\ufeff]*")
_Story = tuple[dict[str, Any], int, int]  # what it says, and where it begins and ends


def read_json(text: str) -> Plan:
    items, line, before = list[PlanItem](), 1, 0
    for values, start, _ in islice(_stories(text), MOST_ITEMS + 1):
        line, before = line + text.count("\n", before, start), start
        items.append(item_of(Story, {key: value for key, value in values.items() if value is not None}, line))
    return Plan(kind="json", items=tuple(items))


def tick_json(text: str, place: int) -> str:
    """The same text with `passes` set to true in the story at that place of the list."""
    values, start, end = list(_stories(text))[place]
    story, key = text[start:end], "done" if values.get("passes") is None and values.get("done") is not None else "passes"
    for known in re.finditer(rf'"{key}"\s*:\s*(false|null)', story):  # further down another object may have such a key
        after = f"{story[: known.start(1)]}true{story[known.end(1) :]}"
        if json.loads(after) == {**values, key: True}:
            return f"{text[:start]}{after}{text[end:]}"
    kept, blank = story[:-1].rstrip(), story[1 : len(story) - len(story[1:].lstrip())] or " "
    return f'{text[:start]}{kept},{blank}"passes": true{story[len(kept) :]}{text[end:]}'


def _stories(text: str) -> Iterator[_Story]:
    try:
        whole = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise PlanError(getattr(error, "lineno", 0), f"no JSON: {error}") from None
    place = _list(text, whole) + 1
    while text[start := _after(text, place)] != "]":
        value, place = _DECODER.raw_decode(text, start)
        if not isinstance(value, dict):
            shown = display(text[start : start + 40])
            raise PlanError(text.count("\n", 0, start) + 1, f"expected a story in braces, found {shown}")
        yield cast("dict[str, Any]", value), start, place


def _after(text: str, place: int) -> int:
    found = _BETWEEN.match(text, place)
    return found.end() if found else place


def _list(text: str, whole: Any) -> int:
    """Where the list of stories begins."""
    if isinstance(whole, list):
        return text.index("[")
    named = cast("dict[str, Any]", whole) if isinstance(whole, dict) else {}
    name = next((name for name in LISTS if isinstance(named.get(name), list)), "")
    for found in re.finditer(rf'"{name}"\s*:\s*(?=\[)', text) if name else ():
        if _DECODER.raw_decode(text, found.end())[0] == named[name]:  # it may be a key of something else
            return found.end()
    line = text.count("\n", 0, _after(text, 0)) + 1
    raise PlanError(line, f"expected a list of stories, under one of {', '.join(LISTS)}; found none")


# --- plan.toml: our own form, one [[item]] table for each item --------------------------------------------------------------

_HEADING = re.compile(r"^\ufeff?([ \t]*)\[\[[ \t]*[\"']?item[\"']?[ \t]*\]\][ \t]*(?:#[^\r\n]*)?\r?$", re.MULTILINE)
"""The standard library reads TOML and does not say where a value stands; a tick has to change one word and nothing else."""
_OPEN_MARK = re.compile(r"(^[ \t]*[\"']?done[\"']?[ \t]*=[ \t]*)false\b", re.MULTILINE)


def read_toml(text: str) -> Plan:
    try:
        values = toml_of(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise PlanError(*fault_of(error, text)) from None
    if other := next((key for key in values if key != "item"), None):
        why = f"unknown key {display(other)}{did_you_mean(other, ['item'])}; items are [[item]] tables"
        raise PlanError(line_of(text, other) or 1, why)
    tables, starts = cast("list[Any]", values.get("item", [])), [start for start, _ in _blocks(text)]
    if not isinstance(values.get("item", []), list) or not all(isinstance(one, dict) for one in tables):
        raise PlanError(0, "item: expected [[item]] tables, in double brackets")
    if len(tables) != len(starts):
        raise PlanError(0, "write each item as a table of its own, under a line [[item]], so that it can be ticked")
    items = (item_of(Item, table, text.count("\n", 0, start) + 1) for table, start in zip(tables, starts, strict=True))
    return Plan(kind="toml", items=tuple(items))


def tick_toml(text: str, place: int) -> str:
    """The same text with `done = true` in the table at that place."""
    start, end = _blocks(text)[place]
    before, block, after = text[:start], text[start:end], text[end:]
    if (known := _OPEN_MARK.sub(r"\1true", block, count=1)) != block:
        return f"{before}{known}{after}"
    heading, kept, feed = _HEADING.match(block), block.rstrip(), "\r\n" if "\r\n" in text else "\n"
    return f"{before}{kept}{feed}{heading[1] if heading else ''}done = true{block[len(kept) :]}{after}"


def _blocks(text: str) -> list[tuple[int, int]]:
    """Where each `[[item]]` begins and ends."""
    return list(pairwise([*(found.start() for found in _HEADING.finditer(text)), len(text)]))


# --- any of them ------------------------------------------------------------------------------------------------------

FORMS: Mapping[Kind, tuple[Callable[[str], Plan], Callable[[str, int], str]]] = {
    "json": (read_json, tick_json),
    "markdown": (plan_markdown.read, plan_markdown.tick),
    "toml": (read_toml, tick_toml),
}
"""The plan of a text, and the text with the item at that place of the plan ticked."""


def kind_of(path: str) -> Kind:
    """By the ending of its name. Raises PlanError for one that says nothing."""
    ending = posixpath.splitext(path)[1].lower()
    if ending not in ENDINGS:
        raise PlanError(0, f"expected a file that ends with {', '.join(ENDINGS)}, found {display(path)}")
    return ENDINGS[ending]


def read_plan(path: str, data: bytes) -> Plan:
    """What a file says. Raises PlanError where it cannot be followed, with the line."""
    return read_text(kind_of(path), _text(data))


def read_text(kind: Kind, text: str) -> Plan:
    plan = FORMS[kind][0](text)
    if not plan.items:
        raise PlanError(0, "there is no item in it")
    require_few_items([item.line for item in plan.items])
    return require_sound(plan.model_copy(update={"items": tuple(_with_ids(plan.items))}))


def ticked(path: str, data: bytes, ids: Iterable[str]) -> bytes:
    """The same bytes with these items ticked; what is not there, or ticked already, is left out.

    Read again, it says the same with those done. Raises PlanError where that is not possible: then nothing may be written.
    """
    kind, text = kind_of(path), _text(data)
    before, wanted = read_text(kind, text), frozenset(ids)
    after = text
    for place in [number for number, item in enumerate(before.items) if item.id in wanted and not item.done]:
        after = FORMS[kind][1](after, place)
    # Lines move when a line is put in above them.
    said, due = (
        [{**dict(item), "line": 0} for item in plan.items] for plan in (read_text(kind, after), with_done(before, wanted))
    )
    if said != due:
        raise PlanError(0, f"{', '.join(sorted(wanted))} cannot be ticked in it without changing something else")
    return after.encode()


def _text(data: bytes) -> str:
    if len(data) > LARGEST:
        raise PlanError(0, f"it has {len(data):,} bytes, {LARGEST:,} may be")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise PlanError(data.count(b"\n", 0, error.start) + 1, "it is not UTF-8") from None


def _with_ids(items: Sequence[PlanItem]) -> Iterable[PlanItem]:
    """With ids for those that have none: their first words, and a digest of the whole title where several begin alike.

    Nothing of it is counted: with an item put in above them a tick would land on another. So no two may have the same title.
    """
    taken = Counter(item.id or slug(item.title) for item in items)
    lines: dict[str, int] = {}
    for item in items:
        if item.id:
            yield item
            continue
        if item.title in lines:
            why = f"the title {display(item.title)} appears twice, also on line {lines[item.title]}; give each an id"
            raise PlanError(item.line, why)
        lines[item.title], name = item.line, slug(item.title)
        digest = hashlib.sha256(item.title.encode()).hexdigest()[:6]
        yield item.model_copy(update={"id": name if taken[name] == 1 else f"{name}-{digest}"})
