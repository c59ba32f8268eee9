"""Failures behind an exit code of 0: a runner whose own exit code was hidden, and that says itself that it failed."""

import re
from collections.abc import Sequence

from helmsman.parsers.failure_rules import first_hit, rules
from helmsman.parsers.failure_words import excerpt
from helmsman.parsers.failures import programs, ran, words_of
from helmsman.parsers.loose import text
from helmsman.parsers.shell import Command
from helmsman.parsers.test_report import read_summary
from helmsman.plain import word_set
from helmsman.records.agent import FailureClass

_RUN = word_set(
    "pytest py.test unittest nosetests jest vitest mocha ava karma rspec phpunit pest playwright cypress ctest gotestsum "
    "tox nox trial behave bats ginkgo tsc vue-tsc mypy pyright basedpyright ruff flake8 pylint eslint prettier black isort "
    "biome golangci-lint staticcheck rubocop shellcheck gcc g++ cc c++ clang clang++ javac kotlinc rustc ninja make gradle "
    "gradlew mvn mvnw just pre-commit vite webpack esbuild rollup next"
)
_TOOLS = word_set(
    "npm yarn pnpm bun node deno go cargo task rake dotnet python ruby php composer mix sbt lein swift bazel cmake meson "
    "stack cabal zig flutter dart sh bash"
)
_JOB = re.compile(
    r"t|b|c|vet|clippy|bench|fmt|\S{0,40}(?:test|build|lint|check|types?|tsc|compile|e2e|unit|spec|verify|format)\S{0,40}"
)
"""What a tool does, or a script is called, that builds, tests or checks."""
_CONTAINERS = frozenset({"docker", "docker-compose", "podman", "kubectl"})
_NEGATED = re.compile(r"(?:^|[;&|\n])\s*!\s")
_OBJECTS = frozenset({FailureClass.TYPES, FailureClass.LINT, FailureClass.BUILD})


def failed_by_output(command: str, output: str) -> bool:
    """Whether a command that exited with 0 hid the failure of a test runner, compiler, type checker or linter."""
    script = text(command, 4000)
    found = ran(script)
    if _NEGATED.search(script) or not any(_runs(one) and _is_hidden(number, found, script) for number, one in enumerate(found)):
        return False
    told, names = "\n".join(excerpt(output)), programs(found)
    counts = read_summary(told)
    objects = [one for one in rules("objections", "last") if one.kind in _OBJECTS]
    return (
        bool(counts and counts.failed)
        or first_hit(objects, told, names) is not None
        or (not (counts and counts.executed) and first_hit(rules("tests"), told, names) is not None)
    )


def _runs(one: Command) -> bool:
    """Whether it visibly builds, tests or checks."""
    name, *rest = words_of(one)
    if {"--version", "--help", "--collect-only"} & set(one.arguments):
        return False
    if name in _CONTAINERS:
        return bool(_RUN & set(rest))
    jobs = (*(rest[:1] if name in _TOOLS else ()), *((name,) if one.words[0].startswith("./") else ()))
    return name in _RUN or any(map(_JOB.fullmatch, jobs))


def _is_hidden(number: int, found: Sequence[Command], script: str) -> bool:
    """Whether it can fail without the script's exit code telling."""
    one = found[number]
    if one.sure:
        return one.background
    options = {word for other in found if other.program == "set" for word in other.arguments}
    stops = "||" not in script and any(re.fullmatch(r"-[a-z]*e[a-z]*|errexit", word) for word in options)
    piped = [other for other in found[number + 1 :] if one.program in other.upstream]
    if piped and ("pipefail" not in options or piped[-1].sure):
        return "pipefail" not in options
    return not stops
