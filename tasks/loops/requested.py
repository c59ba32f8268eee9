"""What the files of a repository ask for that is the operator's to decide: keys, agents' programs, tools of hats."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from helmsman.config.owners import Requested, Setting, as_json, violations
from helmsman.errors import HelmsmanError
from helmsman.layers import Layer, pairs
from helmsman.records.hats import Preset
from helmsman.toml_of import line_of
from tasks.agents.finding import AGENTS, named_in
from tasks.hats.finding import BUILT_IN, HATS, hats_in, known_presets, read_known
from tasks.loops.config_files import read_layers, read_text
from tasks.loops.ralph_files import brought_layers

PYPROJECT = "pyproject.toml"


def in_layers(top: Path, layers: Sequence[Layer]) -> Iterator[Requested]:
    """What the layers of `read_layers` ask for, by file."""
    for layer in layers:
        found = violations(pairs(layer.values))
        if found:
            file = layer.source.split(" ")[0]
            yield Requested(file, tuple(one._replace(line=_line(top, layer.source, one.key)) for one in found))


def in_preset(top: Path, preset: Preset | None, *, named_by_hand: bool = False) -> Iterator[Requested]:
    """What a preset of the repository and the repository's hats in it ask for. `named_by_hand`: by its path, so it is theirs."""
    if preset is None:
        return
    if preset.source != BUILT_IN and not named_by_hand:
        found = violations(pairs(preset.sheet.settings))
        yield Requested(preset.source, tuple(one._replace(key=f"settings.{one.key}") for one in found))
    own = set(hats_in(top))
    for hat in preset.hats:
        if hat.name in own and hat.allowed_tools:
            yield Requested(f"{HATS}/{hat.name}.md", (Setting("allowed_tools", as_json(hat.allowed_tools)),))


def in_agent(top: Path, kind: str) -> Iterator[Requested]:
    """An agent's file names a program, its arguments and its environment: all of it counts."""
    path = named_in(top).get(kind)
    if path is not None:
        yield Requested(f"{AGENTS}/{path.name}", (Setting("agent", as_json(read_text(path, "a file in TOML"))),))


def in_repository(top: Path) -> list[Requested]:
    """All that the files in a checkout could ask for, whichever preset and agent a loop chooses."""
    layers = [*read_layers(top), *brought_layers(top)]
    found = [*in_layers(top, layers), *(one for kind in named_in(top) for one in in_agent(top, kind))]
    for known in known_presets(top):
        try:
            found += in_preset(top, read_known(top, known))
        except HelmsmanError:
            continue  # a broken preset asks for nothing; whoever chooses it reads what is wrong
    return [one for one in dict.fromkeys(found) if one.settings]


def _line(top: Path, source: str, key: str) -> int:
    """Of a key in the file that a layer is of; some layers say it themselves."""
    if said := re.search(r" line (\d+)", source):
        return int(said[1])
    file = source.split(" ", maxsplit=1)[0]
    path = top / file
    if path.suffix != ".toml":
        return 0
    return line_of(read_text(path, "a TOML file"), f"tool.helmsman.{key}" if file == PYPROJECT else key)
