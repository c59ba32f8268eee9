"""A model's answer in JSON, whoever asked for it: its form, and how it is found between fences or prose and read."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

LONGEST_ANSWER = 120_000
"""Characters. The longest answer that is asked for, an alignment, may come to half of that; what is longer is none of them."""
_OBJECTS = 20  # beginnings of an object that are tried; each may cost the whole text
_Model = TypeVar("_Model", bound=BaseModel)


Form = dict[str, Any]


def form_of(answer: type[BaseModel]) -> Form:
    """What a model is asked to fill in, as a JSON schema: no lengths, no bounds, everything required."""
    whole = answer.model_json_schema()

    def plain(part: Form) -> Form:
        part = whole["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        kept: Form = {name: part[name] for name in ("type", "enum") if name in part}
        if "items" in part:
            kept["items"] = plain(part["items"])
        if "properties" in part:
            fields = {name: plain(one) for name, one in part["properties"].items()}
            kept |= {"properties": fields, "required": [*fields], "additionalProperties": False}
        return kept

    return plain(whole)


class StrictAnswer(BaseModel):
    """What is read of an answer: nothing is converted, nothing may be there beside it."""

    model_config = ConfigDict(strict=True, extra="forbid")


def printable(text: str) -> str:
    """What a terminal and UTF-8 can show: no control characters, no halves of surrogate pairs, no invisible ones."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else " " for letter in text)


Said = Annotated[str, BeforeValidator(lambda said: printable(said).strip() if isinstance(said, str) else said)]
ONE_LINE = BeforeValidator(lambda said: " ".join(printable(said).split()) if isinstance(said, str) else said)
"""Text of a model's answer, made printable; bounds that stand behind it count what is left."""


def read_answer(text: str, name: str, form: type[_Model]) -> _Model | str:
    """The first JSON object with this name in it, in the form that was asked for; or why there is none. Never raises."""
    found = find_object(text, name)
    if isinstance(found, str):
        return found
    try:
        return form.model_validate(found)
    except ValidationError as error:
        return other_form(error)


def other_form(error: ValidationError) -> str:
    """The first thing that is wrong with an answer, without its words."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = printable(".".join(str(part) for part in first["loc"])).replace("`", "'")[:60]
    return f"the answer has another form: {place or 'all of it'}: {first['msg']}"


def find_object(text: str, name: str) -> Mapping[str, Any] | str:
    """The first JSON object in a text that has this name in it, or why there is none. Bounded whatever the text."""
    if len(text) > LONGEST_ANSWER:
        return f"the answer has {len(text):,} characters, more than {LONGEST_ANSWER:,}"
    position, decoder = text.find("{"), json.JSONDecoder(strict=False)
    for _ in range(_OBJECTS):
        if position < 0:
            break
        end = position
        try:
            found, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict) and name in found:
            return cast("dict[str, Any]", found)
        position = text.find("{", max(end, position + 1))
    return f"the answer holds no JSON object with `{name}`"
