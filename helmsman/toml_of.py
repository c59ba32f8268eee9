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


def fault_of(error: ValueError | RecursionError, text: str) -> tuple[int, str]:
    """On which line such a text is wrong, and what is."""
    if isinstance(error, RecursionError):
        return 1, "it is nested too deeply"
    found = re.search(r"at line (\d+)", str(error))  # Python's own, of a number with too many digits, names none
    return int(found[1]) if found else text.count("\n") + 1, str(error)
