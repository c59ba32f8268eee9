"""Read configuration from files: helmsman.toml, pyproject.toml, RUBRIC.md and the goal's own file."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import yaml

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from helmsman.layers import Layer, shown

LARGEST_FILE = 1 << 20
"""Bytes of a file of configuration or of a goal; more is a mistake."""
LARGEST_FRONT_MATTER = 1 << 14
"""Characters of front matter; YAML is slow to read, and this comes with the repository."""
DEEPEST_FRONT_MATTER = 20
"""Levels of nesting in front matter; YAML's reader slows down and overflows with depth."""

_MARK = "---"


def read_layers(repository: Path) -> list[Layer]:
    """The layers that lie in a repository, strongest first; a missing file is no layer."""
    layers = [_settings(repository), _rubric(repository / "RUBRIC.md")]
    return [resolve_goal_file(layer, repository) for layer in layers if layer]


def read_file(path: Path) -> Layer:
    """The layer of a TOML file that the operator named."""
    return resolve_goal_file(Layer(str(path), _toml(path)), path.parent)


def resolve_goal_file(layer: Layer, folder: Path) -> Layer:
    """Put the text of `goal_file`, looked up from this folder, in place of `goal`."""
    if "goal_file" not in layer.values:
        return layer
    if "goal" in layer.values:
        raise OperatorError(f"{layer.source} gives both goal and goal_file", remedy="keep one of the two")
    rest = {key: value for key, value in layer.values.items() if key != "goal_file"}
    return Layer(layer.source, {**rest, "goal": _goal(layer.values["goal_file"], folder, layer.source)})


def front_matter(path: Path) -> dict[str, Any]:
    """What a Markdown file says in YAML between `---` lines at its top; nothing where there is none."""
    text = _text(path, "a Markdown file")
    lines = text.split("\n")
    if lines[0].rstrip() != _MARK:
        return {}
    end = next((number for number, line in enumerate(lines) if number and line.rstrip() == _MARK), None)
    if end is None:
        raise _broken(path, "line 1 opens front matter with --- and no line closes it")
    # An empty line stands for the opening mark, so that YAML counts lines as the file does.
    return _yaml(path, "\n".join(["", *lines[1:end]]))


def _settings(repository: Path) -> Layer | None:
    own = repository / "helmsman.toml"
    return Layer("helmsman.toml", _toml(own)) if own.exists() else _pyproject(repository / "pyproject.toml")


def _pyproject(path: Path) -> Layer | None:
    if not path.exists():
        return None
    tool: Any = _toml(path).get("tool")
    table: Any = cast("dict[str, Any]", tool).get("helmsman") if isinstance(tool, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        raise _broken(path, f"tool.helmsman must be a table, found {shown(table)}")
    return Layer("pyproject.toml [tool.helmsman]", cast("dict[str, Any]", table))


def _rubric(path: Path) -> Layer | None:
    """The rubric's front matter, without the keys that speak to the judge and not to the loop."""
    if not path.exists():
        return None
    known = {*LoopConfig.model_fields, "goal_file"}
    values = {key: value for key, value in front_matter(path).items() if key in known}
    return Layer("RUBRIC.md front matter", values) if values else None


def _goal(named: Any, folder: Path, source: str) -> str:
    if not isinstance(named, str):
        raise OperatorError(f"goal_file ({source}) is not a path", expected="text", found=shown(named))
    path = folder / named
    text = _text(path, f"the goal's text, because goal_file ({source}) names this file").strip()
    if not text:
        raise OperatorError(f"goal_file ({source}) is empty: {path}", remedy="write down what shall be true at the end")
    return text


def _text(path: Path, expected: str) -> str:
    """A file's text without byte order mark and with plain line ends."""
    data = _bytes(path, expected)
    if len(data) > LARGEST_FILE:
        raise _broken(path, f"it is larger than {LARGEST_FILE} bytes")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _broken(path, f"line {line} is not UTF-8: {error.reason}") from None


def _bytes(path: Path, expected: str) -> bytes:
    try:
        if not path.is_file():  # a pipe would block for ever, a device would never end
            found = "something else" if path.exists() else "nothing"
            raise OperatorError(f"{path} cannot be read", expected=expected, found=found, remedy="correct its path")
        with path.open("rb") as file:
            return file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise OperatorError(
            f"{path} cannot be read", expected=expected, found=str(error.strerror), remedy="make it readable"
        ) from error


def _toml(path: Path) -> dict[str, Any]:
    text = _text(path, "a TOML file")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise _broken(path, "it is nested too deeply") from None
    except ValueError as error:  # tomllib's own error, or Python's of a number with too many digits
        raise _broken(path, _toml_cause(str(error), text)) from None


def _toml_cause(message: str, text: str) -> str:
    """Tomllib's message names line and column, except at the end of the file."""
    line, column = text.count("\n") + 1, len(text) - text.rfind("\n")
    return message.replace("(at end of document)", f"(at line {line}, column {column}, the end of the file)")


def _yaml(path: Path, text: str) -> dict[str, Any]:
    if len(text) > LARGEST_FRONT_MATTER:
        raise _broken(path, f"its front matter is longer than {LARGEST_FRONT_MATTER} characters")
    try:
        _refuse_bombs(path, text)
        table: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise _broken(path, _yaml_cause(error)) from None
    except ValueError as error:  # a date or a number that is none
        raise _broken(path, f"its front matter: {error}") from None
    if table is None:
        return {}
    if not isinstance(table, Mapping):
        raise _broken(path, f"its front matter must be KEY: VALUE lines, found {shown(table)}")
    return dict(cast("Mapping[str, Any]", table))


def _refuse_bombs(path: Path, text: str) -> None:
    """Few lines with aliases or deep nesting cost hours or memory without end, and tags break YAML's own types."""
    depth = 0
    events = yaml.parse(text, Loader=yaml.SafeLoader)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    for event in cast("Iterator[Any]", events):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        line = event.start_mark.line + 1
        if depth > DEEPEST_FRONT_MATTER:
            raise _broken(path, f"line {line} is nested more than {DEEPEST_FRONT_MATTER} levels deep")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "tag", None):
            raise _broken(path, f"line {line} has an alias or a tag; front matter is plain YAML")


def _yaml_cause(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError):
        return " ".join(str(error).split())
    mark = error.problem_mark
    place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return f"{place}{error.problem}"


def _broken(path: Path, cause: str) -> OperatorError:
    return OperatorError(f"{path} cannot be used: {cause}", remedy="mend the file")
