"""What people are told of a preset: when each hat is worn, and which settings it brings."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from helmsman.records.hats import Condition, Hat, Preset, Sheet

_WHEN: Mapping[str, str] = {
    "phase": "in an iteration of {}",
    "rung": "at the level {}",
    "checks": "checks are {}",
    "failing": "failures of {}",
    "in_row": "{} in a row",
    "idle": "no progress, {} in a row",
    "rejections": "rejections by the judge, {} in a row",
    "findings": "a finding blocks",
    "untrue": "a claim did not hold",
    "taken_back": "work was taken back",
    "first": "nothing is done yet",
    "replan": "the plan is made anew",
    "conflict": "a merge has to be fixed",
    "item": "the plan's item says {}",
}


def hat_rows(preset: Preset) -> Iterator[tuple[str, str]]:
    """Each hat's name, and when it is worn."""
    usual, *others = preset.hats
    yield usual.name, "where nothing calls for another one"
    for hat in sorted(others, key=lambda hat: -hat.priority if hat.when else 1):  # in the order in which they are asked
        yield hat.name, _when(hat)


def setting_rows(sheet: Sheet) -> Iterator[tuple[str, str]]:
    """Dotted keys with their values, as JSON."""
    for name, value in sheet.settings.items():
        if not isinstance(value, dict):
            yield name, json.dumps(value, ensure_ascii=False)
            continue
        for key, inner in cast("dict[str, Any]", value).items():
            yield f"{name}.{key}", json.dumps(inner, ensure_ascii=False)


def _when(hat: Hat) -> str:
    return "; or ".join(map(condition_text, hat.when)) or "where the ladder asks for it"


def condition_text(condition: Condition) -> str:
    return ", ".join(_WHEN[name].format(_value(getattr(condition, name))) for name in condition.asked)


def _value(value: Any) -> str:
    return " or ".join(map(str, cast("tuple[object, ...]", value))) if isinstance(value, tuple) else str(value)
