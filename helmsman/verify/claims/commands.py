"""Which commands run tests, and whether two ways of writing a command run the same thing."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from helmsman.records.evidence import CommandRun
from helmsman.verify.claims.words import word_set

Words = tuple[str, ...]

CUT = 300
"""Characters of a command that are kept: one of this length may have gone on."""

_STEP = re.compile(r"&&|\|\||[;|\n]")
_ASSIGNMENT = re.compile(r"[A-Z_][A-Z0-9_]*=\S*")
_REDIRECT = re.compile(r"[0-9&]?>>?(?:&[0-9]|\S+)?|</dev/null")
_QUIET = re.compile(r"-(?:-|q+|v+|x|s|l|ra|rA|rf|n|j|[nj]?[0-9]+|-tb=\w+|-no-header|-color\S*|-verbose|-quiet|-silent|-ci|-run)")
_EVERYTHING = {".", "./..."}
_INTERPRETER = re.compile(r"python[0-9.]*|py")
_WRAPPERS: tuple[Words, ...] = (
    ("uv", "run"),
    ("poetry", "run"),
    ("pipenv", "run"),
    ("pdm", "run"),
    ("hatch", "run"),
    ("bundle", "exec"),
    ("pnpm", "exec"),
    ("yarn", "exec"),
    ("npx",),
    ("bunx",),
    ("env",),
    ("time",),
    ("sudo",),
    ("command",),
)
_SET_UP = frozenset({"cd", "export", "source", ".", "set", "pushd", "popd", "true"})
_RUNNERS = word_set(
    "pytest py.test unittest nosetests trial tox nox behave jest vitest mocha ava karma cypress playwright rspec phpunit pest "
    "ctest gotestsum nextest bats ginkgo"
)
_TOOLS = word_set(
    "npm yarn pnpm bun node deno go cargo make just task rake mvn mvnw gradle gradlew dotnet python ruby php composer mix sbt "
    "lein swift bazel cmake meson ninja stack cabal zig flutter dart sh bash"
)
_LINTERS = word_set("ruff mypy pyright pylint flake8 black isort eslint prettier tsc biome golangci-lint clippy rubocop")
_TESTS = re.compile(r"(?:^|[^a-z])(?:tests?|specs?|check)(?:$|[^a-z])")
_PLAIN = word_set(
    "ls cat cd echo git gh grep rg sed head tail pwd wc mkdir rmdir rm cp mv touch true which diff sort uniq cut tr tree file "
    "stat chmod ln printf date whoami ps jq less du df basename dirname realpath sleep export set test fd tee"
)


@lru_cache(maxsize=1024)  # one iteration's commands are looked at once for each claim
def normal(command: str) -> Words:
    """The words that say what is run: no path to the program, no wrapper, no flag that only changes what is printed.

    `CI=1 .venv/bin/python -m pytest -q 2>&1` is `pytest`, `npm run test` is `npm test`.
    """
    words = [word for word in command.strip().removeprefix("$ ").split()[:60] if not _REDIRECT.fullmatch(word)]
    while words and (cut := _wrapping(words)):
        words = words[cut:]
    if not words:
        return ()
    program = words[0].rpartition("/")[2] or words[0]
    rest = [word for word in words[1:] if not _QUIET.fullmatch(word) and word not in _EVERYTHING]
    if program in {"npm", "yarn", "pnpm", "bun"} and rest[:1] == ["run"]:
        rest = rest[1:]
    return ("python" if _INTERPRETER.fullmatch(program) else program, *rest)


def _wrapping(words: Sequence[str]) -> int:
    """How many words at the start only say how the rest is started."""
    if _ASSIGNMENT.fullmatch(words[0]):
        return 1
    if words[0] == "timeout":
        return min(2, len(words) - 1)
    if _INTERPRETER.fullmatch(words[0].rpartition("/")[2]) and words[1:2] == ["-m"] and words[2:]:
        return len(words[:2])
    return next(
        (len(wrapper) for wrapper in _WRAPPERS if tuple(words[: len(wrapper)]) == wrapper and len(words) > len(wrapper)), 0
    )


def is_command(text: str) -> bool:
    """Whether a quoted text is a command, as far as its first word tells."""
    words = normal(text)
    if not words:
        return False
    lone = len(words) == 1 and len(text.split()) == 1
    known = _RUNNERS | _LINTERS | ({"make"} if lone else _TOOLS)
    return words[0] in known or text.startswith("./")


def is_test_command(text: str) -> bool:
    """Whether it runs tests by its name: a test runner, or a tool with a word such as `test`."""
    words = normal(text)
    if not words:
        return False
    named = words[0] in _TOOLS and any(_TESTS.search(word) for word in words[1:3])
    return words[0] in _RUNNERS or named or (text.startswith("./") and bool(_TESTS.search(words[0])))


def steps(command: str) -> Iterator[Words]:
    """What a shell line runs, one after the other, without what only sets the scene."""
    return (words for part in _STEP.split(command) if (words := normal(part)) and words[0] not in _SET_UP)


def only_step(command: str) -> Words:
    """What a line runs where it runs one thing, so that its exit code is that thing's; else nothing."""
    found = list(steps(command))
    return found[0] if len(found) == 1 and "|" not in command and len(command) < CUT else ()


def covers(claimed: Words, other: Words) -> bool:
    """Whether `other` is what was claimed, or a part of it: who says that `pytest` passes says so of `pytest tests/unit`."""
    return claimed == other or (len(claimed) == 1 and claimed[0] in _RUNNERS and other[:1] == claimed)


def last_run(claimed: Words, commands: Sequence[CommandRun]) -> CommandRun | None:
    """The last time that it was run, alone or with more words or steps."""
    return next((run for run in reversed(commands) if any(_begins(claimed, step) for step in steps(run.command))), None)


def _begins(claimed: Words, step: Words) -> bool:
    return step[: len(claimed)] == claimed


def failed_last(claimed: Words, commands: Sequence[CommandRun]) -> bool:
    """Whether its last run was exactly it, failed, and no other run of tests went well since."""
    run = last_run(claimed, commands)
    if run is None or not run.failed or only_step(run.command) != claimed:
        return False
    later = commands[len(commands) - list(reversed(commands)).index(run) :]
    return all(one.failed or not may_test(one.command) for one in later)


def may_test(command: str) -> bool:
    """Whether it could have run tests: it does more than look at files and move them, or is not known to its end."""
    return len(command) >= CUT or any(words[0] not in _PLAIN for words in steps(command))
