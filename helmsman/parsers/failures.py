"""Classify failed calls, so that the same failure is recognized again, and list the failures of a check line by line."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from helmsman.parsers.failure_words import (
    ANY,
    Hit,
    Programs,
    excerpt,
    extent,
    first_hit,
    make_hit,
    normalize_message,
    normalize_place,
    own_frame,
    rules,
    table_of,
)
from helmsman.parsers.loose import text
from helmsman.parsers.shell import Command, commands
from helmsman.parsers.shell_words import INTERPRETER, known_programs
from helmsman.parsers.test_report import read_summary
from helmsman.plain import short_line
from helmsman.records.agent import ErrorVector
from helmsman.records.agent import FailureClass as Class

# --- commands of a script -------------------------------------------------------------------------------------------

_READ_ONLY = known_programs("looks")
_READ = 4000


def parse_commands(script: str) -> list[Command]:
    """Return the commands of a script, without those that only set variables."""
    return [command for command in commands(script[:_READ], "/") if command.words]


def words_of(command: Command) -> tuple[str, ...]:
    """Return program and operands, without the program's path and without options.

    `CI=1 .venv/bin/python -m pytest -q` is `pytest`, `npm run test` is `npm test`.
    """
    rest = [word for word in command.arguments if not word.startswith("-")]
    if command.program in {"npm", "yarn", "pnpm", "bun"} and rest[:1] == ["run"]:
        rest = rest[1:]
    return ("python" if INTERPRETER.fullmatch(command.program) else command.program, *rest)


def programs_of(commands_run: Sequence[Command]) -> Programs:
    """Return the first two words of each command: program and subcommand."""
    return frozenset(word for command in commands_run for word in words_of(command)[:2])


# --- any failed call ------------------------------------------------------------------------------------------------

_EXIT = re.compile(r"Exit code (\d{1,3})")
_PYTEST_SAYS = re.compile(r"^E {2,}(?=\S)(.*)", re.MULTILINE)
_EXITS: dict[int, Class] = {
    **dict.fromkeys((132, 134, 136, 138, 139), Class.EXCEPTION),
    126: Class.PERMISSION,
    127: Class.MISSING_COMMAND,
    137: Class.RESOURCES,
    143: Class.TIMEOUT,
}
"""Failure classes of exit codes, used if the output gives none; codes from 129 are signals."""
_DENIED_PLACE = "denied"
_TRACEBACK = "Traceback (most recent call last):"
_ERROR = re.compile(
    r"^ {0,4}(?:Uncaught (?:\(in promise\) )?|E +|error: (?=Uncaught)|\[\w+: )?"
    r"(?P<said>(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception|Interrupt|Exit|Warning|Failure|DoesNotExist)"
    r"(?: \[\w{1,60}\])?(?::.*|$))",
    re.MULTILINE,
)
_ANY_LAST = re.compile(r"^(?P<said>[A-Za-z_][\w.]{0,150}(?:: .*|$))", re.MULTILINE)
_ANY_ERROR = re.compile(r"^.{0,80}?\b(?:error|fatal|failed|failure|cannot|unable)\b.*", re.IGNORECASE)


def failure_of(tool: str, detail: str, output: str) -> ErrorVector:
    """Classify a failed call of a tool. `detail`: its command or path."""
    tool, detail, lines = text(tool, 60), text(detail, 4000), excerpt(output)
    exit_line, code, names, program = _EXIT.fullmatch(lines[0]) if lines else None, 0, ANY, detail or tool
    if tool == "Bash":
        commands_run, code = parse_commands(detail), int(exit_line[1]) if exit_line else 0
        timed_out = any(line.startswith("Command timed out") for line in lines[1:2])
        lines, names = lines[1:] if exit_line and not timed_out else lines, programs_of(commands_run)
        # The failure most likely belongs to the last command that does more than read.
        called = [words_of(command)[0] for command in commands_run]
        acting = [name for name in called if name not in _READ_ONLY]
        program = (acting or called or [*detail.split(maxsplit=1), ""][:1])[-1] or tool
    joined = "\n".join(lines)
    hit = first_hit(rules("own"), "\n".join(lines[:3]), ANY)
    if hit is not None:
        where = _DENIED_PLACE if hit.kind is Class.OTHER else hit.name or program
    else:
        hit = _classify_output(lines, names)
        if hit is None:
            by_exit_code = Class.TIMEOUT if code == 124 and "timeout" in detail.split() else _EXITS.get(code)  # noqa: PLR2004 - by timeout(1)
            filled = [line.strip() for line in lines if line.strip()]
            message = (
                "" if by_exit_code else next((line for line in filled if _ANY_ERROR.match(line)), filled[-1] if filled else "")
            )
            hit = Hit(by_exit_code or Class.OTHER, message or (f"exit code {code}" if code else "no output"))
        where = hit.at or own_frame(joined).at or hit.name or program
    return ErrorVector(kind=hit.kind, where=normalize_place(where), message=normalize_message(hit.said), extent=extent(output))


def _classify_output(lines: Sequence[str], names: Programs) -> Hit | None:
    text, test = "\n".join(lines), failing_test(lines, names)
    pytest_lines = _PYTEST_SAYS.findall(text)  # pytest marks the lines of failures; a test's other output does not count
    early = first_hit(rules("early"), "\n".join(pytest_lines) if pytest_lines else text, names)
    if early is not None:
        return early._replace(at=early.at or (test.at if test else ""))
    crash = _crash(text, names)
    # The last line of a Python traceback gives its class.
    raised = crash if _TRACEBACK in text else None
    return (
        test
        or first_hit(rules("objections"), text, names)
        or (raised and (first_hit(rules("early", "world"), raised.said, names) or raised))
        or first_hit(rules("git", "git_else", "world", "usage"), text, names)
        or crash
        or first_hit(rules("last"), text, names)
    )


def _crash(text: str, names: Programs) -> Hit | None:
    """Return an uncaught error: the last of a Python exception chain, the first in other languages."""
    crash = first_hit(rules("crashes"), text, names)
    if crash is not None:
        return crash
    start = text.rfind(_TRACEBACK)
    match = (_ERROR.search(text, start) or _ANY_LAST.search(text, start + len(_TRACEBACK))) if start >= 0 else _ERROR.search(text)
    if match is None:
        return None
    kind = Class.TEST if "AssertionError" in match["said"].partition(":")[0] else Class.EXCEPTION
    return make_hit(kind, match)._replace(at="")


# --- failing tests --------------------------------------------------------------------------------------------------

HEADING: re.Pattern[str] = re.compile(table_of("test")["heading"])
_MEANINGFUL: list[re.Pattern[str]] = [re.compile(pattern, re.MULTILINE) for pattern in table_of("test")["telling"]]
_UNIMPORTED: re.Pattern[str] = re.compile(table_of("test")["unimported"], re.MULTILINE)


def failing_test(lines: Sequence[str], names: frozenset[str]) -> Hit | None:
    """Return the first failing test by name (parallel runners have no other order) with its message."""
    text = "\n".join(lines)
    counts = read_summary(text)
    hit = first_hit(rules("tests"), text, names)
    if counts is not None and counts.failed:
        name = min(counts.failing, default=hit.at if hit else "")
        has_run = any("::" in test for test in counts.failing) or not _UNIMPORTED.search(text)
        message = meaningful_line(lines, name) or f"{counts.failed} failed"
        return Hit(Class.TEST, message, name) if has_run else Hit(Class.BUILD, message, own_frame(text).at or name)
    return hit and hit._replace(said=meaningful_line(lines, hit.at) or hit.said)


def meaningful_line(lines: Sequence[str], name: str) -> str:
    """Return the first meaningful line below a test's heading, else its first line; without a heading its line in the summary."""
    start = next(heading_lines(lines, name), None)
    if start is None:
        return summary_message(lines, name) or _first_meaningful("\n".join(lines))
    below = [*takewhile(lambda line: not HEADING.match(line), lines[start + 1 :])]
    text = "\n".join([lines[start], *below])
    return _first_meaningful(text) or summary_message(lines, name) or next((line.strip() for line in below if line.strip()), "")


