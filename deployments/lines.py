"""Lines as a person reads them in a terminal: moments in their own time zone, and each kind of line in its colour."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from rich.console import Console
from rich.text import Text

STYLES = {
    "#": "bold", "check      ✔": "green", "check      ✘": "red", "→": "cyan", "warn": "yellow", "limit": "yellow", "abort": "red"
}  # fmt: skip
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d)(:\d\d)? UTC")


def in_local_time(text: str) -> str:
    """The text with its moments as the clock on this machine's wall shows them, each with its time zone."""

    def local(found: re.Match[str]) -> str:
        moment = datetime.strptime(found[1], "%Y-%m-%d %H:%M").replace(tzinfo=UTC).astimezone()
        return f"{moment:%Y-%m-%d %H:%M}{found[2] or ''} {moment:%Z}"

    return _MOMENT.sub(local, text)


def show_on(console: Console, lines: Iterable[str], before: str = "") -> None:
    """Print to a console, without markup. `before`: what each line begins with, its loop for one."""
    for line in lines:
        style = next((style for start, style in STYLES.items() if line.lstrip().startswith(start)), "")
        console.print(Text(in_local_time(f"{before}{line}"), style=style), soft_wrap=True)
