"""Classify changed paths by their role in the checks: tests, test support, settings, or plain source.

If anything but plain source differs from the start, the checks run once more with the start's version of it (`verify.outcomes`).
"""

import configparser
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, cast

from helmsman.parsers.paths import matches_any
from helmsman.parsers.source import Source, is_only_tests, is_source, is_test_file, is_test_support, language_of
from helmsman.toml_text import load_bundled, parse_toml
from helmsman.verify.commands import path_in_repository, scripts_run_by, simple_commands


def file_roles() -> Mapping[str, Any]:
    """Return the table of files by role."""
    return load_bundled("helmsman.verify", "touched.toml")


Read = Callable[[str], str]  # returns a file's text by path; empty if it is missing or not read

FindText = Callable[[str], Collection[str]]  # returns the files in which an extended regular expression of POSIX matches

_MOST_DATA = 50  # data files in one change: each costs a search
_TEST_SCRIPTS = ("scripts.pre", "scripts.post")
_BLANKS = re.compile(r"(?<=\S)[^\S\n]{2,}")  # the INI parser takes quadratic time for them
_MAKEFILES = frozenset({"GNUmakefile", "makefile", "Makefile"})
_TARGET = re.compile(r"(?m)^([\w.-]+)\s*:(?!=)")
_OTHER_VARIABLE = re.compile(r"(?i)(?!\w*(?:src|source|obj|file|header|dep|flag|lib|inc|bin|module)\w*\s*[:+?]?=)\w+\s*[:+?]?=")
"""A variable that does not name sources, dependencies or compiler flags."""
_OF_ALL_RECIPES = re.compile(
    r"\b(?:SHELL|SHELLFLAGS|MAKE|MAKEFLAGS|MAKEFILES)\s*[:+?!]*=|^\.(?:IGNORE|ONESHELL)\b|^-?s?include\s"
)
"""A line that changes how make runs every recipe, or may redefine them."""
_GO_HELPER = re.compile(r"(?m)^(?:func (?:\(|(?!(?:Test|Benchmark|Example|Fuzz)(?:[^a-z]|$))\w)|(?:var|const|type)\b)")
"""A declaration that other files of the package can use, although only tests compile it."""
_IMPORT = "(import|from|require)([^A-Za-z0-9_].*)?{}([^A-Za-z0-9_]|$)"
_NEAR = "[^A-Za-z0-9_.][.]*{}"  # not that of another package: `numpy.testing`
_IN_FOLDER = "[^A-Za-z0-9_]{}([./]| import (.*[^A-Za-z0-9_])?){}"
_IS_SHELL = re.compile(r"\A[^\n]*(?:\.(?:sh|bash)\n|\n#!/bin/)")  # matches path and text of a shell script
_DEEPEST = 3  # maximum depth of files that run other files


class ChangedPaths(NamedTuple):
    """Changed paths by their role in the checks."""

    tests: tuple[str, ...] = ()
    support: tuple[str, ...] = ()  # fixtures, data and helpers of tests
    settings: tuple[str, ...] = ()
    """Configuration of runners and checkers, and files that the check commands run."""
    data: tuple[str, ...] = ()  # data that tests, or programs that the checks run, name and no source does
    source: tuple[str, ...] = ()  # everything else

    @property
    def judging(self) -> tuple[str, ...]:
        """Paths that decide whether the work is right."""
        return (*self.tests, *self.support, *self.settings, *self.data)


def classify_changes(
    changed: Collection[str],
    commands: Iterable[str],
    before: Read,
    after: Read,
    collected: Collection[str] = (),
    find_text: FindText = lambda _: (),
) -> ChangedPaths:
    """Classify changed paths. `before` and `after`: read files with recipes or settings, at the start and now.

    `collected`: files with tests in the runner's report at the start, although they are not named like tests. `find_text`:
    search the files of the start.
    """
    run = frozenset(files_run(commands, before))
    by_role: dict[str, list[str]] = {"tests": [], "support": [], "settings": [], "data": [], "source": []}
    for path in changed:
        is_test = path in collected and is_only_tests(path, before(path))
        role = "tests" if is_test else _role_of(path, run, before, after)
        if role in {"tests", "support"} and not is_test and _is_used_by_source(path, changed, before, after, find_text):
            role = "source"
        if role == "source" and len(by_role["data"]) < _MOST_DATA and before(path) and _is_data_of_checks(path, run, find_text):
            role = "data"
        by_role[role].append(path)
    return ChangedPaths(**{kind: tuple(paths) for kind, paths in by_role.items()})


