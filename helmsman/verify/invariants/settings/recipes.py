"""Recipes of make, just, npm, rake, tox and nox: only what a check command uses of them, as texts that can be compared."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from helmsman.verify.invariants.settings.first_values import LONGEST, leaves_nothing_out, runs_no_less
from helmsman.verify.invariants.settings.flat import settings, words

_RULE = re.compile(r"^@?([A-Za-z0-9_.%/$-][^:#]{0,300})::?(?!=)\s?([^#]{0,500})")
_VARIABLE = re.compile(r"^(?:export\s|override\s)?\s?([A-Za-z_.][\w.]{0,80})\s?(?::{0,3}|[?+!])=\s?(.{0,2000})")
_USED = re.compile(r"\$[({]([A-Za-z_][\w.]{0,80})[)}]|\{\{\s?([A-Za-z_]\w{0,80})\s?\}\}")
_SUB_MAKE = re.compile(r"(?:\$\(MAKE\)|\$\{MAKE\}|\bmake\b|\bjust\b)\s([\w. -]{1,200})")
_SUB_SCRIPT = re.compile(r"\b(?:npm|pnpm|yarn|bun)\s(?:run\s|run-script\s)?(?:-\w+\s)?([\w:.-]{1,80})")
_NAMES = 20
"""Targets of one rule that are followed."""
_GLOBAL = ("SHELL", ".SHELLFLAGS", "MAKEFLAGS", ".IGNORE")
"""What holds for every recipe."""
_ROUNDS = 5
_PLACEHOLDER = re.compile(r"no test specified")


@dataclass(frozen=True)
class Recipe:
    commands: tuple[str, ...]
    needs: tuple[str, ...] = ()
    """Targets that are made before it."""
    given: tuple[str, ...] = field(default=(), compare=False)
    """Of a variable: every value that the file gives it, with what those refer to. The last one counts, or what is added to."""

    @property
    def text(self) -> str:
        return " && ".join(self.commands) or " ".join(self.needs)


UNSET = Recipe(())
"""A variable or a setting that a check would heed and that is not there."""


def may_become(name: str, old: Recipe, new: Recipe) -> bool:
    """Whether the same is run, after more if need be, or what was not set now has a value that leaves nothing out."""
    if old == UNSET and new.given:
        return all(leaves_nothing_out(name, value) or runs_no_less(name, value) for value in new.given)
    if old == UNSET or (name == "MAKEFLAGS" and leaves_nothing_out(name, old.text)):
        return all(leaves_nothing_out(name, value) for value in new.given or (new.text,))
    return new.commands == old.commands and set(new.needs) >= set(old.needs)


def make_recipes(text: str, targets: Iterable[str]) -> dict[str, Recipe]:
    """Recipes of the targets, of what they need and call, and the variables in them, by name. No target: the first one."""
    rules, variables = _rules(text)
    if ".IGNORE" in rules:  # targets whose failures are passed over, all where none is named
        variables[".IGNORE"] = Recipe((f".IGNORE: {rules.pop('.IGNORE').text}",))
    found = dict[str, Recipe]()
    pending = list(targets) or [name for name in rules if not name.startswith(".")][:1]
    while pending:
        name = pending.pop()
        recipe = rules.get(name) or variables.get(name)
        if recipe is None or name in found:
            continue
        found[name] = recipe
        joined = "\n".join(recipe.commands)
        used = [one or other for one, other in _USED.findall(joined + " ".join(recipe.needs))]
        called = [word for group in _SUB_MAKE.findall(joined) for word in group.split()]
        variables |= {name: UNSET for name in used if name not in variables and name not in rules}
        pending += [*recipe.needs, *used, *called]
    found |= {name: variables.get(name, UNSET) for name in _GLOBAL} if found else {}
    meant = _meant({name: " ".join(one.given) for name, one in variables.items()})
    return {name: replace(one, given=tuple(_filled(given, meant) for given in one.given)) for name, one in found.items()}


def _meant(values: dict[str, str]) -> dict[str, str]:
    """Values of variables with those that they refer to: each round goes twice as deep; what refers to itself grows too long."""
    for _ in range(_ROUNDS):
        values = {name: _filled(value, values) for name, value in values.items()}
    return values


def _filled(text: str, values: dict[str, str]) -> str:
    """Filled in up to the length from which it is not looked at. What no one defines stays as it is."""
    if "$" not in text or len(text) > LONGEST:
        return text
    parts, size, at = list[str](), 0, 0
    for found in _USED.finditer(text):
        parts += [text[at : found.start()], values.get(found[1] or found[2], found[0])[: LONGEST + 1]]
        size, at = size + len(parts[-2]) + len(parts[-1]), found.end()
        if size > LONGEST:
            break
    return "".join((*parts, text[at:]))


def _rules(text: str) -> tuple[dict[str, Recipe], dict[str, Recipe]]:
    commands, needs, given = dict[str, list[str]](), dict[str, list[str]](), dict[str, list[str]]()
    names = list[str]()
    for line in text.replace("\\\n", " ").split("\n"):
        bare = " ".join(line.split())
        if not bare or bare.startswith("#"):
            continue
        if line[0] in "\t " and names:
            for name in names:
                commands[name].append(bare)
        elif variable := _VARIABLE.match(bare):
            given.setdefault(variable[1], []).append(variable[2])
        elif rule := _RULE.match(bare):
            names = rule[1].split()[:_NAMES]
            for name in names:
                commands.setdefault(name, [])
                needs.setdefault(name, []).extend(rule[2].replace("|", " ").split())
    variables = {name: Recipe((values[-1],), given=tuple(values)) for name, values in given.items()}
    return {name: Recipe(tuple(lines), tuple(needs[name])) for name, lines in commands.items()}, variables


def npm_scripts(text: str, names: Iterable[str]) -> dict[str, Recipe]:
    """Scripts of package.json with those before, after and inside them. The one that npm writes for a start is none."""
    given = {
        name.removeprefix("scripts."): value
        for name, value in settings("package.json", text).items()
        if name.startswith("scripts.")
    }
    found = dict[str, Recipe]()
    pending = list(names)
    while pending:
        name = pending.pop()
        value = given.get(name)
        if name in found or not isinstance(value, str) or _PLACEHOLDER.search(value):
            continue
        found[name] = Recipe((" ".join(value.split()),))
        pending += [f"pre{name}", f"post{name}", *_SUB_SCRIPT.findall(value)]
    return found


_TOX_HEEDS = ("commands_pre", "commands_post", "ignore_errors", "ignore_outcome", "setenv", "set_env")
_TOX = re.compile(
    r"(?:testenv[^.]*|tox|env_run_base|env\..+|tool\.tox.*)\.(?:commands(?:_pre|_post)?|legacy_tox_ini|envlist|env_list|ignore_errors|ignore_outcome|skipsdist|skip_.*|setenv|set_env)"
)


def tox_recipes(path: str, text: str) -> dict[str, Recipe]:
    """What tox runs, and how it judges it."""
    found = {name: Recipe(words(value)) for name, value in settings(path, text).items() if _TOX.fullmatch(name)}
    sections = dict.fromkeys(name.rpartition(".")[0] for name in found if name.endswith(".commands"))
    return {f"{section}.{key}": UNSET for section in sections for key in _TOX_HEEDS} | found


_SESSION = re.compile(
    r"^(?:@(?:nox\.)?session[^\n]{0,300}\n)(?:@[^\n]{0,300}\n){0,9}(?:async )?def (\w+)[^\n]*\n((?:[ \t]+[^\n]*\n?|\s*\n)*+)",
    re.MULTILINE,
)


def nox_sessions(text: str) -> dict[str, Recipe]:
    """Bodies of the sessions by name."""
    return {
        found[1]: Recipe(tuple(" ".join(line.split()) for line in found[2].split("\n") if line.strip()))
        for found in _SESSION.finditer(text)
    }


_TASK = re.compile(
    r"^(?P<indent>[ \t]{0,20})(?P<kind>task|multitask|[A-Z]\w{0,40}(?:::\w{1,40}){1,3}\.new)\b(?P<head>[^\n]{0,300})$",
    re.MULTILINE,
)
_TASK_NAME = re.compile(r"[\s(]{0,3}:?[\"']?([a-zA-Z_]\w{0,80}(?::\w{1,80}){0,3})")
_NEEDED = re.compile(r"(?:=>|:\s)\s?(\[[^\]]{0,200}\]|%[iw]\[[^\]]{0,200}\]|:?\"?[\w:]{1,80})")
_SYMBOL = re.compile(r"[A-Za-z_]\w{0,80}(?::\w{1,80}){0,3}")
_BY_KIND = {"Rake::TestTask.new": "test", "RSpec::Core::RakeTask.new": "spec", "Cucumber::Rake::Task.new": "cucumber"}
_MOST_TASKS = 300
_LONGEST_TASK = 5000
"""Tasks of a file, and characters of one, that are read."""


def rake_tasks(text: str, names: Iterable[str]) -> dict[str, Recipe]:
    """Bodies of the tasks of a Rakefile that are asked for, and of what they need. No name: `default`."""
    tasks = dict[str, list[Recipe]]()
    for name, recipe in islice(_tasks(text), _MOST_TASKS):
        tasks.setdefault(name, []).append(recipe)
    found = dict[str, Recipe]()
    pending = [name.partition("[")[0] for name in names] or ["default"]
    while pending:
        name = pending.pop()
        if name in tasks and name not in found:
            commands = tuple(line for recipe in tasks[name] for line in recipe.commands)
            found[name] = Recipe(commands, tuple(need for recipe in tasks[name] for need in recipe.needs))
            pending += found[name].needs
    return found


def _tasks(text: str) -> Iterator[tuple[str, Recipe]]:
    for found in _TASK.finditer(text):
        kind, head = found["kind"], found["head"].partition("#")[0]
        named = _TASK_NAME.match(head)
        name = named[1] if named and named[1] != "do" else _BY_KIND.get(kind, "")
        if kind in _BY_KIND or kind.endswith("task"):
            needs = [one for group in _NEEDED.findall(head) for one in _SYMBOL.findall(group) if one not in {"i", "w"}]
            own = () if kind.endswith("task") and not re.search(r"\bdo\b|\{", head) else _task_body(text, found)
            made = () if not own and kind.endswith("task") else (kind, *own)
            yield name, Recipe(made, tuple(needs))


def _task_body(text: str, task: re.Match[str]) -> tuple[str, ...]:
    """Up to the `end` that stands as far left as the task."""
    if not re.search(r"\bdo\b", task["head"]):
        return (" ".join(task["head"].split()),)
    body = text[task.end() : task.end() + _LONGEST_TASK]
    end = re.search(rf"^{task['indent']}end\b", body, re.MULTILINE)
    lines = body[: end.start() if end else len(body)].split("\n")
    return tuple(" ".join(line.split()) for line in lines if line.strip() and not line.lstrip().startswith("#"))
