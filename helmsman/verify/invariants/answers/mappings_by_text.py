"""Where source maps single inputs to single outputs, in languages that are read by their text."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache

from helmsman.verify.invariants.answers.listed_pairs import listed_pairs
from helmsman.verify.invariants.answers.literals import LITERAL, RESULT, spelt, spelt_each
from helmsman.verify.invariants.answers.mappings import Kind, Mapped, Pair
from helmsman.verify.invariants.reading.additions import line_at

_FUNCTION = re.compile(
    r"\b(?:function|func|fn|def|fun)\s{1,9}(?:\([^)\n]{0,80}\)\s?|self\.)?(\w{1,80})|\b(?:const|let|var)\s{1,9}(\w{1,80})\s?=\s?(?:async\s?)?\(?[^=\n]{0,200}=>"
    r"|^\s{0,40}(?:(?:public|private|protected|static|final|async)\s{1,9}){1,4}(?:[\w<>\[\]]{1,60}\s{1,9})?(\w{1,80})\s?\(",
    re.MULTILINE,
)
_IS = rf"\w[\w.]{{0,80}}(?:\s?={{2,3}}\s?|\.(?:equals|eql\?|Equals|contentEquals)\(\s?)({LITERAL})"
_IS_SAID_FIRST = rf"({LITERAL})\.(?:equals|Equals)\(\s?\w[\w.]{{0,80}}"
_SEVERAL = rf"{LITERAL}(?:\s?,\s?{LITERAL}){{1,4}}"
_NAMES = r"\w{1,60}(?:\s?,\s?\w{1,60}){1,4}"
_TOGETHER = (
    rf"\(\s?{_NAMES}\s?\)\s?==\s?\((?:\s?{_SEVERAL})\s?\)|\[\s?{_NAMES}\s?\]\s?==\s?\[(?:\s?{_SEVERAL})\s?\]"
    rf"|matches!\(\s?\(\s?{_NAMES}\s?\)\s?,\s?\(\s?{_SEVERAL}\s?\)\s?\)|let\s\(\s?{_SEVERAL}\s?\)\s?=\s?\(\s?{_NAMES}\s?\)"
)
"""`(a, b) == (2, 3)`, `[a, b] == [2, 3]`, `matches!((a, b), (2, 3))`, `let (2, 3) = (a, b)`."""
_EQUAL = rf"\(*\s?(?:{_IS}|{_IS_SAID_FIRST}|{_TOGETHER})\s?\)*"
_BRANCH = re.compile(
    rf"(?:\bif\b|\belsif\b|\belif\b|[=(]|\breturn\b)\s?({_EQUAL}(?:\s?(?:&&|\band\b)\s?{_EQUAL}){{0,4}})"
    rf"(?:\s?\{{?\s{{0,80}}(?:then\s{{1,9}})?\breturn\s{{1,9}}\(?({RESULT})\s?\)?\s{{0,80}}(?:;|\}}|\bend\b|\n)|\s?\?\s?({LITERAL})\s?:|\s?\{{\s{{0,80}}({RESULT})\s{{0,80}}\}})"
)
_POSTFIX = re.compile(rf"\breturn\s{{1,9}}({LITERAL})\s{{1,9}}if\s{{1,9}}({_EQUAL}(?:\s?(?:&&|\band\b)\s?{_EQUAL}){{0,4}})")
_CASE = re.compile(
    rf"(?:\bcase\s{{1,9}}|\bwhen\s{{1,9}})({LITERAL}(?:\s?,\s?{LITERAL}){{0,9}})\s?(?::|->|then|\n)\s{{0,80}}(?:return\s{{1,9}})?({RESULT})"
)
_ENTRY = rf"(?:\(\s?)?{LITERAL}(?:\s?,\s?{LITERAL}){{0,4}}\s?\)?\s?(?:=>|:|->)\s?{RESULT}"
_TABLE = re.compile(
    rf"[\[{{(]\s{{0,40}}({_ENTRY}(?:\s?,\s{{0,40}}{_ENTRY}){{0,40}})\s?,?\s{{0,40}}(?:_\s?=>[^}}]{{0,200}})?[\]}})]"
)
_MAP = re.compile(
    rf"\bMap\(\s?\[\s{{0,40}}(\[\s?{LITERAL}\s?,\s?{LITERAL}\s?\](?:\s?,\s{{0,40}}\[\s?{LITERAL}\s?,\s?{LITERAL}\s?\]){{0,40}})"
)
_ONE_ENTRY = re.compile(rf"((?:\(\s?)?{LITERAL}(?:\s?,\s?{LITERAL}){{0,4}})\s?\)?\s?(?:=>|:|->)\s?({RESULT})")
_CONSTANT = re.compile(
    rf"\b(?:function|func|fn|fun)\s{{1,9}}(\w{{1,80}})\s?\(\s?\w[^)\n]{{0,200}}\)[^{{\n]{{0,80}}\{{\s{{0,80}}(?:return\s{{1,9}})?({LITERAL})\s?;?\s{{0,80}}\}}"
    rf"|\bdef\s{{1,9}}(\w{{1,80}})\s?\(\s?\w[^)\n]{{0,200}}\)\s{{1,80}}(?:return\s{{1,9}})?({LITERAL})\s{{1,80}}end\b"
    rf"|\b(?:const|let|var)\s{{1,9}}(\w{{1,80}})\s?=\s?\(\s?\w[^)\n]{{0,200}}\)[^=\n]{{0,60}}=>\s?({LITERAL})\s?;?$"
    rf"|\b(?:public|private|protected|static)\s{{1,9}}[\w<>\[\]]{{1,60}}\s{{1,9}}(\w{{1,80}})\s?\(\s?\w[^)\n]{{0,200}}\)\s?\{{\s{{0,80}}return\s{{1,9}}({LITERAL});\s{{0,80}}\}}",
    re.MULTILINE,
)
_GENERAL = re.compile(r"\breturn\b[^;\n]{0,200}[+*/%(-]|\bfor\b|\bwhile\b|[<>]")
_MEASURES = re.compile(r"\breturn\s{1,9}(?:\w{1,40}\.)?(?:len\(\w|\w{1,40}\.(?:len|length|size|count)\b)")


def other_mappings(text: str) -> Iterator[Mapped]:
    """Branches of one function together, each table and each constant by itself."""
    starts = [(found.start(), next(name for name in found.groups() if name)) for found in _FUNCTION.finditer(text)]
    for found in _CONSTANT.finditer(text):
        name, result = (group for group in found.groups() if group is not None)
        yield Mapped(Kind.CONSTANT, name, (((), spelt(result)),), line_at(text, found.start()))
    branches = dict[str, list[tuple[Pair, int]]]()
    for position, pair in _other_branches(text):
        branches.setdefault(_around(starts, position), []).append((pair, position))
    for name, found in branches.items():
        pairs, position = tuple(dict.fromkeys(pair for pair, _ in found)), found[0][1]
        body = _body(text, starts, position)
        yield Mapped(Kind.BRANCH, name, pairs, line_at(text, position), _is_general(body), measures=bool(_MEASURES.search(body)))
    for position, pairs in _other_tables(text):
        name = _around(starts, position)
        general = bool(name) and _is_general(_body(text, starts, position))
        yield Mapped(Kind.TABLE, name, pairs, line_at(text, position), general)


def _other_tables(text: str) -> Iterator[tuple[int, tuple[Pair, ...]]]:
    """Where each table begins, and what it maps."""
    for found in _MAP.finditer(text):
        values = spelt_each(found[1])
        yield found.start(), tuple(((key,), value) for key, value in zip(values[::2], values[1::2], strict=False))
    for start, listed in listed_pairs(text):
        yield start, tuple(((spelt(key),), spelt(value)) for key, value in listed)
    for found in _TABLE.finditer(text):
        yield found.start(), tuple((spelt_each(entry[1]), spelt(entry[2])) for entry in _ONE_ENTRY.finditer(found[1]))


def _other_branches(text: str) -> Iterator[tuple[int, Pair]]:
    for found in _BRANCH.finditer(text):
        output = next(group for group in reversed(found.groups()) if group)
        yield found.start(), (spelt_each(found[1]), spelt(output))
    for found in _POSTFIX.finditer(text):
        yield found.start(), (spelt_each(found[2]), spelt(found[1]))
    for found in _CASE.finditer(text):
        yield from ((found.start(), ((one,), spelt(found[2]))) for one in spelt_each(found[1]))


def _around(starts: list[tuple[int, str]], position: int) -> str:
    """Name of the last function that begins above."""
    index = bisect_right(starts, (position, "\U0010ffff")) - 1
    return starts[index][1] if index >= 0 else ""


def _is_general(body: str) -> bool:
    """Whether a function also computes, by what stands below its first line."""
    return bool(_GENERAL.search(_BRANCH.sub("", body.partition("\n")[2])))


def _body(text: str, starts: list[tuple[int, str]], position: int) -> str:
    """From the function's name on to the next one."""
    index = bisect_right(starts, (position, "\U0010ffff"))
    first = starts[index - 1][0] if index else 0
    last = starts[index][0] if index < len(starts) else len(text)
    return text[first:last]


_DEF = re.compile(r"\bdef[ \t]+(\w{1,80})")


@lru_cache(maxsize=128)
def names_in(text: str, kind: str) -> tuple[str, ...]:
    """Names of the functions of a file."""
    if kind == "python":
        return tuple(dict.fromkeys(_DEF.findall(text)))
    return tuple(dict.fromkeys(name for groups in _FUNCTION.findall(text) for name in groups if name))
