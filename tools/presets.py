"""Generate the tables of docs/presets.md from the files of hats and presets: `python tools/presets.py [--check]`.

--check writes nothing, and exits with 1 if the document is stale.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # run by path, like every tool

from helmsman.config.layers import dotted_pairs
from helmsman.orient.hats import condition_text
from helmsman.records.hats import Hat, Preset
from tasks.hats.finding import find_preset, known_presets
from tools.generated_parts import ROOT, update_document

DOCUMENT = ROOT / "docs" / "presets.md"
WITHOUT_PRESETS = ROOT / "tools"
"""A folder without presets of its own."""
MAX_VALUE = 20
"""Maximum characters of a value in a cell."""


def tables() -> Mapping[str, str]:
    presets = [find_preset(WITHOUT_PRESETS, name) for name in known_presets(WITHOUT_PRESETS)]
    return {"presets": "\n".join(_presets(presets)), "hats": "\n".join(_hats(presets))}


def _presets(presets: list[Preset]) -> Iterator[str]:
    yield "| preset | for | usual hat | others | settings |\n|---|---|---|---|---|"
    for preset in presets:
        sheet = preset.sheet
        values = [(key, json.dumps(value, ensure_ascii=False)) for key, value in dotted_pairs(sheet.settings)]
        settings = ", ".join(f"`{key}`" if len(value) > MAX_VALUE else f"`{key} = {value}`" for key, value in values)
        cells = (f"`{sheet.name}`", sheet.about, sheet.usual, ", ".join(sheet.hats) or "none", settings)
        yield f"| {' | '.join(cells)} |"


def _hats(presets: list[Preset]) -> Iterator[str]:
    yield "| hat | worn when | priority |\n|---|---|---|"
    hats: dict[str, Hat] = {}
    for hat in (hat for preset in presets for hat in preset.hats):
        hats[hat.name] = hat if hat.when or hat.name not in hats else hats[hat.name]
    for hat in sorted(hats.values(), key=lambda hat: (-hat.priority * bool(hat.when), hat.name)):
        when = "; or ".join(map(condition_text, hat.when)) or "it is the usual hat, or the escalation level asks for it"
        yield f"| {hat.name} | {when} | {hat.priority if hat.when else 'none'} |"


if __name__ == "__main__":
    sys.exit(update_document(DOCUMENT, tables(), __file__, sys.argv[1:]))
