"""Files that decide whether the work is done: check scripts, recipes, continuous integration, the rubric, the loop's settings."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile

from helmsman.records.findings import Finding, Weight
from helmsman.verify.changed_lines import common_start
from helmsman.verify.commands import Words, scripts, simple_commands
from helmsman.verify.diff import FileDiff
from helmsman.verify.globs import matches_any
from helmsman.verify.invariants.reading.additions import split
from helmsman.verify.invariants.reading.reporter import Reporter, Spot, most_important
from helmsman.verify.invariants.scene import Scene
from helmsman.verify.invariants.settings.ci_growth import only_grows
from helmsman.verify.invariants.settings.flat import line_of, quoted, settings
from helmsman.verify.invariants.settings.recipes import (
    UNSET,
    Recipe,
    make_recipes,
    may_become,
    nox_sessions,
    npm_scripts,
    rake_tasks,
    tox_recipes,
)

_REPORTER = Reporter("protected", "Put the file back as it was and change the work so that it passes.")
_BLOCK, _WARN = Weight.BLOCK, Weight.HINT

_OWN = re.compile(
    r"RUBRIC\.md|helmsman\.toml|\.claude/autochecks\.sh|\.claude/settings[^/]*\.json|\.helmsman/(?:presets|hats)/[^/]+\.md"
    r"|\.helmsman/agents/[^/]+\.toml"
)
_CI = re.compile(
    r"\.github/(?:workflows|actions)/.+|\.gitlab-ci\.ya?ml|\.gitlab/ci/.+|\.ci/.+|\.circleci/.+|Jenkinsfile|\.travis\.ya?ml"
    r"|azure-pipelines\.ya?ml|bitbucket-pipelines\.ya?ml|\.buildkite/.+|\.drone\.ya?ml|appveyor\.ya?ml|\.woodpecker(?:\.ya?ml|/.+)"
)
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_RAKEFILES = ("Rakefile", "rakefile", "Rakefile.rb")
_JUSTFILES = ("justfile", "Justfile", ".justfile")
_PACKAGE_MANAGERS = frozenset({"npm", "pnpm", "yarn", "bun"})
_NO_TARGET = re.compile(r"[<>]|^[0-9]+$")
"""What `-j 4` and `2>&1` leave among the words."""
_ALIASES = {"t": "test", "tst": "test"}

Recipes = Callable[[str], Mapping[str, Recipe]]
"""What a check command uses of a file, from its text."""


def protected(scene: Scene) -> Iterable[Finding]:
    """Rule `protected`: changes of what judges the work, and of what the operator protects."""
    return most_important(_findings(scene))


def _findings(scene: Scene) -> Iterator[Finding]:
    checking = dict(sorted((named for command in scene.commands for named in scripts(command)), key=lambda named: named[1]))
    used = [recipes for command in dict.fromkeys(scene.commands) for recipes in _recipes(command)]
    for file in scene.diff:
        whole = _as_a_whole(file, scene.protected, checking)
        if whole is not None:
            yield whole
            continue
        for path, read in used:
            if path in {file.path, file.old_path}:
                yield from _other_recipes(file, read)
        if file.path == "pyproject.toml":
            yield from _own_settings(file)
    for path in scene.diff.left_out:
        if matches_any(path, scene.protected) or _OWN.fullmatch(path) or _CI.fullmatch(path) or checking.get(path):
            yield _REPORTER.block(Spot(path), f"{path} is protected and was changed")


def _as_a_whole(file: FileDiff, patterns: tuple[str, ...], checking: Mapping[str, bool]) -> Finding | None:
    paths = {file.path, file.old_path} - {""}
    done = {"A": "added", "D": "deleted", "R": "renamed"}.get(file.status, "changed")
    if any(matches_any(path, patterns) or _OWN.fullmatch(path) for path in paths):
        return _REPORTER.block(_first_change(file), f"{file.path} is protected and was {done}")
    if any(_CI.fullmatch(path) for path in paths):
        weight = _WARN if file.status == "A" or only_grows(file) else _BLOCK
        return _REPORTER.tell(weight, _first_change(file), f"{file.path} of continuous integration was {done}")
    named = [path for path in paths if path in checking]
    if named and file.status != "A":
        weight = _BLOCK if any(checking[path] for path in named) else _WARN
        return _REPORTER.tell(weight, _first_change(file), f"{named[0]} belongs to a check and was {done}")
    return None


def _first_change(file: FileDiff) -> Spot:
    old, new = split(file.before), split(file.after)
    number = common_start(old, new)
    before, after = (lines[number] if number < len(lines) else "" for lines in (old, new))
    return Spot(file.path, number + 1 if file.before is not None and file.after is not None else None, after, before)


def _recipes(command: str) -> Iterator[tuple[str, Recipes]]:
    """Files whose recipes a check command uses, and how to read what it uses of them."""
    for one in simple_commands(command):
        words = [word for word in one.arguments if not word.startswith("-") and "=" not in word]
        if one.program in {"make", "gmake"}:
            yield from _of_make(one, words, _MAKEFILES)
        elif one.program == "just":
            yield from _of_make(one, words, _JUSTFILES)
        elif one.program in _PACKAGE_MANAGERS:
            folder = _package_folder(one)
            names = [_ALIASES.get(word, word) for word in words if word not in {"run", "run-script", folder}][:1]
            yield one.path(f"{folder}/package.json" if folder else "package.json"), partial(npm_scripts, names=names)
        elif one.program == "tox":
            yield from (
                (one.path(name), partial(tox_recipes, name)) for name in ("tox.ini", "setup.cfg", "pyproject.toml", "tox.toml")
            )
        elif one.program == "rake":
            yield from ((one.path(name), partial(rake_tasks, names=words)) for name in _RAKEFILES)
        elif one.program == "nox":
            yield one.path("noxfile.py"), nox_sessions


def _package_folder(one: Words) -> str:
    """What is behind `--` is the script's own; yarn, pnpm and bun hand on to it all that is behind its name."""
    given = tuple(takewhile(lambda word: word != "--", one.arguments))
    named_first = one.program != "npm" and given[:1] and not given[0].startswith("-")
    return "" if named_first else _option(given, ("--prefix", "--cwd", "--dir", "-C"))


