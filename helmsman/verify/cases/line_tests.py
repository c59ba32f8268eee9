"""Where tests stand in languages that are read by their lines."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from helmsman.verify.cases.masks import Brackets, Masked


@dataclass(frozen=True)
class Span:
    """A test, or another function, as positions in the text."""

    name: str
    start: int
    """Where its attributes or its header begin."""
    head: int
    end: int
    brace: int = -1
    """The brace that opens its body; -1 where none does."""
    is_test: bool = True


_FURTHEST = 600
"""Characters between a function's name and its attributes or its body, so that a file of heads is read once."""

_SUITES = "describe|context|suite|xdescribe|fdescribe|xcontext|fcontext"
_JS = re.compile(
    rf"(?<![\w.$])(?:(?P<suite>{_SUITES})|(?:x|f)?(?:it|test|specify))(?P<marks>(?:\.[a-zA-Z]+)*+)\s*+(?P<open>[(`])",
)
_JS_NAME = re.compile(r"\(\s*+(?:\"([^\"\n]{0,300})\"|'([^'\n]{0,300})'|`([^`\n]{0,300})`)")
_PHP_OR_JS_FUNCTION = re.compile(
    r"(?:(?<![\w.$])function\s+([\w$]+)\s*+\(|(?<![\w.$])(?:const|let)\s+([\w$]+)\s*=\s*(?:async\s*)?\()"
)


def _javascript(masked: Masked, brackets: Brackets) -> Iterator[Span]:
    suites: list[tuple[int, str]] = []
    for match in _JS.finditer(masked.bare):
        opening = _call_after_table(match, masked, brackets)
        name = _JS_NAME.match(masked.code, opening)
        if name is None:
            continue
        end = brackets.close(opening, len(masked.bare) - 1) + 1
        while suites and suites[-1][0] < match.start():
            suites.pop()
        title = next(part for part in name.groups() if part is not None)
        full = " > ".join((*(suite for _, suite in suites[-5:]), title))
        if match["suite"]:
            suites.append((end, title))
        else:
            yield Span(full, match.start(), match.start(), end, masked.bare.find("{", name.end(), end))
    yield from _functions(_PHP_OR_JS_FUNCTION, masked, brackets)


def _call_after_table(match: re.Match[str], masked: Masked, brackets: Brackets) -> int:
    """`it.each(table)('name', ...)` has the name in its second brackets."""
    opening = match.start("open")
    if ".each" not in match["marks"]:
        return opening
    close = brackets.close(opening, opening) if match["open"] == "(" else masked.bare.find("`", opening + 1)
    after = re.compile(r"\s*+\(").match(masked.bare, close + 1)
    return after.end() - 1 if after else opening


def _functions(pattern: re.Pattern[str], masked: Masked, brackets: Brackets) -> Iterator[Span]:
    for match in pattern.finditer(masked.bare):
        name = next(group for group in match.groups() if group is not None)
        yield _braced(name, match.start(), match, masked, brackets, is_test=False)


def _braced(name: str, start: int, match: re.Match[str], masked: Masked, brackets: Brackets, *, is_test: bool) -> Span:
    furthest = match.end() + _FURTHEST
    brace = masked.bare.find("{", match.end(), furthest)
    stop = masked.bare.find(";", match.end(), furthest)
    if brace < 0 or (0 <= stop < brace):
        return Span(name, start, match.start(), _end_of_line(masked.bare, match.end()), -1, is_test)
    return Span(name, start, match.start(), brackets.close(brace, len(masked.bare) - 1) + 1, brace, is_test)


