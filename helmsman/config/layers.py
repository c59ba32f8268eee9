"""Layered configuration: many sources, one LoopConfig, and the source of every leaf.

The first source wins: command line, environment, file, rubric, user configuration, then the default.
A leaf is a field that is not itself a section; a list is a leaf, so a layer's checks replace those below it.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import attrgetter
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from helmsman.config import CheckConfig, CriterionConfig, HiddenCheckConfig, LoopConfig, Section
from helmsman.config.base import fields, section_of
from helmsman.config.loop import OLD_KEYS
from helmsman.errors import OperatorError
from helmsman.plain import did_you_mean
from helmsman.toml_text import parse_toml

PREFIX = "HELMSMAN_"
RESERVED = frozenset(
    f"{PREFIX}{name}"
    for name in (
        *("TAG", "HOME", "DEPTH", "HOOK_TOKEN", "STATE_KEY"),
        *("TRACKER_TOKEN", "TRACKER_HOSTS", "WEBHOOK_SECRET", "MEMORY_URL"),
    )
)
"""Variables with the same prefix that are not configuration."""

COMMAND_LINE = "command line"
"""Source of values given by hand, as an option or as a parameter of the flow."""
LONGEST_VALUE = 80
"""Maximum characters of a value or a key in an error."""


@dataclass(frozen=True)
class Layer:
    """The values of one source, and its display name."""

    source: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Resolved:
    """The configuration, and for each leaf's dotted key its source."""

    config: LoopConfig
    origins: Mapping[str, str]


_LEAVES = {key: field for key, field, _ in fields(LoopConfig) if not section_of(field)}
_SECTIONS = frozenset(key for key, field, _ in fields(LoopConfig) if section_of(field))


def leaves(config: LoopConfig) -> dict[str, Any]:
    """The value of every leaf by dotted key, in declaration order."""
    return {key: value_of(config, key) for key in _LEAVES}


def value_of(config: LoopConfig, key: str) -> Any:
    """The value at a dotted key."""
    return attrgetter(key)(config)


def describe(key: str) -> str:
    """The docstring of a leaf."""
    if key not in _LEAVES:
        remedy = "`helmsman config` lists every key"
        raise OperatorError(f"unknown key {display(key)}{did_you_mean(key, _LEAVES)}", remedy=remedy)
    return _LEAVES[key].description or ""


def resolve(layers: Sequence[Layer]) -> Resolved:
    """Merge the layers (the first that sets a leaf wins) and validate once. Raises OperatorError with all problems."""
    problems, tree, sources = list[str](), dict[str, Any](), dict[str, str]()
    for layer in layers:
        for key, value in dotted_pairs(layer.values):
            if key not in _LEAVES:
                why = f"expected a table, found {display(value)}" if key in _SECTIONS else _unknown_key_message(key)
                problems.append(f"{key} ({layer.source}): {why}")
            elif key not in sources:
                sources[key] = layer.source
                tree = merge_tables(tree, nest(key, _with_tuples(value)))
    config = None
    try:
        # Strict, or `true` would count as the number 1 and "5" as the number 5.
        config = LoopConfig.model_validate(tree, strict=True)
    except ValidationError as error:
        problems += [_format_error(detail, sources) for detail in error.errors(include_url=False)]
    if config is None or problems:
        raise OperatorError("\n  ".join([INVALID, *problems]))
    return Resolved(config, {key: sources.get(key, "default") for key in _LEAVES})


def _unknown_key_message(key: str, what: str = "key", format_name: Callable[[str], str] = str) -> str:
    return (
        f"this key was removed: {OLD_KEYS[key]}"
        if key in OLD_KEYS
        else f"unknown {what}{did_you_mean(key, _LEAVES, format_name)}"
    )


