"""What stands in front of a command and only says how it is run: `env X=1`, `timeout 60`, `uv run`, `python -m`."""

import re
from collections.abc import Sequence

from helmsman.orient.guardrails.words import has_flag, word_set

ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
INTERPRETER = re.compile(r"(?:python|pypy)[0-9.]*")
_MOST = 10
"""Wrappers around one command that are taken off."""

_VALUED: dict[tuple[str, ...], frozenset[str]] = {
    ("env",): word_set("-u --unset -C --chdir"),
    ("time",): word_set("-f -o"),
    ("timeout",): word_set("-s --signal -k --kill-after"),
    ("nice",): word_set("-n"),
    ("ionice",): word_set("-c -n"),
    ("stdbuf",): word_set("-i -o -e"),
    ("nohup",): frozenset(),
    ("setsid",): frozenset(),
    ("command",): frozenset(),
    ("builtin",): frozenset(),
    ("exec",): word_set("-a"),
    ("sudo",): word_set("-u -g -h -p -C -D --user --group"),
    ("doas",): word_set("-u -C"),
    ("xargs",): word_set("-I -n -P -d -L -a -E -s --max-args --max-procs --delimiter"),
    ("xvfb-run",): word_set("-s -n"),
    ("npx",): word_set("-p --package"),
    ("bunx",): frozenset(),
    ("uvx",): word_set("--from --with -p --python"),
    ("uv", "run"): word_set("--with --python -p --extra --group --package --project --directory --env-file"),
    ("poetry", "run"): frozenset(),
    ("pdm", "run"): frozenset(),
    ("hatch", "run"): frozenset(),
    ("pipenv", "run"): frozenset(),
    ("rye", "run"): frozenset(),
    ("bundle", "exec"): frozenset(),
    ("pnpm", "exec"): frozenset(),
    ("yarn", "exec"): frozenset(),
    ("npm", "exec"): frozenset(),
}
"""Wrappers, and those of their options that take a value."""


def name_of(word: str) -> str:
    """A program without the folder it is in."""
    return word.rpartition("/")[2]


def unwrap(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Give the wrappers' names, and the words of what they run."""
    found: list[str] = []
    rest = list(words)
    for _ in range(_MOST):
        while rest and ASSIGNMENT.match(rest[0]):
            rest = rest[1:]
        if not rest:
            break
        wrapper = _wrapper(rest)
        if not wrapper:
            break
        found.append(wrapper[0])
        rest = _behind(rest, wrapper)
    return tuple(found), tuple(rest)


def _wrapper(words: Sequence[str]) -> tuple[str, ...]:
    program = name_of(words[0])
    if INTERPRETER.fullmatch(program) and "-m" in words[1:3] and words[-1] != "-m":
        return ("python -m",)
    if program == "command" and has_flag(words[1:2], "vV"):
        return ()  # it only says where a program is
    if (program,) in _VALUED:
        return (program,)
    pair = (program, *words[1:2])
    return pair if pair in _VALUED else ()


def _behind(words: list[str], wrapper: tuple[str, ...]) -> list[str]:
    if wrapper == ("python -m",):
        return words[words.index("-m") + 1 :]
    valued, start = _VALUED[wrapper], len(wrapper)
    while start < len(words) and words[start].startswith("-"):
        start += 2 if words[start] in valued else 1
    return words[start + (wrapper == ("timeout",)) :]
