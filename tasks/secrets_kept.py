"""No secret in anything that is stored or shown: values of secret variables are replaced by their names."""

import re
from collections.abc import Mapping

from helmsman.secret_forms import forms

SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH(?!OR)|OTLP_(\w+_)?HEADERS", re.IGNORECASE)
"""An author is no authority: GIT_AUTHOR_NAME is everywhere."""
SHORTEST = 8
"""Shorter values would match by accident."""
_CUT = "…"
"""What is put where a line was cut."""


def redact(text: str, environment: Mapping[str, str]) -> str:
    """Replace every secret value of an environment that occurs in a text, be it as it is or in one of its `forms`."""
    names = {line: name for name, value in environment.items() if SECRET_NAME.search(name) for line in _lines(value)}
    if not names:
        return text
    known = {form: name for line, name in names.items() for form in forms(line)} | names
    return _without_halves(_without_wholes(text, known), known)


def _without_wholes(text: str, known: Mapping[str, str]) -> str:
    found = sorted((form for form in known if form in text), key=len, reverse=True)  # one may be the beginning of another
    if not found:
        return text
    return re.sub("|".join(map(re.escape, found)), lambda form: f"[{known[form[0]]}]", text)


def _without_halves(text: str, known: Mapping[str, str]) -> str:
    """A text that was cut may end with the beginning of a secret, or begin with the end of one."""
    end = text.removesuffix(_CUT)
    for secret, name in known.items():
        if cut := _shared(end[-len(secret) :], secret):
            end = f"{end[:-cut]}[{name}]"
        if cut := _shared(secret, end[: len(secret)]):
            end = f"[{name}]{end[cut:]}"
    return end + text[len(text.removesuffix(_CUT)) :]


def _shared(one: str, other: str) -> int:
    """How many signs, SHORTEST at least and not all of a secret, end one text and begin the other."""
    most = min(len(one), len(other))
    if one[-SHORTEST:] not in other or other[:SHORTEST] not in one:  # nearly always, and then nothing is counted
        return 0
    return next((n for n in range(most, SHORTEST - 1, -1) if one.endswith(other[:n])), 0)


def _lines(value: str) -> list[str]:
    """The lines of a value: a key of many lines is printed indented, quoted or in part."""
    return [line.strip() for line in value.splitlines() if len(line.strip()) >= SHORTEST]
