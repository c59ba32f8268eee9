"""Reading and ticking plans: one table of forms, by the name of the file. A tick changes the mark, and nothing else."""

import hashlib
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from helmsman.config.plan import ENDINGS, Kind
from helmsman.layers import shown
from helmsman.plans import fields, json_file, markdown_file, toml_file
from helmsman.plans.complaint import Complaint
from helmsman.plans.graph import require_sound
from helmsman.records.plan import Plan, PlanItem

_NO_TEXT = re.compile("[\x00\ud800-\udfff]")
_DIGEST = 6
LARGEST = 1_500_000
"""Bytes of a plan's file."""


class Form(NamedTuple):
    """How plans of one kind are read and ticked."""

    read: Callable[[str], Plan]
    tick: Callable[[str, int], str]
    """The text with the item at that place of the plan ticked."""


FORMS: Mapping[Kind, Form] = {
    "json": Form(json_file.read, json_file.tick),
    "markdown": Form(markdown_file.read, markdown_file.tick),
    "toml": Form(toml_file.read, toml_file.tick),
}


def kind_of(path: str) -> Kind:
    """By the ending of its name. Raises Complaint for one that says nothing."""
    ending = posixpath.splitext(path)[1].lower()
    if ending not in ENDINGS:
        raise Complaint(0, f"expected a file that ends with {', '.join(ENDINGS)}, found {shown(path)}")
    return ENDINGS[ending]


def read_plan(path: str, data: bytes) -> Plan:
    """What a file says. Raises Complaint where it cannot be followed, with the line."""
    return read_text(kind_of(path), _text(data))


def read_text(kind: Kind, text: str) -> Plan:
    plan = FORMS[kind].read(text)
    if not plan.items:
        raise Complaint(0, "there is no item in it")
    fields.require_few_items([item.line for item in plan.items])
    _require_text(plan.items)
    return require_sound(plan.model_copy(update={"items": tuple(_named(plan.items))}))


def _require_text(items: Sequence[PlanItem]) -> None:
    """What JSON can escape and no command, prompt or state can hold."""
    for item in items:
        found = _NO_TEXT.search("\n".join((item.title, item.details, item.check, *item.acceptance, *item.needs)))
        if found:
            raise Complaint(item.line, f"expected text, found the character U+{ord(found[0]):04X} in it")


def ticked(path: str, data: bytes, ids: Iterable[str]) -> bytes:
    """The same bytes with these items ticked; what is not there, or ticked already, is left out.

    Read again, it says the same with those done. Raises Complaint where that is not possible: then nothing may be written.
    """
    kind, text = kind_of(path), _text(data)
    before, wanted = read_text(kind, text), frozenset(ids)
    after = text
    for place in [number for number, item in enumerate(before.items) if item.id in wanted and not item.done]:
        after = FORMS[kind].tick(after, place)
    if after != text and _bare(read_text(kind, after)) != _bare(with_done(before, wanted)):
        raise Complaint(0, f"{', '.join(sorted(wanted))} cannot be ticked in it without changing something else")
    return after.encode()


def with_done(plan: Plan, ids: Iterable[str]) -> Plan:
    known = frozenset(ids)
    items = (item.model_copy(update={"done": True}) if item.id in known else item for item in plan.items)
    return plan.model_copy(update={"items": tuple(items)})


def same_work(one: Plan, other: Plan) -> bool:
    """Whether two plans differ in nothing but what is done, and where it stands in the file."""
    return _bare(one, done=False) == _bare(other, done=False)


def _bare(plan: Plan, *, done: bool | None = None) -> list[PlanItem]:
    """The items without their lines, which move when a line is put in above them."""
    unmarked = {} if done is None else {"done": done}
    return [item.model_copy(update={"line": 0, **unmarked}) for item in plan.items]


def _text(data: bytes) -> str:
    if len(data) > LARGEST:
        raise Complaint(0, f"it has {len(data):,} bytes, {LARGEST:,} may be")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Complaint(data.count(b"\n", 0, error.start) + 1, "it is not UTF-8") from None


def _named(items: Sequence[PlanItem]) -> Iterable[PlanItem]:
    """With ids for those that have none: their first words, and a digest of the whole title where several begin alike.

    Nothing of it is counted: with an item put in above them a tick would land on another. So no two may have the same title.
    """
    taken = Counter(item.id or fields.slug(item.title) for item in items)
    lines: dict[str, int] = {}
    for item in items:
        if item.id:
            yield item
            continue
        if item.title in lines:
            why = f"the title {shown(item.title)} is there twice, on line {lines[item.title]} too; give each an id"
            raise Complaint(item.line, why)
        lines[item.title] = item.line
        name = fields.slug(item.title)
        digest = hashlib.sha256(item.title.encode()).hexdigest()[:_DIGEST]
        yield item.model_copy(update={"id": name if taken[name] == 1 else f"{name}-{digest}"})
