"""Keys that are gone, each with what to do instead."""

from collections.abc import Mapping
from typing import Any, cast

OLD_KEYS: Mapping[str, str] = {
    "steering.stop_no_progress": "steering.stop_blocks says how often an agent is sent back that says it is done",
    "invariants.off": "what a text shows is a hint and blocks nothing; invariants.allow excepts paths from what does",
    "breaker.half_open_after": "lack of progress leads up the ladder without a pause; ladder.patience says how soon",
    "on_push.mode": "a push starts the loop; what is open before it is asked by helmsman align, and pushed with the commit",
}


def without_old_keys(values: Any) -> Any:
    """A configuration that an older version stored, without the keys that are gone. What is no table is left as it is."""
    if not isinstance(values, Mapping):
        return values
    kept = dict(cast("Mapping[str, Any]", values))
    for key in OLD_KEYS:
        section, _, name = key.rpartition(".")
        table = kept.get(section)
        if isinstance(table, Mapping):
            kept[section] = {field: value for field, value in cast("Mapping[str, Any]", table).items() if field != name}
    return kept
