"""Markdown for the engine's pages and for issues.

Untrusted text in rows, sentences and fences cannot end them, and becomes no HTML, link, image or heading.

Two UIs render the result, and they differ: one knows no numeric entities, one makes links of addresses behind backslashes.
The output uses what both render alike: a backslash before a bar, and a word joiner inside of addresses.
"""

import re
import textwrap
from collections.abc import Iterable, Sequence

from helmsman.plain import LONGEST_LINE, clean, short_line, shorten

BREAK = "<br>"
LONGEST_OUTPUT = 4000
LONGEST_OUTPUT_LINE = 400

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKS = "\\`*_[]()~#$!|"
_ADDRESS = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?<=@)(?=.)", re.IGNORECASE)
_JOINER = "\u2060"  # invisible word joiner: an address that contains it is not a link
_CODE = re.compile(r"\\.|(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
"""A backtick after a backslash does not start code."""
_BEGINS_A_LIST = re.compile(r"^(\d*)([-+=.)])")


def prose(text: str, most: int = LONGEST_LINE) -> str:
    """Escape untrusted text for a sentence or a row."""
    escapes = _ENTITIES | {mark: f"\\{mark}" for mark in _MARKS}
    escaped = "".join(escapes.get(character, character) for character in short_line(text, most))
    return _BEGINS_A_LIST.sub(r"\1\\\2", _ADDRESS.sub(_JOINER, escaped))


def code(text: str, most: int = LONGEST_LINE) -> str:
    """Format untrusted text as code; as prose if it has a bar or a break, since readers differ on bars in code in a row."""
    line = short_line(text, most)
    if "|" in line or BREAK in line:
        return prose(line, most)
    ticks = "`" * (1 + _longest_run(line))
    room = " " if "`" in line else ""
    return f"{ticks}{room}{line}{room}{ticks}" if line else ""


def fence(text: str, most: int = LONGEST_OUTPUT) -> str:
    """Fence untrusted text of several lines; only the end of a long one, which has the outcome."""
    body = "\n".join(shorten(clean(line).rstrip(), LONGEST_OUTPUT_LINE) for line in text.expandtabs(4).splitlines()).strip("\n")
    if len(body) > most:
        body = f"[… {len(body) - most:,} characters omitted …]\n{body[-most:]}"
    ticks = "`" * max(3, 1 + _longest_run(body))
    return f"{ticks}\n{body}\n{ticks}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], widths: Sequence[int] = ()) -> str:
    """Table of cells made by `prose` or `code`, or of trusted text. Empty if there is no row.

    `widths`: characters of each column, for the reader that does not wrap lines.
    """
    broken = [[wrap_cell(cell, width) for cell, width in zip(row, widths, strict=True)] if widths else row for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *broken)) if broken else ""


def wrap_cell(markdown: str, width: int) -> str:
    """Wrap a cell to about this width, between words and never within code."""
    joined = _CODE.sub(lambda match: match[0].replace(" ", "\0"), markdown)
    parts = (textwrap.wrap(part, width, break_long_words=False, break_on_hyphens=False) or [""] for part in joined.split(BREAK))
    return BREAK.join(line for lines in parts for line in lines).replace("\0", " ")


def cell(text: str, most: int = LONGEST_LINE) -> str:
    """Format plain text of several lines as a cell. Text between backticks is code."""
    return BREAK.join(_with_code(short_line(line, most)) for line in text.split("\n") if line.strip())


def _with_code(line: str) -> str:
    """Keep spaces around a text; separate two pieces of code, since their backticks would merge."""
    pieces, result = by_backticks(line), ""
    for at, piece in enumerate(pieces):
        escaped = prose(piece)
        spaced = f"{' ' * piece.startswith(' ')}{escaped}{' ' * piece.endswith(' ')}" if escaped else " " * bool(piece)
        result += code(piece) if at % 2 else spaced or " " * (0 < at < len(pieces) - 1)
    return result


def by_backticks(text: str) -> list[str]:
    """Split a text so that every second piece is code; an unpaired backtick stays literal."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        pieces[-2:] = ["`".join(pieces[-2:])]
    return pieces


def facts_table(
    facts: Iterable[tuple[str, str]], head: tuple[str, str] = ("", ""), widths: tuple[int, int] = (12, 80), most: int = 600
) -> str:
    """Table of names and values; a repeated name is omitted."""
    rows, previous = list[tuple[str, str]](), ""
    for name, text in facts:
        rows.append((f"**{name}**" if name and name != previous else "", cell(text, most)))
        previous = name
    return table(head, rows, widths)


def join_blocks(parts: Iterable[str]) -> str:
    """Join paragraphs, tables and fences; empty ones are omitted."""
    return "\n\n".join(part for part in parts if part) + "\n"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)
