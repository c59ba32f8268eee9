"""Findings on single commands by the rows of guardrails.toml; what commands write, look at and change."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from posixpath import basename, dirname

from helmsman.guardrails.git import QUESTIONS, Scene, branches_made, commits_after, git_of, is_here, values, written_by_git
from helmsman.guardrails.paths import locate
from helmsman.guardrails.rules import Finding, Row, Rules, rows, table
from helmsman.parsers.shell import HOME, PARENT, Command, commands
from helmsman.parsers.shell_words import INTERPRETER, SHELLS, UNKNOWN, has_flag, operands, script_of, shell_call
from helmsman.plain import word_set


def findings(
    script: Sequence[Command], rules: Rules, commits: int = 0, branches: Iterable[str] = (), *, background: bool = False
) -> Iterator[Finding]:
    """Findings on each command of a call. `commits` and `branches`: the session's own so far."""
    own_branches = frozenset((*branches, *branches_made(script), rules.branch))
    background = background or any(command.background for command in script)
    for command in script:
        scene = Scene(command, git_of(command, rules.home), rules, commits, own_branches, background)
        # the program alone and with its first words, as in the rows; the empty name matches any command
        program = "mkfs" if command.program.startswith("mkfs.") else command.program
        words = [program, *(word for word in command.arguments if not word.startswith("-"))]
        names = frozenset({"", *(" ".join(words[:length]) for length in (1, 2, 3))})
        verbs = frozenset({scene.git.verb, " ".join((scene.git.verb, *scene.git.words[:1]))})
        for row in rows():
            if not (verbs if row.git else names).isdisjoint(row.git or row.commands) and _applies(row, scene):
                yield Finding(row.rule, row.reason)
        commits = commits_after(commits, (command,), rules.worktree, failed=False)


def _applies(row: Row, scene: Scene) -> bool:
    words = scene.git.words if row.git else scene.command.arguments
    return (
        (not row.wrappers or not row.wrappers.isdisjoint(scene.command.wrappers))
        and (not row.flags or has_flag(words, row.flags))
        and not (row.unless_flags and has_flag(words, row.unless_flags))
        and word_set(row.unless).isdisjoint(words)
        and not (row.rule == "nested" and scene.rules.nesting > 0)
        and (not row.git or row.anywhere or is_here(scene))
        and (not row.when or _QUESTIONS[row.when](scene))
    )


# conditions of the rows -----------------------------------------------------------------------------------------------

_EVERYTHING = word_set("* .* {*,.*} .[!.]*")
_ALL_PROCESSES = word_set("-1 0 1")
_FETCHERS = frozenset({"curl", "wget"})
_INTERPRETERS = word_set("node perl ruby php deno bun")
_SOURCES = frozenset({"source", "."})
_STDIN = frozenset({"", "/dev/stdin", "/dev/fd/0"})
_FETCHED = "\ue000"  # placeholder for fetched text in a script; UNKNOWN itself is dropped from every text


def _is_outside(words: Iterable[str], scene: Scene) -> bool:
    places = (locate(word, scene.command.folder, scene.rules) for word in words)
    return any(place and place.kind == "outside" for place in places)


def _removes_all(scene: Scene) -> bool:
    for word in operands(scene.command.arguments):
        is_everything = basename(word.rstrip("/")) in _EVERYTHING
        place = locate((dirname(word) or ".") if is_everything else word, scene.command.folder, scene.rules)
        is_home = place and place.kind != "inside" and place.path in {HOME, scene.rules.home or HOME}
        if place and (place.holds_worktree or place.path == ".git" or is_home):
            return True
    return False


def _ends_others(scene: Scene) -> bool:
    """Whether it signals processes of others. Pids are opaque, but if the session started nothing, none is its own."""
    words, name = scene.command.arguments, scene.command.program
    if "-0" not in words and any(word.lstrip("-") == PARENT for word in words):
        return True  # the process that runs the agent; signal 0 only checks whether it exists
    if name != "kill":
        return word_set("-P --parent --dry-run --help -h").isdisjoint(words)
    if not word_set("-0 -l -L").isdisjoint(words):
        return False
    # After the signal: `-9`, `-TERM`, `-s TERM`, `--`. A lone `-1` is a signal, after a signal it means all processes.
    signal = 2 if words[:1] in {("-s",), ("-n",)} else int("".join(words[:1])[:1] == "-" and words[0] != "--")
    pids = words[signal:][words[signal : signal + 1] == ("--",) :]
    return not _ALL_PROCESSES.isdisjoint(pids) or (not scene.background and any(pid.isdigit() for pid in pids))


