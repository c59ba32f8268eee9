"""What changed paths are to the checks: tests, what only tests use, what tells a check what to do, or plain source.

Where anything but plain source differs from the start, the checks run once more with all of it as it was (`verify.outcomes`).
"""

import configparser
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, cast

from helmsman.parsers.paths import matches_any
from helmsman.parsers.test_files import is_only_tests, is_test_file, is_test_support
from helmsman.toml_of import bundled, toml_of
from helmsman.verify.commands import path_of, scripts, simple_commands


def tables() -> Mapping[str, Any]:
    """Files by what they are to the checks."""
    return bundled("helmsman.verify", "touched.toml")


Read = Callable[[str], str]  # the text of a file by its path; empty where there is none, or none that is read

_TEST_SCRIPTS = ("scripts.pre", "scripts.post")
_BLANKS = re.compile(r"(?<=\S)[^\S\n]{2,}")  # the reader of INI files takes the square of their number
_MAKEFILES = frozenset({"GNUmakefile", "makefile", "Makefile"})
_TARGET = re.compile(r"(?m)^([\w.-]+)\s*:(?!=)")
_OTHER_VARIABLE = re.compile(r"(?i)(?!\w*(?:src|source|obj|file|header|dep|flag|lib|inc|bin|module)\w*\s*[:+?]?=)\w+\s*[:+?]?=")
"""A variable that is not about what is built of what."""
_IS_SHELL = re.compile(r"\A[^\n]*(?:\.(?:sh|bash)\n|\n#!/bin/)")
"""Of its path and its text."""
_DEEPEST = 3  # files that a check runs, and that these run in turn


class Touched(NamedTuple):
    """Changed paths by what they are to the checks."""

    tests: tuple[str, ...] = ()
    support: tuple[str, ...] = ()  # fixtures, data and helpers of tests
    settings: tuple[str, ...] = ()
    """What tells a runner or another checker what to do, and what the check commands themselves run."""
    source: tuple[str, ...] = ()  # everything else

    @property
    def judging(self) -> tuple[str, ...]:
        """What says whether the work is right."""
        return (*self.tests, *self.support, *self.settings)


def touched(
    changed: Iterable[str], commands: Iterable[str], before: Read, after: Read, collected: Collection[str] = ()
) -> Touched:
    """`before` and `after`: texts at the start and now, of those files that hold recipes or settings.

    `collected`: files of which the runner's report had tests at the start although they are not named like tests.
    """
    run = frozenset(files_run(commands, before))
    found: dict[str, list[str]] = {"tests": [], "support": [], "settings": [], "source": []}
    for path in changed:
        judged = path in collected and is_only_tests(path, before(path))
        found["tests" if judged else _kind(path, run, before, after)].append(path)
    return Touched(**{kind: tuple(paths) for kind, paths in found.items()})


def files_run(commands: Iterable[str], before: Read) -> Iterator[str]:
    """What the checks run of the repository, their own scripts and recipes, and what these run."""
    pending = [(command, "", 0) for command in commands]
    known = set[str]()
    for command, folder, depth in pending:
        # files whose content decides what the command does; not the source that it is about
        named = [*scripts(command)]
        for one in simple_commands(command):
            # in the folder that `-C x`, `--prefix x` or `--cwd x` names, else where the command runs
            given = next((value for word, value in pairwise(one.arguments) if word in _FOLDERS), "")
            for name in tables()["recipes"].get(one.program, ()):
                file = next((value for word, value in pairwise(one.arguments) if word in _FILES), name)
                named.append(path_of(one, f"{given}/{file}" if given else file))
        for path in (f"{folder}/{path}" if folder else path for path in named):
            if path not in known:
                known.add(path)
                yield path
                if depth < _DEEPEST:
                    inside = path.rpartition("/")[0] if path.endswith("package.json") else folder
                    pending.extend((line, inside, depth + 1) for line in _lines(path, before(path)))


def _kind(path: str, run: Collection[str], before: Read, after: Read) -> str:
    if is_test_file(path):
        return "tests"
    shared = tables()["shared"].get(path.rpartition("/")[2])
    if shared is not None:
        return "settings" if _judges_otherwise(path, shared, before(path), after(path)) else "source"
    if path.rpartition("/")[2] in _MAKEFILES:
        return "settings" if path in run and _recipes_differ(before(path), after(path)) else "source"
    if path in run or matches_any(path, (*tables()["governors"], *tables()["checkers"])):
        return "settings"
    return "support" if is_test_support(path) else "source"


_FOLDERS = frozenset({"-C", "--directory", "--prefix", "--cwd", "--dir"})
_FILES = frozenset({"-f", "--file", "--makefile", "--justfile", "--rakefile"})


def _lines(path: str, text: str) -> Iterator[str]:
    """Commands in a script or in recipes."""
    if path.endswith("package.json"):
        yield from (value for name, value in settings_of(path, text).items() if name.startswith("scripts.") and value)
    elif any(path.rpartition("/")[2] in names for names in tables()["recipes"].values()) or _IS_SHELL.search(f"{path}\n{text}"):
        yield from (line.strip().lstrip("@-") for line in text.replace("\\\n", " ").split("\n") if not line.startswith("#"))


def _judges_otherwise(path: str, others: Sequence[str], before: str, after: str) -> bool:
    """Whether a setting of a check differs: any beside `others`; of scripts those that were there, and hooks around them."""
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
    """Whether a recipe or a variable that names no sources is gone or another, or a target is made anew."""
    new, targets = frozenset(after.split("\n")), frozenset(_TARGET.findall(before))
    gone = (line for line in before.split("\n") if line not in new)
    again = (name for name in targets if len(re.findall(rf"(?m)^{re.escape(name)}\s*:", after)) > 1)
    return any(line.startswith("\t") or _OTHER_VARIABLE.match(line) for line in gone) or any(again)


def settings_of(path: str, text: str) -> dict[str, str]:
    """What a file of settings says, by dotted name. Where it cannot be read its text is one setting."""
    if not text.strip():
        return {}
    try:
        plain = text.removeprefix("\ufeff")
        if path.endswith(".toml"):
            return dict(_flat("", toml_of(plain)))
        if path.endswith(".json"):
            return dict(_flat("", json.loads(plain)))
        parser = configparser.RawConfigParser(strict=False, allow_no_value=True, default_section="\0")
        parser.read_string(_BLANKS.sub(" ", plain))
        return dict(_flat("", {section: dict(parser.items(section)) for section in parser.sections()}))
    except (ValueError, AttributeError, configparser.Error, RecursionError):  # the second: a line goes on after a bare key
        return {"": text}


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            yield from _flat(f"{name}.{key}" if name else str(key), inner)
    else:
        yield name, value if isinstance(value, str) else json.dumps(value, default=str)
