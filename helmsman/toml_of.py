"""TOML that somebody else wrote, read in bounded time."""

import re
import tomllib
from typing import Any

MOST_PARTS = 50
"""Of a dotted key. The parser goes through all of a key's parts for each of them: 20,000 took a minute."""

_PART = r"""(?:[\w-]++|"(?:\\.|[^"\\\n])*+"|'[^'\n]*+')"""
# not after a backslash: of a line of escaped quotes, each would be read to the end of the line
_LONG_KEY = re.compile(rf"(?<![\w\\-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{MOST_PARTS}}}")


def toml_of(text: str) -> dict[str, Any]:
    """What a text says. Raises ValueError where it is no TOML, RecursionError where it is nested too deeply."""
    found = _LONG_KEY.search(text)
    if found:
        line = text.count("\n", 0, found.start()) + 1
        raise ValueError(f"a dotted name of more than {MOST_PARTS} parts (at line {line}, column 1)")
    return tomllib.loads(text)


_TABLE = re.compile(r"\s*\[\[?\s*([\w.-]+)\s*\]\]?\s*(?:#.*)?")
_ASSIGNED = re.compile(r"\s*([\w.-]+)\s*=")


def line_of(text: str, key: str) -> int:
    """The line on which a dotted key is set, or a table that holds it; 0 where that is not seen, as with quoted keys."""
    wanted, table = re.sub(r"\[\d+\]", "", key), ""
    for number, line in enumerate(text.split("\n"), 1):
        if found := _TABLE.fullmatch(line):
            table = f"{found[1]}."
        elif (found := _ASSIGNED.match(line)) and f"{wanted}.".startswith(f"{table}{found[1]}."):
            return number
    return 0


def fault_of(error: ValueError | RecursionError, text: str) -> tuple[int, str]:
    """On which line such a text is wrong, and what is."""
    if isinstance(error, RecursionError):
        return 1, "it is nested too deeply"
    found = re.search(r"at line (\d+)", str(error))  # Python's own, of a number with too many digits, names none
    return int(found[1]) if found else text.count("\n") + 1, str(error)
