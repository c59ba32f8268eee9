"""From the names and texts of a project's files to the commands that may prove something about it. Nothing is run here.

What a file says only ever chooses among words of ours, those of `projects.toml`: no name of a target, script or folder reaches a
command unless it is known or plain. So a hostile repository can make us run what its own files say under a usual name, and
nothing that it writes there.
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
from helmsman.toml_of import bundled, toml_of

MOST_CANDIDATES = 16  # commands at most; whoever has more of them knows better which ones count
MOST_FOLDERS = 20  # folders below the root that are looked into at most
SCRIPTS = tuple(
    f"{folder}{stem}{ending}"
    for stem in ("test", "tests", "run_tests", "run-tests", "runtests", "check")
    for folder in ("", "scripts/", "script/", "bin/")
    for ending in ("", ".sh", ".py", ".bash")
)
"""Scripts that test, by path from the root, the most telling first."""


class Kind(StrEnum):
    """Classes of failure that a command looks for, as the audit of a rubric calls them."""

    TESTS = "tests"
    LINT = "lint"
    TYPES = "types"
    BUILD = "build"


@dataclass(frozen=True)
class Folder:
    """A folder of the repository, as far as it was read."""

    names: frozenset[str] = frozenset()  # of files and folders in it
    texts: Mapping[str, str] = field(default_factory=dict[str, str])  # what the files say that are read at all

    def text(self, name: str) -> str:
        return self.texts.get(name, "")


@dataclass(frozen=True)
class Candidate:
    """A command that may prove something. It consists of words of ours and of a folder's plain name, never of a file's text."""

    command: str
    kind: Kind
    where: str  # the file, and what in it
    tool: str = ""
    """What it is about: `python`, `rust format`. Empty: the project's own word for all of this kind."""
    folder: str = ""  # where it is run, from the root

    def covers(self, other: "Candidate") -> bool:
        """Whether the other one would most likely say the same."""
        return (self.kind, self.folder) == (other.kind, other.folder) and self.tool in {"", other.tool}


@dataclass(frozen=True)
class Passed:
    """Something that was looked at and passed over."""

    where: str
    cause: str


@dataclass(frozen=True)
class Found:
    """What the files of a project say."""

    candidates: tuple[Candidate, ...] = ()  # by kind, and for each kind the most telling one first
    passed: tuple[Passed, ...] = ()


class Row(NamedTuple):
    """Files of `projects.toml`, and the command that they stand for, or that calls what they name."""

    command: str
    files: tuple[str, ...] = ()  # names or patterns of names; the first that is there counts
    kind: Kind | None = None  # none: the kind of the name that is called
    tool: str = ""
    needs: str = ""  # another name that must be there
    without: str = ""  # another name that must not be there
    holds: str = ""  # what its text must hold, as a regular expression
    what: str = ""  # what the file names: a target, a script
    named: str = ""  # A pattern of those names
    keys: str = ""  # where they stand as keys, in JSON, TOML or YAML
    without_tests: bool = False  # whether names for tests are passed over
    settings: str = ""  # its table below `tool` in pyproject.toml, which counts as a file of it
    sections: tuple[str, ...] = ()  # sections in setup.cfg or tox.ini that count as well
    everything_without: tuple[str, ...] = ()  # settings that say what is looked at; without any, that is `.`
    own_environment: bool = False  # whether it sets up its own, and needs no `uv run` before it


_TABLE: Mapping[str, Any] = bundled("helmsman.parsers", "projects.toml")
NAMES: Mapping[Kind, Sequence[str]] = {Kind(kind): names for kind, names in _TABLE["names"].items()}
OWN, PYTHON, USUAL = (TypeAdapter(tuple[Row, ...]).validate_python(_TABLE[name]) for name in ("own", "python", "usual"))

_LISTS: Mapping[str, Any] = _TABLE["lists"]
_DEPENDENCIES: Sequence[str] = _LISTS["python_dependencies"]
_PROJECT = frozenset({*_DEPENDENCIES, "tox.ini", "noxfile.py"})
_READ = {name for row in (*OWN, *PYTHON, *USUAL) if row.named or row.keys or row.holds for name in row.files}
TEXTS = _PROJECT | _READ | {"package.json", *(path.rpartition("/")[2] for path in SCRIPTS)}
"""Names of the files whose text is worth reading."""
_SHEBANG = re.compile(r"#![^\n]{0,100}?\b(bash|sh|zsh|python|node|ruby|perl)\b")
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,60}")


def find_commands(folders: Mapping[str, Folder]) -> Found:
    """The commands of the root, whose name is empty. Where it has none for tests: its scripts, else what folders below have."""
    root = folders.get("", Folder())
    below = [name for name in sorted(folders) if may_hold_a_project(name)]
    found = list(_in_folder("", root))
    if not _has_tests(found):  # a script with a usual name, run by what its first line names, else by its ending
        for path in [name for name in SCRIPTS if name in root.texts][:1]:
            shebang = _SHEBANG.match(root.text(path))
            named = shebang[1].replace("python", "python3") if shebang else _LISTS["interpreters"].get(splitext(path)[1], "sh")
            found.append(Candidate(f"{named} {path}", Kind.TESTS, path))
    if not _has_tests(found):
        found += [one for name in below[:MOST_FOLDERS] for one in _in_folder(name, folders[name])]
    first: dict[str, Candidate] = {}
    for one in found:
        if isinstance(one, Candidate):
            first.setdefault(one.command, one)
    by_kind = sorted(first.values(), key=lambda candidate: [*Kind].index(candidate.kind))
    passed = dict.fromkeys(one for one in found if isinstance(one, Passed))
    return Found(tuple(by_kind[:MOST_CANDIDATES]), tuple(passed))


