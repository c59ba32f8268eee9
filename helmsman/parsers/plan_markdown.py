"""Parser for checkboxes in Markdown: `fix_plan.md`, `tasks.md`, `IMPLEMENTATION_PLAN.md`, and other lists.

A box with boxes below it, indented or numbered `2.1` under `2`, is a group, not an item, and is ticked together with the last
box below it.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from helmsman.config.layers import display
from helmsman.parsers.markdown_text import code_pattern
from helmsman.parsers.plan_form import RANKS, Item, PlanError, item_of, require_few_items, slug
from helmsman.records.plan import LAST_RANK, Plan, PlanItem

TAB = 4
ABOVE = 19  # maximum characters of an id from the heading above
_BOX = re.compile(r"(?P<lead>[ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+\[(?P<mark>[ xX~/-])\]\*?(?P<rest>[ \t].*)?")
_ALMOST = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]*(?P<box>\[(?:[ \t]{0,3}[xX]?[ \t]{0,3}|[^\w\s\]])\])(?![(\[:])")
"""Malformed boxes."""
_INDENT = r"[ \t]*"
_HIDDEN = re.compile(
    rf"^{_INDENT}(?:(?:[-*+]|\d{{1,9}}[.)])[ \t]+)?"
    rf"(?:{code_pattern(_INDENT)}|<!--.*?(?P<end_of_comment>-->[^\n]*|\Z))",
    re.MULTILINE | re.DOTALL,
)
"""Code blocks and comments, also in list items."""
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_SURE_ID = re.compile(r"[A-Z]{1,3}\d{2,5}|[A-Z]{1,6}-\d{2,5}")
"""Unambiguous ids, whose repetition is an error; others may be numbers that only look like ids."""
_ID = re.compile(
    r"\*{0,2}(?P<id>[A-Z]{1,6}-?\d+(?:\.\d+)*(?=[\s.:)*])|\d+(?:\.\d+)+(?=[\s.:)*])|\d+(?=[.)]))[.:)]?\*{0,2}[.:)]?\s*"
)
_MARKER = re.compile(r"\[(?P<name>P|VERIFY)\]")
_COMMAND = r"(?P<ticks>`+)(?P<command>[^`\r\n]+)(?P=ticks)"
_VERIFY_COMMAND = re.compile(rf"\[VERIFY\](?:[:\s]*(?:[Rr]un\s+)?|(?:(?!\[VERIFY\])[^`\r\n])*:\s*){_COMMAND}")
_CHECK = re.compile(rf"\(check:\s*(?:{_COMMAND}|(?P<bare>(?=\S)(?:[^()`\r\n]|\([^()`\r\n]*\))+))\)", re.IGNORECASE)
_IDS = r"(?P<ids>[\w./-]+(?:\s*,\s*[\w./-]+)*)"
_NEEDS = re.compile(rf"\((?:needs|depends on):?\s+{_IDS}\)", re.IGNORECASE)
_RANK = re.compile(r"\(priority:\s*(?:P?(\d{1,3})|(critical|high|medium|low))\)", re.IGNORECASE)
_RANK_IN_WORDS = re.compile(r"\b()(critical|high|medium|low)(?:est)?[ -]priority\b", re.IGNORECASE)
_FIELD = re.compile(
    rf"\*{{0,2}}\(?(?:check|verify)\*{{0,2}}:\*{{0,2}}\s*{_COMMAND}\)?\.?|check:[ \t]+(?=\S)(?P<bare>[^`]+)"
    rf"|\*{{0,2}}(?:needs|depends on)\*{{0,2}}:\*{{0,2}}\s*{_IDS}\.?"
    r"|\*{0,2}(?:acceptance|accepted when|done when)\*{0,2}:\*{0,2}\s*(?P<acceptance>.+)",
    re.IGNORECASE,
)
"""A line below an item that consists only of one of its fields."""


@dataclass
class _Box:
    """A checkbox with the lines below it."""

    line: int
    column: int  # of the character between its brackets
    depth: int
    done: bool
    title: str
    rank: int
    heading: str  # the heading above
    id: str
    fields: list[re.Match[str]] = field(default_factory=list[re.Match[str]])  # on separate lines below
    notes: list[str] = field(default_factory=list[str])  # other lines below
    above: "list[_Box]" = field(default_factory=list["_Box"])  # nearest first
    below: "list[_Box]" = field(default_factory=list["_Box"])

    @property
    def bare(self) -> str:
        """The title without id, markers and other parsed parts; unchanged if it consists only of these."""
        title = _remove(self.title, _MARKER, _CHECK, _NEEDS, _RANK)
        id_match = _ID.match(title) if self.id else None
        return title[id_match.end() :].strip() if id_match and title[id_match.end() :].strip() else title or self.title

    @property
    def check(self) -> str:
        """The command that proves it: in its title, or on a separate line below."""
        in_title = _CHECK.search(self.title)
        if in_title is None and "(check:" in self.title.lower():
            raise PlanError(self.line, "its check cannot be parsed: write (check: `command`), one command in backticks")
        below = (match for match in self.fields if match["command"] or match["bare"])
        match = in_title or next(below, None) or _VERIFY_COMMAND.search(self.title)
        groups = match.groupdict() if match else {}
        return (groups.get("command") or groups.get("bare") or "").strip()

    @property
    def needs(self) -> list[str]:
        """Ids of its prerequisites."""
        ids = ",".join(match["ids"] for match in (*_NEEDS.finditer(self.title), *self.fields) if match["ids"])
        return list(dict.fromkeys(name.strip().strip(".") for name in ids.split(",") if name))


def read(text: str) -> Plan:
    boxes = _boxes(text)
    for box in boxes:
        if box.below and not all(inner.done for inner in box.below) and (box.check or box.needs):
            raise PlanError(box.line, "an item with sub-items cannot have a check or needs: write them on each sub-item")
    items = [box for box in boxes if not box.below]
    # Items with equal titles include what they are below in their id: `Write tests` often occurs once for each part.
    alike = Counter(box.bare for box in items if not box.id)
    for box in items:
        where = box.above[0].bare if box.above else box.heading
        if not box.id and alike[box.bare] > 1 and where:
            box.id = f"{slug(where)[:ABOVE].strip('-')}-{slug(box.bare)}"
    require_few_items([box.line for box in items])
    return Plan(kind="markdown", items=tuple(map(_item, items)))


def tick(text: str, place: int) -> str:
    """Return the text with the item at that place ticked, and each group above that becomes done."""
    lines, item = text.split("\n"), [box for box in _boxes(text) if not box.below][place]
    for box in (item, *item.above):
        if all(inner.done for inner in box.below) and not box.done:
            line, box.done = lines[box.line - 1], True
            lines[box.line - 1] = f"{line[: box.column]}x{line[box.column + 1 :]}"
    return "\n".join(lines)


def _boxes(text: str) -> list[_Box]:
    """Return every checkbox outside of code and comments, nested."""
    boxes: list[_Box] = []
    ranks: list[tuple[int, int]] = [(0, LAST_RANK)]  # level and rank of the headings above
    heading_above = ""
    for number, line in _visible_lines(text):
        if box := _BOX.fullmatch(line):
            title = (box["rest"] or "").strip()
            id_match = _ID.match(f"{_remove(title, _MARKER)} ")
            boxes.append(_Box(
                number, box.start("mark"), len(box["lead"].expandtabs(TAB)), box["mark"] in "xX", title,
                _rank_of(title, ranks[-1][1]), heading_above, id_match["id"] if id_match else "",
            ))  # fmt: skip
        elif almost := _ALMOST.match(line):
            raise PlanError(number, f"expected a checkbox such as `- [ ] what` or `- [x] what`, found {display(almost['box'])}")
        elif heading := _HEADING.fullmatch(line):
            ranks = [rank for rank in ranks if rank[0] < len(heading[1])]
            ranks.append((len(heading[1]), _rank_of(heading[2], ranks[-1][1])))
            heading_above = heading[2]
        elif boxes and len(plain := line.expandtabs(TAB)) - len(plain.lstrip()) > boxes[-1].depth:  # it belongs to the box above
            note = re.sub(r"^[-*+]\s+", "", line.strip())
            if parsed := _FIELD.fullmatch(note):
                boxes[-1].fields.append(parsed)
            else:
                boxes[-1].notes.append(note)
    _nest(boxes)
    return boxes


def _visible_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield numbered lines outside of code and comments. Raises PlanError for an unclosed one."""
    for hidden in _HIDDEN.finditer(text):
        if not (hidden["end"] or hidden["end_of_comment"]):
            start = text.count("\n", 0, hidden.start()) + 1
            raise PlanError(start, "the code block or comment that begins here is never closed")
    visible = _HIDDEN.sub(lambda hidden: "\n" * hidden[0].count("\n"), text)
    yield from ((number, line.rstrip()) for number, line in enumerate(visible.split("\n"), 1) if line.strip())


