"""A loop's configuration, merged from all layers after consent to operator settings that the repository's files request.

Files are helmsman.toml, pyproject.toml, RUBRIC.md, .claude/autochecks.sh and the goal file; also files of other loop tools
(PROMPT.md with its promise, fix_plan.md, gulf-loop's alignment).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import yaml

from helmsman.config.layers import COMMAND_LINE, Layer, display, dotted_pairs, from_environment, resolve
from helmsman.config.owners import Setting, TrustRequest, as_json, violations
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.parsers.rubric import MOST_PROBLEMS, Problem, Rubric, find_conflicts, parse_front_matter, read_rubric, settings
from helmsman.parsers.status import find_promises
from helmsman.plain import one_line
from helmsman.records.alignment import ALIGNMENT
from helmsman.records.hats import Preset
from helmsman.records.request import LoopRequest
from helmsman.toml_text import find_line, parse_toml
from tasks.agents.catalogue import AGENTS, LoopSettings, repository_agents, with_agent
from tasks.hats.finding import BUILT_IN, HATS, choose_preset, find_preset, is_path, known_presets, with_preset
from tasks.loop.alignment_file import goal_layer
from tasks.system.environment import own_environment
from tasks.system.files import BrokenFile, read_text, resolve_inside
from tasks.system.paths import user_config_file
from tasks.system.secrets import without_secrets
from tasks.system.trust import require_agreement

LARGEST_FRONT_MATTER = 1 << 14  # characters of front matter; YAML is slow to parse, and the repository is untrusted
DEEPEST_FRONT_MATTER = 20  # levels of nesting in front matter; YAML's reader slows down and overflows with depth
RUBRIC = "RUBRIC.md"
AUTOCHECKS = ".claude/autochecks.sh"
_MARK = "---"
GULF_ALIGNMENT = ".claude/gulf-align.md"
PROMPTS = ".ralph/PROMPT.md", "PROMPT.md"
PLANS = "fix_plan.md", "@fix_plan.md"  # next to the prompt

PYPROJECT = "pyproject.toml"
PATTERN_KEYS = "protect", "allow", "trusted"  # lists of patterns
LIST_TYPES = list, tuple


def layer_requests(top: Path, layers: Sequence[Layer]) -> Iterator[TrustRequest]:
    """Operator settings that the layers of `read_layers` request, by file."""
    for layer in layers:
        settings = violations(dotted_pairs(layer.values))
        file = layer.source.split(" ")[0]
        if settings and file.endswith(".toml"):
            text, table = read_text(top / file, "a TOML file"), "tool.helmsman." if file == PYPROJECT else ""
            settings = tuple(setting._replace(line=find_line(text, f"{table}{setting.key}")) for setting in settings)
        if settings:
            yield TrustRequest(file, tuple(settings))


def preset_requests(top: Path, preset: Preset | None, *, named_by_hand: bool = False) -> Iterator[TrustRequest]:
    """Operator settings that a repository's preset and its hats request. `named_by_hand`: the operator gave its path."""
    if preset is None:
        return
    if preset.source != BUILT_IN and not named_by_hand:
        settings = violations(dotted_pairs(preset.sheet.settings))
        yield TrustRequest(preset.source, tuple(setting._replace(key=f"settings.{setting.key}") for setting in settings))
    own_hats = HATS.repository_files(top)
    for hat in preset.hats:
        if hat.name in own_hats and hat.allowed_tools:
            yield TrustRequest(f"{HATS.folder}/{hat.name}.md", (Setting("allowed_tools", as_json(hat.allowed_tools)),))


def agent_requests(top: Path, kind: str) -> Iterator[TrustRequest]:
    """Operator settings that an agent's file requests: the whole file, as it names a program, arguments and environment."""
    path = repository_agents(top).get(kind)
    if path is not None:
        where = AGENTS.display_name(path)
        text = read_text(resolve_inside(top, path.relative_to(top), where), AGENTS.form)
        yield TrustRequest(where, (Setting("agent", as_json(text)),))


