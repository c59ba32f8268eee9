"""Presets and hats: look-up, the loop's choice, and new preset files."""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from helmsman.config.layers import COMMAND_LINE, Layer, did_you_mean, display
from helmsman.errors import OperatorError
from helmsman.orient.hats import CALLED
from helmsman.parsers.definitions import read_hat, read_sheet
from helmsman.records.hats import Hat, Preset, PresetSheet
from tasks.agents.catalogue import Catalogue, LoopSettings
from tasks.system.files import read_text, resolve_inside

BUILT_IN = "built in"
INTEGRATOR = "integrator"  # any loop's work may have to be merged with that of others
FORM = "a file with TOML between two lines of +++, and Markdown below"
_OURS = Path(__file__).parent
PRESETS = Catalogue("preset", ".helmsman/presets", _OURS / "presets", ".md", FORM)
HATS = Catalogue("hat", ".helmsman/hats", _OURS / "personas", ".md", FORM)


def choose_preset(top: Path, by_hand: Sequence[Layer], files: Sequence[Layer], user: Sequence[Layer]) -> Preset | None:
    """The preset that the strongest layer names. A file of the repository can only name one inside the repository."""
    for layers, anywhere in ((by_hand, True), (files, False), (user, True)):
        for layer in layers:
            named: Any = layer.values.get("preset")
            if named is not None:
                return find_preset(top, named, anywhere=anywhere) if isinstance(named, str) and named.strip() else None
    return None


def with_preset(resolved: LoopSettings, preset: Preset | None, top: Path) -> LoopSettings:
    """The settings with the loop's preset. Models that the operator sets by hand take precedence over any hat's."""
    if preset is None:
        return resolved
    config, origins = resolved.config, resolved.origins
    names = sorted({*HATS.all_files(top), *(hat.name for hat in preset.hats)})
    for name in config.hats.models:  # a typo in a hat's name would go unnoticed
        if name not in names:
            raise OperatorError(
                f"hats.models names an unknown hat: {display(name)}{did_you_mean(name, names)}",
                expected=f"one of {', '.join(names)}",
            )
    is_by_hand = origins["claude.model"] == COMMAND_LINE
    if is_by_hand:
        hats = tuple(hat.model_copy(update={"model": ""}) for hat in preset.hats)
        preset = preset.model_copy(update={"hats": hats})
    keeps_model = is_by_hand and origins["hats.models"] != COMMAND_LINE
    return replace(resolved, preset=preset.model_copy(update={"replaces": None if keeps_model else config.claude.model}))


def find_preset(top: Path, named: str, *, anywhere: bool = True) -> Preset:
    """The preset of a name or path. `anywhere`: whether a path may lead out of the repository. Raises OperatorError."""
    if is_path(named):
        path = top / os.path.expanduser(named)  # noqa: PTH111 - a Path raises for an unknown user
        inside = path if anywhere else resolve_inside(top, path.relative_to(top) if path.is_relative_to(top) else path, named)
        sheet = read_sheet(read_text(inside, FORM), _display_path(path, top))
        return _with_hats(sheet, top, _display_path(path, top))
    known = known_presets(top)
    if named not in known:
        names = list(known)
        raise OperatorError(
            f"there is no preset {display(named)}{did_you_mean(named, names)}",
            expected=f"one of {', '.join(names)}, or the path of a file",
            remedy="list them: helmsman presets list; create one: helmsman presets new NAME",
        )
    return _with_hats(PRESETS.read(PRESETS.all_files(top)[named], top, read_sheet), top, known[named])


def is_path(named: str) -> bool:
    return "/" in named or named.endswith(".md")


def known_presets(top: Path) -> dict[str, str]:
    """Source of each preset by name; the repository's replace ours. The files may be invalid."""
    files = PRESETS.all_files(top).items()
    return {name: BUILT_IN if path.is_relative_to(PRESETS.built_in) else PRESETS.display_name(path) for name, path in files}


def _with_hats(sheet: PresetSheet, top: Path, source: str) -> Preset:
    """The preset with its hats and those that any loop may need. Hats that the ladder calls by name have no other triggers."""
    own = [_find_hat(name, top, sheet, source) for name in dict.fromkeys((sheet.usual, *sheet.hats))]
    names = {hat.name for hat in own}
    called = [
        _find_hat(name, top, sheet, source).model_copy(update={"when": ()}) for name in CALLED.values() if name not in names
    ]
    always = [_find_hat(name, top, sheet, source) for name in (INTEGRATOR,) if name not in names]
    return Preset(sheet=sheet, hats=(*own, *called, *always), source=source)


def _find_hat(name: str, top: Path, sheet: PresetSheet, source: str) -> Hat:
    hats = HATS.all_files(top)
    if name not in hats:
        raise OperatorError(
            f"preset {sheet.name} ({source}) names an unknown hat: {display(name)}{did_you_mean(name, hats)}",
            expected=f"one of {', '.join(hats)}",
            remedy=f"correct its name, or write {HATS.folder}/{name}.md",
        )
    return HATS.read(hats[name], top, read_hat)


def _display_path(path: Path, top: Path) -> str:
    """A file's path in messages and in the loop's state: relative to the repository's top where it is inside."""
    return path.relative_to(top).as_posix() if path.is_relative_to(top) else str(path)


def preset_text(top: Path, named: str, name: str) -> str:
    """The text of a preset's file, with another name in it. Raises OperatorError."""
    find_preset(top, named)
    path = top / os.path.expanduser(named) if is_path(named) else PRESETS.all_files(top)[named]  # noqa: PTH111 - as find_preset
    return re.sub(r"(?m)^name\b.*$", f'name = "{name}"', read_text(path, FORM), count=1)


def add_preset(top: Path, name: str, text: str) -> Path:
    """Write a preset's file. Raises OperatorError where it exists, or the folder leads out of the repository."""
    path = top / PRESETS.folder / f"{name}.md"
    resolve_inside(top, path.relative_to(top), "the presets folder")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise OperatorError(f"{PRESETS.display_name(path)} already exists", remedy="edit it, or choose another name") from None
    except OSError as error:
        raise OperatorError(f"{path} cannot be written", found=str(error.strerror), remedy="make the folder writable") from error
    return path