def _first_meaningful(text: str) -> str:
    matches = [match for pattern in _MEANINGFUL if (match := pattern.search(text))]
    return min(matches, key=lambda match: match.start())["said"] if matches else ""


def heading_lines(lines: Sequence[str], name: str) -> Iterator[int]:
    """Yield the heading lines of a test: those with its full name before those with its last part."""
    inner = name.partition("::")[2].replace("::", ".")
    for part in dict.fromkeys((name, inner, name.rpartition("::")[2].partition(" (")[0])):
        pattern = re.compile(rf"(?<![\w.]){re.escape(part)}(?!\w)") if part else None
        yield from (at for at, line in enumerate(lines) if pattern and HEADING.match(line) and pattern.search(line))


def summary_message(lines: Sequence[str], name: str) -> str:
    """Return a test's message in the final summary."""
    starts = (f"FAILED {name} - ", f"ERROR {name} - ")
    return next((line.partition(" - ")[2] for line in lines if line.startswith(starts)), "") if name else ""


# --- failures despite an exit code of 0: a runner whose exit code was hidden, and whose output reports the failure ---------

_RUN = known_programs("tests", "environments", "lint", "types", "build", "recipes", "projects")
_JOB = re.compile(
    r"t|b|c|vet|clippy|bench|fmt|\S{0,40}(?:test|build|lint|check|types?|tsc|compile|e2e|unit|spec|verify|format)\S{0,40}"
)
"""Names and subcommands of programs that build, test or check."""
_NEGATED = re.compile(r"(?:^|[;&|\n])\s*!\s")
_OBJECTION_CLASSES = frozenset({Class.TYPES, Class.LINT, Class.BUILD})