def repository_requests(top: Path) -> list[TrustRequest]:
    """All operator settings that the files in a checkout could request, for every preset and agent."""
    layers = [*read_layers(top), *foreign_layers(top)]
    requests = [
        *layer_requests(top, layers),
        *(request for kind in repository_agents(top) for request in agent_requests(top, kind)),
    ]
    for name in known_presets(top):
        try:
            requests += preset_requests(top, find_preset(top, name))
        except HelmsmanError:
            continue  # a broken preset requests nothing; choosing it reports the error
    return [request for request in dict.fromkeys(requests) if request.settings]


def configure(
    repository: Path,
    request: LoopRequest,
    *,
    consent: frozenset[str] | None = frozenset(),
    stronger: Sequence[Layer] = (),
    weaker: Sequence[Layer] = (),
) -> LoopSettings:
    """Merge the request with environment and files. Raises OperatorError with the offending key and its source.

    `consent`: fingerprints of operator settings that the repository's files may set; None: no settings, for a run triggered
    from outside. Raises ConsentMissing where they set more.
    `stronger` layers come right after the request, `weaker` ones after the preset and before the defaults.
    """
    by_hand = [Layer(COMMAND_LINE, request.configuration), *stronger, Layer("environment", from_environment(own_environment()))]
    file_layers, user_layers = [*read_layers(repository), *foreign_layers(repository)], read_user_layer()
    preset = choose_preset(repository, by_hand, file_layers, user_layers)
    preset_layers = [Layer(f"preset {preset.name}", preset.sheet.settings)] if preset else []
    file_layers = [_with_preset_patterns(layer, preset) for layer in file_layers]
    known_layers = [*by_hand, *file_layers, *user_layers]
    goal_layers = goal_layer(repository, known_layers) or prompt_layer(repository, known_layers)
    merged_settings = resolve([*by_hand, *file_layers, *goal_layers, *user_layers, *preset_layers, *weaker])
    naming = next((layer for layer in known_layers if layer.values.get("preset") is not None), None)
    by_path = naming is not None and naming not in file_layers and is_path(str(naming.values["preset"]))
    requested = (
        *layer_requests(repository, file_layers),
        *preset_requests(repository, preset, named_by_hand=by_path),
        *agent_requests(repository, merged_settings.config.agent.kind),
    )
    require_agreement(requested, consent)
    resolved = with_agent(
        with_preset(LoopSettings(merged_settings.config, merged_settings.origins), preset, repository), repository
    )
    return replace(resolved, config=without_secrets(resolved.config))  # before a loop gets its name from the goal


def _with_preset_patterns(layer: Layer, preset: Preset | None) -> Layer:
    """Add the preset's patterns to a file's, so what either protects stays protected. Only settings by hand replace them."""
    file_invariants = layer.values.get("invariants")
    preset_invariants = preset.sheet.settings.get("invariants") if preset else None
    if not isinstance(file_invariants, Mapping) or not isinstance(preset_invariants, Mapping):
        return layer
    from_file, from_preset = cast("Mapping[str, Any]", file_invariants), cast("Mapping[str, Any]", preset_invariants)
    combined = dict[str, list[Any]]()
    for key in PATTERN_KEYS:
        weaker, stronger = from_preset.get(key), from_file.get(key)
        if isinstance(weaker, LIST_TYPES) and isinstance(stronger, LIST_TYPES):
            combined[key] = [*cast("list[Any]", weaker), *cast("list[Any]", stronger)]
    return Layer(layer.source, {**layer.values, "invariants": {**from_file, **combined}})


@dataclass(frozen=True)
class RubricFile:
    """RUBRIC.md, front matter and sections."""

    front: Mapping[str, Any]  # its front matter, as configuration
    rubric: Rubric
    flaws: tuple[Problem, ...]  # problems of both, in line order
    is_ours: bool  # whether any of it is for Helmsman; if not, it is an unrelated document


