"""A loop's configuration: merged from all layers, once what the repository's files ask for of the operator's is agreed to.

Files are helmsman.toml, pyproject.toml, RUBRIC.md, .claude/autochecks.sh and the goal's own file; also what users of other loops
bring along (PROMPT.md with its promise, fix_plan.md, gulf-loop's alignment).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import yaml

from helmsman.config.layers import COMMAND_LINE, Layer, display, from_environment, pairs, resolve
from helmsman.config.owners import Requested, Setting, as_json, violations
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.parsers.rubric import Rubric, from_front_matter, read_rubric, said_twice, settings
from helmsman.parsers.rubric_items import MOST_PROBLEMS, Problem
from helmsman.parsers.status import promises
from helmsman.plain import one_line
from helmsman.records.alignment import ALIGNMENT
from helmsman.records.hats import Preset
from helmsman.records.request import LoopRequest
from helmsman.toml_of import line_of, toml_of
from tasks.agents.catalogue import AGENTS, LoopSettings, named_in
from tasks.agents.catalogue import settled as with_agent
from tasks.hats.finding import BUILT_IN, HATS, chosen, find_preset, is_path, known_presets, settled
from tasks.loop.alignment_file import goal_layer
from tasks.system.environment import ours
from tasks.system.files import BrokenFile, read_text, resolve_inside
from tasks.system.paths import user_config_file
from tasks.system.secrets import without_secrets
from tasks.system.trust import require_agreed

LARGEST_FRONT_MATTER = 1 << 14  # characters of front matter; YAML is slow to read, and this comes with the repository
DEEPEST_FRONT_MATTER = 20  # levels of nesting in front matter; YAML's reader slows down and overflows with depth
RUBRIC = "RUBRIC.md"
AUTOCHECKS = ".claude/autochecks.sh"
_MARK = "---"
GULF = ".claude/gulf-align.md"
PROMPTS = ".ralph/PROMPT.md", "PROMPT.md"
PLANS = "fix_plan.md", "@fix_plan.md"  # beside the prompt

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
    for name in known_presets(top):
        try:
            found += in_preset(top, find_preset(top, name))
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


@dataclass(frozen=True)
class RubricFile:
    """RUBRIC.md, front matter and sections."""

    front: Mapping[str, Any]  # what its front matter says, as configuration
    rubric: Rubric
    flaws: tuple[Problem, ...]  # of both, in the order of lines
    ours: bool  # whether anything in it speaks to Helmsman; else it is a document of somebody's own


def read_layers(repository: Path) -> list[Layer]:
    """The layers that lie in a repository, strongest first, with the text of the goal's file.

    A missing file is no layer. Raises OperatorError with every flaw.
    """
    path = _inside(repository, RUBRIC)
    layers = [_settings(repository)]
    if path.exists() and (file := read_rubric_file(path)).ours:
        if file.flaws:
            raise flawed(path, file.flaws, "fix the file; `helmsman rubric check` shows what is understood")
        found = Layer(f"{RUBRIC} front matter", file.front), Layer(RUBRIC, settings(file.rubric))
        layers += [layer for layer in found if layer.values]
    if _inside(repository, AUTOCHECKS).is_file():  # a check where nobody else gives any: a list replaces those of weaker layers
        layers.append(Layer(AUTOCHECKS, {"checks": [{"command": f"sh {AUTOCHECKS}", "name": "autochecks"}]}))
    return [resolve_goal_file(layer, repository, inside=True) for layer in layers if layer]


def _inside(repository: Path, name: str) -> Path:
    return resolve_inside(repository, name, name)


def read_user_layer() -> list[Layer]:
    """The user's own configuration; none where there is no such file."""
    path = user_config_file()
    return [read_file(path)] if path.exists() else []


def read_file(path: Path) -> Layer:
    """The layer of a TOML file that the operator named, by its absolute path."""
    return resolve_goal_file(Layer(str(path), read_toml(path)), path.parent)


def resolve_goal_file(layer: Layer, folder: Path, *, inside: bool = False) -> Layer:
    """Put the text of `goal_file`, looked up from this folder, in place of `goal`. `inside`: it may not lead out of there."""
    if "goal_file" not in layer.values:
        return layer
    if "goal" in layer.values:
        raise OperatorError(f"{layer.source} sets both goal and goal_file", remedy="keep one of the two")
    key, named = f"goal_file ({layer.source})", layer.values["goal_file"]
    if not isinstance(named, str):
        raise OperatorError(f"{key} is not a path", expected="text", found=display(named))
    path = resolve_inside(folder, named, key) if inside else folder / named
    text = read_text(path, f"the goal's text, because {key} names this file").strip()
    if not text:
        raise OperatorError(f"{key} is empty: {path}", remedy="write down what should be true at the end")
    rest = {key: value for key, value in layer.values.items() if key != "goal_file"}
    return Layer(layer.source, {**rest, "goal": text})


