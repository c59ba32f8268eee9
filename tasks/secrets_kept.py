"""No secret in anything that is stored or shown: values of secret variables are replaced by their names."""

import re
from collections.abc import Mapping

SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH(?!OR)", re.IGNORECASE)
"""An author is no authority: GIT_AUTHOR_NAME is everywhere."""
SHORTEST = 8
"""Shorter values would match by accident."""


def redact(text: str, environment: Mapping[str, str]) -> str:
    """Replace every secret value of an environment that occurs in a text."""
    names = {line: name for name, value in environment.items() if SECRET_NAME.search(name) for line in _lines(value)}
    if not names:
        return text
    longest_first = sorted(names, key=len, reverse=True)  # one value may be the beginning of another
    pattern = "|".join(re.escape(line) for line in longest_first)
    return re.sub(pattern, lambda found: f"[{names[found[0]]}]", text)


def _lines(value: str) -> list[str]:
    """The lines of a value: a key of many lines is printed indented, quoted or in part."""
    return [line.strip() for line in value.splitlines() if len(line.strip()) >= SHORTEST]
