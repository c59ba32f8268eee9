"""JSON answers of models: schemas, and extraction from text with fences or prose around them."""

import json
from contextlib import suppress
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

LONGEST_ANSWER = 120_000
"""Maximum characters. The longest requested answer, an alignment, takes at most half of that."""
_OBJECTS = 20  # maximum number of object starts to try; each may cost the whole text
_Model = TypeVar("_Model", bound=BaseModel)


Schema = dict[str, Any]


def schema_of(answer: type[BaseModel]) -> Schema:
    """Return the JSON schema for a model's answer: no lengths, no bounds, everything required."""
    schema = answer.model_json_schema()

    def simplify(part: Schema) -> Schema:
        part = schema["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        simple: Schema = {name: part[name] for name in ("type", "enum") if name in part}
        if "items" in part:
            simple["items"] = simplify(part["items"])
        if "properties" in part:
            fields = {name: simplify(value) for name, value in part["properties"].items()}
            simple |= {"properties": fields, "required": [*fields], "additionalProperties": False}
        return simple

    return simplify(schema)


class StrictAnswer(BaseModel):
    """Base of answers: no conversions, no extra fields."""

    model_config = ConfigDict(strict=True, extra="forbid")


def printable(text: str) -> str:
    """Replace characters that are not printable in a terminal or not valid in UTF-8 by blanks."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else " " for letter in text)


PrintableText = Annotated[str, BeforeValidator(lambda value: printable(value).strip() if isinstance(value, str) else value)]
ONE_LINE = BeforeValidator(lambda value: " ".join(printable(value).split()) if isinstance(value, str) else value)
"""Printable text of a model's answer; bounds that follow count the resulting characters."""


def read_answer(text: str, name: str, form: type[_Model]) -> _Model | str:
    """Parse the first JSON object that has this name as the requested form; return a message if invalid.

    Never raises, and is bounded in time for any text.
    """
    if len(text) > LONGEST_ANSWER:
        return f"the answer has {len(text):,} characters, more than {LONGEST_ANSWER:,}"
    position, decoder = text.find("{"), json.JSONDecoder(strict=False)
    for _ in range(_OBJECTS):
        if position < 0:
            break
        value, end = None, position
        with suppress(ValueError, RecursionError):
            value, end = decoder.raw_decode(text, position)
        if isinstance(value, dict) and name in value:
            try:
                return form.model_validate(value)
            except ValidationError as error:
                return describe_mismatch(error)
        position = text.find("{", max(end, position + 1))
    return f"the answer contains no JSON object with `{name}`"


def describe_mismatch(error: ValidationError) -> str:
    """Describe the first error of an answer, without its content."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = printable(".".join(str(part) for part in first["loc"])).replace("`", "'")[:60]
    return f"the answer does not match the schema: {place or 'the whole answer'}: {first['msg']}"
