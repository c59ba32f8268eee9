"""Checkboxes in Markdown: `fix_plan.md`, `tasks.md`, `IMPLEMENTATION_PLAN.md`, and any other list of them.

A box with boxes below it, further in or numbered `2.1` under `2`, stands for all of them: it is no item, and is ticked together
with the last one below it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from helmsman.config.layers import display
from helmsman.parsers.markdown_text import CodeBlocks
from helmsman.parsers.plan_form import RANKS, Item, PlanError, item_of, require_few_items, slug
from helmsman.records.plan import LAST_RANK, Plan, PlanItem

TAB = 4
COMMENT_ENDS = "-->"
ABOVE = 19
"""Characters of an id that come of the heading above."""
DONE = frozenset("xX")
_BOX = re.compile(r"(?P<lead>[ \t]*(?:>[ \t]*)*)(?:[-*+]|\d{1,9}[.)])[ \t]+\[(?P<mark>[ xX~/-])\]\*?(?P<rest>[ \t].*)?")
_ALMOST = re.compile(
    r"[ \t]*(?:>[ \t]*)*(?:[-*+]|\d{1,9}[.)])[ \t]*(?P<box>\[(?:[ \t]{0,3}[xX]?[ \t]{0,3}|[^\w\s\]])\])(?![(\[:])"
)
"""What people write for a box and nobody reads as one."""
_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_LEAD = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_SURE_ID = re.compile(r"[A-Z]{1,3}\d{2,5}|[A-Z]{1,6}-\d{2,5}")
"""Such an id is one, and there twice it is a mistake; any other may be a number that only looks like one."""
_ID = re.compile(
    r"\*{0,2}(?P<id>[A-Z]{1,6}-?\d+(?:\.\d+)*(?=[\s.:)*])|\d+(?:\.\d+)+(?=[\s.:)*])|\d+(?=[.)]))[.:)]?\*{0,2}[.:)]?\s*"
)
_MARKER = re.compile(r"\[(?P<name>P|VERIFY)\]")
_COMMAND = r"(?P<ticks>`+)(?P<command>[^`\r\n]+)(?P=ticks)"
_VERIFY_COMMAND = re.compile(rf"\[VERIFY\](?:[:\s]*(?:[Rr]un\s+)?|(?:(?!\[VERIFY\])[^`\r\n])*:\s*){_COMMAND}")
_BARE = r"(?P<bare>(?=\S)(?:[^()`\r\n]|\([^()`\r\n]*\))+)"
_CHECK = re.compile(rf"\(check:\s*(?:{_COMMAND}|{_BARE})\)", re.IGNORECASE)
_CHECK_BEGINS = re.compile(r"\(check:", re.IGNORECASE)
_CHECK_NOTE = re.compile(rf"\*{{0,2}}\(?(?:check|verify)\*{{0,2}}:\*{{0,2}}\s*{_COMMAND}\)?\.?", re.IGNORECASE)
_BARE_CHECK_NOTE = re.compile(r"check:[ \t]+(?=\S)(?P<bare>[^`]+)")
_IDS = r"(?P<ids>[\w./-]+(?:\s*,\s*[\w./-]+)*)"
_NEEDS = re.compile(rf"\((?:needs|depends on):?\s+{_IDS}\)", re.IGNORECASE)
_NEEDS_NOTE = re.compile(rf"\*{{0,2}}(?:needs|depends on)\*{{0,2}}:\*{{0,2}}\s*{_IDS}\.?", re.IGNORECASE)
_ACCEPTANCE_NOTE = re.compile(r"\*{0,2}(?:acceptance|accepted when|done when)\*{0,2}:\*{0,2}\s*(?P<what>.+)", re.IGNORECASE)
_RANK = re.compile(r"\(priority:\s*(?:P?(?P<number>\d{1,3})|(?P<word>critical|high|medium|low))\)", re.IGNORECASE)
_RANK_HEADING = re.compile(r"\b(?P<word>critical|high|medium|low)(?:est)?[ -]priority\b", re.IGNORECASE)
_BULLET = re.compile(r"[-*+]\s+")


@dataclass
class _Box:
    """A checkbox with what stands below it."""

    line: int
    place: int
    """Of the character between its brackets, in the text."""
    depth: int
    done: bool
    title: str
    rank: int
    heading: str = ""
    """The one that it stands below."""
    id: str = ""
    notes: list[str] = field(default_factory=list[str])
    above: "_Box | None" = None
    below: "list[_Box]" = field(default_factory=list["_Box"])


def read(text: str) -> Plan:
    boxes = _boxes(text)
    for box in boxes:
        if box.below and not all(one.done for one in box.below):
            if _check(box):
                raise PlanError(box.line, "a box with boxes below it is proven by those: write its check on an item below")
            if _needs(box):
                raise PlanError(box.line, "a box with boxes below it waits for nothing: write what it needs on each item below")
    items = [box for box in boxes if not box.below]
    _name_alike([box for box in items if not box.id])
    require_few_items([box.line for box in items])
    return Plan(kind="markdown", items=tuple(map(_item, items)))


def tick(text: str, place: int) -> str:
    """The same text with an x in the box of the item at that place, and in each box above it that is done thereby."""
    boxes = _boxes(text)
    box = [one for one in boxes if not one.below][place]
    marked = [box.place] if not box.done else []
    box.done = True
    above = box.above
    while above is not None and all(one.done for one in above.below):
        marked += [above.place] if not above.done else []
        above.done = True
        above = above.above
    for at in marked:
        text = f"{text[:at]}x{text[at + 1 :]}"
    return text


def _boxes(text: str) -> list[_Box]:
    """Every checkbox outside of code and comments, each under the one that it belongs to."""
    boxes: list[_Box] = []
    ranks: list[tuple[int, int]] = []
    heading_above = ""
    for number, begin, line in _told(text):
        if found := _BOX.fullmatch(line):
            boxes.append(_box(found, number, begin, ranks[-1][1] if ranks else LAST_RANK, heading_above))
        elif almost := _ALMOST.match(line):
            raise PlanError(number, f"expected a box such as `- [ ] what` or `- [x] what`, found {display(almost['box'])}")
        elif heading := _HEADING.fullmatch(line):
            ranks = [one for one in ranks if one[0] < len(heading[1])]
            own = _rank_of(heading[2])  # a heading that gives none leaves the one above it
            ranks.append((len(heading[1]), own if own is not None else ranks[-1][1] if ranks else LAST_RANK))
            heading_above = heading[2]
        elif boxes and line.strip():
            plain = line.expandtabs(TAB)
            if len(plain) - len(plain.lstrip()) > boxes[-1].depth:  # what stands further in belongs to the box above it
                boxes[-1].notes.append(_BULLET.sub("", line.strip(), count=1))
    _nest(boxes)
    return boxes


def _told(text: str) -> Iterator[tuple[int, int, str]]:
    """Lines outside of code and comments, with their numbers and where they begin.

    Raises PlanError where one is never closed and boxes stand in it: whoever wrote them meant them.
    """
    code, comment, begun, boxes = CodeBlocks(), False, 0, False
    for number, found in enumerate(_LINE.finditer(text), 1):
        mark = number == 1 and found[1].startswith("\ufeff")
        line, begin = found[1][mark:], found.start() + mark
        bare, inside = _LEAD.sub("", line, count=1), comment or code.open
        comment = (comment or (not inside and bare.startswith("<!--"))) and COMMENT_ENDS not in line
        hidden = inside or bare.startswith("<!--")
        if not hidden or code.open:
            hidden = code.holds(bare)
        if not hidden:
            yield number, begin, line
        elif not inside:
            begun, boxes = number, False
        else:
            boxes = boxes or bool(_BOX.fullmatch(line))
    if (comment or code.open) and boxes:
        raise PlanError(begun, "what begins here (code or a comment) is never closed, and there are boxes in it")


def _box(found: re.Match[str], number: int, begin: int, rank: int, heading: str) -> _Box:
    depth = len(found["lead"].expandtabs(TAB))
    title = (found["rest"] or "").strip()
    own = _rank_of(title)
    named = _ID.match(f"{_without(title, _MARKER)} ")
    return _Box(
        line=number,
        place=begin + found.start("mark"),
        depth=depth,
        done=found["mark"] in DONE,
        title=title,
        rank=rank if own is None else own,
        heading=heading,
        id=named["id"] if named else "",
    )


def _nest(boxes: Sequence[_Box]) -> None:
    """A number that several items begin with is no id."""
    often = Counter(box.id for box in boxes)
    for box in boxes:
        box.id = "" if often[box.id] > 1 and not _SURE_ID.fullmatch(box.id) else box.id
    by_id: dict[str, _Box] = {}
    way: list[_Box] = []
    for box in boxes:
        while way and way[-1].depth >= box.depth:
            way.pop()
        above = way[-1] if way else by_id.get(box.id.rpartition(".")[0]) if "." in box.id else None
        if above is not None:
            box.above = above
            above.below.append(box)
        way.append(box)
        if box.id:
            by_id.setdefault(box.id, box)


def _name_alike(boxes: Sequence[_Box]) -> None:
    """Those with one title go by what they stand below as well: `Write tests` is often there once for each part."""
    often = Counter(_stripped(box) for box in boxes)
    for box in boxes:
        where = _stripped(box.above) if box.above else box.heading
        if often[_stripped(box)] > 1 and where:
            box.id = f"{slug(where)[:ABOVE].strip('-')}-{slug(_stripped(box))}"


# --- one item ---------------------------------------------------------------------------------------------------------


def _item(box: _Box) -> PlanItem:
    above = list(_all_above(box))
    every = [box, *above]
    markers = {found["name"] for one in every for found in _MARKER.finditer(one.title)}
    read = (_CHECK_NOTE, _BARE_CHECK_NOTE, _NEEDS_NOTE, _ACCEPTANCE_NOTE)
    notes = [note for note in box.notes if not any(pattern.fullmatch(note) for pattern in read)]
    values = {
        "id": box.id,
        "title": _stripped(box),
        "details": "\n".join((*(f"Part of: {_stripped(one)}" for one in above[::-1]), *notes)),
        "acceptance": [found["what"] for found in _matches(_ACCEPTANCE_NOTE, box)],
        "priority": min(one.rank for one in every),
        "needs": _needs(box),
        "parallel": "P" in markers,
        "verify": "VERIFY" in markers,
        "check": _check(box),
        "done": box.done,
    }
    return item_of(Item, values, box.line)


def _all_above(box: _Box) -> Iterator[_Box]:
    while box.above is not None:
        box = box.above
        yield box


def _matches(pattern: re.Pattern[str], box: _Box) -> Iterator[re.Match[str]]:
    """Notes that are wholly of one kind."""
    return filter(None, map(pattern.fullmatch, box.notes))


def _stripped(box: _Box) -> str:
    """The title without id, markers and what else is read from it; what is nothing but these, as it stands."""
    title = _without(box.title, _MARKER, _CHECK, _NEEDS, _RANK)
    named = _ID.match(title) if box.id else None
    return title[named.end() :].strip() if named and title[named.end() :].strip() else title or box.title


def _without(text: str, *patterns: re.Pattern[str]) -> str:
    for pattern in patterns:
        text = pattern.sub("", text)
    return " ".join(text.split())


def _check(box: _Box) -> str:
    """The command that proves it: in its title, or on a line of its own below."""
    in_title = _CHECK.search(box.title)
    if in_title is None and _CHECK_BEGINS.search(box.title):
        raise PlanError(box.line, "its check cannot be read: write (check: `command`), one command in backquotes")
    note = next(_matches(_CHECK_NOTE, box), None) or next(_matches(_BARE_CHECK_NOTE, box), None)
    found = in_title or note or _VERIFY_COMMAND.search(box.title)
    said = found.groupdict() if found else {}
    return (said.get("command") or said.get("bare") or "").strip()


def _needs(box: _Box) -> list[str]:
    """Ids of the items that come before it."""
    found = (*_NEEDS.finditer(box.title), *_matches(_NEEDS_NOTE, box))
    return list(dict.fromkeys(name.strip(".") for one in found for name in re.split(r"\s*,\s*", one["ids"])))


def _rank_of(text: str) -> int | None:
    found = _RANK.search(text) or _RANK_HEADING.search(text)
    if found is None:
        return None
    said = found.groupdict()
    return int(said["number"]) if said.get("number") else RANKS[said["word"].lower()]
