"""Check commands as words: which files of the repository they run, which recipes of their tools they use, and what is missing."""

import re
from collections.abc import Iterator
from itertools import pairwise

from helmsman.parsers.shell import HOME, Command, commands, placed
from helmsman.parsers.shell_words import known_programs
from helmsman.parsers.test_files import is_source, is_test_file
from helmsman.plain import word_set
from helmsman.records.checks import CheckResult

_ROOT = "/repository"
_SHELLS = word_set("sh bash zsh dash ksh source .")
_SHELL_SCRIPTS = (".sh", ".bash", ".zsh")
_INTERPRETERS = re.compile(r"(?:python[0-9.]*|pypy3?|node|bun|deno|ruby|perl|php|tsx|ts-node)")
_TOOLS = known_programs("tests", "lint", "types", "build", "projects") | word_set("go cargo dotnet swift coverage")
"""They are given the sources and tests that the work is about."""
_RUNNERS = known_programs("tests") | {"--test", "cd"}
"""They run tests and look at no comment, as `node --test` does; `go vet` and `cargo clippy` do look, so go and cargo are not
among them."""
_ELSEWHERE = known_programs("managers", "recipes", "environments") | word_set("pip pip3 uv poetry bundle composer conda")
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


def simple_commands(command: str) -> Iterator[Command]:
    """The simple commands of a shell command, those in `sh -c "…"` too."""
    return (one for one in commands(command, _ROOT) if one.words)


def only_runs_tests(command: str) -> bool:
    """Whether nothing but a runner of tests decides in a check, as far as its words tell."""
    for one in simple_commands(command):
        modules = [module for flag, module in pairwise(one.arguments) if flag == "-m" and _INTERPRETERS.fullmatch(one.program)]
        if _RUNNERS.isdisjoint({modules[0] if modules else one.program, *one.arguments[:1]}):
            return False
    return True


def path_of(one: Command, word: str) -> str:
    """A word of a command as a path in the repository; empty where it lies outside, or the text does not tell."""
    place = placed(word, one.folder, HOME) or ""
    return place.removeprefix(f"{_ROOT}/") if place.startswith(f"{_ROOT}/") else ""


def scripts(command: str) -> Iterator[str]:
    """Paths that a command surely runs or compares with: `grep -q x README.md` and `python app.py` run on the work."""
    for one in simple_commands(command):
        if one.program not in _ELSEWHERE:
            first, words = one.words[0], [*_arguments(one)]
            if "/" in first:
                words += [first] if _surely_checks(first) else []
            elif _MODULE.fullmatch(first) and one.program not in _TOOLS and _CHECKING.search(first):
                words.append(f"{first.replace('.', '/')}.py")
            paths = (path_of(one, word.partition("::")[0]) for word in words)
            yield from (path for path in paths if path and not is_test_file(path) and not _SHARED.fullmatch(path))


def _arguments(one: Command) -> Iterator[str]:
    script = one.program in _SHELLS or bool(_INTERPRETERS.fullmatch(one.program))
    before = ""
    for word in one.arguments:
        name, equals, value = word.partition("=") if word.startswith("-") else (before, "", word)
        before = word
        if not value or (word.startswith("-") and not equals) or (one.program in _TOOLS and _is_code(value)):
            continue
        if _CONFIGURES.fullmatch(name) or _REFERENCE.search(value) or (script and _surely_checks(value)):
            yield value
        script = False


def _surely_checks(path: str) -> bool:
    """A shell script, or a program that is called like a check."""
    return not _is_code(path) or path.endswith(_SHELL_SCRIPTS) or bool(_CHECKING.search(path))


def _is_code(path: str) -> bool:
    return is_source(path) or is_test_file(path)


NOT_STARTED = frozenset({126, 127})  # exit codes of `sh` for a program that cannot be executed, or is not there
_NAME = r"([A-Za-z0-9@_.][\w./@+-]*)"
_QUOTE = "[\u2018\u2019'\"]?"
SAYS = tuple(
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
"""How shells, Python, Node, Bundler and PHP say so."""


def missing(result: CheckResult) -> str:
    """What a failed check did not find, as it names it; empty where it says nothing like that."""
    if result.passed or result.timed_out:
        return ""
    output = f"{result.head}\n{result.tail}"
    found = next((match for pattern in SAYS if (match := pattern.search(output))), None)
    if found is not None:
        return next(filter(None, found.groups()), "")
    return result.command.split(maxsplit=1)[0] if result.exit_code in NOT_STARTED else ""
