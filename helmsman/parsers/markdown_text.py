"""Markdown: its blocks with their lines, what in it is code, and what a forge shows of it.

Where such a text hides something is settled by a parser: patterns take the `<!--` of a code span for a comment, or the comment
behind an escaped backtick for code. Where in doubt, the text is cut.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MOST_PARSED = 32_000  # characters; of hostile ones these take two seconds, and twice as many four times as long
DEEPEST = 100
"""Quotations and lists in each other. What is deeper is not parsed, and cut where it may hide something."""
_HIDDEN = re.compile(r"<!--.*?-->|<\?.*?>|<![A-Za-z\[].*?>", re.DOTALL)  # what a browser takes for a comment
_OPENED = re.compile(r"<[!?]")
_LEAVES = frozenset({"inline", "html_block", "fence", "code_block", "hr", "definition"})
_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Categories of characters that nobody sees; some hide whole sentences from whoever sets a label."""
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Other characters that show nothing: what else has Unicode's property Default_Ignorable_Code_Point, and Braille's blank."""
_FENCE = re.compile(r"`{3,}(?=[^`]*$)|~{3,}")
_FENCES = re.compile("```|~~~")
_UPPER_HEADING = re.compile(r"#{1,2}[ \t]+\S.*")
_TAB, _DEEPEST_FENCE = 4, 3  # columns of a tab, and columns that a fence is set in at most

# --- blocks ---------------------------------------------------------------------------------------------------------


Kind = Literal["heading", "item", "text", "fence", "comment", "HTML"]


@dataclass(frozen=True)
class Block:
    """A part of a document, with the lines that it takes."""

    kind: Kind
    line: int  # where it begins, counted from 1
    end: int  # its last line
    text: str  # without marks: a heading's title, the first paragraph of an item, a fence's content
    depth: int = 0  # items that hold it, an item itself included
    level: int = 0  # of a heading
    closed: bool = True  # whether a fence or a comment comes to its end


@cache
def _block_parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # late: it takes a tenth of a second

    parser = MarkdownIt("zero", {"html": True, "maxNesting": DEEPEST})
    return parser.enable(["heading", "list", "fence", "hr", "html_block"]).disable(["inline", "text_join"])


def unix_lines(text: str) -> str:
    r"""The text with one way to end a line, so that a block's line is the same one in `text.split("\n")`."""
    return text.replace("\r\n", "\n").replace("\r", " ")


def blocks(text: str) -> list[Block]:
    """Headings, items, fences, comments and paragraphs, in their order. Indentation alone makes no code here."""
    text = unix_lines(text)
    lines, found, depth, level = text.split("\n"), list[Block](), 0, 0
    for token in _block_parser().parse(text):
        first, last = token.map or (0, 0)
        if token.type == "list_item_open":
            depth += 1
            found.append(Block("item", first + 1, first + 1, "", depth))
        elif token.type == "list_item_close":
            depth -= 1
        elif token.type == "heading_open":
            level = int(token.tag[1:])
        elif token.type == "inline" and found and found[-1] == Block("item", found[-1].line, found[-1].line, "", depth):
            found[-1], level = replace(found[-1], end=last, text=token.content), 0
        elif token.type == "inline":
            found.append(Block("heading" if level else "text", first + 1, last, token.content, depth, level))
            level = 0
        elif token.type == "fence":
            end = lines[last - 1].strip()
            closed = last > first + 1 and end.startswith(token.markup) and set(end) == {token.markup[0]}
            found.append(Block("fence", first + 1, last, token.content, depth, closed=closed))
        elif token.type == "html_block":
            comment = token.content.lstrip().startswith("<!--")
            closed = not comment or "-->" in token.content
            found.append(Block("comment" if comment else "HTML", first + 1, last, token.content, depth, closed=closed))
    return found


# --- code, line by line ---------------------------------------------------------------------------------------------


class CodeBlocks:
    """Is told the lines of a text in their order, and knows which of them belong to a block of code."""

    def __init__(self) -> None:
        """No block is open."""
        self._fence = ""

    @property
    def open(self) -> bool:
        """Whether the line after those told so far is in a block."""
        return bool(self._fence)

    def holds(self, line: str) -> bool:
        """Whether the next line belongs to a block; the fences around it do."""
        plain = line.expandtabs(_TAB)
        bare = plain.lstrip(" ")
        found = _FENCE.match(bare)
        inside, fence = self.open, found[0] if found and len(plain) - len(bare) <= _DEEPEST_FENCE else ""
        if fence and not inside:
            self._fence = fence
        elif inside and fence.startswith(self._fence) and not line.strip(" \t\r`~"):
            self._fence = ""
        return inside or bool(fence)


def upper_headings(lines: Iterable[str]) -> list[int]:
    """Which lines are headings of the first two levels; a line of a block of code is none."""
    code = CodeBlocks()
    return [at for at, line in enumerate(lines) if not code.holds(line) and _UPPER_HEADING.fullmatch(line.rstrip())]


def outside_code(text: str) -> str:
    """A text without its blocks of code."""
    if not _FENCES.search(text):  # a million short lines without any take long one by one
        return text
    code = CodeBlocks()
    return "\n".join(line for line in text.splitlines() if not code.holds(line))


# --- what a forge shows ---------------------------------------------------------------------------------------------


def visible(text: str) -> str:
    """The text without characters that show nothing."""
    kept = (one for one in _BLANK.sub("", text) if one in "\n\t" or unicodedata.category(one) not in _UNSEEN)
    return "".join(kept)


def rendered(text: str) -> str:
    """The Markdown of what is shown. From where a comment is never closed, nothing is."""
    whole = re.sub(r"\r\n?", "\n", text)
    if len(whole) > MOST_PARSED:  # cut, and without what may be a comment whose end is gone
        cut = whole[:MOST_PARSED]
        *_, last = [0, *(found.start() for found in _OPENED.finditer(cut))]
        whole = cut[:last] if last else cut
    return visible(_without_hidden(whole)).strip()


def _without_hidden(text: str) -> str:
    from markdown_it import MarkdownIt

    def joined(lines: list[str | None]) -> str:
        return "\n".join(line for line in lines if line is not None)

    lines: list[str | None] = [*text.split("\n")]
    parser = MarkdownIt("commonmark", {"inline_definitions": True, "maxNesting": DEEPEST}).enable("table")
    (first, last), read = (0, 0), set[int]()
    for token in parser.parse(text):
        first, last = token.map or (first, last)  # a table's cells have none of their own
        if token.type not in _LEAVES:
            continue
        read.update(range(first, last))
        kept, is_open = _shown(token, joined(lines[first:last]), text)
        lines[first:last] = [kept, *[None] * (last - first - 1)]
        if is_open:
            return joined(lines[:last])
    unread = (at for at, line in enumerate(lines) if at not in read and line and _OPENED.search(line))
    return joined(lines[: next(unread, len(lines))])


def _shown(token: "Token", source: str, text: str) -> tuple[str, bool]:
    """What is shown of a block, and whether a comment that begins there hides all the rest."""
    if token.type == "definition":  # of a link: where it leads to, if there is such a link
        label = str(token.meta["label"])
        used = text.casefold().count(f"[{label}]".casefold()) > 1
        return f"[{label}]: {token.meta['url']}" if used else "", False
    if token.type == "html_block":
        before, *opened = _OPENED.split(_HIDDEN.sub("", source), maxsplit=1)
        return before, bool(opened)
    for part in token.children or ():
        if part.type == "html_inline" and _OPENED.match(part.content):
            source = source.replace(part.content, "", 1) if part.content in source else _HIDDEN.sub("", source)
    return source, False
