"""JSON schemas of a model's answer, within what structured output supports: no lengths, no bounds, everything required."""

from collections.abc import Iterable
from typing import Any

Form = dict[str, Any]

TEXT: Form = {"type": "string"}
NUMBER: Form = {"type": "integer"}


def closed(**properties: Form) -> Form:
    """An object with exactly these."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def many(of: Form) -> Form:
    return {"type": "array", "items": of}


def one_of(names: Iterable[str]) -> Form:
    return {"type": "string", "enum": list(names)}
