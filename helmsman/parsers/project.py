"""Detect a project's check commands from the names and texts of its files. Nothing runs here.

File contents only select among Helmsman's own words, those of `projects.toml`: no target, script or folder name enters a command
unless it is known or plain. A hostile repository can therefore make us run what its files define under a usual name, but cannot
write a command itself.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from itertools import takewhile
from posixpath import splitext
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from helmsman.parsers.loose import at, mapping
from helmsman.toml_text import load_bundled, parse_toml

MOST_CANDIDATES = 16  # maximum number of commands; whoever has more knows better which ones count
MOST_FOLDERS = 20  # maximum number of subfolders to inspect
SCRIPTS = tuple(
    f"{folder}{stem}{ending}"
    for stem in ("test", "tests", "run_tests", "run-tests", "runtests", "check")
    for folder in ("", "scripts/", "script/", "bin/")
    for ending in ("", ".sh", ".py", ".bash")
)
"""Paths of test scripts from the root, the most likely first."""


class Kind(StrEnum):
    """Classes of failure that a command looks for, with the names that the rubric audit uses."""

    TESTS = "tests"
    LINT = "lint"
    TYPES = "types"
    BUILD = "build"


@dataclass(frozen=True)
class Folder:
    """A folder of the repository, as far as read."""

    names: frozenset[str] = frozenset()  # of files and folders in it
    texts: Mapping[str, str] = field(default_factory=dict[str, str])  # contents of the files that are read

    def text(self, name: str) -> str:
        return self.texts.get(name, "")


@dataclass(frozen=True)
class Candidate:
    """A candidate check command, built from Helmsman's own words and a folder's plain name, never from a file's text."""

    command: str
    kind: Kind
    where: str  # the file, and the entry in it
    tool: str = ""
    """What it covers: `python`, `rust format`. Empty: the project's own command for everything of this kind."""
    folder: str = ""  # working directory, from the root

    def covers(self, other: "Candidate") -> bool:
        """Whether the other command would most likely give the same result."""
        return (self.kind, self.folder) == (other.kind, other.folder) and self.tool in {"", other.tool}


@dataclass(frozen=True)
class Skipped:
    """A skipped candidate, and why."""

    where: str
    cause: str


@dataclass(frozen=True)
class Detection:
    """Result of the detection."""

    candidates: tuple[Candidate, ...] = ()  # by kind, the most likely of each kind first
    skipped: tuple[Skipped, ...] = ()


class Row(NamedTuple):
    """A row of `projects.toml`: files, and the command that they imply, or that calls the targets they name."""

    command: str
    files: tuple[str, ...] = ()  # names or glob patterns; the first that exists counts
    kind: Kind | None = None  # None: the kind of the called name
    tool: str = ""
    needs: str = ""  # another name that must exist
    without: str = ""  # another name that must not exist
    holds: str = ""  # regular expression that its text must match
    what: str = ""  # what the names are: a target, a script
    named: str = ""  # regular expression for those names
    keys: str = ""  # path to the table that has them as keys, in JSON, TOML or YAML
    without_tests: bool = False  # whether to skip names for tests
    settings: str = ""  # table below `tool` in pyproject.toml, which counts as one of the files
    sections: tuple[str, ...] = ()  # sections in setup.cfg or tox.ini that count as well
    everything_without: tuple[str, ...] = ()  # settings that select files; without any, `.` is appended
    own_environment: bool = False  # whether it creates its own and needs no `uv run` prefix


_TABLE: Mapping[str, Any] = load_bundled("helmsman.parsers", "projects.toml")
NAMES: Mapping[Kind, Sequence[str]] = {Kind(kind): names for kind, names in _TABLE["names"].items()}
OWN, PYTHON, USUAL = (TypeAdapter(tuple[Row, ...]).validate_python(_TABLE[name]) for name in ("own", "python", "usual"))

