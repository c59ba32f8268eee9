"""A loop's configuration: merged from all layers, once what the repository's files ask for of the operator's is agreed to."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from helmsman.config.layers import COMMAND_LINE, Layer, from_environment, pairs, resolve
from helmsman.config.owners import Requested, Setting, as_json, violations
from helmsman.errors import HelmsmanError
from helmsman.records.hats import Preset
from helmsman.records.request import LoopRequest
from helmsman.toml_of import line_of
from tasks.agents.catalogue import LoopSettings
from tasks.agents.finding import AGENTS, named_in
from tasks.agents.finding import settled as with_agent
from tasks.hats.finding import BUILT_IN, HATS, chosen, is_path, known_presets, read_known, settled
from tasks.loop.alignment_file import goal_layer
from tasks.loop.files import brought_layers, prompt_layer, read_layers, read_user_layer
from tasks.system.environment import ours
from tasks.system.files import read_text
from tasks.system.secrets import without_secrets
from tasks.system.trust import require_agreed

PYPROJECT = "pyproject.toml"
LISTS = "protect", "allow", "trusted"  # of patterns
LISTED = list, tuple


def in_layers(top: Path, layers: Sequence[Layer]) -> Iterator[Requested]:
    """What the layers of `read_layers` ask for, by file."""
    for layer in layers:
        found = violations(pairs(layer.values))
        file = layer.source.split(" ")[0]
        if found and file.endswith(".toml"):
            text, table = read_text(top / file, "a TOML file"), "tool.helmsman." if file == PYPROJECT else ""
            found = tuple(one._replace(line=line_of(text, f"{table}{one.key}")) for one in found)
        if found:
            yield Requested(file, tuple(found))


def in_preset(top: Path, preset: Preset | None, *, named_by_hand: bool = False) -> Iterator[Requested]:
    """What a preset of the repository and the repository's hats in it ask for. `named_by_hand`: by its path, so it is theirs."""
    if preset is None:
        return
    if preset.source != BUILT_IN and not named_by_hand:
        found = violations(pairs(preset.sheet.settings))
        yield Requested(preset.source, tuple(one._replace(key=f"settings.{one.key}") for one in found))
    own = HATS.theirs(top)
    for hat in preset.hats:
        if hat.name in own and hat.allowed_tools:
            yield Requested(f"{HATS.folder}/{hat.name}.md", (Setting("allowed_tools", as_json(hat.allowed_tools)),))


def in_agent(top: Path, kind: str) -> Iterator[Requested]:
    """An agent's file names a program, its arguments and its environment: all of it counts."""
    path = named_in(top).get(kind)
    if path is not None:
        yield Requested(AGENTS.where(path), (Setting("agent", as_json(read_text(path, AGENTS.form))),))


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


def configure(
    repository: Path,
    request: LoopRequest,
    *,
    consent: frozenset[str] | None = frozenset(),
    stronger: Sequence[Layer] = (),
    weaker: Sequence[Layer] = (),
) -> LoopSettings:
    """Merge what the request says with environment and files. Raises OperatorError with the offending key and its source.

    `consent`: fingerprints of what the repository's files may set of the operator's; None: nothing, for a run was triggered
    from outside. Raises NotAgreed where they set more.
    `stronger` layers come right after the request, `weaker` ones last before the defaults, after what a preset says.
    """
    by_hand = [Layer(COMMAND_LINE, request.said), *stronger, Layer("environment", from_environment(ours()))]
    files, user = [*read_layers(repository), *brought_layers(repository)], read_user_layer()
    preset = chosen(repository, by_hand, files, user)
    own = [Layer(f"preset {preset.name}", preset.sheet.settings)] if preset else []
    files = [_beside(layer, preset) for layer in files]
    given = [*by_hand, *files, *user]
    goal = goal_layer(repository, given) or prompt_layer(repository, given)
    found = resolve([*by_hand, *files, *goal, *user, *own, *weaker])
    by_path = is_path(next((str(layer.values["preset"]) for layer in (*by_hand, *user) if "preset" in layer.values), ""))
    asked = (
        *in_layers(repository, files),
        *in_preset(repository, preset, named_by_hand=by_path),
        *in_agent(repository, found.config.agent.kind),
    )
    require_agreed(asked, consent)
    resolved = with_agent(settled(LoopSettings(found.config, found.origins), preset, repository), repository)
    return replace(resolved, config=without_secrets(resolved.config))  # before a loop is named after its goal


def _beside(layer: Layer, preset: Preset | None) -> Layer:
    """A file's patterns come on top of the preset's: what either protects stays so. Only a word by hand replaces them."""
    theirs, ours_ = layer.values.get("invariants"), preset.sheet.settings.get("invariants") if preset else None
    if not isinstance(theirs, Mapping) or not isinstance(ours_, Mapping):
        return layer
    given, preset_s = cast("Mapping[str, Any]", theirs), cast("Mapping[str, Any]", ours_)
    pairs_of = {key: (preset_s.get(key), given.get(key)) for key in LISTS}
    both: dict[str, list[Any]] = {
        key: [*one, *two] for key, (one, two) in pairs_of.items() if isinstance(one, LISTED) and isinstance(two, LISTED)
    }
    return Layer(layer.source, {**layer.values, "invariants": {**given, **both}})
