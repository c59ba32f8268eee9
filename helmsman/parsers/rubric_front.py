"""A rubric's front matter: its short keys and those of the configuration, as configuration."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from helmsman.layers import LONGEST_VALUE, describe, shown
from helmsman.parsers.problem import MOST_PROBLEMS, Problem
from helmsman.parsers.rubric import near

SHORT = {
    "model": "judge.model",
    "hitl_threshold": "judge.rejections",
    "force_max": "completion.force_max",
    "max_iterations": "limits.iterations",
    "milestone_every": "gates.milestone_every",
    "structured_memory": "memory.wiki",
}
"""Keys that rubrics have, and where the configuration has them."""
OTHERS = frozenset({"base_branch", "mode", "autonomous"})
"""Keys that rubrics of other loops have; here the command line says where a loop works and what becomes of its work."""
ABOUT = frozenset({"title", "name", "description", "version", "author", "date", "tags"})
"""What documents say of themselves."""
_NEAR = 0.7
"""As for keys of the other files; there is no prose here that could be meant as it stands."""
_OWN = frozenset({*LoopConfig.model_fields, "goal_file"})
_KNOWN = _OWN | SHORT.keys() | OTHERS | ABOUT


def from_front_matter(said: Mapping[Any, Any], lines: Sequence[str]) -> tuple[dict[str, Any], list[Problem]]:
    """What front matter says, as configuration, and its problems. `lines` are those of the file, to say where a key stands."""
    values: dict[str, Any] = {key: value for key, value in said.items() if key in _OWN}
    unknown = [key for key in said if key not in _KNOWN][:MOST_PROBLEMS]
    problems = [_unknown(_name(key), _line(_name(key), lines)) for key in unknown]
    for short in (short for short in SHORT if short in said):
        section, key = SHORT[short].split(".")
        table: Any = values.get(section, {})
        if not isinstance(table, Mapping):
            continue  # whoever merges the configuration says that it must be a table
        if key in table:
            problems.append(Problem(_line(short, lines), f"{short} and {SHORT[short]} say the same thing", "keep one of the two"))
        values[section] = {**cast("Mapping[str, Any]", table), key: said[short]}
    return values, problems


def said_twice(front: Mapping[str, Any], body: Mapping[str, Any], lines: Sequence[str]) -> Iterator[Problem]:
    """What stands in the front matter and in a section as well."""
    judges: tuple[Any, Any] = front.get("judge"), body.get("judge")
    if "checks" in front and "checks" in body:
        yield Problem(_line("checks", lines), "checks stand in the front matter and in ## Checks", "keep one of the two")
    if isinstance(judges[0], Mapping) and isinstance(judges[1], Mapping):
        first, second = cast("Mapping[str, Any]", judges[0]), cast("Mapping[str, Any]", judges[1])
        for key in sorted(first.keys() & second.keys()):
            cause = f"judge.{key} stands in the front matter and in a section"
            yield Problem(_line("judge", lines), cause, "keep one of the two")


def _name(key: Any) -> str:
    """A key as text; YAML has others than text, and Python refuses to write the longest numbers out."""
    return key if isinstance(key, str) else shown(key)


def _unknown(key: str, line: int) -> Problem:
    meant = near(key, [*SHORT, *_OWN], _NEAR)
    if meant:
        return Problem(line, f"unknown key {shown(key)}", f"did you mean {meant}?")
    try:
        describe(key[:LONGEST_VALUE])
    except OperatorError as error:  # it knows the keys of every section
        return Problem(line, error.problem, "correct it or take it out; `helmsman config` shows every key")
    return Problem(line, f"unknown key {shown(key)}", "write the sections as tables, not with dots")


def _line(key: str, lines: Sequence[str]) -> int:
    """Where a key begins a line, counted from 1; the line of the opening mark where it is not found."""
    whole = re.compile(rf"[\"']?{re.escape(key)}[\"']?\s*:")
    return next((number for number, line in enumerate(lines, 1) if whole.match(line)), 1)
