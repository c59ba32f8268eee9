"""Terminal output: times in the local time zone, and colours by kind of line."""

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
    """Convert UTC times in a text to local time with the zone name."""

    def local(match: re.Match[str]) -> str:
        moment = datetime.strptime(match[1], "%Y-%m-%d %H:%M").replace(tzinfo=UTC).astimezone()
        return f"{moment:%Y-%m-%d %H:%M}{match[2] or ''} {moment:%Z}"

    return _MOMENT.sub(local, text)


def show_on(console: Console, lines: Iterable[str], before: str = "") -> None:
    """Print lines without markup. `before`: prefix of each line, such as its loop."""
    for line in lines:
        style = next((style for start, style in STYLES.items() if line.lstrip().startswith(start)), "")
        console.print(Text(in_local_time(f"{before}{line}"), style=style), soft_wrap=True)