def is_settings(path: str) -> bool:
    """Whether a file may have settings of runners and checkers, by its name."""
    return path.rpartition("/")[2] in file_roles()["shared"] or matches_any(
        path, (*file_roles()["governors"], *file_roles()["checkers"])
    )


def files_run(commands: Iterable[str], before: Read) -> Iterator[str]:
    """Yield the repository's scripts and recipe files that the checks run, and those that these run."""
    pending = [(command, "", "") for command in commands]
    yielded, depths = set[str](), {"": 0}
    for command, folder, origin in pending:
        # files that determine what the command does, not the source that it works on
        candidates = [*scripts_run_by(command, by_name=bool(_IS_SHELL.search(f"{origin}\n{before(origin)}")))]
        for simple in simple_commands(command):
            # in the folder from `-C x`, `--prefix x` or `--cwd x`, else in the working directory
            folder_option = next((value for word, value in pairwise(simple.arguments) if word in _FOLDERS), "")
            for name in file_roles()["recipes"].get(simple.program, ()):
                file = next((value for word, value in pairwise(simple.arguments) if word in _FILES), name)
                candidates.append(path_in_repository(simple, f"{folder_option}/{file}" if folder_option else file))
        for path in (f"{folder}/{path}" if folder else path for path in candidates):
            if path not in yielded:
                yielded.add(path)
                yield path
                depths[path] = depths[origin] + 1
                if depths[path] <= _DEEPEST:
                    inside = path.rpartition("/")[0] if path.endswith("package.json") else folder
                    pending.extend((line, inside, path) for line in _commands_in(path, before(path)))


def _role_of(path: str, run: Collection[str], before: Read, after: Read) -> str:
    if is_test_file(path):
        # what the source needs may have moved into a new file of tests, without which it no longer compiles
        return "support" if path.endswith(".go") and not before(path) and _GO_HELPER.search(after(path)) else "tests"
    shared = file_roles()["shared"].get(path.rpartition("/")[2])
    if shared is not None:
        return "settings" if _check_settings_differ(path, shared, before(path), after(path)) else "source"
    if path.rpartition("/")[2] in _MAKEFILES:
        return "settings" if path in run and _recipes_differ(before(path), after(path)) else "source"
    if path in run or is_settings(path):
        return "settings"
    return "support" if is_test_support(path) else "source"


def _is_used_by_source(path: str, changed: Collection[str], before: Read, after: Read, find_text: FindText) -> bool:
    """Whether a file that is named or placed like a test has none, and a source imports it: `click/testing.py`, `api/spec/a.py`.

    At the start, if it existed: the work could add an import to a helper of the tests.
    """
    # in other languages sources name modules of tests, or tests are not known by their form
    if language_of(path) not in {"python", "javascript"} or any(Source(path, text).tests for text in (before(path), after(path))):
        return False
    module = path.rpartition(".")[0].removesuffix("/__init__").removesuffix("/index")
    folders, _, stem = module.rpartition("/")
    folder, near = folders.rpartition("/")[2], _NEAR.format(_escape(stem))
    elsewhere = _IN_FOLDER.format(_escape(folder), _escape(stem)) if folder else near
    for imported, is_near in ((near, True), (elsewhere, False)):
        pattern = _IMPORT.format(imported)
        importing = find_text(pattern) if before(path) else [other for other in changed if re.search(pattern, after(other))]
        if any(is_source(other) and (not is_near or other.rpartition("/")[0] == folders) for other in importing if other != path):
            return True
    return False