def failed_by_output(command: str, output: str) -> bool:
    """Whether a command with exit code 0 hid the failure of a test runner, compiler, type checker or linter."""
    script = text(command, 4000)
    commands_run = parse_commands(script)
    if _NEGATED.search(script) or not any(
        _is_verification(command) and (command.background or not command.sure) for command in commands_run
    ):
        return False
    printed, names = "\n".join(excerpt(output)), programs_of(commands_run)
    counts = read_summary(printed)
    objections = [rule for rule in rules("objections", "last") if rule.kind in _OBJECTION_CLASSES]
    return (
        bool(counts and counts.failed)
        or first_hit(objections, printed, names) is not None
        or (not (counts and counts.executed) and first_hit(rules("tests"), printed, names) is not None)
    )


def _is_verification(command: Command) -> bool:
    """Whether a command visibly builds, tests or checks."""
    name, *rest = words_of(command)
    if name in _READ_ONLY or {"--version", "--help", "--collect-only"} & set(command.arguments):
        return False
    return not _RUN.isdisjoint((name, *rest)) or any(map(_JOB.fullmatch, (name, *rest[:1])))


# --- lines of a failed check: place, test, assertion, message -----------------------------------------------------------

MOST = 30  # lines; ten of them are some 600 tokens
LONGEST = 240
CODE = 100  # maximum characters of a source line
NAMES = 3  # maximum test names of one failure; further ones are counted
LAST_LINES = 15  # of an output without recognized failures

_ENDS = re.compile(r"={10,}|-{3,} Captured ")
_ANYWHERE = re.compile(r"[\w./@-]{1,200}\.[a-z]{1,5}:\d+")
_MARKED = re.compile(r"^ *> ?(?:\d+ \|)?(?P<code> *\S.*)", re.MULTILINE)  # pytest, jest, vitest
_COMPARED = re.compile(r"^ *(?P<side>Expected|Received|expected|actual|left|right) *:? +(?P<value>\S.*)", re.MULTILINE)
_UNITTEST = re.compile(r"(?P<short>\S+) \((?P<path>[\w.]+)\)")