def _nest(boxes: list[_Box]) -> None:
    """Nest boxes by indentation or number. A number that several items begin with is not an id."""
    often = Counter(box.id for box in boxes)
    by_id: dict[str, _Box] = {}
    way: list[_Box] = []
    for box in boxes:
        box.id = "" if often[box.id] > 1 and not _SURE_ID.fullmatch(box.id) else box.id
        while way and way[-1].depth >= box.depth:
            way.pop()
        above = way[-1] if way else by_id.get(box.id.rpartition(".")[0]) if "." in box.id else None
        if above:
            above.below.append(box)
            box.above = [above, *above.above]
        way.append(box)
        if box.id:
            by_id.setdefault(box.id, box)


def _item(box: _Box) -> PlanItem:
    box_and_groups = [box, *box.above]
    markers = {marker["name"] for group in box_and_groups for marker in _MARKER.finditer(group.title)}
    values = {
        "id": box.id,
        "title": box.bare,
        "details": "\n".join((*(f"Part of: {group.bare}" for group in box_and_groups[:0:-1]), *box.notes)),
        "acceptance": [match["acceptance"] for match in box.fields if match["acceptance"]],
        "priority": min(group.rank for group in box_and_groups),
        "needs": box.needs,
        "parallel": "P" in markers,
        "verify": "VERIFY" in markers,
        "check": box.check,
        "done": box.done,
    }
    return item_of(Item, values, box.line)


def _remove(text: str, *patterns: re.Pattern[str]) -> str:
    for pattern in patterns:
        text = pattern.sub("", text)
    return " ".join(text.split())


def _rank_of(text: str, above: int) -> int:
    """Return the rank in a text, else the rank of what is above."""
    match = _RANK.search(text) or _RANK_IN_WORDS.search(text)
    if match is None:
        return above
    return int(match[1]) if match[1] else RANKS[match[2].lower()]