def read_rubric_file(path: Path) -> RubricFile:
    """Read a rubric with all its flaws. Raises OperatorError when it is no text or its front matter no YAML."""
    lines = read_text(path, "a Markdown file").split("\n")
    said, body = dict[str, Any](), 0
    if lines[0].rstrip() == _MARK:
        end = next((number for number, line in enumerate(lines) if number and line.rstrip() == _MARK), None)
        if end is None:
            raise BrokenFile(path, "line 1 opens front matter with --- and no line closes it")
        # An empty line stands for the opening mark, so that YAML counts lines as the file does.
        said, body = _yaml(path, "\n".join(["", *lines[1:end]])), end + 1
    front, flaws = from_front_matter(said, lines[:body])
    rubric = read_rubric("\n".join(lines[body:]), body + 1)
    if rubric.ours or not said:
        flaws += [*rubric.problems, *said_twice(front, settings(rubric), lines[:body])]
    return RubricFile(front, rubric, tuple(sorted(flaws, key=lambda flaw: flaw.line)[:MOST_PROBLEMS]), rubric.ours or bool(said))


def _settings(repository: Path) -> Layer | None:
    own = _inside(repository, "helmsman.toml")
    if own.exists():
        return Layer("helmsman.toml", read_toml(own))
    path = _inside(repository, "pyproject.toml")
    tool: Any = read_toml(path).get("tool") if path.exists() else None
    table: Any = cast("dict[str, Any]", tool).get("helmsman") if isinstance(tool, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        raise BrokenFile(path, f"tool.helmsman must be a table, found {display(table)}")
    return Layer("pyproject.toml [tool.helmsman]", cast("dict[str, Any]", table))


def flawed(path: Path, flaws: Sequence[Problem], remedy: str) -> OperatorError:
    """What is wrong with a file, line by line."""
    told = [f"{path.name}:{flaw.line}: {flaw.cause}; {flaw.remedy}" for flaw in flaws]
    return OperatorError("\n  ".join([f"{path} cannot be used:", *told]), remedy=remedy)


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a table. Raises OperatorError, with the place of what is wrong."""
    text = read_text(path, "a TOML file")
    try:
        return toml_of(text)
    except RecursionError:
        raise BrokenFile(path, "it is nested too deeply") from None
    except ValueError as error:  # tomllib's own error, or Python's of a number with too many digits
        raise BrokenFile(path, str(error)) from None


def _yaml(path: Path, text: str) -> dict[str, Any]:
    if len(text) > LARGEST_FRONT_MATTER:
        raise BrokenFile(path, f"its front matter is longer than {LARGEST_FRONT_MATTER} characters")
    try:
        _refuse_bombs(path, text)
        table: Any = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:  # the latter of a date or a number that is none
        mark = getattr(error, "problem_mark", None)
        raise BrokenFile(path, f"its front matter: {one_line(str(error))}", mark.line + 1 if mark else 1) from None
    if table is None:
        return {}
    if not isinstance(table, Mapping):
        raise BrokenFile(path, f"its front matter must be KEY: VALUE lines, found {display(table)}")
    return dict(cast("Mapping[str, Any]", table))


def _refuse_bombs(path: Path, text: str) -> None:
    """Few lines with aliases or deep nesting cost hours or memory without end, and tags break YAML's own types."""
    depth = 0
    events = yaml.parse(text, Loader=yaml.SafeLoader)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    for event in cast("Iterator[Any]", events):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        line = event.start_mark.line + 1
        if depth > DEEPEST_FRONT_MATTER:
            raise BrokenFile(path, f"line {line} is nested more than {DEEPEST_FRONT_MATTER} levels deep", line)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "tag", None):
            raise BrokenFile(path, f"line {line} has an alias or a tag; front matter is plain YAML", line)


def brought_layers(repository: Path) -> Iterator[Layer]:
    """What holds whoever gives the goal: the alignment of another loop, where there is none of ours."""
    if _inside(repository, GULF).is_file() and not _inside(repository, ALIGNMENT).is_file():
        yield Layer(GULF, {"alignment": GULF})


def prompt_layer(repository: Path, layers: Sequence[Layer]) -> list[Layer]:
    """Goal, promise and plan of a loop to which nobody else gives a goal."""
    said = {key for layer in layers for key, _ in pairs(layer.values)}
    name = "" if "goal" in said else next((name for name in PROMPTS if _inside(repository, name).is_file()), "")
    if not name:
        return []
    path = _inside(repository, name)
    text = read_text(path, "a prompt").strip()
    if not text:
        raise OperatorError(f"{path} is empty", remedy="write down what should be true at the end, or give a goal")
    found = {} if "completion.promise" in said else promises(text)
    if len(found) > 1:
        told = ", ".join(f"{promise} in line {line}" for promise, line in found.items())
        remedy = "keep one, or say which: --completion-promise TEXT"
        raise OperatorError(f"{path} names several promises", expected="one", found=told, remedy=remedy)
    promise = {"promise": next(iter(found))} if found else {}
    folder = name.removesuffix("PROMPT.md")
    plan = next((folder + plan for plan in PLANS if _inside(repository, folder + plan).is_file()), "")
    return [Layer(name, {"goal": text, "completion": promise, "plan": {"file": plan} if plan else {}})]