def _runs_what_is_fetched(scene: Scene) -> bool:
    """Whether it runs fetched text: from a pipe, `$(curl …)`, `sh -c "$(curl …)"`, `bash <(curl …)`, `eval`; no argument."""
    command = scene.command
    if not _FETCHERS.isdisjoint(command.upstream) and _reads_script(command):
        return True
    if _FETCHERS.isdisjoint(command.inner):
        return False
    script = script_of(command.words, command.stdin).replace(UNKNOWN, _FETCHED)
    return _runs(command, UNKNOWN) or any(_runs(inner, _FETCHED) for inner in commands(script, ""))


def _reads_script(command: Command) -> bool:
    """Whether it runs its standard input; with its own script or module, the input is data."""
    program, words = command.program, command.arguments
    if program in SHELLS:
        call = shell_call(words)
        return {"c", "n"}.isdisjoint(call.letters) and ("s" in call.letters or call.first in _STDIN)  # -n only checks syntax
    if program in _SOURCES:
        return "".join(words[:1]) in _STDIN
    if INTERPRETER.fullmatch(program) or program in _INTERPRETERS:
        return all(word == "-" or re.fullmatch("-[uBEsSIO]+", word) for word in words) and not command.stdin
    return False


def _runs(command: Command, mark: str) -> bool:
    """Whether it runs a file or a script that starts with the mark."""
    program, words = command.program, command.arguments
    scripts: Iterable[str] = ()
    if program in SHELLS:
        scripts = (shell_call(words).first,)
    elif INTERPRETER.fullmatch(program) or program in _INTERPRETERS:
        file = next((word for word in words if not word.startswith("-")), "") if "-m" not in words else ""
        scripts = (file, *(script for flag, script in pairwise(words) if flag in {"-c", "-e"}))
    elif program in {"eval", "trap", *_SOURCES}:
        scripts = words
    return any(text.lstrip().startswith(mark) for text in (*command.words[:1], *scripts))


_QUESTIONS: Mapping[str, Callable[[Scene], bool]] = {
    **QUESTIONS,
    "overwrites_a_device": lambda scene: _is_outside(
        (word[3:] for word in scene.command.arguments if word.startswith("of=/dev/")), scene
    ),
    "removes_all": _removes_all,
    "opens_the_outside": lambda scene: _is_outside(list(operands(scene.command.arguments))[1:], scene),
    "ends_others": _ends_others,
    "runs_what_is_fetched": _runs_what_is_fetched,
}


# files that commands write --------------------------------------------------------------------------------------------

_TARGET = "-t --target-directory"


def written_paths(command: Command) -> Iterator[str]:
    """Words for the paths that a command writes, relative to its folder."""
    yield from command.writes
    program = "python" if INTERPRETER.fullmatch(command.program) else command.program
    for way, programs in table()["writes"].items():
        if program in programs:
            yield from _WRITES[way](command, programs[program])


def _last_operand(command: Command, valued: str) -> Iterable[str]:
    """The folder given by an option, else the last of two or more words."""
    names = list(operands(command.arguments, word_set(f"{valued} {_TARGET}")))
    return values(command.arguments, _TARGET) or (names[-1:] if len(names) > 1 else [])


def _output_option(command: Command, flags: str) -> Iterable[str]:
    """`-` is the terminal. A cluster such as `-sSo` counts."""
    letters = tuple(flag[1] for flag in flags.split() if flag[1] != "-")
    clusters = (word for word in command.arguments if re.fullmatch(r"-[A-Za-z]{1,12}", word) and word.endswith(letters))
    return (word for word in values(command.arguments, " ".join((flags, *clusters))) if word != "-")


def _sed(command: Command, _: str) -> Iterable[str]:
    """Files edited in place; the first word is the script unless -e or -f gives it."""
    words = [word for word in command.arguments if word]
    if not has_flag(words, "-i --in-place"):
        return ()
    has_script_option = has_flag(words, "--expression --file") or not word_set("-e -f").isdisjoint(words)
    return list(operands(words, word_set("-e -f --expression --file")))[not has_script_option :]


def _perl(command: Command, _: str) -> Iterable[str]:
    scripts = frozenset(word for word in command.arguments if re.fullmatch(r"-[a-zA-Z0-9.]{0,12}e", word))
    return operands(command.arguments, scripts) if has_flag(command.arguments, "-i") else ()


def _find(command: Command, _: str) -> Iterable[str]:
    """With `-delete`: the name pattern in the searched folder."""
    if "-delete" in command.arguments:
        name = next(iter(values(command.arguments, "-name -iname")), UNKNOWN)
        yield f"{next(operands(command.arguments[:1]), '.')}/{name}"


@cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    """Patterns of inline scripts that open files for writing, by name or by a variable set before."""
    forms = {**table()["inline"]}
    quoted = forms.pop("quoted")
    file = rf"(?:{quoted}|([A-Za-z_]\w{{0,60}}))"
    return {name: re.compile(form.replace("<file>", file).replace("<quoted>", quoted)) for name, form in forms.items()}


def _inline_script(command: Command, _: str) -> Iterable[str]:
    words = command.arguments
    scripts = [after for flag, after in pairwise(words) if flag.startswith("-") and flag[-1:] in "ceEpr"]
    text = "\n".join((*scripts[:5], command.stdin if not [word for word in operands(words) if word != "-"] else ""))
    assignment, *open_patterns = _patterns().values()
    assigned = {match[1]: match[3] for match in assignment.finditer(text)}
    names = (match[2] or assigned.get(match[3] or "", "") for pattern in open_patterns for match in pattern.finditer(text))
    return (name for name in names if name)


_WRITES: Mapping[str, Callable[[Command, str], Iterable[str]]] = {
    "every_operand": lambda command, valued: operands(command.arguments, word_set(valued)),
    "last_operand": _last_operand,
    "every_operand_and_target": lambda command, valued: (
        *operands(command.arguments, word_set(f"{valued} {_TARGET}")),
        *values(command.arguments, _TARGET),
    ),
    "all_but_the_first": lambda command, valued: list(operands(command.arguments, word_set(valued)))[1:],
    "output_option": _output_option,
    "inline_script": _inline_script,
    "operand_of": lambda command, name: (word[len(name) :] for word in command.arguments if word.startswith(name)),
    "sed": _sed,
    "perl": _perl,
    "find": _find,
    "git": lambda command, _: written_by_git(command),
}


# looking and changing -------------------------------------------------------------------------------------------------

_SCRIPT = re.compile(r"[^-].*\.(?:py|js|mjs|cjs|ts|rb|pl|php|sh|bash)")
_CHECKS = re.compile(r"test|spec|check|lint|build|type|verify|^dev$|^start$|^pytest$|^ruff$|^mypy$|^tsc$|^eslint$|^jest$")
"""Names of scripts and jobs that read the code without changing it."""
_FIXES = "--fix --write --fix-only --update-snapshot --inline-snapshot --snapshot-update"
_RUNNERS = word_set("npm pnpm yarn bun uv poetry pdm bundle")
_RUNNING, _JOBS = word_set("test t tst build lint start check"), word_set("run run-script exec")


def is_look(script: Sequence[Command]) -> bool:
    """Whether a script only looks; an unreadable one counts as a look."""
    return all(_only_looks(command) and not _writes_files(command) for command in script)


def may_change(script: Sequence[Command]) -> bool:
    """Whether a script may have changed files, packages or processes."""
    return any(_may_change(command) for command in script)


def _writes_files(command: Command) -> bool:
    return any(not target.startswith("/dev/") for target in written_paths(command))


@cache
def _words(kind: str, program: str) -> frozenset[str]:
    return word_set(table()[kind].get(program, ""))


def _is_listed(kind: str, command: Command) -> bool:
    """Whether the table lists its program, or the program with one of its first words."""
    return command.program in _words(kind, "any") or not _words(kind, command.program).isdisjoint(command.arguments[:2])


def _only_looks(command: Command) -> bool:
    if command.program == "git":
        git = git_of(command)
        stash = git.verb == "stash" and git.words[:1] in {("list",), ("show",)}
        return stash or git.verb in _words("looks", "git")
    return not command.program or (command.program == "kill" and "-0" in command.arguments) or _is_listed("looks", command)


def _may_change(command: Command) -> bool:
    if _only_looks(command):
        return _writes_files(command) or command.background
    words = command.arguments
    verb = "".join(words[:1])
    if command.program in _RUNNERS and verb in _RUNNING | _JOBS:
        return verb in _JOBS and not any(map(_CHECKS.search, words[1:3]))
    if INTERPRETER.fullmatch(command.program) or command.program in _INTERPRETERS | SHELLS:
        # the project's own program may write anything: a generator, a migration, text on its input
        first = next(iter(words), "-")
        if command.stdin if first == "-" else _SCRIPT.fullmatch(first) and not _CHECKS.search(first):
            return True
    return _is_listed("changes", command) or command.background or has_flag(words, _FIXES) or _writes_files(command)
