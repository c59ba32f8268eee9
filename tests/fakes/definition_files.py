"""Files of presets and hats with the values of a record."""

import re
from typing import Any, cast

from helmsman.records.hats import Hat, PresetSheet
from helmsman.toml_text import toml_line


def definition_text(record: Hat | PresetSheet) -> str:
    body = "prompt" if isinstance(record, Hat) else "guidance"
    values = record.model_dump(mode="json", exclude_defaults=True, exclude={body})
    return "\n".join(["+++", *_pairs(values), "+++", "", getattr(record, body), ""])


def _pairs(values: dict[str, Any]) -> list[str]:
    bare = re.compile(r"[\w-]+", re.ASCII)
    return [f"{key if bare.fullmatch(key) else toml_line(key)} = {_toml(value)}" for key, value in values.items()]


def _toml(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return toml_line(value)
        case dict():
            return f"{{ {', '.join(_pairs(cast('dict[str, Any]', value)))} }}"
        case list() | tuple():
            return f"[{', '.join(map(_toml, cast('list[Any]', value)))}]"
        case _:
            return repr(value)