class _Failure(NamedTuple):
    """Parts of one failure; unknown ones are empty."""

    at: str
    test: str
    code: str
    said: str


def list_failures(output: str, command: str = "", tests: Sequence[str] = (), root: str = "") -> tuple[str, ...]:
    """Return a line for each distinct failure in a check's output, with paths relative to `root`.

    `tests`: names of failing tests from the runner. If no failure is recognized, return the last lines.
    """
    lines = excerpt(output.replace(f"{root.rstrip('/')}/", "") if root else output)
    failures = list(_test_failures(lines, tests)) or _checker_messages("\n".join(lines), programs_of(parse_commands(command)))
    times = Counter(line.strip() for line in lines if line.strip())
    last = [f"{line}  ×{number}" if number > 1 else line for line, number in list(times.items())[-LAST_LINES:]]  # noqa: RUF001
    return tuple(short_line(line, LONGEST) for line in (list(_merge(failures)) or last)[:MOST])


def _test_failures(lines: Sequence[str], tests: Sequence[str]) -> Iterator[_Failure]:
    seen: set[int] = set()
    for name in tests:
        unittest = _UNITTEST.fullmatch(name)
        test = ".".join(unittest["path"].split(".")[-2:]) if unittest else name  # without its module, which its place shows
        start = next((at for at in heading_lines(lines, name) if at not in seen), None)
        if start is None:
            message = summary_message(lines, name) if len(tests) > 1 else meaningful_line(lines, name)
            yield _Failure("", test, "", message)
            continue
        seen.add(start)
        block = [lines[start], *takewhile(lambda line: not HEADING.match(line) and not _ENDS.match(line), lines[start + 1 :])]
        text = "\n".join(block)
        (at, code), place = own_frame(text), _ANYWHERE.search(text)
        at = at or (place[0].removeprefix("./") if place else "")
        code = code or "".join([match["code"].strip() for match in _MARKED.finditer(text)][-1:])
        sides = {match["side"].lower(): match["value"] for match in _COMPARED.finditer(text)}
        compared = ", ".join(f"{side} {value}" for side, value in list(sides.items())[:2])
        short_test = test.removeprefix(f"{at.rpartition(':')[0]}::")
        yield _Failure(at, short_test, code.removeprefix("self.")[:CODE], compared or meaningful_line(block, name))


def _checker_messages(text: str, names: Programs) -> Sequence[_Failure]:
    """Return messages of compilers, linters and type checkers, in the order of the output."""
    by_line: dict[int, _Failure] = {}
    for rule in rules("objections", "early"):
        for match in rule.pattern.finditer(text) if not rule.programs or rule.programs & names else ():
            message = make_hit(rule.kind, match)
            by_line.setdefault(text.count("\n", 0, match.start()), _Failure(message.at, "", "", message.said))
    every = [by_line[line] for line in sorted(by_line)]
    return [failure for failure in every if failure.at] or every


def _merge(failures: Iterable[_Failure]) -> Iterator[str]:
    """Yield one line for each group of equal failures, with their number."""
    same: dict[tuple[str, str], list[_Failure]] = {}
    for failure in failures:  # failures without a place are equal if their test is
        same.setdefault((failure.at or failure.test, failure.said), []).append(failure)
    for group in same.values():
        first, names = group[0], list(dict.fromkeys(failure.test for failure in group if failure.test))
        more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
        times = f"×{len(group)}" if len(group) > 1 else ""  # noqa: RUF001
        parts = (first.at, ", ".join(names[:NAMES]) + more, first.code, first.said, times)
        yield " | ".join(" ".join(part.split()) for part in parts if part)
