"""Lines as a person reads them in a terminal: moments in their own time zone, and long lines hung under their beginning."""

import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from rich.console import Console
from rich.text import Text

LEAST_WIDTH = 40
LABEL = 11
MOST_INDENT = 24
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d)(:\d\d)? UTC")
_WHOLE = re.compile(r"\s*(?:(?:next|look|later|state|worktree|report|salvaged|settings)\s|helmsman |git )")
"""What somebody may copy stays in one piece; the terminal breaks it where it has to."""
_BEGINNING = re.compile(r" *(?:→ |#\d+ +|\S+(?: \S+)? {2,})?")


def in_local_time(text: str) -> str:
    """The text with its moments as the clock on this machine's wall shows them, each with its time zone."""
    return _MOMENT.sub(_local, text)


def as_wide_as_the_screen(lines: Iterable[str]) -> Iterator[str]:
    """Lines for standard output, in pieces where that is a terminal."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    for line in lines:
        yield from laid_out(line, width)


def show_on(console: Console, lines: Iterable[str], before: str = "") -> None:
    """Print to a console, as it stands there and without markup. `before`: what each line begins with, its loop for one."""
    for line in lines:
        for piece in laid_out(f"{before}{line}", console.width if console.is_terminal else 0):
            console.print(Text(piece, style=style_of(line)), soft_wrap=True)


def laid_out(line: str, width: int = 0) -> Iterator[str]:
    """A line in pieces that fit the width; 0: in one."""
    text = in_local_time(line)
    if len(text) <= max(width, LEAST_WIDTH) or not width or _WHOLE.match(text):
        yield text
        return
    yield from textwrap.wrap(
        text, max(width, LEAST_WIDTH), subsequent_indent=" " * _indent(text), break_long_words=False, break_on_hyphens=False
    )


def _indent(text: str) -> int:
    begun = _BEGINNING.match(text)
    indent = begun.end() if begun else 0
    if not indent and text[LABEL - 1 : LABEL] == " ":  # a label of ten characters
        return LABEL
    return min(indent, MOST_INDENT)


def _local(found: re.Match[str]) -> str:
    moment = datetime.strptime(found[1], "%Y-%m-%d %H:%M").replace(tzinfo=UTC).astimezone()
    return f"{moment:%Y-%m-%d %H:%M}{found[2] or ''} {moment:%Z}"


def style_of(line: str) -> str:
    """How a line stands out."""
    text = line.strip()
    styles = (
        ("#", "bold"),
        ("check      ✔", "green"),
        ("check      ✘", "red"),
        ("→", "cyan"),
        ("warn", "yellow"),
        ("limit", "yellow"),
        ("abort", "red"),
    )
    return next((style for start, style in styles if text.startswith(start)), "")
