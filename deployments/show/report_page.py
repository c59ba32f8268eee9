"""`helmsman report`: a loop on one page of HTML, written whole or not at all."""

import os
import sys
from contextlib import suppress
from itertools import islice
from pathlib import Path

from helmsman.errors import OperatorError
from helmsman.plain import clean
from helmsman.render import html_report
from helmsman.render.report import MOST_DETAILED, trace_of
from tasks.places import loop_folder
from tasks.repository.git import Repository, open_repository
from tasks.repository.state_ref import read_records, show_state, state_ref

NAME = "report.html"
MOST_TRACED = 20_000
"""Attempts that the charts look back over; a loop that has more is not told by its beginning."""
STANDARD_OUTPUT = Path("-")


def report(repo: Path, loop: str, output: Path | None) -> None:
    """Write the page and print where it is. None: into the loop's own folder; `-`: to standard output."""
    repository = open_repository(repo)
    text = report_page(repository, loop)
    if output == STANDARD_OUTPUT:
        sys.stdout.buffer.write(text.encode())  # whatever the terminal's encoding is, the page says that it is UTF-8
        sys.stdout.flush()
        return
    path = output or loop_folder(repository, loop).root / NAME
    if output is None:
        path.parent.mkdir(parents=True, exist_ok=True)  # a clone has the loop and not its folder
    _write(path, text)
    print(clean(str(path.absolute())))


def report_page(repository: Repository, loop: str) -> str:
    """The page of a loop as it stands. Older iterations are let go as soon as they are traced: only the newest are whole."""
    shown = show_state(repository, loop)
    newest_first = islice(read_records(repository, loop), MOST_TRACED)
    detailed = list(islice(newest_first, MOST_DETAILED))
    earlier = [trace_of(record) for record in newest_first]
    return html_report(shown.state, detailed[::-1], state_ref(loop), earlier[::-1], shown.unverified)


def _write(path: Path, text: str) -> None:
    """By way of a file beside it, so that nobody ever sees half a page."""
    part = path.parent / f".{path.name}.{os.getpid()}"
    try:
        if path.exists() and not path.is_file():
            raise _cannot("a file", str(path), "name a file with -o FILE")
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        expected = "a file in a folder that is there and may be written to"
        raise _cannot(expected, f"{path}: {error.strerror}", "name another one with -o FILE, or print it with -o -") from error


def _cannot(expected: str, found: str, remedy: str) -> OperatorError:
    return OperatorError("the report cannot be written", expected=expected, found=found, remedy=remedy)
