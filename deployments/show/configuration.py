"""The configuration of a loop that would start now: values, sources and owners. It reads files and needs no engine."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deployments.wishes import Wishes, wished
from helmsman.config.base import Owner
from helmsman.config.owners import owner_of
from helmsman.layers import describe, leaves
from helmsman.plain import clean
from tasks.repository.git import open_repository

DEFAULT = "default"


def show_configuration(
    repo: Path, config: Path | None, settings: tuple[str, ...], *, key: str, changed: bool, as_json: bool
) -> None:
    """Print it. `key`: one key or a section; empty: all. Raises OperatorError for one that there is not."""
    resolved = wished(open_repository(repo), Wishes(config=config, settings=settings), goal_later=True)
    origins = resolved.origins
    values = {name: value for name, value in leaves(resolved.config).items() if _is_meant(name, key)}
    if not values:
        describe(key)  # which says what is meant, perhaps
    if changed:
        values = {name: value for name, value in values.items() if origins[name] != DEFAULT}
    if as_json:
        rows = {
            name: {"value": plain_value(value), "source": origins[name], "owner": owner_of(name)}
            for name, value in values.items()
        }
        print(json.dumps(rows))
        return
    if not values:
        print("nothing differs from the defaults")
    for name, value in values.items():
        print("\n".join(_lines(name, value, origins[name])))


def _lines(name: str, value: Any, origin: str) -> Iterator[str]:
    owned = "; operator's key" if owner_of(name) is Owner.OPERATOR else ""  # said of the fewer ones
    yield clean(f"{name} = {json.dumps(plain_value(value), ensure_ascii=False)}   # {origin}{owned}")
    if origin == DEFAULT:
        yield f"    {describe(name)}"


def _is_meant(name: str, key: str) -> bool:
    return not key or name == key or name.startswith(f"{key}.")


def plain_value(value: Any) -> Any:
    """As JSON shows it."""
    if isinstance(value, tuple):
        return [plain_value(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value.model_dump(mode="json", exclude_defaults=True) if hasattr(value, "model_dump") else value
