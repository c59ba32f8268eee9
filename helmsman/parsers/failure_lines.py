"""What a failed check printed, one line for each distinct failure: where, which test, the assertion, what it says."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from helmsman.parsers.failure_rules import Programs, hit, is_strange, own_frame, rules
from helmsman.parsers.failure_words import excerpt
from helmsman.parsers.failures import HEADING, headings, programs, ran, recapped, telling
from helmsman.plain import short_line

MOST = 30
"""Lines; ten of them are some 600 tokens."""
LONGEST = 240
CODE = 100
"""Characters of a source line."""
NAMES = 3
"""Tests that fail alike and are named; the others are counted."""
LAST_LINES = 15
"""Of an output in which nothing is known."""

_ENDS = re.compile(r"={10,}|-{3,} Captured ")
_PLACED = re.compile(r"^(?P<file>[\w./@-]{1,200}\.\w{1,5}):(?P<line>\d+): ", re.MULTILINE)  # pytest below a frame
_ANYWHERE = re.compile(r"(?P<file>[\w./@-]{1,200}\.[a-z]{1,5}):(?P<line>\d+)")
_MARKED = re.compile(r"^ *> ?(?:\d+ \|)?(?P<code> *\S.*)", re.MULTILINE)  # pytest, jest, vitest
_PYTHON_FRAME = re.compile(r"^ *File \"(?P<file>[^\"\n]{1,400})\", line (?P<line>\d+).*\n +(?P<code>\S.*)", re.MULTILINE)
_COMPARED = re.compile(r"^ *(?P<side>Expected|Received|expected|actual|left|right) *:? +(?P<value>\S.*)", re.MULTILINE)
_UNITTEST = re.compile(r"(?P<short>\S+) \((?P<path>[\w.]+)\)")


class _Failure(NamedTuple):
    """One failure in its parts; those that are not known are empty."""

    at: str
    test: str
    code: str
    said: str

    @property
    def kind(self) -> tuple[str, str]:
        """Equal for failures that are one and the same."""
        return (self.at, self.said) if self.at else (self.test, self.said)


def listed(output: str, command: str = "", tests: Sequence[str] = (), root: str = "") -> tuple[str, ...]:
    """A line for each distinct failure in a check's output, the paths in it relative to `root`.

    `tests` are the failing ones, as the runner names them. Where nothing is recognised, the last lines are given.
    """
    lines = excerpt(output.replace(f"{root.rstrip('/')}/", "") if root else output)
    found = list(_of_tests(lines, tests)) or list(_objections("\n".join(lines), programs(ran(command))))
    told = list(_merged(found)) or _last(lines)
    return tuple(short_line(line, LONGEST) for line in told[:MOST])


def _of_tests(lines: Sequence[str], tests: Sequence[str]) -> Iterator[_Failure]:
    seen: set[int] = set()
    for name in tests:
        start = next((at for at in headings(lines, name) if at not in seen), None)
        if start is None:
            yield _Failure("", _short(name), "", recapped(lines, name) if len(tests) > 1 else telling(lines, name))
            continue
        seen.add(start)
        block = [lines[start], *takewhile(lambda line: not HEADING.match(line) and not _ENDS.match(line), lines[start + 1 :])]
        yield _read(block, name)


def _read(block: Sequence[str], name: str) -> _Failure:
    text = "\n".join(block)
    at, code = _frame(text)
    sides = {match["side"].lower(): match["value"] for match in _COMPARED.finditer(text)}
    compared = ", ".join(f"{side} {value}" for side, value in list(sides.items())[:2])
    test = _short(name).removeprefix(f"{at.rpartition(':')[0]}::")
    return _Failure(at, test, code.removeprefix("self.")[:CODE], compared or telling(block, name))


def _frame(text: str) -> tuple[str, str]:
    """Place and source line of the innermost frame that belongs to no library."""
    frames = [match for match in _PYTHON_FRAME.finditer(text) if not is_strange(match["file"])]
    if frames:
        return f"{frames[-1]['file']}:{frames[-1]['line']}", frames[-1]["code"]
    marked = [match["code"].strip() for match in _MARKED.finditer(text)]
    placed = [match for match in _PLACED.finditer(text) if not is_strange(match["file"])][-1:]
    found = placed or [match for match in _ANYWHERE.finditer(text) if not is_strange(match["file"])][:1]
    at = "" if placed else own_frame(text)
    return at or next((f"{match['file'].removeprefix('./')}:{match['line']}" for match in found), ""), marked[
        -1
    ] if marked else ""


def _short(name: str) -> str:
    """A test's name without the module that its place tells."""
    match = _UNITTEST.fullmatch(name)
    return ".".join(match["path"].split(".")[-2:]) if match else name


def _objections(text: str, names: Programs) -> Iterator[_Failure]:
    """What compilers, linters and type checkers object to, in the order in which it was printed."""
    found: dict[int, _Failure] = {}
    for one in rules("objections", "early"):
        if one.programs and not one.programs & names:
            continue
        for match in one.pattern.finditer(text):
            told = hit(one.kind, match)
            found.setdefault(text.count("\n", 0, match.start()), _Failure(told.at, "", "", told.said))
    placed = [found[line] for line in sorted(found) if found[line].at]
    return iter(placed or [found[line] for line in sorted(found)])


def _merged(found: Iterable[_Failure]) -> Iterator[str]:
    """One line for those that are the same, with how many they are."""
    same: dict[tuple[str, str], list[_Failure]] = {}
    for failure in found:
        same.setdefault(failure.kind, []).append(failure)
    for (first, *_), times in ((group, len(group)) for group in same.values()):
        names = list(dict.fromkeys(one.test for one in same[first.kind] if one.test))
        more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
        parts = (first.at, ", ".join(names[:NAMES]) + more, first.code, first.said, f"×{times}" if times > 1 else "")  # noqa: RUF001
        yield " | ".join(" ".join(part.split()) for part in parts if part)


def _last(lines: Sequence[str]) -> list[str]:
    told: dict[str, int] = {}
    for line in filter(str.strip, lines):
        told[line.strip()] = told.get(line.strip(), 0) + 1
    return [f"{line}  ×{times}" if times > 1 else line for line, times in list(told.items())[-LAST_LINES:]]  # noqa: RUF001
