"""Output of a command: its result on standard output, coloured lines, and atomically written files."""

import errno
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helmsman.errors import OperatorError, TransientError
from helmsman.plain import clean, clean_lines
from tasks.system.files import draft_file

if TYPE_CHECKING:
    from rich.console import Console

LABEL = 11  # columns of a label, as in `status`
STYLES = {
    "#": "bold", "check      ✔": "green", "check      ✘": "red", "→": "cyan", "warn": "yellow", "limit": "yellow", "abort": "red"
}  # fmt: skip
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d)(:\d\d)? UTC")


def print_result(plain: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print one JSON value for scripts, or lines for people."""
    if as_json:
        lines = [plain.model_dump_json() if hasattr(plain, "model_dump_json") else json.dumps(plain)]
    write_stdout("".join(f"{line}\n" for line in lines))


def write_stdout(text: str) -> None:
    """Write to standard output as UTF-8. A closed pipe is not an error."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python flushes the rest again at exit
        if not isinstance(error, BrokenPipeError):
            raise TransientError("the output cannot be written", found=str(error), remedy="free space where it goes") from error


def fields(rows: Iterable[tuple[str, str | Sequence[str]]], width: int = LABEL) -> Iterator[str]:
    """Lines of labels and values, which may have several lines. Empty values are omitted."""
    for label, value in rows:
        lines = clean_lines(value).splitlines() if isinstance(value, str) else value
        for position, line in enumerate(line for line in lines if line.strip()):
            yield f"{'' if position else label:<{width}}{clean(line)}"


def write_file(path: Path, text: str, what: str, remedy: str, *, force: bool = True, mode: int | None = None) -> None:
    """Write a file atomically. Raises OperatorError and leaves the file unchanged if that fails.

    Without `force` an existing file is not replaced. A link is replaced, not followed.
    """
    try:
        if path.exists() and not path.is_file():
            raise IsADirectoryError(errno.EISDIR, "it is not a file")
        is_taken = not force and os.path.lexists(path)
        if not is_taken:
            with draft_file(path, text, mode=mode) as draft:
                draft.replace(path)
    except OSError as error:
        expected, found = "a file in an existing, writable folder", f"{path}: {error.strerror}"
        raise OperatorError(f"{what} cannot be written", expected=expected, found=found, remedy=remedy) from error
    if is_taken:
        advice = "choose another file, or overwrite it with --force"
        raise OperatorError(f"{what} already exists and was not overwritten", found=str(path), remedy=advice)


def in_local_time(text: str) -> str:
    """Convert UTC times in a text to local time with the zone name."""

    def local(match: re.Match[str]) -> str:
        moment = datetime.strptime(match[1], "%Y-%m-%d %H:%M").replace(tzinfo=UTC).astimezone()
        return f"{moment:%Y-%m-%d %H:%M}{match[2] or ''} {moment:%Z}"

    return _MOMENT.sub(local, text)


def show_on(console: "Console", lines: Iterable[str], before: str = "") -> None:
    """Print lines without markup. `before`: prefix of each line, such as its loop."""
    from rich.text import Text  # most commands print without it

    for line in lines:
        style = next((style for start, style in STYLES.items() if line.lstrip().startswith(start)), "")
        console.print(Text(in_local_time(f"{before}{line}"), style=style), soft_wrap=True)