def _is_data_of_checks(path: str, run: Collection[str], find_text: FindText) -> bool:
    """Whether tests or programs of the checks name a data file or its folder, and no source does.

    A glob for its suffix in a source counts as naming it.
    """
    folders, _, name = path.rpartition("/")
    stem, _, suffix = name.rpartition(".")
    if not stem or suffix not in file_roles()["data"]:
        return False
    file, folder, stem = map(_escape, (name, folders.rpartition("/")[2], stem))
    quoted = [rf"""(^|[^A-Za-z0-9_.-]){file}($|[^A-Za-z0-9_-])""", *([rf"""["'/.]{folder}["'/.]"""] if folder else [])]
    naming = find_text("|".join((*quoted, rf"""["']{stem}["']""", rf"[*][.]{suffix}")))
    judging = {other for other in naming if other in run or is_test_file(other) or is_test_support(other)}
    return bool(judging) and not any(language_of(other) for other in naming if other not in judging)


def _escape(text: str) -> str:
    """For an extended regular expression of POSIX."""
    return re.sub(r"[][.^$*+?(){}|\\]", r"\\\g<0>", text)


_FOLDERS = frozenset({"-C", "--directory", "--prefix", "--cwd", "--dir"})
_FILES = frozenset({"-f", "--file", "--makefile", "--justfile", "--rakefile"})


def _commands_in(path: str, text: str) -> Iterator[str]:
    """Yield the commands in a script or in recipes."""
    if path.endswith("package.json"):
        yield from (value for name, value in settings_of(path, text).items() if name.startswith("scripts.") and value)
    elif any(path.rpartition("/")[2] in names for names in file_roles()["recipes"].values()) or _IS_SHELL.search(
        f"{path}\n{text}"
    ):
        yield from (line.strip().lstrip("@-") for line in text.replace("\\\n", " ").split("\n") if not line.startswith("#"))


def _check_settings_differ(path: str, others: Sequence[str], before: str, after: str) -> bool:
    """Whether a setting of a check differs: any except `others`; of scripts, only existing ones and hooks around them."""
    old, new = settings_of(path, before), settings_of(path, after)
    if not after.strip() and before.strip():
        return True
    differing = {name for name in (*old, *new) if old.get(name) != new.get(name)}
    added = {name for name in differing if name.startswith("scripts.") and name not in old}
    added -= {name for name in added if name.startswith(_TEST_SCRIPTS)}
    return any(
        not any(name == other or name.startswith((f"{other}.", f"{other}:")) for other in others) for name in differing - added
    )


def _recipes_differ(before: str, after: str) -> bool:
    """Whether a recipe, or a variable that names no sources, was changed or removed, or a new line affects existing recipes."""
    new, targets = frozenset(after.split("\n")), frozenset(_TARGET.findall(before))
    if any(_OF_ALL_RECIPES.search(line) for line in new.difference(before.split("\n"))):
        return True
    gone = (line for line in before.split("\n") if line not in new)
    redefined = (name for name in targets if len(re.findall(rf"(?m)^{re.escape(name)}\s*:", after)) > 1)
    return any(line.startswith("\t") or _OTHER_VARIABLE.match(line) for line in gone) or any(redefined)


def settings_of(path: str, text: str) -> dict[str, str]:
    """Return settings by dotted name; a file that cannot be parsed is one setting with all of its text."""
    if not text.strip():
        return {}
    try:
        plain = text.removeprefix("\ufeff")
        if path.endswith(".toml"):
            return dict(_flatten("", parse_toml(plain)))
        if path.endswith(".json"):
            return dict(_flatten("", json.loads(plain)))
        parser = configparser.RawConfigParser(strict=False, allow_no_value=True, default_section="\0")
        parser.read_string(_BLANKS.sub(" ", plain))
        return dict(_flatten("", {section: dict(parser.items(section)) for section in parser.sections()}))
    except (ValueError, AttributeError, configparser.Error, RecursionError):  # AttributeError: continuation line after a bare key
        return {"": text}


def _flatten(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            yield from _flatten(f"{name}.{key}" if name else str(key), inner)
    else:
        yield name, value if isinstance(value, str) else json.dumps(value, default=str)
