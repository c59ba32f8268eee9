"""Markdown parsing: blocks with their lines, code blocks, and the text as a forge renders it.

A parser decides which parts are hidden: patterns would take the `<!--` of a code span for a comment, or a comment after an
escaped backtick for code. In case of doubt the text is cut.
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

MOST_PARSED = 32_000  # characters; hostile ones take two seconds, and twice as many four times as long
DEEPEST = 100
"""Maximum nesting of quotations and lists. Deeper ones are not parsed, and cut if they may hide something."""
_HIDDEN = re.compile(r"<!--.*?-->|<\?.*?>|<![A-Za-z\[].*?>", re.DOTALL)  # comments in browsers
_OPENED = re.compile(r"<[!?]")
_LEAVES = frozenset({"inline", "html_block", "fence", "code_block", "hr", "definition"})
_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Categories of invisible characters; some can hide whole sentences from the person who sets a label."""
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Other invisible characters: the rest of Unicode's Default_Ignorable_Code_Point, and Braille's blank."""
_UPPER_HEADING = re.compile(r"#{1,2}[ \t]+\S.*")

# --- blocks ---------------------------------------------------------------------------------------------------------


Kind = Literal["heading", "item", "text", "fence", "comment", "HTML"]


@dataclass(frozen=True)
class Block:
    """A block of a document, with its lines."""

    kind: Kind
    line: int  # its first line, counted from 1
    end: int  # its last line
    text: str  # without marks: a heading's title, the first paragraph of an item, a fence's content
    depth: int = 0  # number of enclosing items, including an item itself
    level: int = 0  # of a heading
    closed: bool = True  # whether a fence or comment is closed


@cache
def _block_parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # lazy: the import takes a tenth of a second

    parser = MarkdownIt("zero", {"html": True, "maxNesting": DEEPEST})
    return parser.enable(["heading", "list", "fence", "hr", "html_block"]).disable(["inline", "text_join"])


def unix_lines(text: str) -> str:
    r"""Normalize line endings, so that a block's line number matches `text.split("\n")`."""
    return text.replace("\r\n", "\n").replace("\r", " ")


def blocks(text: str) -> list[Block]:
    """Return headings, items, fences, comments and paragraphs in order. Indentation alone does not make code here."""
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


# --- code ----------------------------------------------------------------------------------------------------------


def code_pattern(indent: str) -> str:
    """Return a pattern for the rest of a code block from its fence on; its group `end` is empty if the block is not closed."""
    return rf"(?P<fence>`{{3,}}(?=[^`\n]*$)|~{{3,}}).*?(?P<end>^{indent}(?P=fence)[`~]*[ \t\r]*$|\Z)"


_CODE = re.compile(f"^ {{0,3}}{code_pattern(' {0,3}')}", re.MULTILINE | re.DOTALL)


def without_code(text: str) -> str:
    """Return a text with empty lines instead of its code blocks."""
    return _CODE.sub(lambda block: "\n" * block[0].count("\n"), text)


def upper_headings(lines: Iterable[str]) -> list[int]:
    """Return the indexes of headings of the first two levels outside of code blocks."""
    visible_lines = without_code("\n".join(lines)).split("\n")
    return [at for at, line in enumerate(visible_lines) if _UPPER_HEADING.fullmatch(line.rstrip())]


# --- rendering by forges --------------------------------------------------------------------------------------------


def visible(text: str) -> str:
    """Return the text without invisible characters."""
    letters = _BLANK.sub("", text)
    return "".join(letter for letter in letters if letter in "\n\t" or unicodedata.category(letter) not in _INVISIBLE)


def rendered(text: str) -> str:
    """Return the Markdown of the visible parts, up to an unclosed comment."""
    kept = re.sub(r"\r\n?", "\n", text)
    if len(kept) > MOST_PARSED:  # truncate, dropping a comment that may have lost its end
        cut = kept[:MOST_PARSED]
        *_, last = [0, *(opened.start() for opened in _OPENED.finditer(cut))]
        kept = cut[:last] if last else cut
    return visible(_remove_hidden(kept)).strip()


def _remove_hidden(text: str) -> str:
    from markdown_it import MarkdownIt

    def join(lines: list[str | None]) -> str:
        return "\n".join(line for line in lines if line is not None)

    lines: list[str | None] = [*text.split("\n")]
    parser = MarkdownIt("commonmark", {"inline_definitions": True, "maxNesting": DEEPEST}).enable("table")
    (first, last), parsed = (0, 0), set[int]()
    for token in parser.parse(text):
        first, last = token.map or (first, last)  # table cells have no lines of their own
        if token.type not in _LEAVES:
            continue
        parsed.update(range(first, last))
        visible_part, is_open = _visible_part(token, join(lines[first:last]), text)
        lines[first:last] = [visible_part, *[None] * (last - first - 1)]
        if is_open:
            return join(lines[:last])
    unparsed = (at for at, line in enumerate(lines) if at not in parsed and line and _OPENED.search(line))
    return join(lines[: next(unparsed, len(lines))])


def _visible_part(token: "Token", source: str, text: str) -> tuple[str, bool]:
    """Return the visible part of a block, and whether a comment that begins there hides everything after it."""
    if token.type == "definition":  # of a link: keep its target, if the link is used
        label = str(token.meta["label"])
        is_used = text.casefold().count(f"[{label}]".casefold()) > 1
        return f"[{label}]: {token.meta['url']}" if is_used else "", False
    if token.type == "html_block":
        before, *opened = _OPENED.split(_HIDDEN.sub("", source), maxsplit=1)
        return before, bool(opened)
    for part in token.children or ():
        if part.type == "html_inline" and _OPENED.match(part.content):
            source = source.replace(part.content, "", 1) if part.content in source else _HIDDEN.sub("", source)
    return source, False
