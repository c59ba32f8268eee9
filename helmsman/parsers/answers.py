"""A model's answer in JSON, whoever asked for it: the form it is asked in, and how it is found between fences or prose and read.

Forms stay within what structured output supports: no lengths, no bounds, everything required.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

LONGEST_ANSWER = 120_000
"""Characters. The longest answer that is asked for, an alignment, may come to half of that; what is longer is none of them."""
_OBJECTS = 20  # beginnings of an object that are tried; each may cost the whole text
_Model = TypeVar("_Model", bound=BaseModel)


# --- the form that is asked for ------------------------------------------------------------------------------------

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


# --- the answer -----------------------------------------------------------------------------------------------------


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
        # the first thing that is wrong, without the answer's words
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = printable(".".join(str(part) for part in first["loc"]))[:60]
        return f"the answer has another form: {place}: {first['msg']}"


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
