"""Removed keys, each with what to do instead."""

from collections.abc import Mapping
from typing import Any, cast

from helmsman.toml_text import load_bundled

OLD_KEYS: Mapping[str, str] = {
    key: became for became, keys in load_bundled("helmsman.config", "old_keys.toml").items() for key in keys.split()
}


def drop_old_keys(values: Any) -> Any:
    """Remove obsolete keys from a configuration stored by an older version. Other values are returned unchanged."""
    if not isinstance(values, Mapping):
        return values
    kept = dict(cast("Mapping[str, Any]", values))
    for key in OLD_KEYS:
        section, _, name = key.rpartition(".")
        table = kept.get(section)
        if isinstance(table, Mapping):
            kept[section] = {field: value for field, value in cast("Mapping[str, Any]", table).items() if field != name}
    return {key: value for key, value in kept.items() if value != {}}  # a section may be gone as a whole
