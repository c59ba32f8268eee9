"""Markdown for the engine's pages and for issues.

Foreign text in rows, sentences and fences ends none of them and becomes no HTML, link, image or heading.

Two UIs read the result, and they do not agree: one knows no entity by number, one makes links of addresses behind backslashes.
Both are met with what means the same to every reader: a backslash before a bar, and a joiner inside of addresses.
"""

import re
import textwrap
from collections.abc import Iterable, Sequence

from helmsman.plain import LONGEST_LINE, clean, short_line, shortened

BREAK = "<br>"
LONGEST_OUTPUT = 4000
LONGEST_OUTPUT_LINE = 400

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKS = "\\`*_[]()~#$!|"
_ADDRESS = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?<=@)(?=.)", re.IGNORECASE)
_JOINER = "\u2060"  # shows nothing and joins words: an address with it inside is no address
_CODE = re.compile(r"\\.|(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
"""A backtick behind a backslash begins none."""
_BEGINS_A_LIST = re.compile(r"^(\d*)([-+=.)])")


def prose(text: str, most: int = LONGEST_LINE) -> str:
    """Foreign text within a sentence or a row, as it is read."""
    known = _ENTITIES | {mark: f"\\{mark}" for mark in _MARKS}
    escaped = "".join(known.get(character, character) for character in short_line(text, most))
    return _BEGINS_A_LIST.sub(r"\1\\\2", _ADDRESS.sub(_JOINER, escaped))


def code(text: str, most: int = LONGEST_LINE) -> str:
    """Foreign text as code. With a bar or a break in it, as prose: no two readers agree on a bar within code within a row."""
    line = short_line(text, most)
    if "|" in line or BREAK in line:
        return prose(line, most)
    ticks = "`" * (1 + _longest_run(line))
    room = " " if "`" in line else ""
    return f"{ticks}{room}{line}{room}{ticks}" if line else ""


def fence(text: str, most: int = LONGEST_OUTPUT) -> str:
    """Foreign text of several lines. Where it is longer, its end: there the outcome stands."""
    body = "\n".join(shortened(clean(line).rstrip(), LONGEST_OUTPUT_LINE) for line in text.expandtabs(4).splitlines()).strip("\n")
    if len(body) > most:
        body = f"[… {len(body) - most:,} characters are left out …]\n{body[-most:]}"
    ticks = "`" * max(3, 1 + _longest_run(body))
    return f"{ticks}\n{body}\n{ticks}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], widths: Sequence[int] = ()) -> str:
    """Rows of cells that `prose` or `code` made, or that are our own words. Empty where there is no row.

    `widths`: characters of each column, for the reader that breaks no line by itself.
    """
    broken = [[wrapped(cell, width) for cell, width in zip(row, widths, strict=True)] if widths else row for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *broken)) if broken else ""


def wrapped(markdown: str, width: int) -> str:
    """A cell in lines of about so many characters. It is broken between words, and never within code."""
    joined = _CODE.sub(lambda found: found[0].replace(" ", "\0"), markdown)
    parts = (textwrap.wrap(part, width, break_long_words=False, break_on_hyphens=False) or [""] for part in joined.split(BREAK))
    return BREAK.join(line for lines in parts for line in lines).replace("\0", " ")


def cell(text: str, most: int = LONGEST_LINE) -> str:
    """A plain text with all its lines, as a cell holds it. What stands between backticks is code."""
    return BREAK.join(_with_code(short_line(line, most)) for line in text.split("\n") if line.strip())


def _with_code(line: str) -> str:
    """Blanks around a text stay; two pieces of code never touch, since their marks would become one."""
    pieces, made = by_backticks(line), ""
    for at, piece in enumerate(pieces):
        words = prose(piece)
        spaced = f"{' ' * piece.startswith(' ')}{words}{' ' * piece.endswith(' ')}" if words else " " * bool(piece)
        made += code(piece) if at % 2 else spaced or " " * (0 < at < len(pieces) - 1)
    return made


def by_backticks(text: str) -> list[str]:
    """Every second piece is code; a backtick without another one is itself."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        pieces[-2:] = ["`".join(pieces[-2:])]
    return pieces


def facts_table(
    facts: Iterable[tuple[str, str]], head: tuple[str, str] = ("", ""), widths: tuple[int, int] = (12, 80), most: int = 600
) -> str:
    """Names and what there is to tell of each; a name that stands above already is left out."""
    rows, before = list[tuple[str, str]](), ""
    for name, text in facts:
        rows.append((f"**{name}**" if name and name != before else "", cell(text, most)))
        before = name
    return table(head, rows, widths)


def stacked(parts: Iterable[str]) -> str:
    """Paragraphs, tables and fences, one below the other; empty ones are left out."""
    return "\n\n".join(part for part in parts if part) + "\n"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)
