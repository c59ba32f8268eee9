"""What a project's files are read as, and what is found in them."""

import json
from collections.abc import Iterable, Iterator, Mapping
from configparser import ConfigParser, Error
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias, cast

from helmsman.toml_of import toml_of


class Kind(StrEnum):
    """Classes of failure that a command looks for, as the audit of a rubric calls them."""

    TESTS = "tests"
    LINT = "lint"
    TYPES = "types"
    BUILD = "build"


NAMES: Mapping[Kind, tuple[str, ...]] = {
    Kind.TESTS: ("test", "tests", "check", "unit", "test:unit", "test-unit", "unit-test", "unittest", "test:ci", "spec"),
    Kind.LINT: ("lint", "lint:check", "lint-check", "lint:ci", "linter", "style", "ruff", "flake8", "eslint"),
    Kind.TYPES: ("typecheck", "type-check", "types", "typing", "check-types", "check:types", "mypy", "pyright", "tsc"),
    Kind.BUILD: ("build", "compile"),
}
"""What people call targets, scripts and tasks of each kind, the usual name first. Others are never called: nobody knows what
`release` or `deploy` would do."""


@dataclass(frozen=True)
class Folder:
    """A folder of the repository, as far as it was read."""

    names: frozenset[str] = frozenset()
    """Of files and folders in it."""
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the files say that are read at all."""

    def text(self, name: str) -> str:
        return self.texts.get(name, "")


@dataclass(frozen=True)
class Candidate:
    """A command that may prove something. It consists of words of ours and of a folder's plain name, never of a file's text."""

    command: str
    kind: Kind
    where: str
    """The file, and what in it."""
    tool: str = ""
    """What it is about: `python`, `rust format`. Empty: the project's own word for all of this kind."""
    folder: str = ""
    """Where it is run, from the root."""

    def covers(self, other: "Candidate") -> bool:
        """Whether the other one would most likely say the same."""
        return (self.kind, self.folder) == (other.kind, other.folder) and self.tool in {"", other.tool}


@dataclass(frozen=True)
class Passed:
    """Something that was looked at and passed over."""

    where: str
    cause: str


Discovery: TypeAlias = Candidate | Passed


def usual_names(names: Iterable[str]) -> Iterator[tuple[Kind, str]]:
    """Of the names of targets the most usual one for each kind."""
    known = set(names)
    for kind, wanted in NAMES.items():
        found = next((name for name in wanted if name in known), None)
        if found:
            yield kind, found


def table(value: Any) -> Mapping[str, Any]:
    """A table of a file that somebody else wrote; empty where it is something else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def read_json(text: str) -> Mapping[str, Any] | None:
    """None where it is no JSON."""
    try:
        return table(json.loads(text))
    except (ValueError, RecursionError):
        return None


def read_toml(text: str) -> Mapping[str, Any] | None:
    """None where it is no TOML."""
    try:
        return toml_of(text)
    except (ValueError, RecursionError):
        return None


def ini_sections(text: str) -> frozenset[str]:
    """Names of the sections of a file such as setup.cfg; none where it is none."""
    parser = ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
    except (Error, ValueError, AttributeError):  # the last: a line goes on after a key without value
        return frozenset()
    return frozenset(parser.sections())
