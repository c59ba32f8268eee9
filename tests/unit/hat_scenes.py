"""Scenes in which a condition holds, and presets for tests."""

from dataclasses import replace
from typing import Any

import tomlkit

from helmsman.orient.hats import Scene
from helmsman.records.agent import FailureClass
from helmsman.records.hats import Condition, Hat, Preset, PresetSheet

QUIET = Scene(checks="green")
"""Nothing calls for anybody."""


def scene_for(condition: Condition) -> Scene:
    """The quietest scene in which it holds."""
    scene = QUIET
    if condition.failing:
        scene = replace(scene, checks="red", failing={condition.failing[0]: condition.in_row or 0})
    for name, index in (("phase", 0), ("rung", 0), ("checks", 0)):
        if getattr(condition, name):
            scene = replace(scene, **{name: getattr(condition, name)[index]})
    for name in ("idle", "rejections"):
        scene = replace(scene, **{name: getattr(condition, name) or 0})
    if condition.item:
        scene = replace(scene, item=condition.item[0])
    flags = ("findings", "untrue", "taken_back", "first", "replan", "conflict")
    return replace(scene, **{name: bool(getattr(condition, name)) for name in flags})


def hat(name: str = "implementer", *when: Condition, **fields: Any) -> Hat:
    return Hat.model_validate({"name": name, "title": name.title(), "prompt": f"Work as a {name}.", "when": when, **fields})


DEBUGGER = hat("debugger", Condition(failing=(FailureClass.TEST,), in_row=2), model="opus", disallowed_tools=("WebSearch",))


def preset(*hats: Hat, **fields: Any) -> Preset:
    sheet = PresetSheet(name="mine", title="Mine", about="Ours.", guidance="Keep it short.")
    return Preset(sheet=sheet, hats=hats or (hat(), DEBUGGER), **fields)


def definition_text(record: Hat | PresetSheet) -> str:
    body = "prompt" if isinstance(record, Hat) else "guidance"
    values = record.model_dump(mode="json", exclude_defaults=True, exclude={body})
    return f"+++\n{tomlkit.dumps(values)}+++\n\n{getattr(record, body)}\n"
