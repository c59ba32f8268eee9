"""Failures behind an exit code of 0: a runner whose own exit code was hidden, and that says itself that it failed."""

import re
from collections.abc import Sequence
from itertools import pairwise

from helmsman.plain import word_set
from helmsman.verify.failures.commands import Step, is_test_command, steps
from helmsman.verify.failures.excerpt import excerpt
from helmsman.verify.loose_json import text
from helmsman.verify.summaries import read_summary

_RUN = word_set(
    "pytest py.test unittest jest vitest mocha ava rspec phpunit playwright cypress ctest gotestsum tox nox trial behave bats "
    "tsc vue-tsc mypy pyright basedpyright ruff flake8 pylint eslint prettier black isort biome golangci-lint staticcheck "
    "rubocop shellcheck gcc g++ cc c++ clang clang++ javac kotlinc rustc ninja make gradle gradlew mvn mvnw just pre-commit vite "
    "webpack esbuild rollup next"
)
_JOBS = {
    "go": word_set("test build vet install"),
    "cargo": word_set("test t build b check c clippy nextest bench fmt doc"),
    "dotnet": word_set("test build msbuild publish"),
    "cmake": word_set("--build"),
    "swift": word_set("test build"),
    "bun": word_set("test"),
    "deno": word_set("test check lint fmt"),
    "zig": word_set("build test"),
}
_SCRIPTS = frozenset({"npm", "pnpm", "yarn", "bun"})
_SCRIPT = re.compile(r"t|tst|\S{0,40}(?:test|build|lint|check|types?|tsc|compile|e2e|unit|spec|verify|format)\S{0,40}")
_CONTAINERS = frozenset({"docker", "docker-compose", "podman", "kubectl"})
_READERS = word_set("cat head tail less more bat grep egrep fgrep rg sed awk")
_PATTERN_FIRST = word_set("grep egrep fgrep rg sed awk")

_TESTS = re.compile(
    r"^(?:Tests: +[1-9]\d* failed, .{0,60}total|FAILED \((?:failures|errors)=\d+.{0,60}\)|FAILED [^\s:]{1,200}::.{1,300}"
    r"| *--- FAIL: \S{1,200} \([0-9.]+s\)|=+ [1-9]\d* (?:failed|errors?)\b.{0,80} in [0-9.]+s.{0,20}=+"
    r"|error: test failed, to rerun pass .{1,100}|[ℹ#] fail [1-9]\d*|Failed! +- Failed: +[1-9]\d*,.{0,200}"  # noqa: RUF001 - as node prints it
    r"|(?:\[ERROR\] )?Tests run: \d+, (?:Failures: [1-9]|Failures: \d+, Errors: [1-9]).{0,100}|The following tests FAILED:"
    r"|\d+ tests completed, [1-9]\d* failed.{0,40}| [1-9]\d* fail|!+ Interrupted: \d+ errors? during collection !+)$",
    re.MULTILINE,
)
_OTHERS = re.compile(
    r"^(?:Found [1-9]\d* errors?(?:\.| in \d+ files?\b.{0,60}| in the same file\b.{0,60}| in \S{1,200})"
    r"|[1-9]\d* errors?, \d+ warnings?, \d+ (?:informations?|notes?).{0,10}|\S{1,200}(?:\(\d+,\d+\):|:\d+:\d+ -) error TS\d+: .*"
    r"|✖ [1-9]\d* problems? \([1-9]\d* errors?, .{0,40}|error: could not compile `.*|error\[E\d{4}\]: .*"
    r"|\S{0,60}make(?:\[\d+\])?: \*\*\* .*|BUILD FAIL(?:ED|URE)\b.{0,60}|ninja: build stopped: .*|Build FAILED\."
    r"|(?:collect2|ld|clang|clang\+\+): error: .*|(?:[1-9]\d* files? would be reformatted)\b.*"
    r"|\[(?:warn|error)\] Code style issues found .*|npm (?:ERR!|error) (?:code ELIFECYCLE|Lifecycle script .*)"
    r"|\[ERROR\] COMPILATION ERROR ?:?|# \S{1,200}\n(?:\./)?\S{1,200}\.go:\d+:\d+: .*|FAIL\t\S{1,200} \[(?:build|setup) failed\]"
    r"|\S{1,200}:\d+:\d+: (?:fatal )?error: .*|\S{1,200}:\d+:\d+: [EFWCN]\d{3} .*|\S{1,200}\.java:\d+: error: .*)$",
    re.MULTILINE,
)


def failed_by_output(command: str, output: str) -> bool:
    """Whether a command that exited with 0 hid the failure of a test runner, compiler, type checker or linter."""
    found = steps(text(command, 4000))
    if not any(_runs(step) and _hidden(found[number:], found) for number, step in enumerate(found)):
        return False
    return not _reads_elsewhere(found) and _says_failed(excerpt(output))


def _runs(step: Step) -> bool:
    """Whether it visibly builds, tests or checks."""
    name, job = step.words[0], " ".join(step.words[1:2])
    if step.raw[0] == "!" or {"--version", "--help", "--collect-only"} & set(step.words):
        return False
    if name in _CONTAINERS:
        return bool(_RUN & set(step.words[1:]))
    scripted = name in _SCRIPTS and bool(_SCRIPT.fullmatch(job))
    return name in _RUN or job in _JOBS.get(name, ()) or scripted or is_test_command(" ".join(step.raw))


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


def _says_failed(lines: Sequence[str]) -> bool:
    shown = "\n".join(lines)
    counts = read_summary(shown)
    if counts is not None and counts.executed:
        return bool(counts.failed or _OTHERS.search(shown))
    return bool(_OTHERS.search(shown) or _TESTS.search(shown))
