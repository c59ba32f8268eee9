"""Summarize a failed check's output, one line for each distinct failure: place, test, assertion, message."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from helmsman.parsers.failure_words import Programs, excerpt, make_hit, own_frame, rules
from helmsman.parsers.failures import HEADING, heading_lines, meaningful_line, parse_commands, programs_of, summary_message
from helmsman.plain import short_line

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
        start = next((at for at in heading_lines(lines, name) if at not in seen), None)
        if start is None:
            yield _Failure(
                "", _short_name(name), "", summary_message(lines, name) if len(tests) > 1 else meaningful_line(lines, name)
            )
            continue
        seen.add(start)
        block = [lines[start], *takewhile(lambda line: not HEADING.match(line) and not _ENDS.match(line), lines[start + 1 :])]
        yield _read_failure(block, name)


def _read_failure(block: Sequence[str], name: str) -> _Failure:
    text = "\n".join(block)
    at, code = own_frame(text)
    place, marked = _ANYWHERE.search(text), [match["code"].strip() for match in _MARKED.finditer(text)]
    at, code = at or (place[0].removeprefix("./") if place else ""), code or "".join(marked[-1:])
    sides = {match["side"].lower(): match["value"] for match in _COMPARED.finditer(text)}
    compared = ", ".join(f"{side} {value}" for side, value in list(sides.items())[:2])
    test = _short_name(name).removeprefix(f"{at.rpartition(':')[0]}::")
    return _Failure(at, test, code.removeprefix("self.")[:CODE], compared or meaningful_line(block, name))


def _short_name(name: str) -> str:
    """Return a test's name without its module, which its place shows."""
    match = _UNITTEST.fullmatch(name)
    return ".".join(match["path"].split(".")[-2:]) if match else name


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
