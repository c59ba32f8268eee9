"""A hat or a sheet as the text of its file: what is written here is read back as the same record."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from helmsman.hats.front import MARK
from helmsman.records.hats import Condition, Hat, Sheet
from helmsman.toml_strings import toml_line


def hat_text(hat: Hat) -> str:
    fields = hat.model_dump(mode="json", exclude_defaults=True, exclude={"when", "prompt"})
    conditions = (line for condition in hat.when for line in ("", "[[when]]", *_pairs(_asked(condition))))
    return _file([*_pairs(fields), *conditions], hat.prompt)


def sheet_text(sheet: Sheet) -> str:
    fields = sheet.model_dump(mode="json", exclude_defaults=True, exclude={"settings", "guidance"})
    settings = ("", *_table("settings", sheet.settings)) if sheet.settings else ()
    return _file([*_pairs(fields), *settings], sheet.guidance)


def _asked(condition: Condition) -> dict[str, Any]:
    return condition.model_dump(mode="json", include=set(condition.asked))


def _file(front: list[str], body: str) -> str:
    return "\n".join([MARK, *front, MARK, "", body, ""])


def _table(name: str, values: Mapping[str, Any]) -> Iterator[str]:
    """A table and those below it, each under a heading of its own."""
    tables = {key: cast("dict[str, Any]", value) for key, value in values.items() if isinstance(value, dict) and value}
    yield f"[{name}]"
    yield from _pairs({key: value for key, value in values.items() if key not in tables})
    for key, table in tables.items():
        yield ""
        yield from _table(f"{name}.{_key(key)}", table)


def _pairs(values: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{_key(key)} = {_value(value)}" for key, value in values.items())


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("-", "a").replace("_", "a").isalnum()
    return key if bare else toml_line(key)


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return toml_line(value)
        case dict():
            table = cast("dict[str, Any]", value)
            return f"{{ {', '.join(_pairs(table))} }}" if table else "{}"
        case list() | tuple():
            return f"[{', '.join(map(_value, cast('list[Any]', value)))}]"
        case _:
            return repr(value)
