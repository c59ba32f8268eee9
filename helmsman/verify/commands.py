"""Static analysis of check commands: which repository files they run, and which programs a failed check misses."""

import re
from collections.abc import Iterator
from itertools import pairwise

from helmsman.parsers.shell import HOME, Command, commands, resolve_word
from helmsman.parsers.shell_words import known_programs
from helmsman.parsers.source import is_source, is_test_file
from helmsman.plain import word_set
from helmsman.records.checks import CheckResult

_ROOT = "/repository"
_SHELLS = word_set("sh bash zsh dash ksh source .")
_SHELL_SCRIPTS = (".sh", ".bash", ".zsh")
_INTERPRETERS = re.compile(r"(?:python[0-9.]*|pypy3?|node|bun|deno|ruby|perl|php|tsx|ts-node)")
_TOOLS = known_programs("tests", "lint", "types", "build", "projects") | word_set("go cargo dotnet swift coverage")
"""Tools whose arguments are the sources and tests under work."""
_RUNNERS = known_programs("tests") | {"--test", "cd"}
"""Programs that run tests and ignore comments, like `node --test`; not go and cargo, as `go vet` and `cargo clippy` read them."""
_ELSEWHERE = known_programs("managers", "recipes", "environments") | word_set("pip pip3 uv poetry bundle composer conda")
"""Installers, whose arguments the work changes, and tools whose recipes are compared instead."""
_EDITED_BY_ANY_WORK = re.compile(
    r"(?:.*/)?(?:pyproject\.toml|package(?:-lock)?\.json|Cargo\.toml|go\.(?:mod|sum)|requirements[^/]*\.txt"
    r"|setup\.(?:cfg|py)|[^/]*\.lock)"
)
"""Files that any work may edit; other rules cover them."""
_MODULE = re.compile(r"[A-Za-z_]\w{0,80}(?:\.\w{1,80}){0,9}")
_CONFIG_OPTION = re.compile(r"-c|-f|--?(?:config|rcfile|file|settings|project|ini)[\w-]*")
_REFERENCE = re.compile(r"expect|golden|reference|snapshot|baseline", re.IGNORECASE)
_CHECK_NAME = re.compile(
    r"check|verif|valid|test|lint|accept|smoke|assert|gate|grade|judge|audit|ensure|prove|/ci/|^ci/", re.IGNORECASE
)


def simple_commands(command: str) -> Iterator[Command]:
    """Return the simple commands of a shell command, including those in `sh -c "…"`."""
    return (simple for simple in commands(command, _ROOT) if simple.words)


def only_runs_tests(command: str) -> bool:
    """Whether a check consists of test runners only, judging by its words."""
    for simple in simple_commands(command):
        modules = [
            module for flag, module in pairwise(simple.arguments) if flag == "-m" and _INTERPRETERS.fullmatch(simple.program)
        ]
        if _RUNNERS.isdisjoint({modules[0] if modules else simple.program, *simple.arguments[:1]}):
            return False
    return True


def path_in_repository(command: Command, word: str) -> str:
    """Return a word of a command as a path in the repository; empty if it is outside or unknown."""
    place = resolve_word(word, command.folder, HOME) or ""
    return place.removeprefix(f"{_ROOT}/") if place.startswith(f"{_ROOT}/") else ""


def scripts_run_by(command: str, *, by_name: bool = False) -> Iterator[str]:
    """Yield paths that a command certainly runs or compares with, unlike those in `grep -q x README.md` and `python app.py`.

    `by_name`: only programs with the name of a check, for commands in a shell script: what it runs may be the product.
    """
    for simple in simple_commands(command):
        if simple.program not in _ELSEWHERE:
            first, words = simple.words[0], [*_checking_arguments(simple, by_name=by_name)]
            if "/" in first:
                words += [first] if _is_check(first, by_name=by_name) else []
            elif _MODULE.fullmatch(first) and simple.program not in _TOOLS and _CHECK_NAME.search(first):
                words.append(f"{first.replace('.', '/')}.py")
            paths = (path_in_repository(simple, word.partition("::")[0]) for word in words)
            yield from (path for path in paths if path and not is_test_file(path) and not _EDITED_BY_ANY_WORK.fullmatch(path))


def _checking_arguments(command: Command, *, by_name: bool) -> Iterator[str]:
    expects_script = command.program in _SHELLS or bool(_INTERPRETERS.fullmatch(command.program))
    before = ""
    for word in command.arguments:
        name, equals, value = word.partition("=") if word.startswith("-") else (before, "", word)
        before = word
        if not value or (word.startswith("-") and not equals) or (command.program in _TOOLS and _is_code(value)):
            continue
        if _CONFIG_OPTION.fullmatch(name) or _REFERENCE.search(value) or (expects_script and _is_check(value, by_name=by_name)):
            yield value
        expects_script = False


def _is_check(path: str, *, by_name: bool) -> bool:
    """Whether a path is a program with the name of a check, or else a script that is not in a language of sources."""
    return bool(_CHECK_NAME.search(path)) or (not by_name and (not _is_code(path) or path.endswith(_SHELL_SCRIPTS)))


def _is_code(path: str) -> bool:
    return is_source(path) or is_test_file(path)


NOT_STARTED = frozenset({126, 127})  # exit codes of `sh` for a program that is not executable or not found
_NAME = r"([A-Za-z0-9@_.][\w./@+-]*)"
_QUOTE = "[\u2018\u2019'\"]?"
NOT_FOUND_MESSAGES = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        rf"^(?:\S*sh|env): (?:\d+: |line \d+: )?{_QUOTE}{_NAME}{_QUOTE}: (?:command )?not found",
        rf"^(?:\S*sh|env): (?:\d+: |line \d+: )?{_QUOTE}{_NAME}{_QUOTE}: No such file or directory",
        rf"No module named ['\"]?{_NAME}",
        rf"Cannot find (?:module|package) ['\"]{_NAME}['\"]",
        rf"Could not find gem ['\"]{_NAME}",
        rf"Could not find {_NAME}-[\d.]+ in (?:any of the sources|locally installed gems)",
        r"Failed to open stream.*?(vendor/autoload\.php)|(vendor/autoload\.php).*No such file",
    )
)
"""Messages of shells, Python, Node, Bundler and PHP for a missing program or module."""


def missing_program(result: CheckResult) -> str:
    """Return the name of the program or module that a failed check did not find; empty if it names none."""
    if result.passed or result.timed_out:
        return ""
    name = missing_name(f"{result.head}\n{result.tail}")
    return name or (result.command.split(maxsplit=1)[0] if result.exit_code in NOT_STARTED else "")


def missing_name(output: str) -> str:
    """Return the name of the program or module that this output says is missing; empty if it names none."""
    match = next((match for pattern in NOT_FOUND_MESSAGES if (match := pattern.search(output))), None)
    return next(filter(None, match.groups()), "") if match else ""
