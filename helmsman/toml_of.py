"""TOML that somebody else wrote, read in bounded time; and text written as a string of it."""

import json
import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

MOST_PARTS = 50
"""Of a dotted key. The parser goes through all of a key's parts for each of them: 20,000 took a minute."""

_PART = r"""(?:[\w-]++|"(?:\\.|[^"\\\n])*+"|'[^'\n]*+')"""
# not after a backslash: of a line of escaped quotes, each would be read to the end of the line
_LONG_KEY = re.compile(rf"(?<![\w\\-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{MOST_PARTS}}}")


def toml_of(text: str) -> dict[str, Any]:
    """What a text says. Raises ValueError where it is not TOML, RecursionError where it is nested too deeply."""
    found = _LONG_KEY.search(text)
    if found:
        line = text.count("\n", 0, found.start()) + 1
        raise ValueError(f"a dotted name of more than {MOST_PARTS} parts (at line {line}, column 1)")
    return tomllib.loads(text)


@cache
def bundled(package: str, name: str) -> Any:
    """A table that comes with a package of Helmsman."""
    return tomllib.loads(files(package).joinpath(name).read_text("utf-8"))


_TABLE = re.compile(r"\s*\[\[?\s*([\w.-]+)\s*\]\]?\s*(?:#.*)?")
_ASSIGNED = re.compile(r"\s*([\w.-]+)\s*=")


def line_of(text: str, key: str) -> int:
    """The line on which a dotted key is set, or the nearest table that holds it; 0 where none is seen, as with quoted keys."""
    wanted, table, nearest = re.sub(r"\[\d+\]", "", key) + ".", "", (0, 0)
    for number, line in enumerate(text.split("\n"), 1):
        if found := _TABLE.fullmatch(line):
            table = f"{found[1]}."
            if wanted.startswith(table) and len(table) > nearest[0]:
                nearest = len(table), number
        elif (found := _ASSIGNED.match(line)) and wanted.startswith(f"{table}{found[1]}."):
            return number
    return nearest[1]


def fault_of(error: ValueError | RecursionError, text: str) -> tuple[int, str]:
    """On which line such a text is wrong, and what is."""
    if isinstance(error, RecursionError):
        return 1, "it is nested too deeply"
    found = re.search(r"at line (\d+)", str(error))  # Python's own, of a number with too many digits, names none
    return int(found[1]) if found else text.count("\n") + 1, str(error)


def toml_string(text: str) -> str:
    """A string of TOML; of several lines where the text has several. The text must be free of lone surrogates."""
    if "\n" not in text:
        return toml_line(text)
    lines = "\n".join(toml_line(line)[1:-1] for line in text.split("\n"))
    return f'"""\n{lines}"""'  # a first line break is not counted


def toml_line(text: str) -> str:
    """A string of TOML on one line. What an editor or a terminal would not show as it is, is written as its number."""
    written = json.dumps(text, ensure_ascii=False)  # which escapes as TOML does
    return "".join(mark if mark.isprintable() else f"\\U{ord(mark):08X}" for mark in written)
