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
ABOVE = 19  # characters of an id that come of the heading above
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
_CHECK = re.compile(rf"\(check:\s*(?:{_COMMAND}|(?P<bare>(?=\S)(?:[^()`\r\n]|\([^()`\r\n]*\))+))\)", re.IGNORECASE)
_IDS = r"(?P<ids>[\w./-]+(?:\s*,\s*[\w./-]+)*)"
_NEEDS = re.compile(rf"\((?:needs|depends on):?\s+{_IDS}\)", re.IGNORECASE)
_RANK = re.compile(r"\(priority:\s*(?:P?(?P<number>\d{1,3})|(?P<word>critical|high|medium|low))\)", re.IGNORECASE)
_RANK_HEADING = re.compile(r"\b(?P<word>critical|high|medium|low)(?:est)?[ -]priority\b", re.IGNORECASE)
_NOTES = {
    name: [re.compile(pattern, re.IGNORECASE) for pattern in patterns]
    for name, patterns in {
        "check": (rf"\*{{0,2}}\(?(?:check|verify)\*{{0,2}}:\*{{0,2}}\s*{_COMMAND}\)?\.?", r"check:[ \t]+(?=\S)(?P<bare>[^`]+)"),
        "needs": (rf"\*{{0,2}}(?:needs|depends on)\*{{0,2}}:\*{{0,2}}\s*{_IDS}\.?",),
        "acceptance": (r"\*{0,2}(?:acceptance|accepted when|done when)\*{0,2}:\*{0,2}\s*(?P<what>.+)",),
    }.items()
}
"""Lines of their own below an item, by what they give."""


@dataclass
class _Box:
    """A checkbox with what stands below it."""

    line: int
    place: int  # of the character between its brackets, in the text
    depth: int
    done: bool
    title: str
    rank: int
    heading: str  # the one that it stands below
    id: str
    notes: list[str] = field(default_factory=list[str])
    above: "_Box | None" = None
    below: "list[_Box]" = field(default_factory=list["_Box"])

    @property
    def all_above(self) -> "list[_Box]":
        """The nearest first."""
        found, box = list[_Box](), self.above
        while box is not None:
            found.append(box)
            box = box.above
        return found

    @property
    def bare(self) -> str:
        """The title without id, markers and what else is read from it; what is nothing but these, as it stands."""
        title = _without(self.title, _MARKER, _CHECK, _NEEDS, _RANK)
        named = _ID.match(title) if self.id else None
        return title[named.end() :].strip() if named and title[named.end() :].strip() else title or self.title

    @property
    def check(self) -> str:
        """The command that proves it: in its title, or on a line of its own below."""
        in_title = _CHECK.search(self.title)
        if in_title is None and "(check:" in self.title.lower():
            raise PlanError(self.line, "its check cannot be read: write (check: `command`), one command in backquotes")
        found = in_title or next(self.noted("check"), None) or _VERIFY_COMMAND.search(self.title)
        said = found.groupdict() if found else {}
        return (said.get("command") or said.get("bare") or "").strip()

    @property
    def needs(self) -> list[str]:
        """Ids of the items that come before it."""
        found = (*_NEEDS.finditer(self.title), *self.noted("needs"))
        return list(dict.fromkeys(name.strip(".") for one in found for name in re.split(r"\s*,\s*", one["ids"])))

    def noted(self, name: str) -> Iterator[re.Match[str]]:
        """Notes that are wholly of one kind."""
        return (found for pattern in _NOTES[name] for note in self.notes if (found := pattern.fullmatch(note)))


def read(text: str) -> Plan:
    boxes = _boxes(text)
    for box in boxes:
        if box.below and not all(one.done for one in box.below):
            if box.check:
                raise PlanError(box.line, "a box with boxes below it is proven by those: write its check on an item below")
            if box.needs:
                raise PlanError(box.line, "a box with boxes below it waits for nothing: write what it needs on each item below")
    items = [box for box in boxes if not box.below]
    # Those with one title go by what they stand below as well: `Write tests` is often there once for each part.
    alike = Counter(box.bare for box in items if not box.id)
    for box in items:
        where = box.above.bare if box.above else box.heading
        if not box.id and alike[box.bare] > 1 and where:
            box.id = f"{slug(where)[:ABOVE].strip('-')}-{slug(box.bare)}"
    require_few_items([box.line for box in items])
    return Plan(kind="markdown", items=tuple(map(_item, items)))


