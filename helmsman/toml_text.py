"""Parsing of untrusted TOML in bounded time, and formatting of TOML strings."""

import json
import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

MOST_PARTS = 50
"""Parts of a dotted key. The parser takes quadratic time in them: 20,000 took a minute."""

_PART = r"""(?:[\w-]++|"(?:\\.|[^"\\\n])*+"|'[^'\n]*+')"""
# not after a backslash: in a line of escaped quotes, each would be read to the end of the line
_LONG_KEY = re.compile(rf"(?<![\w\\-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{MOST_PARTS}}}")


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a text. Raises ValueError for invalid TOML, RecursionError for too deep nesting."""
    long_key = _LONG_KEY.search(text)
    if long_key:
        line = text.count("\n", 0, long_key.start()) + 1
        raise ValueError(f"a dotted name of more than {MOST_PARTS} parts (at line {line}, column 1)")
    return tomllib.loads(text)


@cache
def load_bundled(package: str, name: str) -> Any:
    """Load a TOML file of a package of Helmsman."""
    return tomllib.loads(files(package).joinpath(name).read_text("utf-8"))


_TABLE = re.compile(r"\s*\[\[?\s*([\w.-]+)\s*\]\]?\s*(?:#.*)?")
_ASSIGNED = re.compile(r"\s*([\w.-]+)\s*=")


def find_line(text: str, key: str) -> int:
    """Line of a dotted key, or of the nearest table that contains it; 0 if not found, as with quoted keys."""
    wanted, table, nearest = re.sub(r"\[\d+\]", "", key) + ".", "", (0, 0)
    for number, line in enumerate(text.split("\n"), 1):
        if match := _TABLE.fullmatch(line):
            table = f"{match[1]}."
            if wanted.startswith(table) and len(table) > nearest[0]:
                nearest = len(table), number
        elif (match := _ASSIGNED.match(line)) and wanted.startswith(f"{table}{match[1]}."):
            return number
    return nearest[1]


def describe_error(error: ValueError | RecursionError, text: str) -> tuple[int, str]:
    """Line and message of a parsing error."""
    if isinstance(error, RecursionError):
        return 1, "it is nested too deeply"
    match = re.search(r"at line (\d+)", str(error))  # Python's own error for a number with too many digits has none
    return int(match[1]) if match else text.count("\n") + 1, str(error)


def toml_string(text: str) -> str:
    """Format a TOML string, multi-line if the text is. The text must not contain lone surrogates."""
    if "\n" not in text:
        return toml_line(text)
    lines = "\n".join(toml_line(line)[1:-1] for line in text.split("\n"))
    return f'"""\n{lines}"""'  # TOML ignores the first newline


def toml_line(text: str) -> str:
    """Format a TOML string on one line, with escapes for characters that are not printable."""
    escaped = json.dumps(text, ensure_ascii=False)  # escapes like TOML
    return "".join(character if character.isprintable() else f"\\U{ord(character):08X}" for character in escaped)