_LISTS: Mapping[str, Any] = _TABLE["lists"]
_DEPENDENCIES: Sequence[str] = _LISTS["python_dependencies"]
_RUNNERS = ("tox.ini", "noxfile.py")
_PROJECT = frozenset({*_DEPENDENCIES, *_RUNNERS})
_READ = {name for row in (*OWN, *PYTHON, *USUAL) if row.named or row.keys or row.holds for name in row.files}
TEXTS = _PROJECT | _READ | {"package.json", *(path.rpartition("/")[2] for path in SCRIPTS)}
"""Names of files whose text is read."""
_SHEBANG = re.compile(r"#![^\n]{0,100}?\b(bash|sh|zsh|python|node|ruby|perl)\b")
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,60}")


def find_commands(folders: Mapping[str, Folder]) -> Detection:
    """Return the commands of the root folder (`""`); if it has none for tests, also its scripts or those of subfolders."""
    root = folders.get("", Folder())
    below = [name for name in sorted(folders) if may_contain_project(name)]
    every = list(_candidates_in("", root))
    if not _has_tests(every):  # a script with a usual name, run by its shebang's interpreter, else by its suffix's
        for path in [name for name in SCRIPTS if name in root.texts][:1]:
            shebang = _SHEBANG.match(root.text(path))
            interpreter = (
                shebang[1].replace("python", "python3") if shebang else _LISTS["interpreters"].get(splitext(path)[1], "sh")
            )
            every.append(Candidate(f"{interpreter} {path}", Kind.TESTS, path))
    if not _has_tests(every):
        every += [candidate for name in below[:MOST_FOLDERS] for candidate in _candidates_in(name, folders[name])]
    first: dict[str, Candidate] = {}
    for candidate in every:
        if isinstance(candidate, Candidate):
            first.setdefault(candidate.command, candidate)
    by_kind = sorted(first.values(), key=lambda candidate: [*Kind].index(candidate.kind))
    skipped = dict.fromkeys(candidate for candidate in every if isinstance(candidate, Skipped))
    return Detection(tuple(by_kind[:MOST_CANDIDATES]), tuple(skipped))


def without_covered(working: Mapping[Candidate, bool]) -> tuple[Candidate, ...]:
    """Return the working candidates, in order, without those that an earlier one covers."""
    kept: list[Candidate] = []
    for candidate, works in working.items():
        if works and not any(other.covers(candidate) for other in kept):
            kept.append(candidate)
    return tuple(kept)


def may_contain_project(name: str) -> bool:
    """Whether to inspect a folder directly below the root: its name is plain and not known for another purpose."""
    return _PLAIN.fullmatch(name) is not None and name not in _LISTS["foreign_folders"]


def is_read(path: str) -> bool:
    """Whether to read a file's text; `path` is relative to the project's folder."""
    return path.rpartition("/")[2] in TEXTS or _is_test_module(path)


def _has_tests(found: Iterable[Candidate | Skipped]) -> bool:
    return any(isinstance(candidate, Candidate) and candidate.kind is Kind.TESTS for candidate in found)


def _candidates_in(name: str, folder: Folder) -> Iterator[Candidate | Skipped]:
    """Yield the project's own commands first, then those that its tools' files imply."""
    sources = (
        *(_candidates_of_row(row, folder) for row in OWN),
        _node_candidates(folder),
        _python_candidates(folder),
        *(_candidates_of_row(row, folder) for row in USUAL),
    )
    for candidate in (candidate for source in sources for candidate in source):
        where = f"{name}/{candidate.where}" if name else candidate.where
        if isinstance(candidate, Skipped) or not name:
            yield replace(candidate, where=where)
        else:
            yield replace(candidate, where=where, command=f"cd {name} && {candidate.command}", folder=name)


# --- rows -----------------------------------------------------------------------------------------------------------


