"""Check commands as words: which files of the repository they run, and which of their tools' recipes they use."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, takewhile
from posixpath import join, normpath

from helmsman.parsers.test_files import is_source, is_test_file

_CONNECTOR = re.compile(r"[();|&]+")
_DEEPEST = 3
"""Levels of `sh -c` that are followed."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_WRAPPERS = frozenset({
    "env", "time", "timeout", "nice", "nohup", "exec", "command", "sudo", "npx", "bunx", "pnpx", "xvfb-run", "stdbuf", "!",
})  # fmt: skip
_RUNNERS_OF_RUNNERS = {
    "uv": {"run"},
    "poetry": {"run"},
    "pdm": {"run"},
    "hatch": {"run"},
    "pipenv": {"run"},
    "rye": {"run"},
    "bundle": {"exec"},
    "pnpm": {"exec"},
    "yarn": {"exec"},
    "coverage": {"run"},
}
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "source", "."})
_SHELL_SCRIPTS = (".sh", ".bash", ".zsh")
_INTERPRETERS = re.compile(r"(?:python[0-9.]*|pypy3?|node|bun|deno|ruby|perl|php|tsx|ts-node)")
_TOOLS = frozenset({
    "pytest", "py.test", "unittest", "nose2", "jest", "vitest", "mocha", "ava", "go", "cargo", "rspec", "phpunit", "ruff",
    "mypy", "pyright", "basedpyright", "pylint", "flake8", "black", "eslint", "tsc", "prettier", "biome", "coverage", "bandit",
    "rubocop", "golangci-lint", "gradle", "mvn", "dotnet", "swift", "compileall", "py_compile", "doctest", "clippy", "rustfmt",
    "gofmt", "isort", "javac", "gcc", "cc", "g++", "clang", "rustc", "rake", "minitest",
})  # fmt: skip
"""They are given the sources and tests that the work is about."""
_ELSEWHERE = frozenset({
    "pip", "pip3", "uv", "poetry", "npm", "yarn", "pnpm", "bun", "bundle", "composer", "conda", "make", "gmake", "just", "tox",
    "nox",
})  # fmt: skip
"""Installers, which are given what the work changes, and tools whose recipes are compared instead."""
_SHARED = re.compile(
    r"(?:.*/)?(?:pyproject\.toml|package(?:-lock)?\.json|Cargo\.toml|go\.(?:mod|sum)|requirements[^/]*\.txt"
    r"|setup\.(?:cfg|py)|[^/]*\.lock)"
)
"""Work of any kind edits them; other rules look into them."""
_MODULE = re.compile(r"[A-Za-z_]\w{0,80}(?:\.\w{1,80}){0,9}")
_CONFIGURES = re.compile(r"-c|-f|--?(?:config|rcfile|file|settings|project|ini)[\w-]*")
_REFERENCE = re.compile(r"expect|golden|reference|snapshot|baseline", re.IGNORECASE)
_CHECKING = re.compile(
    r"check|verif|valid|test|lint|accept|smoke|assert|gate|grade|judge|audit|ensure|prove|/ci/|^ci/", re.IGNORECASE
)


@dataclass(frozen=True)
class Words:
    """One simple command, without wrappers and variables in front."""

    folder: str
    words: tuple[str, ...]

    @property
    def program(self) -> str:
        return self.words[0].rpartition("/")[2]

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.words[1:]

    def path(self, word: str) -> str:
        """A word as a path in the repository."""
        return normpath(f"{self.folder}/{word}") if self.folder else normpath(word)


def simple_commands(command: str, depth: int = 0) -> Iterator[Words]:
    """The simple commands of a shell command, those in `sh -c "…"` too."""
    folder, words, outside = "", list[str](), list[str]()
    for word in (*_split(command), ";"):
        if not _CONNECTOR.fullmatch(word):
            words.append(word)
            continue
        bare = _unwrapped(words)
        words = []
        if bare[:1] == ["cd"]:
            folder = normpath(join(folder, *bare[1:2]))
        elif (inner := _given_to_shell(bare)) and depth < _DEEPEST:
            yield from (Words(join(folder, one.folder), one.words) for one in simple_commands(inner, depth + 1))
        elif bare:
            yield Words(folder, tuple(bare))
        for sign in word:
            if sign == "(":
                outside.append(folder)
            elif sign == ")" and outside:
                folder = outside.pop()


