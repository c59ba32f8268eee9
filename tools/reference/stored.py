"""The page of stored and printed JSON: state, iteration records, results, from the classes that write them."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from helmsman.records.iteration import IterationRecord
from helmsman.records.request import LoopRequest
from helmsman.records.result import LoopResult
from helmsman.records.state import LoopState
from helmsman.records.verification import Verification
from tools.reference.markdown import cell, code, page, table

INTRODUCTION = """`refs/helmsman/LOOP/state` of the repository is a chain of commits. Each contains `state.json`, the loop's
state, and, if it ended an iteration, its `record.json`. `git show refs/helmsman/LOOP/state:state.json` prints the latest one.
New fields have defaults, so records of older releases can be read. Times are in UTC and ISO 8601, durations in seconds,
money in US dollars."""
SHOWN: tuple[tuple[type[BaseModel], str], ...] = (
    (LoopResult, "What `helmsman run --json` and `helmsman status --json` print, and the data of a finished flow run."),
    (Verification, "What `helmsman verify --json` prints."),
    (LoopRequest, "The parameter `request` of the flow `loop/loop`."),
    (LoopState, "`state.json`: everything needed to continue."),
    (IterationRecord, "One iteration, as printed by `helmsman log LOOP --json`."),
)
"""Class, and the location of its JSON. The configuration in a state has its own page."""
ELSEWHERE = "LoopConfig"


def stored_page() -> str:
    schemas = {model.__name__: model.model_json_schema(mode="serialization") for model, _ in SHOWN}
    parts = {part: shape for schema in schemas.values() for part, shape in schema.get("$defs", {}).items()}
    known = {**parts, **schemas}
    head = [piece for model, about in SHOWN for piece in _described(model.__name__, known, about)]
    inner = sorted(name for name in parts if name not in schemas and not _of_configuration(name, schemas["LoopState"]))
    return page(
        "# Records", INTRODUCTION, *head, "## Their parts", *(p for name in inner for p in _described(name, known, "", 3))
    )


def _of_configuration(name: str, state: Mapping[str, Any]) -> bool:
    return name in _reached(ELSEWHERE, state["$defs"])


def _reached(name: str, parts: Mapping[str, Any]) -> set[str]:
    found, due = set[str](), [name]
    while due:
        one = due.pop()
        if one not in found:
            found.add(one)
            due.extend(_named(parts.get(one, {})))
    return found


def _named(shape: Any) -> Iterator[str]:
    """Names of the parts that a schema refers to."""
    if isinstance(shape, Mapping):
        for key, value in shape.items():  # pyright: ignore[reportUnknownVariableType] - JSON
            if key == "$ref":
                yield str(value).rpartition("/")[2]  # pyright: ignore[reportUnknownArgumentType]
            else:
                yield from _named(value)
    elif isinstance(shape, list):
        for value in shape:  # pyright: ignore[reportUnknownVariableType]
            yield from _named(value)


def _described(name: str, known: Mapping[str, Any], about: str, level: int = 2) -> Iterator[str]:
    shape = known[name]
    yield f"{'#' * level} {name}"
    yield about or cell(shape.get("description", ""))
    if "enum" in shape:
        yield f"One of {', '.join(code(str(value)) for value in shape['enum'])}."
    elif shape.get("properties"):
        yield table(("field", "type", "meaning"), [_row(key, value) for key, value in shape["properties"].items()])


def _row(key: str, shape: Mapping[str, Any]) -> tuple[str, str, str]:
    return code(key), _kind(shape), cell(shape.get("description", ""))


def _kind(shape: Any) -> str:
    if "$ref" in shape:
        name = shape["$ref"].rpartition("/")[2]
        return (
            f"[{name}](settings.md)" if name == ELSEWHERE else name if name.endswith("Config") else f"[{name}](#{name.lower()})"
        )
    if "anyOf" in shape:
        return " or ".join(_kind(one) for one in shape["anyOf"])
    if shape.get("type") == "array":
        return f"list of {_kind(shape.get('items', {}))}"
    if isinstance(shape.get("additionalProperties"), Mapping):
        return f"object of {_kind(shape['additionalProperties'])}"
    if "enum" in shape:
        return " or ".join(code(str(value)) for value in shape["enum"])
    return shape.get("format") or shape.get("type") or "anything"