def _candidates_of_row(row: Row, folder: Folder, run: str = "") -> Iterator[Candidate | Skipped]:
    """Yield the candidates of a row in a folder. `run`: prefix for its command."""
    matching_files = (name for pattern in row.files for name in sorted(folder.names) if fnmatchcase(name, pattern))
    file = next(matching_files, "")
    has_required_names = (not row.needs or row.needs in folder.names) and row.without not in folder.names
    if not file or not has_required_names or (row.holds and not re.search(row.holds, folder.text(file))):
        return
    if row.kind:
        yield Candidate(f"{run}{row.command}", row.kind, file, row.tool)
        return
    text, yaml = folder.text(file), file.endswith(("yml", "yaml"))
    table: Mapping[str, Any] | None = read_table(file, text) if row.keys and not yaml else {}
    if table is None:
        yield Skipped(file, "it is not valid TOML" if file.endswith(".toml") else "it is not valid JSON")
        return
    keys = _yaml_keys(text, row.keys) if yaml else mapping(at(table, row.keys))
    for kind, name in _most_usual(keys if row.keys else " ".join(re.findall(row.named, text)).split()):
        if kind is not Kind.TESTS or not row.without_tests:
            yield Candidate(f"{run}{row.command} {name}", kind, f"{file}, {row.what} {name}", row.tool)


def _most_usual(names: Iterable[str]) -> Iterator[tuple[Kind, str]]:
    """Yield the most usual of the target names for each kind."""
    known_names = set(names)
    for kind, wanted in NAMES.items():
        yield from ((kind, name) for name in [name for name in wanted if name in known_names][:1])


def _yaml_keys(text: str, key: str) -> list[str]:
    """Return the keys directly below a top-level key; the core has no YAML parser."""
    below = f"\n{text}".partition(f"\n{key}:")[2].splitlines()[1:]
    inside = takewhile(lambda line: not line.strip() or line[0] in " \t#", below)
    keys = [match for line in inside if (match := re.match(r"( {1,8})[\"']?([\w:-]{1,60})[\"']?:", line))]
    return [match[2] for match in keys if match[1] == keys[0][1]]


def read_table(file: str, text: str) -> Mapping[str, Any] | None:
    """Parse a file as TOML if its name says so, else as JSON; None if it is invalid."""
    try:
        return mapping((parse_toml if file.endswith(".toml") else json.loads)(text))
    except (ValueError, RecursionError):
        return None


# --- Node -----------------------------------------------------------------------------------------------------------

_WATCHES = re.compile(r"--watch(?:All)?(?!=false|\w)")
_NODE_TOOLS = (
    (Kind.LINT, ("eslint.config.*", ".eslintrc*"), "eslint .", "eslint's settings"),
    (Kind.TYPES, ("tsconfig.json",), "tsc --noEmit", "tsconfig.json"),
)
"""Tools to run without a script, by their settings files."""


def _node_candidates(folder: Folder) -> Iterator[Candidate | Skipped]:
    """Yield the scripts of package.json, run by the package manager whose lock file exists."""
    if "package.json" not in folder.texts:
        return
    package = read_table("package.json", folder.text("package.json"))
    if package is None:
        yield Skipped("package.json", "it is not valid JSON")
        return
    execute, declared_manager = _LISTS["node_managers"], str(package.get("packageManager", "")).partition("@")[0]
    locked_manager = next((manager for lock, manager in _LISTS["node_locks"].items() if lock in folder.names), "")
    manager = locked_manager or (declared_manager if declared_manager in execute else "npm")
    problems = dict[str, str]()
    for name, script in mapping(package.get("scripts")).items():
        placeholder = "it is the placeholder, which always fails" if "no test specified" in str(script) else ""
        problems[name] = placeholder or ("it watches files and never ends" if _WATCHES.search(str(script)) else "")
    usual = list(_most_usual(name for name, problem in problems.items() if not problem))
    for kind, name in usual:
        call = f"{manager} test" if (manager, name) == ("npm", "test") else f"{manager} run {name}"
        yield Candidate(call, kind, f"package.json, script {name}", "node")
    if manager == "npm" and package.get("workspaces") and Kind.TESTS not in dict(usual):
        yield Candidate("npm test --workspaces --if-present", Kind.TESTS, "package.json, workspaces", "node")
    useless = _most_usual(name for name, problem in problems.items() if problem)
    yield from (Skipped(f"package.json, script {name}", problems[name]) for _, name in useless)
    for kind, patterns, call, where in _NODE_TOOLS:
        if kind not in dict(usual) and any(fnmatchcase(name, pattern) for name in folder.names for pattern in patterns):
            yield Candidate(f"{execute[manager]} {call}", kind, where, "node")