def _of_make(one: Words, words: list[str], names: Iterable[str]) -> Iterator[tuple[str, Recipes]]:
    folder = _option(one.arguments, ("-C", "--directory"))
    file = _option(one.arguments, ("-f", "--file", "--makefile", "--justfile"))
    targets = [word for word in words if word not in {folder, file} and not _NO_TARGET.search(word)]
    for name in [file] if file else names:
        path = one.path(f"{folder}/{name}" if folder else name)
        yield path, partial(make_recipes, targets=targets)


def _option(arguments: Sequence[str], names: tuple[str, ...]) -> str:
    """The value of `-f x`, `-fx` and `--file=x`."""
    for number, word in enumerate(arguments):
        if word in names:
            return arguments[number + 1] if number + 1 < len(arguments) else ""
        for name in names:
            if word.startswith(f"{name}=" if name.startswith("--") else name):
                return word[len(name) :].removeprefix("=")
    return ""


def _other_recipes(file: FileDiff, read: Recipes) -> Iterator[Finding]:
    old, new = read(file.before or ""), read(file.after or "")
    for name, recipe in old.items() if file.before is not None else ():
        now = new.get(name, UNSET if recipe == UNSET else None)
        if now != recipe:
            spot = Spot(file.path, line_of(file.after or "", name), now.text if now else "", recipe.text)
            message = f"{name} of {file.path}, which a check runs, was {'changed' if now else 'removed'}"
            yield _REPORTER.tell(_WARN if now and may_become(name, recipe, now) else _BLOCK, spot, message)


def _own_settings(file: FileDiff) -> Iterator[Finding]:
    old, new = settings(file.path, file.before or ""), settings(file.path, file.after or "")
    for name in dict.fromkeys((*old, *new)):
        if name.startswith("tool.helmsman") and old.get(name) != new.get(name):
            after, before = quoted(new.get(name)), quoted(old.get(name))
            yield _REPORTER.block(Spot(file.path, line_of(file.after or "", name), after, before), f"{name} was changed")