def worth_keeping(working: Mapping[Candidate, bool]) -> tuple[Candidate, ...]:
    """Of those that work, in their order, each that none before it covers."""
    kept: list[Candidate] = []
    for candidate, works in working.items():
        if works and not any(other.covers(candidate) for other in kept):
            kept.append(candidate)
    return tuple(kept)


def may_hold_a_project(name: str) -> bool:
    """Whether a folder right below the root is looked into: it has a plain name and is not known for something else."""
    return _PLAIN.fullmatch(name) is not None and name not in _LISTS["foreign_folders"]


def is_read(path: str) -> bool:
    """Whether the text of a file is looked at: its path is from the folder in question."""
    return path.rpartition("/")[2] in TEXTS or _is_test_module(path)


def _has_tests(found: Iterable[Candidate | Passed]) -> bool:
    return any(isinstance(one, Candidate) and one.kind is Kind.TESTS for one in found)


def _in_folder(name: str, folder: Folder) -> Iterator[Candidate | Passed]:
    """The project's own words first; behind them what its tools' files stand for."""
    sources = (*(_of_row(row, folder) for row in OWN), _node(folder), _python(folder), *(_of_row(row, folder) for row in USUAL))
    for one in (one for source in sources for one in source):
        where = f"{name}/{one.where}" if name else one.where
        if isinstance(one, Passed) or not name:
            yield replace(one, where=where)
        else:
            yield replace(one, where=where, command=f"cd {name} && {one.command}", folder=name)


# --- rows -----------------------------------------------------------------------------------------------------------


def _of_row(row: Row, folder: Folder, run: str = "") -> Iterator[Candidate | Passed]:
    """What a row comes to in a folder. `run`: what its command needs before it."""
    here = (name for pattern in row.files for name in sorted(folder.names) if fnmatchcase(name, pattern))
    file = next(here, "")
    beside = (not row.needs or row.needs in folder.names) and row.without not in folder.names
    if not file or not beside or (row.holds and not re.search(row.holds, folder.text(file))):
        return
    if row.kind:
        yield Candidate(f"{run}{row.command}", row.kind, file, row.tool)
        return
    text, yaml = folder.text(file), file.endswith(("yml", "yaml"))
    table: Mapping[str, Any] | None = read_table(file, text) if row.keys and not yaml else {}
    if table is None:
        yield Passed(file, "it is not TOML" if file.endswith(".toml") else "it is not JSON")
        return
    keys = _yaml_keys(text, row.keys) if yaml else mapping(at(table, row.keys))
    for kind, name in _usual(keys if row.keys else " ".join(re.findall(row.named, text)).split()):
        if kind is not Kind.TESTS or not row.without_tests:
            yield Candidate(f"{run}{row.command} {name}", kind, f"{file}, {row.what} {name}", row.tool)


def _usual(names: Iterable[str]) -> Iterator[tuple[Kind, str]]:
    """Of the names of targets the most usual one for each kind."""
    known = set(names)
    for kind, wanted in NAMES.items():
        yield from ((kind, name) for name in [name for name in wanted if name in known][:1])


def _yaml_keys(text: str, key: str) -> list[str]:
    """The keys right below a key of the top; the core reads no YAML."""
    below = f"\n{text}".partition(f"\n{key}:")[2].splitlines()[1:]
    inside = takewhile(lambda line: not line.strip() or line[0] in " \t#", below)
    keys = [match for line in inside if (match := re.match(r"( {1,8})[\"']?([\w:-]{1,60})[\"']?:", line))]
    return [match[2] for match in keys if match[1] == keys[0][1]]


def read_table(file: str, text: str) -> Mapping[str, Any] | None:
    """What a file of TOML, by its name, or else of JSON says; None where it is neither."""
    try:
        return mapping((toml_of if file.endswith(".toml") else json.loads)(text))
    except (ValueError, RecursionError):
        return None


# --- Node -----------------------------------------------------------------------------------------------------------

_WATCHES = re.compile(r"--watch(?:All)?(?!=false|\w)")
_NODE_TOOLS = (
    (Kind.LINT, ("eslint.config.*", ".eslintrc*"), "eslint .", "eslint's settings"),
    (Kind.TYPES, ("tsconfig.json",), "tsc --noEmit", "tsconfig.json"),
)
"""What has no script, by its own settings."""