def read_layers(repository: Path) -> list[Layer]:
    """The layers of a repository's files, strongest first, with the text of the goal file.

    A missing file is no layer. Raises OperatorError with every problem.
    """
    path = _path_inside(repository, RUBRIC)
    layers = [_settings_layer(repository)]
    if path.exists() and (file := read_rubric_file(path)).is_ours:
        if file.flaws:
            raise problems_error(path, file.flaws, "fix the file; `helmsman rubric check` shows what is understood")
        layers += rubric_layers(file)
    if _path_inside(repository, AUTOCHECKS).is_file():  # used without stronger checks: a list replaces weaker ones
        layers.append(Layer(AUTOCHECKS, {"checks": [{"command": f"sh {AUTOCHECKS}", "name": "autochecks"}]}))
    return [resolve_goal_file(layer, repository, inside=True) for layer in layers if layer]


def _path_inside(repository: Path, name: str) -> Path:
    return resolve_inside(repository, name, name)


def read_user_layer() -> list[Layer]:
    """The user's own configuration; empty without such a file."""
    path = user_config_file()
    return [read_file(path)] if path.exists() else []


def read_file(path: Path) -> Layer:
    """The layer of a TOML file that the operator passed, named by its absolute path."""
    return resolve_goal_file(Layer(str(path), read_toml(path)), path.parent)


def resolve_goal_file(layer: Layer, folder: Path, *, inside: bool = False) -> Layer:
    """Replace `goal_file`, relative to this folder, by a `goal` with its text. `inside`: the path must not leave the folder."""
    if "goal_file" not in layer.values:
        return layer
    if "goal" in layer.values:
        raise OperatorError(f"{layer.source} sets both goal and goal_file", remedy="keep one of the two")
    key, value = f"goal_file ({layer.source})", layer.values["goal_file"]
    if not isinstance(value, str):
        raise OperatorError(f"{key} is not a path", expected="text", found=display(value))
    path = resolve_inside(folder, value, key) if inside else folder / value
    text = read_text(path, f"the goal's text, because {key} names this file").strip()
    if not text:
        raise OperatorError(f"{key} is empty: {path}", remedy="describe the goal in it")
    rest = {key: value for key, value in layer.values.items() if key != "goal_file"}
    return Layer(layer.source, {**rest, "goal": text})


def read_rubric_file(path: Path) -> RubricFile:
    """Read a rubric and all its problems. Raises OperatorError when it is not text or its front matter is not YAML."""
    lines = read_text(path, "a Markdown file").split("\n")
    table, body = dict[str, Any](), 0
    if lines[0].rstrip() == _MARK:
        end = next((number for number, line in enumerate(lines) if number and line.rstrip() == _MARK), None)
        if end is None:
            raise BrokenFile(path, "line 1 opens front matter with --- and no line closes it")
        # An empty line replaces the opening mark, so that YAML's line numbers are those of the file.
        table, body = _parse_yaml(path, "\n".join(["", *lines[1:end]])), end + 1
    front, flaws = parse_front_matter(table, lines[:body])
    rubric = read_rubric("\n".join(lines[body:]), body + 1)
    if rubric.ours or not table:
        flaws += [*rubric.problems, *find_conflicts(front, settings(rubric), lines[:body])]
    return RubricFile(front, rubric, tuple(sorted(flaws, key=lambda flaw: flaw.line)[:MOST_PROBLEMS]), rubric.ours or bool(table))


def rubric_layers(read: RubricFile) -> list[Layer]:
    """The layers of a rubric: its front matter and its sections."""
    layers = Layer(f"{RUBRIC} front matter", read.front), Layer(RUBRIC, settings(read.rubric))
    return [layer for layer in layers if layer.values]


