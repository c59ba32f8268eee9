"""No secret in anything that is stored or shown: values of secret variables are replaced by their names."""

import re
from collections.abc import Mapping

SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH)", re.IGNORECASE)
SHORTEST = 8
"""Shorter values would match by accident."""


def redact(text: str, environment: Mapping[str, str]) -> str:
    """Replace every secret value of an environment that occurs in a text."""
    for name, value in environment.items():
        if len(value) >= SHORTEST and SECRET_NAME.search(name) and value in text:
            text = text.replace(value, f"[{name}]")
    return text
