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
TOP_LEVEL: tuple[tuple[type[BaseModel], str], ...] = (
    (LoopResult, "What `helmsman run --json` and `helmsman status --json` print, and the data of a finished flow run."),
    (Verification, "What `helmsman verify --json` prints."),
    (LoopRequest, "The parameter `request` of the flow `loop/loop`."),
    (LoopState, "`state.json`: everything needed to continue."),
    (IterationRecord, "One iteration, as printed by `helmsman log LOOP --json`."),
)
"""Class, and the location of its JSON. The configuration in a state has its own page."""
CONFIGURATION = "LoopConfig"


def records_page() -> str:
    schemas = {model.__name__: model.model_json_schema(mode="serialization") for model, _ in TOP_LEVEL}
    parts = {part: schema for schema in schemas.values() for part, schema in schema.get("$defs", {}).items()}
    known = {**parts, **schemas}
    descriptions = [piece for model, meaning in TOP_LEVEL for piece in _describe(model.__name__, known, meaning)]
    part_names = sorted(name for name in parts if name not in schemas and not _is_configuration(name, schemas["LoopState"]))
    return page(
        "# Records",
        INTRODUCTION,
        *descriptions,
        "## Their parts",
        *(piece for name in part_names for piece in _describe(name, known, "", 3)),
    )


def _is_configuration(name: str, state: Mapping[str, Any]) -> bool:
    return name in _reachable(CONFIGURATION, state["$defs"])


def _reachable(name: str, parts: Mapping[str, Any]) -> set[str]:
    names, pending = set[str](), [name]
    while pending:
        current = pending.pop()
        if current not in names:
            names.add(current)
            pending.extend(_referenced_names(parts.get(current, {})))
    return names


def _referenced_names(schema: Any) -> Iterator[str]:
    """Names of the parts that a schema refers to."""
    if isinstance(schema, Mapping):
        for key, value in schema.items():  # pyright: ignore[reportUnknownVariableType] - JSON
            if key == "$ref":
                yield str(value).rpartition("/")[2]  # pyright: ignore[reportUnknownArgumentType]
            else:
                yield from _referenced_names(value)
    elif isinstance(schema, list):
        for value in schema:  # pyright: ignore[reportUnknownVariableType]
            yield from _referenced_names(value)


def _describe(name: str, known: Mapping[str, Any], meaning: str, level: int = 2) -> Iterator[str]:
    schema = known[name]
    yield f"{'#' * level} {name}"
    yield meaning or cell(schema.get("description", ""))
    if "enum" in schema:
        yield f"One of {', '.join(code(str(value)) for value in schema['enum'])}."
    elif schema.get("properties"):
        yield table(("field", "type", "meaning"), [_row(key, value) for key, value in schema["properties"].items()])


def _row(key: str, schema: Mapping[str, Any]) -> tuple[str, str, str]:
    return code(key), _kind(schema), cell(schema.get("description", ""))


def _kind(schema: Any) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return (
            f"[{name}](settings.md)"
            if name == CONFIGURATION
            else name
            if name.endswith("Config")
            else f"[{name}](#{name.lower()})"
        )
    if "anyOf" in schema:
        return " or ".join(_kind(option) for option in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    if isinstance(schema.get("additionalProperties"), Mapping):
        return f"object of {_kind(schema['additionalProperties'])}"
    if "enum" in schema:
        return " or ".join(code(str(value)) for value in schema["enum"])
    return schema.get("format") or schema.get("type") or "anything"
