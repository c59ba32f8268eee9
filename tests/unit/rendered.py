"""Markdown as a reader of tables understands it: what the pages of a loop come to."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

JOINER = "\u2060"
ALLOWED = {"text", "text_special", "code_inline", "strong_open", "strong_close", "softbreak", "hardbreak"}
"""What may stand within a line of ours, besides line breaks and charts."""


@dataclass
class Reading:
    """What a page is made of."""

    headings: list[str] = field(default_factory=list[str])
    tables: list[list[list[str]]] = field(default_factory=list[list[list[str]]])
    """Of each table the rows, the head first, of each row the cells as they are read."""
    fences: list[str] = field(default_factory=list[str])
    paragraphs: list[str] = field(default_factory=list[str])
    strangers: list[str] = field(default_factory=list[str])
    """HTML, links, images and other markup that Helmsman does not write."""


def read(page: str) -> Reading:
    """A page, read by the rules of CommonMark with tables."""
    found = Reading()
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(page)
    for before, token in pairwise([Token("start", "", 0), *tokens]):
        match token.type:
            case "inline":
                _put(found, before.type, "".join(_words(token)))
                found.strangers += [one.content or one.type for one in token.children or () if not _ours(one)]
            case "table_open":
                found.tables.append([])
            case "tr_open":
                found.tables[-1].append([])
            case "fence" | "code_block":
                found.fences.append(token.content)
            case "html_block" | "hr" | "blockquote_open":
                found.strangers.append(token.type)
            case _:
                pass
    return found


def _put(found: Reading, around: str, words: str) -> None:
    match around:
        case "th_open" | "td_open":
            found.tables[-1][-1].append(words)
        case "heading_open":
            found.headings.append(words)
        case _:
            found.paragraphs.append(words)


def _words(inline: Token) -> Iterator[str]:
    for token in inline.children or ():
        yield "\n" if token.type in {"html_inline", "softbreak", "hardbreak"} else token.content.replace(JOINER, "")


def _ours(token: Token) -> bool:
    if token.type == "image":
        return str(token.attrs.get("src", "")).startswith("data:image/svg+xml;base64,")
    return token.type in ALLOWED or (token.type == "html_inline" and token.content == "<br>")


def outside_of_fences(text: str) -> list[str]:
    """The lines that no fence encloses. Raises ValueError when a fence is never closed."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        run = re.fullmatch(r"(`{3,})([^`]*)", line)
        if fence:
            closes = run and len(run[1]) >= len(fence) and not run[2].strip()
            fence = "" if closes else fence
        elif run:
            fence = run[1]
        else:
            lines.append(line)
    if fence:
        raise ValueError(fence)
    return lines
