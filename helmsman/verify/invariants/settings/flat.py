"""Configuration files as flat settings: dotted names and their values, whatever the format. What cannot be read has none."""

import configparser
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, cast

from helmsman.toml_of import toml_of
from helmsman.verify.invariants.settings.yaml_text import yaml_settings

Value = str | bool | int | float | tuple[str, ...] | None
Settings = Mapping[str, Value]

LARGEST = 500_000
"""Characters of a file that is read; one above it is data."""
_DEEPEST = 12
_HIGHEST = 10**15
"""A number beyond it counts as this one: TOML and JSON know no bounds, and Python writes and divides no endless number."""
_LONGEST_NAME = 300
_INI = re.compile(
    r"(?:^|/)(?:setup\.cfg|tox\.ini|pytest\.ini|\.?mypy\.ini|\.flake8|\.?pylintrc|\.coveragerc|[^/]+\.(?:cfg|ini))$"
)
_JSON = re.compile(r"(?:^|/)(?:[^/]+\.json[c5]?|\.[a-z]+rc)$")
_BLANKS = re.compile(r"(?<=\S)[^\S\n]{2,}")
"""The reader of INI files takes the square of their number."""
_QUOTED = r'("(?:\\[\s\S]|[^"\\])*+(?:"|\\?\Z))'
"""What is not closed goes on to the end, so that no character is read twice."""
_COMMENTS = re.compile(rf"{_QUOTED}|//[^\n]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/|\Z)")
_TRAILING_COMMA = re.compile(rf"{_QUOTED}|,(?=\s{{0,200}}[}}\]])")


def settings(path: str, text: str) -> Settings:
    """What a file sets. A list is a tuple of texts; `[pytest]` and `[tool:pytest]` of INI files keep their names."""
    return _settings(path, text) or {}


def is_readable(path: str, text: str) -> bool:
    """Whether nothing is set only where nothing is said."""
    return _settings(path, text) is not None


@lru_cache(maxsize=64)
def _settings(path: str, text: str) -> Settings | None:
    if len(text) > LARGEST:
        return None
    try:
        return dict(_flat(_read(path, text.removeprefix("\ufeff")), "", 0))  # TypeScript passes over such a mark
    except (ValueError, AttributeError, configparser.Error, RecursionError):  # Python: a line goes on after a key without value
        return None


def words(value: Value) -> tuple[str, ...]:
    """A setting as a list of words, as it is given or separated by blanks."""
    if isinstance(value, tuple):
        return value
    return tuple(value.replace(",", " ").split()) if isinstance(value, str) else () if value is None else (str(value),)


def quoted(value: Value) -> str:
    """A setting as a finding shows it."""
    return "(not set)" if value is None else " ".join(value) if isinstance(value, tuple) else str(value)


def line_of(text: str, name: str) -> int | None:
    """The first line that begins with the last part of a setting's name, quoted or not."""
    key = re.escape(name.rpartition(".")[2])
    found = re.search(rf"^[ \t]*[\"']?{key}[\"']?[ \t]*[=:]", text, re.MULTILINE) or re.search(
        rf"[\"']?{key}[\"']?[ \t]*[=:]", text
    )
    return text.count("\n", 0, found.start()) + 1 if found else None


def _read(path: str, text: str) -> Any:
    if path.endswith(".toml"):
        return toml_of(text)
    if _INI.search(path):
        # Without a default section: what it holds would be read into every other one.
        parser = configparser.RawConfigParser(strict=False, allow_no_value=True, default_section="\0")
        parser.read_string(_BLANKS.sub(" ", text))
        return {section: dict(parser.items(section)) for section in parser.sections()}
    if path.endswith((".yml", ".yaml")):
        return yaml_settings(text)
    if _JSON.search(path):
        return _loose_json(text)
    return {}


def _loose_json(text: str) -> Any:
    """JSON, with comments and commas too many where it has them."""
    try:
        return json.loads(text)
    except ValueError:
        bare = _COMMENTS.sub(lambda found: found[1] or "", text)
        return json.loads(_TRAILING_COMMA.sub(lambda found: found[1] or "", bare))


def _flat(value: Any, name: str, depth: int) -> Iterator[tuple[str, Value]]:
    if isinstance(value, dict) and depth < _DEEPEST:
        for key, inner in cast("dict[object, Any]", value).items():
            yield from _flat(inner, f"{name}.{key}"[:_LONGEST_NAME] if name else str(key)[:_LONGEST_NAME], depth + 1)
    elif isinstance(value, list | tuple):
        yield name, tuple(_item(one) for one in cast("list[Any] | tuple[Any, ...]", value))
    elif isinstance(value, str | bool | float) or value is None:
        yield name, value
    elif isinstance(value, int):
        yield name, max(-_HIGHEST, min(value, _HIGHEST))
    else:
        yield name, _dumped(value)[:200]


def _item(value: Any) -> str:
    return value if isinstance(value, str) else _dumped(value)[:2000]


def _dumped(value: Any) -> str:
    """JSON; of what holds an endless number only that it does."""
    try:
        return json.dumps(value, default=str)
    except ValueError:
        return f"a {type(value).__name__} of endless numbers"