def _given_to_shell(words: list[str]) -> str:
    """The command in `sh -c "…"` and `/bin/bash -eo pipefail -c "…"`; empty where it is another one."""
    if not words or words[0].rpartition("/")[2] not in _SHELLS:
        return ""
    options = takewhile(lambda pair: pair[0].startswith("-") or pair[0] == "pipefail", pairwise(words[1:]))
    return next((following for option, following in options if re.fullmatch("-[a-z]*c", option)), "")


def _split(command: str) -> list[str]:
    text = command.replace("\n", " ; ")
    try:
        lexer = shlex.shlex(text, posix=True, punctuation_chars="();|&")
        lexer.whitespace_split = True
        return list(lexer)
    except ValueError:
        return text.split()


def _unwrapped(words: list[str]) -> list[str]:
    """Without `FOO=1`, `timeout 60`, `uv run`, `python -m`."""
    rest = list(words)
    while rest:
        first = rest[0].rpartition("/")[2]
        if _ASSIGNMENT.match(rest[0]) or first in _WRAPPERS:
            rest = _without_options(rest[1:], numbers=first in {"timeout", "nice"})
        elif len(rest) > 1 and rest[1] in _RUNNERS_OF_RUNNERS.get(first, ()):
            rest = _without_options(rest[2:])
        elif _INTERPRETERS.fullmatch(first) and rest[1:2] == ["-m"] and rest[2:]:
            rest = rest[2:]
        else:
            return rest
    return rest


def _without_options(words: list[str], *, numbers: bool = False) -> list[str]:
    start = 0
    while start < len(words) and (words[start].startswith("-") or (numbers and words[start][:1].isdigit())):
        start += 1
    return words[start:]


def scripts(command: str) -> Iterator[tuple[str, bool]]:
    """Paths that a command names, with whether they surely check: `grep -q x README.md` and `python app.py` run on the work."""
    for one in simple_commands(command):
        if one.program not in _ELSEWHERE:
            yield from _program(one)
            yield from _arguments(one)


def _program(one: Words) -> Iterator[tuple[str, bool]]:
    first = one.words[0]
    if "/" in first:
        yield from _named(one, first, certain=_surely_checks(first))
    elif _MODULE.fullmatch(first) and one.program not in _TOOLS:
        yield from _named(one, f"{first.replace('.', '/')}.py", certain=bool(_CHECKING.search(first)))


def _arguments(one: Words) -> Iterator[tuple[str, bool]]:
    script = one.program in _SHELLS or bool(_INTERPRETERS.fullmatch(one.program))
    before = ""
    for word in one.arguments:
        name, equals, value = word.partition("=") if word.startswith("-") else (before, "", word)
        before = word
        if not value or (word.startswith("-") and not equals) or (one.program in _TOOLS and _is_code(value)):
            continue
        configures = bool(_CONFIGURES.fullmatch(name))
        certain = configures or bool(_REFERENCE.search(value)) or (script and _surely_checks(value))
        script = False
        yield from _named(one, value, certain=certain)


def _surely_checks(path: str) -> bool:
    """A shell script, or a program that is called like a check."""
    return not _is_code(path) or path.endswith(_SHELL_SCRIPTS) or bool(_CHECKING.search(path))


def _is_code(path: str) -> bool:
    return is_source(path) or is_test_file(path)


def _named(one: Words, word: str, *, certain: bool) -> Iterator[tuple[str, bool]]:
    path = one.path(word.partition("::")[0])
    if not is_test_file(path) and not _SHARED.fullmatch(path):
        yield path, certain
