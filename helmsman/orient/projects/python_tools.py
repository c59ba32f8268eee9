"""Python projects: what their settings say about pytest, tox, nox, ruff, flake8, mypy, pyright."""

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from helmsman.orient.projects.kinds import Candidate, Discovery, Folder, Kind, Passed, ini_sections, read_toml, table, usual_names

_LOCKS = {"uv.lock": "uv run ", "poetry.lock": "poetry run ", "pdm.lock": "pdm run ", "Pipfile.lock": "pipenv run "}
"""Who knows the environment that the project's tools live in."""
_DEPENDENCIES = (
    "pyproject.toml",
    "requirements.txt",
    "requirements-dev.txt",
    "dev-requirements.txt",
    "Pipfile",
    "setup.py",
    "setup.cfg",
)
_PROJECT = frozenset({*_DEPENDENCIES, "tox.ini", "noxfile.py"})
_PYTEST = re.compile(r"(?<![\w-])pytest(?![\w-])")
_UNITTEST = re.compile(r"^(?:import|from) unittest\b", re.MULTILINE)
_SESSION = re.compile(r"^@(?:nox\.)?session\b[^\n]{0,300}\n(?:@[^\n]{0,300}\n){0,5}def (\w{1,60})\(", re.MULTILINE)
_TEST_FOLDERS = ("tests", "test")


def _discover(place: str, names: Iterable[str]) -> str:
    """A folder that is a package is imported from the top, or its relative imports fail."""
    start = f" discover -s {place}{' -t .' if f'{place}/__init__.py' in names else ''}" if place else ""
    return f"python3 -m unittest{start}"


_candidate = partial(Candidate, tool="python")


def python(folder: Folder) -> Iterator[Discovery]:
    said = read_toml(folder.text("pyproject.toml"))
    if said is None:
        yield Passed("pyproject.toml", "it is no TOML")
    settings = _Settings(folder, table((said or {}).get("tool")))
    yield from settings.tests()
    yield from settings.environments()
    yield from settings.lint()
    yield from settings.types()


def is_test_module(path: str) -> bool:
    """Whether it is a test file at the top or right below a folder of tests, whose text says which runner it needs."""
    folder, _, name = path.rpartition("/")
    return folder in {*_TEST_FOLDERS, ""} and fnmatchcase(name, "test*.py")


class _Settings:
    """Where the tools of a Python project may have their settings."""

    def __init__(self, folder: Folder, tool: Mapping[str, Any]) -> None:
        self._folder, self._tool = folder, tool
        self._sections = {name: ini_sections(folder.text(name)) for name in ("setup.cfg", "tox.ini")}
        self._run = next((run for lock, run in _LOCKS.items() if lock in folder.names), "")

    def tests(self) -> Iterator[Candidate]:
        where = (
            self._set_up("pytest", ("pytest.ini", ".pytest.ini", "conftest.py"), ("tool:pytest", "pytest"))
            or self._needs_pytest()
        )
        below = next((name for name in _TEST_FOLDERS if name in self._folder.names), "")
        if where:
            yield _candidate(f"{self._run}pytest -q", Kind.TESTS, where)
        elif "manage.py" in self._folder.names:
            yield _candidate(f"{self._run}python3 manage.py test", Kind.TESTS, "manage.py")
        elif below and _PROJECT & self._folder.names:
            yield _candidate(f"{self._run}{_discover(below, self._folder.names)}", Kind.TESTS, f"the folder {below}")
        else:
            yield from self._bare_tests()

    def _bare_tests(self) -> Iterator[Candidate]:
        """Test files without any project file: unittest's where they say so, else pytest's."""
        files = [name for name in sorted(self._folder.names) if is_test_module(name)]
        by_place = {place: [name for name in files if name.rpartition("/")[0] == place] for place in (*_TEST_FOLDERS, "")}
        place, found = next(((place, found) for place, found in by_place.items() if found), ("", list[str]()))
        if found:
            texts = [self._folder.text(name) for name in found]
            plain = any(_UNITTEST.search(text) for text in texts) and not any(_PYTEST.search(text) for text in texts)
            call = _discover(place, self._folder.names) if plain else "pytest -q"
            yield _candidate(f"{self._run}{call}", Kind.TESTS, found[0])

    def environments(self) -> Iterator[Candidate]:
        """Tox and nox, which set up what they need and so take their time."""
        where = self._set_up("tox", ("tox.toml",), ("tox", "testenv", "tox:tox"))
        if where:
            yield _candidate("tox", Kind.TESTS, where)
        named = {name.removeprefix("testenv:") for name in self._sections["tox.ini"] if name.startswith("testenv:")}
        yield from (
            _candidate(f"tox -e {name}", kind, f"tox.ini, environment {name}")
            for kind, name in usual_names(named)
            if kind is not Kind.TESTS
        )
        sessions: Iterable[str] = _SESSION.findall(self._folder.text("noxfile.py"))
        yield from (_candidate(f"nox -s {name}", kind, f"noxfile.py, session {name}") for kind, name in usual_names(sessions))

    def lint(self) -> Iterator[Candidate]:
        if where := self._set_up("ruff", ("ruff.toml", ".ruff.toml")):
            yield _candidate(f"{self._run}ruff check", Kind.LINT, where)
        if "format" in table(self._tool.get("ruff")):
            yield Candidate(f"{self._run}ruff format --check", Kind.LINT, "pyproject.toml, tool.ruff.format", "python format")
        if where := self._set_up("flake8", (".flake8",), ("flake8",)):
            yield _candidate(f"{self._run}flake8", Kind.LINT, where)
        if where := self._set_up("black"):
            yield Candidate(f"{self._run}black --check .", Kind.LINT, where, "python format")

    def types(self) -> Iterator[Candidate]:
        if where := self._set_up("mypy", ("mypy.ini", ".mypy.ini"), ("mypy",)):
            chosen = table(self._tool.get("mypy")).keys() & {"files", "packages", "modules"}
            yield _candidate(f"{self._run}mypy" if chosen else f"{self._run}mypy .", Kind.TYPES, where)
        if where := self._set_up("basedpyright"):
            yield _candidate(f"{self._run}basedpyright", Kind.TYPES, where)
        if where := self._set_up("pyright", ("pyrightconfig.json",)):
            yield _candidate(f"{self._run}pyright", Kind.TYPES, where)

    def _set_up(self, tool: str, files: Iterable[str] = (), sections: Iterable[str] = ()) -> str:
        """Where a tool has its settings; empty where it has none."""
        own = (name for name in files if name in self._folder.names)
        shared = (f"{file}, [{name}]" for file, held in self._sections.items() for name in sections if name in held)
        inside = (f"pyproject.toml, tool.{tool}" for name in (tool,) if name in self._tool)
        return next((where for found in (own, inside, shared) for where in found), "")

    def _needs_pytest(self) -> str:
        return next((name for name in _DEPENDENCIES if _PYTEST.search(self._folder.text(name))), "")


READ = _PROJECT
