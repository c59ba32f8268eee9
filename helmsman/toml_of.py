"""TOML that somebody else wrote, read in bounded time; and text written as a string of it."""

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


# --- text as a string of TOML, read back as it was; it must be free of lone surrogates ------------------------------------

_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_QUOTES = re.compile(r'"{2,}|"\Z')


def toml_string(text: str) -> str:
    """A string of TOML; of several lines where the text has several."""
    return _multi_line(text) if "\n" in text else toml_line(text)


def toml_line(text: str) -> str:
    """A string of TOML on one line."""
    return f'"{"".join(map(_escaped, text))}"'


def _multi_line(text: str) -> str:
    """A first line break is not counted. Single quotation marks stay as they are, but never three of them, nor one at the end."""
    lines = ("".join(mark if mark == '"' else _escaped(mark) for mark in line) for line in text.split("\n"))
    body = _QUOTES.sub(lambda found: '\\"' * len(found[0]), "\n".join(lines))
    return f'"""\n{body}"""'


def _escaped(mark: str) -> str:
    """What an editor or a terminal would not show as it is, is written as its number."""
    if mark in _SHORT:
        return _SHORT[mark]
    if mark.isprintable():
        return mark
    return f"\\u{ord(mark):04X}" if ord(mark) <= 0xFFFF else f"\\U{ord(mark):08X}"  # noqa: PLR2004 - four digits
