"""The table of failures.toml, and what a pattern of it finds: a class, a message, and the place that the output points at."""

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from helmsman.records.agent import FailureClass

Programs = frozenset[str]
ANY: Programs = frozenset()

_GROUPS = {
    "installers": "pip pip3 uv poetry pdm npm pnpm yarn bun npx git cargo go gradle gradlew mvn mvnw bundle gem composer docker "
    "dotnet apt apt-get"
}
_PLACE = re.compile(
    r"(?:^|(?<=[\s(\['\"`/]))(?:\./|file://)?(?P<file>(?:/?[^\s:()\[\]'\"`]{1,200}\.[A-Za-z]\w{0,9}|Makefile))"
    r"(?:(?:, line | on line |: line |:|\()(?P<line>\d+)(?:[:,]\d+)?\)?)"
)
_ARROW = re.compile(r"\n *--> (?P<file>[^\s:]{1,200}):(?P<line>\d+)")
_COLUMN = re.compile(r"(?:\(|:)(\d+)[:,]\d+\)?\Z")
_QUOTES = "'\"`‘’"  # noqa: RUF001 - as GNU quotes
_POINTLESS = frozenset({FailureClass.TEST, FailureClass.GIT, FailureClass.USAGE, FailureClass.RESOURCES, FailureClass.NETWORK})
"""Classes of which no place in a file is looked for in the line."""


class Rule(NamedTuple):
    """A pattern over lines."""

    kind: FailureClass
    pattern: re.Pattern[str]
    programs: Programs  # it speaks only where the command runs one of them; empty for any


class Hit(NamedTuple):
    """What a rule found."""

    kind: FailureClass
    said: str
    at: str = ""
    name: str = ""


@cache
def table_of(name: str) -> Any:
    """A table of failures.toml."""
    return tomllib.loads(files("helmsman.parsers").joinpath("failures.toml").read_text("utf-8"))[name]


@cache
def rules(*stages: str) -> tuple[Rule, ...]:
    """The rules of these stages in their order."""
    found = list[Rule]()
    for kind, patterns in (row for stage in stages for row in table_of(stage).items()):
        for one in patterns:
            pattern, of = (one, "") if isinstance(one, str) else (one["pattern"], one["of"])
            found.append(Rule(FailureClass(kind), re.compile(pattern, re.MULTILINE), frozenset(_GROUPS.get(of, of).split())))
    return tuple(found)


def first_hit(table: Iterable[Rule], text: str, programs: Programs) -> Hit | None:
    """The first rule of the table that speaks, at the first place where it does."""
    for one in table:
        if (not one.programs or one.programs & programs) and (match := one.pattern.search(text)):
            return hit(one.kind, match)
    return None


def hit(kind: FailureClass, match: re.Match[str]) -> Hit:
    """What a match says; a place that is told in two pieces is put together."""
    groups = {name: value for name, value in match.groupdict().items() if value}
    text, begin = match.string, match.start() + match.string.startswith("\n", match.start())
    line = text[text.rfind("\n", 0, begin) + 1 :].partition("\n")[0].strip()
    said = groups.get("said", "")
    at = f"{groups['file']}:{groups['line']}" if "file" in groups else _COLUMN.sub(r":\1", groups.get("at", ""))
    if not at and kind not in _POINTLESS:
        place = _PLACE.search(line) or _ARROW.search(text, match.start(), match.end() + 400)
        at = f"{place['file']}:{place['line']}" if place else ""
        if place and place.string is line and not line[: place.start()].strip():
            said = said or line[place.end() :].lstrip(": -")
    name = groups.get("name") or groups.get("path", "")
    return Hit(kind, said or line, at.removeprefix("./"), name.strip(_QUOTES))


_STRANGE = re.compile(
    r"site-packages|dist-packages|/lib/python|/lib64/python|node_modules|[<]|\bnode:|/usr/(?:lib|local/go|share)/|/pkg/mod/|"
    r"\.cargo/registry|/rustc/|\.venv/|/gems/|/vendor/"
)
_PYTHON = re.compile(
    r"^(?:(?:E +)? *File \"(?P<file>[^\"\n]{1,400})\", line "
    r"|(?P<short>[^\s:\"]{1,300}\.py):(?=\d+: in \S))"  # as pytest shortens it
    r"(?P<line>\d+)",
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


def is_strange(path: str) -> bool:
    """Whether a path belongs to a library or a runtime."""
    return bool(_STRANGE.search(path))


def own_frame(text: str) -> str:
    """`path:line` of the innermost frame that belongs to no library: Python prints it last, the others first."""
    python = [f"{match['file'] or match['short']}:{match['line']}" for match in _PYTHON.finditer(text)]
    own = [frame for frame in python if not _STRANGE.search(frame)]
    others = (match[match.lastgroup or 0] for match in _FRAMES.finditer(text))
    found = own[-1] if own else next((frame for frame in others if not _STRANGE.search(frame)), "")
    return re.sub(r"(?::line | on line )(?=\d+$)", ":", found)