def _node(folder: Folder) -> Iterator[Candidate | Passed]:
    """Scripts of package.json, by the manager whose lock file is there."""
    if "package.json" not in folder.texts:
        return
    said = read_table("package.json", folder.text("package.json"))
    if said is None:
        yield Passed("package.json", "it is not JSON")
        return
    execute, named = _LISTS["node_managers"], str(said.get("packageManager", "")).partition("@")[0]
    locked = next((manager for lock, manager in _LISTS["node_locks"].items() if lock in folder.names), "")
    manager = locked or (named if named in execute else "npm")
    doubts = dict[str, str]()
    for name, script in mapping(said.get("scripts")).items():
        placeholder = "it is the placeholder, which always fails" if "no test specified" in str(script) else ""
        doubts[name] = placeholder or ("it watches files and never ends" if _WATCHES.search(str(script)) else "")
    usual = list(_usual(name for name, doubt in doubts.items() if not doubt))
    for kind, name in usual:
        call = f"{manager} test" if (manager, name) == ("npm", "test") else f"{manager} run {name}"
        yield Candidate(call, kind, f"package.json, script {name}", "node")
    useless = _usual(name for name, doubt in doubts.items() if doubt)
    yield from (Passed(f"package.json, script {name}", doubts[name]) for _, name in useless)
    for kind, patterns, call, where in _NODE_TOOLS:
        if kind not in dict(usual) and any(fnmatchcase(name, one) for name in folder.names for one in patterns):
            yield Candidate(f"{execute[manager]} {call}", kind, where, "node")


# --- Python ---------------------------------------------------------------------------------------------------------

_PYTEST = re.compile(r"(?<![\w-])pytest(?![\w-])")
_UNITTEST = re.compile(r"^(?:import|from) unittest\b", re.MULTILINE)
_TEST_FOLDERS = ("tests", "test")
_PYTEST_SETTINGS = Row("", ("pytest.ini", ".pytest.ini", "conftest.py"), settings="pytest", sections=("tool:pytest", "pytest"))


def _python(folder: Folder) -> Iterator[Candidate | Passed]:
    """What settings say about pytest, tox, nox, ruff, flake8, mypy, pyright."""
    said = read_table("pyproject.toml", folder.text("pyproject.toml"))
    if said is None:
        yield Passed("pyproject.toml", "it is not TOML")
    run = next((run for lock, run in _LISTS["python_locks"].items() if lock in folder.names), "")
    tool = mapping(at(said, "tool"))
    if found := _python_tests(folder, tool):
        yield Candidate(f"{run}{found[0]}", Kind.TESTS, found[1], "python")
    for row in PYTHON:
        before, about = "" if row.own_environment else run, row.tool or "python"
        if not row.kind:
            yield from _of_row(row._replace(tool=about), folder, before)
        elif where := _set_up(row, folder, tool):
            chosen = not row.everything_without or mapping(at(tool, row.settings)).keys() & set(row.everything_without)
            yield Candidate(f"{before}{row.command}{'' if chosen else ' .'}", row.kind, where, about)


def _set_up(row: Row, folder: Folder, tool: Mapping[str, Any]) -> str:
    """Where a tool has its settings; empty where it has none."""
    places = [name for name in row.files if name in folder.names]
    parent, _, name = row.settings.rpartition(".")
    if name in mapping(at(tool, parent) if parent else tool):
        places.append(f"pyproject.toml, tool.{row.settings}")
    for file in ("setup.cfg", "tox.ini"):
        held = re.findall(r"(?m)^\[(.+)\]", folder.text(file))
        places += [f"{file}, [{name}]" for name in row.sections if name in held]
    return next(iter(places), "")


def _python_tests(folder: Folder, tool: Mapping[str, Any]) -> tuple[str, str] | None:
    """The command that runs its tests, and what says so."""
    needed = next((name for name in _DEPENDENCIES if _PYTEST.search(folder.text(name))), "")
    if where := _set_up(_PYTEST_SETTINGS, folder, tool) or needed:
        return "pytest -q", where
    if "manage.py" in folder.names:
        return "python3 manage.py test", "manage.py"
    place = next((name for name in _TEST_FOLDERS if name in folder.names and _PROJECT & folder.names), None)
    where, pytest = f"the folder {place}", False
    if place is None:
        modules = sorted(name for name in folder.names if _is_test_module(name))
        place = next((one for one in (*_TEST_FOLDERS, "") for name in modules if name.rpartition("/")[0] == one), None)
        if place is None:
            return None
        found = [name for name in modules if name.rpartition("/")[0] == place]
        texts, where = [folder.text(name) for name in found], found[0]
        pytest = any(map(_PYTEST.search, texts)) or not any(map(_UNITTEST.search, texts))
    # A folder that is a package is imported from the top, or its relative imports fail.
    package = " -t ." if f"{place}/__init__.py" in folder.names else ""
    return "pytest -q" if pytest else f"python3 -m unittest{f' discover -s {place}{package}' if place else ''}", where


def _is_test_module(path: str) -> bool:
    """Whether it is a test file at the top or right below a folder of tests, whose text says which runner it needs."""
    folder, _, name = path.rpartition("/")
    return folder in {*_TEST_FOLDERS, ""} and fnmatchcase(name, "test*.py")
