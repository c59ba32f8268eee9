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
STYLES = {
    "#": "bold", "check      ✔": "green", "check      ✘": "red", "→": "cyan", "warn": "yellow", "limit": "yellow", "abort": "red"
}  # fmt: skip
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d)(:\d\d)? UTC")
_WHOLE = re.compile(r"\s*(?:(?:next|look|later|state|worktree|report|salvaged|settings)\s|helmsman |git )")
"""What somebody may copy stays in one piece; the terminal breaks it where it has to."""
_BEGINNING = re.compile(r" *(?:→ |#\d+ +|\S+(?: \S+)? {2,})?")


def in_local_time(text: str) -> str:
    """The text with its moments as the clock on this machine's wall shows them, each with its time zone."""

    def local(found: re.Match[str]) -> str:
        moment = datetime.strptime(found[1], "%Y-%m-%d %H:%M").replace(tzinfo=UTC).astimezone()
        return f"{moment:%Y-%m-%d %H:%M}{found[2] or ''} {moment:%Z}"

    return _MOMENT.sub(local, text)


def as_wide_as_the_screen(lines: Iterable[str]) -> Iterator[str]:
    """Lines for standard output, in pieces where that is a terminal."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    for line in lines:
        yield from laid_out(line, width)


def show_on(console: Console, lines: Iterable[str], before: str = "") -> None:
    """Print to a console, as it stands there and without markup. `before`: what each line begins with, its loop for one."""
    for line in lines:
        style = next((style for start, style in STYLES.items() if line.lstrip().startswith(start)), "")
        for piece in laid_out(f"{before}{line}", console.width if console.is_terminal else 0):
            console.print(Text(piece, style=style), soft_wrap=True)


def laid_out(line: str, width: int = 0) -> Iterator[str]:
    """A line in pieces that fit the width; 0: in one."""
    text, width = in_local_time(line), max(width, LEAST_WIDTH) if width else 0
    if len(text) <= width or not width or _WHOLE.match(text):
        yield text
        return
    begun = _BEGINNING.match(text)
    hung = min(begun.end(), MOST_INDENT) if begun else 0
    hung = hung or LABEL * (text[LABEL - 1 : LABEL] == " ")  # a label of ten characters
    yield from textwrap.wrap(text, width, subsequent_indent=" " * hung, break_long_words=False, break_on_hyphens=False)
