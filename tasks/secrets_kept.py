"""No secret in anything that is stored or shown: values of secret variables are replaced by their names."""

import re
from collections.abc import Mapping

SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH(?!OR)|OTLP_(\w+_)?HEADERS", re.IGNORECASE)
"""An author is no authority: GIT_AUTHOR_NAME is everywhere."""
SHORTEST = 8
"""Shorter values would match by accident."""
_CUT = "…"
"""What is put where a line was cut."""


def redact(text: str, environment: Mapping[str, str]) -> str:
    """Replace every secret value of an environment that occurs in a text."""
    names = {line: name for name, value in environment.items() if SECRET_NAME.search(name) for line in _lines(value)}
    if not names:
        return text
    longest_first = sorted(names, key=len, reverse=True)  # one value may be the beginning of another
    pattern = "|".join(re.escape(line) for line in longest_first)
    whole = re.sub(pattern, lambda found: f"[{names[found[0]]}]", text)
    return _without_halves(whole, names)


def _without_halves(text: str, names: Mapping[str, str]) -> str:
    """A text that was cut may end with the beginning of a secret, or begin with the end of one."""
    end = text.removesuffix(_CUT)
    for secret, name in names.items():
        known = next((n for n in range(min(len(secret) - 1, len(end)), SHORTEST - 1, -1) if end.endswith(secret[:n])), 0)
        end = f"{end[:-known]}[{name}]" if known else end
        known = next((n for n in range(min(len(secret) - 1, len(end)), SHORTEST - 1, -1) if end.startswith(secret[-n:])), 0)
        end = f"[{name}]{end[known:]}" if known else end
    return end + text[len(text.removesuffix(_CUT)) :]


def _lines(value: str) -> list[str]:
    """The lines of a value: a key of many lines is printed indented, quoted or in part."""
    return [line.strip() for line in value.splitlines() if len(line.strip()) >= SHORTEST]
