"""A file with TOML front matter between two lines of `+++` and Markdown below: its parts, and on which line each key stands."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from helmsman.errors import OperatorError
from helmsman.toml_of import fault_of, toml_of

MARK = "+++"
LARGEST = 16_384
"""Characters of a file of ours; a persona is a few sentences."""
_TABLE = re.compile(r"\s*\[{1,2}\s*([\w.-]+)\s*\]{1,2}\s*(?:#.*)?")
_KEY = re.compile(r"\s*([\w.-]+)\s*=")


class Parts(NamedTuple):
    """What a file consists of."""

    values: dict[str, Any]
    lines: Mapping[str, int]
    """The line of each key, dotted; of one that stands there several times, as in arrays of tables, the first."""
    body: str


def parts(text: str, where: str) -> Parts:
    """Take a file apart. `where`: how errors name it. Raises OperatorError with the line."""
    if len(text) > LARGEST:
        raise broken(where, 1, f"it is longer than {LARGEST:,} characters")
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != MARK:
        raise broken(where, 1, f"it begins with no line of {MARK}, which opens its front matter")
    end = next((number for number, line in enumerate(lines) if number and line.rstrip() == MARK), None)
    if end is None:
        raise broken(where, 1, f"no line of {MARK} closes its front matter")
    front = ["", *lines[1:end]]  # an empty line for the mark, so that lines count as in the file
    return Parts(_toml("\n".join(front), where), _placed(front), "\n".join(lines[end + 1 :]))


def broken(where: str, line: int, cause: str) -> OperatorError:
    """An error that names file and line."""
    return OperatorError(f"{where}:{line}: {cause}", remedy="fix the file; docs/presets.md shows its form")


def line_of(key: str, lines: Mapping[str, int]) -> int:
    """Where a key stands, or the nearest table above it that is known; 1 where nothing is."""
    while key and key not in lines:
        key = key.rpartition(".")[0]
    return lines.get(key, 1)


def _toml(text: str, where: str) -> dict[str, Any]:
    try:
        return toml_of(text)
    except (ValueError, RecursionError) as error:
        raise broken(where, *fault_of(error, text)) from None


def _placed(lines: list[str]) -> dict[str, int]:
    """By its first word on a line; good enough to lead a person there."""
    placed: dict[str, int] = {}
    table = ""
    for number, line in enumerate(lines, 1):
        if heading := _TABLE.fullmatch(line):
            table = heading[1]
            placed.setdefault(table, number)
        elif key := _KEY.match(line):
            placed.setdefault(f"{table}.{key[1]}".removeprefix("."), number)
    return placed
