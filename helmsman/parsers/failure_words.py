"""Normalize outputs and failures, so that the same failure is recognized in later runs: excerpts, number of failures,
fingerprints and merging; and apply the rules of failures.toml.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from helmsman.parsers.loose import last, text
from helmsman.parsers.shell_words import known_programs
from helmsman.parsers.test_report import clean_lines, read_summary
from helmsman.plain import word_set
from helmsman.records.agent import ErrorVector, FailureClass
from helmsman.toml_text import load_bundled

MESSAGE = 300
WHERE = 200
_READ = 1000


def normalize_message(message: str) -> str:
    """Return a message on one line without run-specific parts; small numbers stay, as they may be expected values."""
    return " ".join(_replace(message[:_READ], "temporary", "ids", "varying").split())[:MESSAGE]


def normalize_place(where: str) -> str:
    """Return a place on one line without run-specific parts; line numbers stay."""
    return " ".join(_replace(where[:_READ], "temporary", "ids").split())[:WHERE]


def _replace(text: str, *tables: str) -> str:
    for pattern, instead in (pair for name in tables for pair in table_of("replaced")[name]):
        text = re.sub(pattern, instead, text)
    return text


EDGE = 20_000  # characters to read at each end; summaries are at the end, the first error often at the start
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_WRAPPER = re.compile(r"<tool_use_error>(?:Error: )?|</tool_use_error>|\AError: (?=Exit code )")


def excerpt(output: object) -> list[str]:
    """Return the lines at both ends of an output, without colours and control characters; empty if it is not a string."""
    if not isinstance(output, str):
        return []
    if len(output) <= 2 * EDGE:
        return _clean(text(output, 2 * EDGE))
    return [*_clean(text(output, EDGE))[:-1], *_clean(last(output, EDGE))]


def _clean(part: str) -> list[str]:
    return [_CONTROL.sub("", line).rstrip() for line in clean_lines(_WRAPPER.sub("", part))]


_COUNTED = re.compile(
    r"(?i)\b(\d{1,7}) (?:previous )?(?:errors?|failures?|failed|failing|problems?|issues?|violations?|offenses)\b"
)
_ERROR_LINE = re.compile(r"(?i)\b(?:error|fail|failed|failure|undefined|cannot|not found)\b|^\S+:\d+")
_COMPARED = 8000


def extent(output: str) -> int:
    """Return how much failed: the largest number in the output, else the number of error lines; 0 if unknown."""
    lines = excerpt(output)
    counts = read_summary("\n".join(lines))
    if counts is not None and counts.failed:
        return counts.failed
    starts = [line[:500] for line in lines]
    counted = max((int(number) for line in starts for number in _COUNTED.findall(line)), default=0)
    return counted or sum(bool(_ERROR_LINE.search(line)) for line in starts)


def fingerprint(output: str) -> str:
    """Return a digest of an output without run-specific times, addresses and folders."""
    ends = output if len(output) <= 2 * _COMPARED else f"{output[:_COMPARED]}{output[-_COMPARED:]}"
    return hashlib.sha256(_replace(ends, "temporary", "ids", "varying").encode("utf-8", "backslashreplace")).hexdigest()[:16]


KEPT = 20


def merge_failure(errors: Sequence[ErrorVector], new: ErrorVector) -> tuple[ErrorVector, ...]:
    """Add a failure at the end, counting repetitions by class, place and message; keep the newest."""
    errors_by_key = {(error.kind, error.where, error.message): error for error in errors}
    before = errors_by_key.pop((new.kind, new.where, new.message), None)
    times = new.times + (before.times if before else 0)
    return (*errors_by_key.values(), new.model_copy(update={"times": times}))[-KEPT:]


# --- the table of failures.toml: rules and their hits ---------------------------------------------------------------------

Programs = frozenset[str]
ANY: Programs = frozenset()

_PLACE = re.compile(
    r"(?:^|(?<=[\s(\['\"`/]))(?:\./|file://)?(?P<file>(?:/?[^\s:()\[\]'\"`]{1,200}\.[A-Za-z]\w{0,9}|Makefile))"
    r"(?:(?:, line | on line |: line |:|\()(?P<line>\d+)(?:[:,]\d+)?\)?)"
)
_ARROW = re.compile(r"\n *--> (?P<file>[^\s:]{1,200}):(?P<line>\d+)")
_COLUMN = re.compile(r"(?:\(|:)(\d+)[:,]\d+\)?\Z")
_QUOTES = "'\"`‘’"  # noqa: RUF001 - as GNU quotes
_WITHOUT_PLACE = frozenset(
    {FailureClass.TEST, FailureClass.GIT, FailureClass.USAGE, FailureClass.RESOURCES, FailureClass.NETWORK}
)
"""Classes without a place in a file."""


class Rule(NamedTuple):
    """A pattern for lines of output."""

    kind: FailureClass
    pattern: re.Pattern[str]
    programs: Programs  # applies only if the command runs one of them; empty for any


class Hit(NamedTuple):
    """Match of a rule."""

    kind: FailureClass
    said: str
    at: str = ""
    name: str = ""


def table_of(name: str) -> Any:
    """Return a table of failures.toml."""
    return load_bundled("helmsman.parsers", "failures.toml")[name]


@cache
def rules(*stages: str) -> tuple[Rule, ...]:
    """Return the rules of these stages in order."""
    all_rules = list[Rule]()
    for kind, patterns in (row for stage in stages for row in table_of(stage).items()):
        for row in patterns:
            pattern, program_names = (row, "") if isinstance(row, str) else (row["pattern"], row["of"])
            all_rules.append(
                Rule(
                    FailureClass(kind),
                    re.compile(pattern, re.MULTILINE),
                    known_programs(program_names) if program_names == "installers" else word_set(program_names),
                )
            )
    return tuple(all_rules)


def first_hit(table: Iterable[Rule], text: str, programs: Programs) -> Hit | None:
    """Return the first match of the first rule that applies."""
    for rule in table:
        if (not rule.programs or rule.programs & programs) and (match := rule.pattern.search(text)):
            return make_hit(rule.kind, match)
    return None


def make_hit(kind: FailureClass, match: re.Match[str]) -> Hit:
    """Build a hit from a match; join a place that consists of two parts."""
    groups = {name: value for name, value in match.groupdict().items() if value}
    text, begin = match.string, match.start() + match.string.startswith("\n", match.start())
    line = text[text.rfind("\n", 0, begin) + 1 :].partition("\n")[0].strip()
    message = groups.get("said", "")
    at = f"{groups['file']}:{groups['line']}" if "file" in groups else _COLUMN.sub(r":\1", groups.get("at", ""))
    if not at and kind not in _WITHOUT_PLACE:
        place = _PLACE.search(line) or _ARROW.search(text, match.start(), match.end() + 400)
        at = f"{place['file']}:{place['line']}" if place else ""
        if place and place.string is line and not line[: place.start()].strip():
            message = message or line[place.end() :].lstrip(": -")
    name = groups.get("name") or groups.get("path", "")
    return Hit(kind, message or line, at.removeprefix("./"), name.strip(_QUOTES))


_LIBRARY_PATH = re.compile(
    r"site-packages|dist-packages|/lib/python|/lib64/python|node_modules|[<]|\bnode:|/usr/(?:lib|local/go|share)/|/pkg/mod/|"
    r"\.cargo/registry|/rustc/|\.venv/|/gems/|/vendor/"
)
_PYTHON = re.compile(
    r"^(?:(?:E +)? *File \"(?P<file>[^\"\n]{1,400})\", line "
    r"|(?P<short>[^\s:\"]{1,300}\.py):(?=\d+: ))"  # of pytest
    r"(?P<line>\d+)(?:.*\n {4,}(?P<code>[^\s~^].*))?",
    re.MULTILINE,
)
_FRAMES = re.compile(
    r"^(?: +at (?:.{1,200} \()?(?:file://)?(?P<node>[^\s():]{1,300}:\d+):\d+\)?$"
    r"|(?:file://)?(?P<excerpt>/[^\s():]{1,300}\.[cm]?[jt]sx?:\d+)$"  # node, above its excerpt
    r"|\t(?P<go>[^\s:]{1,300}\.go:\d+)"
    r"|\s{1,8}at (?!(?:java|jdk|sun|javax|kotlin|scala|org\.(?:junit|gradle|apache|opentest4j))\b)[\w$./<>]{1,200}"
    r"\((?P<java>[\w$]{1,100}\.(?:java|kt|scala):\d+)\)"
    r"|\s{1,8}from (?P<ruby>[^\s:]{1,300}\.rb:\d+):in "
    r"|.{0,300} in (?P<net>[^\n:]{1,300}(?::line |\.php on line |\.php:)\d+)$)",
    re.MULTILINE,
)


class Frame(NamedTuple):
    """A frame of a stack trace; empty if there is none."""

    at: str = ""  # `path:line`
    code: str = ""  # its source line, if printed below it


def own_frame(text: str) -> Frame:
    """Return the innermost frame outside of libraries: the last in Python, the first in other languages."""
    python = (
        Frame(f"{match['file'] or match['short']}:{match['line']}", match["code"] or "") for match in _PYTHON.finditer(text)
    )
    others = (Frame(match[match.lastgroup or 0]) for match in _FRAMES.finditer(text))
    own = [frame for frame in python if not _LIBRARY_PATH.search(frame.at)][-1:]
    frame = next((frame for frame in (*own, *others) if not _LIBRARY_PATH.search(frame.at)), Frame())
    return frame._replace(at=re.sub(r"(?::line | on line )(?=\d+$)", ":", frame.at))
