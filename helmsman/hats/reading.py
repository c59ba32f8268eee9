"""From the text of a file to a hat or a preset's sheet. What is wrong is told with file, line and key, all of it at once."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from helmsman.errors import OperatorError
from helmsman.hats.front import Parts, broken, line_of, parts
from helmsman.layers import Layer, complaint_of, did_you_mean, resolve, shown
from helmsman.records.base import Record
from helmsman.records.hats import Condition, Hat, Sheet

NOT_HERE: Mapping[str, str] = {
    "goal": "a goal belongs to a loop",
    "goal_file": "a goal belongs to a loop",
    "preset": "a preset cannot name another one",
}
"""Keys of the configuration that a preset does not set, and why."""
R = TypeVar("R", bound=Record)
_SOURCE = re.compile(r" \((?:line (\d+)|[^()]*)\): ")


def read_hat(text: str, where: str) -> Hat:
    """The hat of a file. Raises OperatorError."""
    found = parts(text, where)
    when: Any = found.values.get("when", [])
    tables: Any = [when] if isinstance(when, dict) else when  # one table or several of them
    problems = [*_unknown(Hat, found, "prompt"), *_conditions(tables, found.lines)]
    values: dict[str, Any] = {**found.values, "when": tables, "prompt": found.body}
    return _made(Hat, values, found, where, problems)


def read_sheet(text: str, where: str) -> Sheet:
    """The sheet of a preset's file, its settings tried. Raises OperatorError."""
    found = parts(text, where)
    settings: Any = found.values.get("settings", {})
    problems = list(_unknown(Sheet, found, "guidance"))
    if isinstance(settings, dict):
        problems += _settings(cast("dict[str, Any]", settings), found.lines)
    return _made(Sheet, {**found.values, "guidance": found.body}, found, where, problems)


def _unknown(record: type[Record], found: Parts, body: str) -> Iterator[tuple[int, str]]:
    """Keys that no such file has; what its body says is no key either."""
    known = [name for name in record.model_fields if name != body]
    for key in found.values:
        if key not in known:
            yield line_of(key, found.lines), f"{shown(key)}: unknown key{did_you_mean(key, known)}"


def _conditions(tables: Any, lines: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    known = list(Condition.model_fields)
    for table in cast("list[Any]", tables) if isinstance(tables, list) else []:
        for key in cast("dict[str, Any]", table) if isinstance(table, dict) else ():
            if key not in known:
                yield line_of(f"when.{key}", lines), f"when.{shown(key)}: unknown key{did_you_mean(key, known)}"


def _settings(settings: Mapping[str, Any], lines: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """One layer for each leaf, so that a complaint about it tells its line."""
    for key, why in NOT_HERE.items():
        if key in settings:
            yield line_of(f"settings.{key}", lines), f"settings.{key}: not in a preset: {why}"
    rest = {key: value for key, value in settings.items() if key not in NOT_HERE}
    layers = [Layer(f"line {line_of(f'settings.{key}', lines)}", table) for key, table in _leaves(rest)]
    try:
        resolve([*layers, Layer("any", {"goal": "any"})])
    except OperatorError as error:
        for complaint in error.problem.split("\n  ")[1:]:
            key, source, cause = _SOURCE.split(complaint, maxsplit=1)
            line = int(source) if source else line_of(f"settings.{key}", lines)
            yield line, f"settings.{key}: {cause}"


def _leaves(settings: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each value below a section as a table of its own."""
    for name, value in settings.items():
        if not isinstance(value, dict) or not value:
            yield name, {name: value}
            continue
        for key, inner in cast("dict[str, Any]", value).items():
            yield f"{name}.{key}", {name: {key: inner}}


def _made(record: type[R], values: Mapping[str, Any], found: Parts, where: str, problems: list[tuple[int, str]]) -> R:
    made: R | None = None
    try:
        made = record.model_validate(values)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            names = [str(part) for part in detail["loc"] if not isinstance(part, int)]
            problems.append((line_of(".".join(names), found.lines), f"{'.'.join(names)}: {complaint_of(detail)}"))
    if made is None or problems:
        first, *others = sorted(problems)
        raise broken(where, first[0], "\n  ".join([first[1], *(f"{where}:{line}: {cause}" for line, cause in others)]))
    return made