# --- Python ---------------------------------------------------------------------------------------------------------

_PYTEST = re.compile(r"(?<![\w-])pytest(?![\w-])")
_UNITTEST = re.compile(r"^(?:import|from) unittest\b", re.MULTILINE)
_TEST_FOLDERS = ("tests", "test")
_PYTEST_SETTINGS = Row("", ("pytest.ini", ".pytest.ini", "conftest.py"), settings="pytest", sections=("tool:pytest", "pytest"))


def _python_candidates(folder: Folder) -> Iterator[Candidate | Skipped]:
    """Yield the commands for pytest, tox, nox, ruff, flake8, mypy and pyright that settings imply."""
    pyproject = read_table("pyproject.toml", folder.text("pyproject.toml"))
    if pyproject is None:
        yield Skipped("pyproject.toml", "it is not valid TOML")
    run = next((run for lock, run in _LISTS["python_locks"].items() if lock in folder.names), "")
    tool = mapping(at(pyproject, "tool"))
    if test_command := _python_test_command(folder, tool):
        yield Candidate(f"{run}{test_command[0]}", Kind.TESTS, test_command[1], "python")
    for row in PYTHON:
        prefix, tool_name = "" if row.own_environment else run, row.tool or "python"
        if not row.kind:
            yield from _candidates_of_row(row._replace(tool=tool_name), folder, prefix)
        elif where := _find_settings(row, folder, tool):
            selects_files = not row.everything_without or mapping(at(tool, row.settings)).keys() & set(row.everything_without)
            yield Candidate(f"{prefix}{row.command}{'' if selects_files else ' .'}", row.kind, where, tool_name)


def _find_settings(row: Row, folder: Folder, tool: Mapping[str, Any]) -> str:
    """Return the place of a tool's settings; empty if it has none."""
    places = [name for name in row.files if name in folder.names]
    parent, _, name = row.settings.rpartition(".")
    if name in mapping(at(tool, parent) if parent else tool):
        places.append(f"pyproject.toml, tool.{row.settings}")
    for file in ("setup.cfg", "tox.ini"):
        section_names = re.findall(r"(?m)^\[(.+)\]", folder.text(file))
        places += [f"{file}, [{name}]" for name in row.sections if name in section_names]
    return next(iter(places), "")


def _python_test_command(folder: Folder, tool: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the command that runs the tests, and the evidence for it."""
    needed = next((name for name in (*_DEPENDENCIES, *_RUNNERS) if _PYTEST.search(folder.text(name))), "")
    if where := _find_settings(_PYTEST_SETTINGS, folder, tool) or needed:
        return "pytest -q", where
    if "manage.py" in folder.names:
        return "python3 manage.py test", "manage.py"
    modules = [name for name in sorted(folder.names) if _is_test_module(name)]
    inside = {top: [name for name in modules if name.rpartition("/")[0] == top] for top in (*_TEST_FOLDERS, "")}
    is_place = {top: bool(names) or bool(top in folder.names and _PROJECT & folder.names) for top, names in inside.items()}
    place = next((top for top, holds in is_place.items() if holds), None)
    if place is None:
        return None
    texts, where = [folder.text(name) for name in inside[place]], next(iter(inside[place]), f"the folder {place}")
    pytest = bool(texts) and (any(map(_PYTEST.search, texts)) or not any(map(_UNITTEST.search, texts)))
    # A folder that is a package must be imported from the top, or its relative imports fail.
    package = " -t ." if f"{place}/__init__.py" in folder.names else ""
    return "pytest -q" if pytest else f"python3 -m unittest{f' discover -s {place}{package}' if place else ''}", where


def _is_test_module(path: str) -> bool:
    """Whether a path is a test file in the root or directly in a test folder; its text shows which runner it needs."""
    folder, _, name = path.rpartition("/")
    return folder in {*_TEST_FOLDERS, ""} and fnmatchcase(name, "test*.py")