def _settings_layer(repository: Path) -> Layer | None:
    own_file = _path_inside(repository, "helmsman.toml")
    if own_file.exists():
        return Layer("helmsman.toml", read_toml(own_file))
    path = _path_inside(repository, "pyproject.toml")
    tool: Any = read_toml(path).get("tool") if path.exists() else None
    table: Any = cast("dict[str, Any]", tool).get("helmsman") if isinstance(tool, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        raise BrokenFile(path, f"tool.helmsman must be a table, found {display(table)}")
    return Layer("pyproject.toml [tool.helmsman]", cast("dict[str, Any]", table))


def problems_error(path: Path, flaws: Sequence[Problem], remedy: str) -> OperatorError:
    """An error that lists what is wrong with a file, line by line."""
    lines = [f"{path.name}:{flaw.line}: {flaw.cause}; {flaw.remedy}" for flaw in flaws]
    return OperatorError("\n  ".join([f"{path} cannot be used:", *lines]), remedy=remedy)


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file as a table. Raises OperatorError with the position of the error."""
    text = read_text(path, "a TOML file")
    try:
        return parse_toml(text)
    except RecursionError:
        raise BrokenFile(path, "it is nested too deeply") from None
    except ValueError as error:  # tomllib's own error, or Python's of a number with too many digits
        raise BrokenFile(path, str(error)) from None


def _parse_yaml(path: Path, text: str) -> dict[str, Any]:
    if len(text) > LARGEST_FRONT_MATTER:
        raise BrokenFile(path, f"its front matter is longer than {LARGEST_FRONT_MATTER} characters")
    try:
        _refuse_bombs(path, text)
        table: Any = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:  # ValueError for an invalid date or number
        mark = getattr(error, "problem_mark", None)
        raise BrokenFile(path, f"its front matter: {one_line(str(error))}", mark.line + 1 if mark else 1) from None
    if table is None:
        return {}
    if not isinstance(table, Mapping):
        raise BrokenFile(path, f"its front matter must be KEY: VALUE lines, found {display(table)}")
    return dict(cast("Mapping[str, Any]", table))


def _refuse_bombs(path: Path, text: str) -> None:
    """Reject aliases, deep nesting and tags: few lines cost hours or unbounded memory, and tags break YAML's own types."""
    depth = 0
    events = yaml.parse(text, Loader=yaml.SafeLoader)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    for event in cast("Iterator[Any]", events):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        line = event.start_mark.line + 1
        if depth > DEEPEST_FRONT_MATTER:
            raise BrokenFile(path, f"line {line} is nested more than {DEEPEST_FRONT_MATTER} levels deep", line)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "tag", None):
            raise BrokenFile(path, f"line {line} has an alias or a tag; front matter is plain YAML", line)


def foreign_layers(repository: Path) -> Iterator[Layer]:
    """Layers that apply to every goal: gulf-loop's alignment, where there is no alignment file of ours."""
    if _path_inside(repository, GULF_ALIGNMENT).is_file() and not _path_inside(repository, ALIGNMENT).is_file():
        yield Layer(GULF_ALIGNMENT, {"alignment": GULF_ALIGNMENT})


def prompt_layer(repository: Path, layers: Sequence[Layer]) -> list[Layer]:
    """Goal, promise and plan from PROMPT.md, for a loop without another goal."""
    known_keys = {key for layer in layers for key, _ in dotted_pairs(layer.values)}
    name = "" if "goal" in known_keys else next((name for name in PROMPTS if _path_inside(repository, name).is_file()), "")
    if not name:
        return []
    path = _path_inside(repository, name)
    text = read_text(path, "a prompt").strip()
    if not text:
        raise OperatorError(f"{path} is empty", remedy="describe the goal in it, or give a goal")
    found_promises = {} if "completion.promise" in known_keys else find_promises(text)
    if len(found_promises) > 1:
        listed = ", ".join(f"{promise} in line {line}" for promise, line in found_promises.items())
        remedy = "keep one, or say which: --completion-promise TEXT"
        raise OperatorError(f"{path} names several promises", expected="one", found=listed, remedy=remedy)
    promise = {"promise": next(iter(found_promises))} if found_promises else {}
    folder = name.removesuffix("PROMPT.md")
    plan = next((folder + plan for plan in PLANS if _path_inside(repository, folder + plan).is_file()), "")
    return [Layer(name, {"goal": text, "completion": promise, "plan": {"file": plan} if plan else {}})]