def tick(text: str, place: int) -> str:
    """The same text with an x in the box of the item at that place, and in each box above it that is done thereby."""
    box: _Box | None = [one for one in _boxes(text) if not one.below][place]
    while box is not None and all(one.done for one in box.below):
        text = text if box.done else f"{text[: box.place]}x{text[box.place + 1 :]}"
        box.done, box = True, box.above
    return text


def _boxes(text: str) -> list[_Box]:
    """Every checkbox outside of code and comments, each under the one that it belongs to."""
    boxes: list[_Box] = []
    ranks: list[tuple[int, int]] = []
    heading_above = ""
    for number, begin, line in _shown(text):
        above = ranks[-1][1] if ranks else LAST_RANK
        if found := _BOX.fullmatch(line):
            title = (found["rest"] or "").strip()
            named, own = _ID.match(f"{_without(title, _MARKER)} "), _rank_of(title)
            boxes.append(_Box(
                number, begin + found.start("mark"), len(found["lead"].expandtabs(TAB)), found["mark"] in "xX", title,
                above if own is None else own, heading_above, named["id"] if named else "",
            ))  # fmt: skip
        elif almost := _ALMOST.match(line):
            raise PlanError(number, f"expected a box such as `- [ ] what` or `- [x] what`, found {display(almost['box'])}")
        elif heading := _HEADING.fullmatch(line):
            ranks = [one for one in ranks if one[0] < len(heading[1])]
            above, own, heading_above = ranks[-1][1] if ranks else LAST_RANK, _rank_of(heading[2]), heading[2]
            ranks.append((len(heading[1]), above if own is None else own))
        elif boxes and line.strip():
            plain = line.expandtabs(TAB)
            if len(plain) - len(plain.lstrip()) > boxes[-1].depth:  # what stands further in belongs to the box above it
                boxes[-1].notes.append(re.sub(r"^[-*+]\s+", "", line.strip()))
    _nest(boxes)
    return boxes


def _shown(text: str) -> Iterator[tuple[int, int, str]]:
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


def _nest(boxes: Sequence[_Box]) -> None:
    """By their indentation or by their numbers. A number that several items begin with is no id."""
    often = Counter(box.id for box in boxes)
    by_id: dict[str, _Box] = {}
    way: list[_Box] = []
    for box in boxes:
        box.id = "" if often[box.id] > 1 and not _SURE_ID.fullmatch(box.id) else box.id
        while way and way[-1].depth >= box.depth:
            way.pop()
        box.above = way[-1] if way else by_id.get(box.id.rpartition(".")[0]) if "." in box.id else None
        if box.above:
            box.above.below.append(box)
        way.append(box)
        if box.id:
            by_id.setdefault(box.id, box)


def _item(box: _Box) -> PlanItem:
    every = [box, *box.all_above]
    markers = {found["name"] for one in every for found in _MARKER.finditer(one.title)}
    read = {found[0] for name in _NOTES for found in box.noted(name)}
    values = {
        "id": box.id,
        "title": box.bare,
        "details": "\n".join(
            (*(f"Part of: {one.bare}" for one in every[:0:-1]), *(note for note in box.notes if note not in read))
        ),
        "acceptance": [found["what"] for found in box.noted("acceptance")],
        "priority": min(one.rank for one in every),
        "needs": box.needs,
        "parallel": "P" in markers,
        "verify": "VERIFY" in markers,
        "check": box.check,
        "done": box.done,
    }
    return item_of(Item, values, box.line)


def _without(text: str, *patterns: re.Pattern[str]) -> str:
    for pattern in patterns:
        text = pattern.sub("", text)
    return " ".join(text.split())


def _rank_of(text: str) -> int | None:
    """None: the text names none, and what stands above it counts."""
    found = _RANK.search(text) or _RANK_HEADING.search(text)
    said = found.groupdict() if found else {}
    return int(said["number"]) if said.get("number") else RANKS[said["word"].lower()] if found else None