def dotted_pairs(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a layer as (dotted key, value), known or not."""
    for name, value in values.items():
        key = prefix + _name(name)
        # descend into sections, and into unknown top-level tables so that errors name their keys
        is_table = key in _SECTIONS or (value != {} and key not in _LEAVES and "." not in key)
        if isinstance(value, Mapping) and is_table:
            yield from dotted_pairs(cast("Mapping[str, Any]", value), f"{key}.")
        else:
            yield key, value


def merge_tables(weak: Mapping[str, Any], strong: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two nested settings table by table; if both set a key, the second wins."""
    both = {
        key: merge_tables(weak[key], strong[key])
        for key in weak.keys() & strong.keys()
        if isinstance(weak[key], Mapping) and isinstance(strong[key], Mapping)
    }
    return {**weak, **strong, **both}


def _with_tuples(value: Any, levels: int = 3) -> Any:
    """Convert lists of TOML and YAML to LoopConfig's tuples: a leaf itself and values in its tables; nothing is nested deeper."""
    if levels and isinstance(value, list):
        return tuple(_with_tuples(item, levels - 1) for item in cast("list[Any]", value))
    if levels and isinstance(value, Mapping):
        return {key: _with_tuples(item, levels - 1) for key, item in cast("Mapping[str, Any]", value).items()}
    return value


_NO_GOAL = (
    "goal: missing; set it on the command line, as HELMSMAN_GOAL in the environment, or as goal or goal_file in helmsman.toml"
)

_EXPECTED = {
    "bool_type": "true or false",
    "finite_number": "a finite number",
    "float_type": "a number",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "int_type": "a whole number",
    "less_than_equal": "at most {le}",
    "missing": "a value",
    "model_type": "a command or a table",
    "string_type": "text",
    "string_unicode": "text in UTF-8",
    "too_long": "at most {max_length} entries",
    "tuple_type": 'a list, as in ["one", "two"]',
}
"""Our wording of pydantic's error types; its own messages are good enough for the others."""

_TABLES: Mapping[str, type[Section]] = {"checks": CheckConfig, "hidden": HiddenCheckConfig, "judge.criteria": CriterionConfig}
"""Leaves that hold tables, and the class of these."""
_MODALS = re.compile(r"^\w+ should (be |have )?")


INVALID = "the configuration is not valid"
"""First line of such an error; one line for each problem follows."""


def _format_error(error: ErrorDetails, sources: Mapping[str, str]) -> str:
    """Format one pydantic error as one line: key, source, expected type, found value."""
    if error["loc"] == ("goal",) and error["type"] == "missing":
        return _NO_GOAL
    # the path as people write it: checks[0].command
    parts = (f"[{part}]" if isinstance(part, int) else f".{_name(part)}" for part in error["loc"])
    where = f"{''.join(parts).removeprefix('.')} ({_source(error['loc'], sources)})"
    if error["type"] == "extra_forbidden":  # unknown keys of a layer were already reported
        table = next(table for leaf, table in _TABLES.items() if _dotted(error["loc"]).startswith(f"{leaf}."))
        return f"{where}: unknown key{did_you_mean(str(error['loc'][-1]), table.model_fields)}"
    return f"{where}: {problem_of(error)}"


def problem_of(error: ErrorDetails) -> str:
    """Format one pydantic error in our words, without its location."""
    template = _EXPECTED.get(error["type"])
    expected = template.format_map(error.get("ctx", {})) if template else _MODALS.sub("", error["msg"])
    # never include a password: errors are logged
    found = {"missing": "nothing", "password": "one with a password"}.get(error["type"]) or display(error["input"])
    return f"expected {expected}, found {found}"


def _dotted(loc: Sequence[int | str]) -> str:
    return ".".join(map(str, loc))


def _source(loc: Sequence[int | str], sources: Mapping[str, str]) -> str:
    """Source of the leaf at or above the path; for a whole section, the sources of its leaves."""
    prefixes = (_dotted(loc[:length]) for length in range(1, len(loc) + 1))
    below = dict.fromkeys(source for key, source in sources.items() if key.startswith(f"{_dotted(loc)}."))
    return next((sources[prefix] for prefix in prefixes if prefix in sources), ", ".join(below) or "default")


def _name(part: object) -> str:
    """Part of a key on one line for a terminal; anything but a bare key is quoted and can match no field."""
    text = str(part)
    return text if re.fullmatch(r"[\w-]{1,80}", text, re.ASCII) else display(text)


def display(value: Any) -> str:
    """Format a value for an error: on one line, at most 80 characters, safe for a terminal."""
    shown: object = list(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value
    try:
        text = repr(shown) if isinstance(value, str | list | tuple | dict) else str(value).lower()
    except ValueError:  # Python refuses to format thousands of digits, which TOML may contain in hexadecimal
        text = f"{value:#x}" if isinstance(value, int) else "a number with too many digits"
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 3] + "..."


def from_assignments(assignments: Sequence[str]) -> dict[str, Any]:
    """Parse `limits.iterations=5`; the last one wins if a key is repeated."""
    tree: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or not re.fullmatch(r"[\w-]+(\.[\w-]+){0,9}", key.strip(), re.ASCII):
            raise OperatorError(
                "a setting cannot be parsed",
                expected="KEY=VALUE with a dotted key, for example limits.iterations=5",
                found=display(assignment),
                remedy="`helmsman config` shows every key",
            )
        tree = merge_tables(tree, nest(key.strip(), _parse_value(text)))
    return tree


def nest(key: str, value: Any) -> dict[str, Any]:
    """Convert a dotted key to nested tables."""
    for name in reversed(key.split(".")):
        value = {name: value}
    return cast("dict[str, Any]", value)


def _parse_value(text: str) -> Any:
    """Parse text as one TOML value, or else use it literally, which avoids double quoting in a shell."""
    try:
        table = parse_toml(f"value = {text}")
    except (ValueError, RecursionError):  # ValueError also covers numbers with too many digits
        return text
    return table["value"] if len(table) == 1 else text  # a second line could be a second key


def from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """Parse `HELMSMAN_LIMITS__ITERATIONS=5`; an unknown HELMSMAN_* name is an error."""
    variables = {name: text for name, text in environment.items() if name.startswith(PREFIX) and name not in RESERVED}
    keys = {_variable_name(key): key for key in _LEAVES}
    unknown_keys = (
        (name, name.removeprefix(PREFIX).replace("__", ".").lower()) for name in sorted(variables) if name not in keys
    )
    unknown = [f"{_name(name)}: {_unknown_key_message(key, 'variable', _variable_name)}" for name, key in unknown_keys]
    if unknown:
        raise OperatorError("\n  ".join(["the environment is not valid", *unknown]))
    return reduce(merge_tables, (nest(keys[name], _parse_value(text)) for name, text in variables.items()), {})


def _variable_name(key: str) -> str:
    return PREFIX + key.replace(".", "__").upper()