def _end_of_line(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


_GO = re.compile(r"(?m)^func\s+(?:\([^)\n]*\)\s*)?(\w+)\s*+[(\[]")
_GO_TEST = re.compile(r"(?:Test|Benchmark|Fuzz|Example)(?![a-z]).*")


def _go(masked: Masked, brackets: Brackets) -> Iterator[Span]:
    for match in _GO.finditer(masked.bare):
        yield _braced(match[1], match.start(), match, masked, brackets, is_test=bool(_GO_TEST.fullmatch(match[1])))


_ATTRIBUTED = {
    "rust": (re.compile(r"(?<!\w)fn\s+(\w+)\s*+[(<]"), re.compile(r"#\[(?:\w+::)*(?:test|rstest|test_case)\b")),
    "java": (
        re.compile(r"(?:(?<!\w)(?:void|fun)\s+(\w+|`[^`\n]*`)\s*+\()"),
        re.compile(r"@(?:Test|ParameterizedTest|RepeatedTest|Property|TestFactory|Theory)\b"),
    ),
    "php": (re.compile(r"(?<!\w)function\s+(\w+)\s*+\("), re.compile(r"#\[Test\b|@test\b")),
}


def _attributed(language: str) -> Callable[[Masked, Brackets], Iterator[Span]]:
    header, mark = _ATTRIBUTED[language]

    def spans(masked: Masked, brackets: Brackets) -> Iterator[Span]:
        last = 0
        for match in header.finditer(masked.code):
            if match.start() < last or not masked.bare[match.start()].strip():
                continue
            start = max(last, match.start() - _FURTHEST)
            before = (masked.text if language == "php" else masked.code)[start : match.start()]
            by_name = language != "rust" and match[1].startswith("test")
            span = _braced(match[1].strip("`"), start, match, masked, brackets, is_test=by_name or bool(mark.search(before)))
            last = span.end
            yield span
        if language == "php":
            yield from (span for span in _javascript(masked, brackets) if span.is_test)

    return spans


_RUBY = re.compile(
    r"(?m)^(?P<indent>[ \t]*+)(?:(?P<mark>[xf]?(?:it|specify|example|test|scenario|describe|context|feature))\b[ (]*(?P<title>.*)"
    r"|def\s+(?P<name>[\w.?!]+).*)$",
)
_PYTHON = re.compile(r"(?m)^(?P<indent>[ \t]*+)(?:async\s+)?def\s+(?P<name>\w+).*$")
_RUBY_SUITES = re.compile(r"[xf]?(?:describe|context|feature)")


def _indented(pattern: re.Pattern[str]) -> Callable[[Masked, Brackets], Iterator[Span]]:
    """A body goes on until a line that is indented no deeper, the `end` of Ruby included."""

    def spans(masked: Masked, _brackets: Brackets) -> Iterator[Span]:
        heads = [match for match in pattern.finditer(masked.code) if masked.bare[match.end("indent")].strip()]
        ends = _ends(masked.bare, [(match.start(), len(match["indent"])) for match in heads])
        for match, end in zip(heads, ends, strict=True):
            parts = match.groupdict()
            if parts.get("mark") and _RUBY_SUITES.fullmatch(parts["mark"]):
                continue
            name = parts["name"] or (parts.get("title") or "").rpartition(" do")[0].strip(" \t\"'():{")
            is_test = not parts["name"] or name.startswith("test")
            yield Span(name, match.start(), match.end("indent"), end, -1, is_test)

    return spans


def _ends(bare: str, heads: list[tuple[int, int]]) -> list[int]:
    """For each header the position at which its body ends, found in one pass over the lines."""
    ends = [len(bare)] * len(heads)
    unfinished: list[int] = []
    position, upcoming = 0, 0
    for line in bare.split("\n"):
        indent = len(line) - len(line.lstrip())
        while line.strip() and unfinished and heads[unfinished[-1]][1] >= indent:
            ends[unfinished.pop()] = position
        if upcoming < len(heads) and heads[upcoming][0] == position:
            unfinished.append(upcoming)
            upcoming += 1
        position += len(line) + 1
    return ends


SPANS: dict[str, Callable[[Masked, Brackets], Iterator[Span]]] = {
    "javascript": _javascript,
    "go": _go,
    "rust": _attributed("rust"),
    "java": _attributed("java"),
    "php": _attributed("php"),
    "ruby": _indented(_RUBY),
    "python": _indented(_PYTHON),
}
