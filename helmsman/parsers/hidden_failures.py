"""Failures behind an exit code of 0: a runner whose own exit code was hidden, and that says itself that it failed."""

import re
from collections.abc import Sequence
from itertools import pairwise

from helmsman.parsers.command_steps import Step, programs, steps
from helmsman.parsers.failure_rules import Programs, first_hit, rules
from helmsman.parsers.failure_words import excerpt
from helmsman.parsers.loose import text
from helmsman.parsers.test_report import read_summary
from helmsman.plain import word_set
from helmsman.records.session import FailureClass

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
_READERS = word_set("cat head tail less more bat grep egrep fgrep rg sed awk")
_PATTERN_FIRST = word_set("grep egrep fgrep rg sed awk")

_OBJECTS = frozenset({FailureClass.TYPES, FailureClass.LINT, FailureClass.BUILD})


def failed_by_output(command: str, output: str) -> bool:
    """Whether a command that exited with 0 hid the failure of a test runner, compiler, type checker or linter."""
    found = steps(text(command, 4000))
    if not any(_runs(step) and _hidden(found[number:], found) for number, step in enumerate(found)):
        return False
    return not _reads_elsewhere(found) and _says_failed("\n".join(excerpt(output)), programs(found))


def _runs(step: Step) -> bool:
    """Whether it visibly builds, tests or checks."""
    name = step.words[0]
    if {"--version", "--help", "--collect-only"} & set(step.words):
        return False
    if name in _CONTAINERS:
        return bool(_RUN & set(step.words[1:]))
    jobs = (step.words[1:2] if name in _TOOLS else ()) + ((name,) if step.raw[0].startswith("./") else ())
    return name in _RUN or any(map(_JOB.fullmatch, jobs))


def _hidden(rest: Sequence[Step], script: Sequence[Step]) -> bool:
    """Whether the first of these steps can fail without the script's exit code telling."""
    if _is_pipe(rest[0]) and not _has_set(script, "pipefail"):
        return True
    for step in rest[:-1]:
        if "||" in step.then:
            return True
        if not _is_pipe(step) and "&&" not in step.then:
            return not _has_set(script, "e")
    return "&" in rest[-1].then.replace("&&", "")


def _is_pipe(step: Step) -> bool:
    return "|" in step.then and "||" not in step.then


def _has_set(script: Sequence[Step], option: str) -> bool:
    words = {word for step in script if step.raw[0] == "set" for word in step.raw[1:]}
    return option in words or (option == "e" and any(re.fullmatch(r"-[a-z]*e[a-z]*", word) for word in words))


def _reads_elsewhere(script: Sequence[Step]) -> bool:
    """Whether a file is shown that this very script did not write: its words may be another run's."""
    written = {file for step in script for file in (*step.files, *(step.raw[1:] if step.words[0] == "tee" else ()))}
    fed = {number + 1 for number, (step, _) in enumerate(pairwise(script)) if _is_pipe(step)}
    return any(_shown(step) - written for number, step in enumerate(script) if number not in fed)


def _shown(step: Step) -> set[str]:
    if step.words[0] not in _READERS:
        return set()
    files = [word for word in step.raw[1:] if not word.startswith("-") and not word.lstrip("+").isdigit()]
    return set(files[step.words[0] in _PATTERN_FIRST :])


def _says_failed(text: str, names: Programs) -> bool:
    counts = read_summary(text)
    if (counts and counts.failed) or first_hit([one for one in rules("objections", "last") if one.kind in _OBJECTS], text, names):
        return True
    return not (counts and counts.executed) and first_hit(rules("tests"), text, names) is not None
