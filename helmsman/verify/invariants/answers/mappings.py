"""Where source maps single inputs to single outputs: branches, tables, and functions that are one constant."""

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from helmsman.verify.invariants.answers.examples import LITERAL, RESULT, literal, spelt
from helmsman.verify.invariants.answers.listed_pairs import listed_pairs
from helmsman.verify.invariants.reading.additions import line_at
from helmsman.verify.invariants.reading.python_code import (
    Function,
    Part,
    body_without_docstring,
    dotted,
    functions,
    last_name,
    parameters,
)

Pair = tuple[tuple[str, ...], str]
"""Inputs, as far as they are compared, and output."""


class Kind(StrEnum):
    BRANCH = "branch"
    TABLE = "table"
    CONSTANT = "constant"


@dataclass(frozen=True)
class Mapped:
    """What a function, or a table outside of functions, maps."""

    kind: Kind
    function: str
    """Empty for a table at the top of a module."""
    pairs: tuple[Pair, ...]
    line: int = field(compare=False)
    general: bool = field(default=False, compare=False)
    """Whether the function also computes."""
    inherited: bool = field(default=False, compare=False)
    """Whether it may override, or be there to be overridden."""
    measures: bool = field(default=False, compare=False)
    """Whether the function otherwise answers with a length."""


def python_mappings(part: Part, lines: frozenset[int] | None = None) -> Iterator[Mapped]:
    """Branches of one function together, each table and each constant by itself.

    With `lines`, of the file, only functions and tables that one of them is in; constants are always given.
    """
    for function, owner, _ in functions(part.tree):
        constant = _constant(function, part, owner)
        if constant is not None:
            yield constant
        elif _touches(function, part, lines):
            yield from _branches_and_tables(function, function.name, part)
    for statement in part.tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None and _touches(statement, part, lines):
            yield from _of_value(statement, statement.value, part)


def _of_value(statement: ast.Assign | ast.AnnAssign, value: ast.expr, part: Part) -> Iterator[Mapped]:
    """Tables at the top of a module, and `solve = lambda x: …`."""
    if isinstance(value, ast.Lambda):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        result = literal(value.body)
        if result is not None and value.args.args:
            yield Mapped(Kind.CONSTANT, last_name(target), (((), result),), part.line(statement))
        yield from _branches_and_tables(value, last_name(target), part)
    elif isinstance(value, ast.Dict):
        yield from _table(value, "", part, general=False)


def _touches(node: ast.stmt, part: Part, lines: frozenset[int] | None) -> bool:
    return lines is None or not lines.isdisjoint(part.lines(node))


def _constant(function: Function, part: Part, owner: ast.ClassDef | None) -> Mapped | None:
    body = body_without_docstring(function)
    if len(body) != 1 or not isinstance(body[0], ast.Return) or not parameters(function):
        return None
    result = literal(body[0].value)
    inherited = owner is not None and bool(owner.bases)
    return Mapped(Kind.CONSTANT, function.name, (((), result),), part.line(function), inherited=inherited) if result else None


def _branches_and_tables(node: Function | ast.Lambda, name: str, part: Part) -> Iterator[Mapped]:
    nodes = list(ast.walk(node))
    general = any(_computes(inner) for inner in nodes)
    branches = [(pair, inner) for inner in nodes for pair in _branch(inner)]
    if branches:
        pairs = tuple(dict.fromkeys(pair for pair, _ in branches))
        line = part.first + min(getattr(inner, "lineno", node.lineno) for _, inner in branches)
        yield Mapped(Kind.BRANCH, name, pairs, line, general, measures=any(_measures(inner) for inner in nodes))
    for inner in nodes:
        if isinstance(inner, ast.Dict):
            yield from _table(inner, name, part, general=general)
        elif isinstance(inner, ast.Subscript) and isinstance(inner.value, ast.List) and isinstance(inner.slice, ast.Name):
            values = [literal(item) for item in inner.value.elts[:200]]
            pairs = tuple(((str(index),), value) for index, value in enumerate(values) if value is not None and value != "None")
            if pairs:
                yield Mapped(Kind.TABLE, name, pairs, part.line(inner), general)


def _measures(node: ast.AST) -> bool:
    """`return len(word)`."""
    return isinstance(node, ast.Return) and isinstance(node.value, ast.Call) and dotted(node.value.func) == "len"


def _table(node: ast.Dict, function: str, part: Part, *, general: bool) -> Iterator[Mapped]:
    pairs = [(_key(key), literal(value)) for key, value in zip(node.keys, node.values, strict=True)]
    full = tuple((key, value) for key, value in pairs if key is not None and value is not None)
    if full and len(full) == len(pairs):
        yield Mapped(Kind.TABLE, function, full, part.line(node), general)


def _key(node: ast.expr | None) -> tuple[str, ...] | None:
    """A tuple stands for several inputs."""
    items = node.elts if isinstance(node, ast.Tuple) else [node]
    spelled = [literal(item) for item in items]
    return None if None in spelled else tuple(one for one in spelled if one is not None)


def _computes(node: ast.AST) -> bool:
    """Whether anything but equality with literals is looked at or returned."""
    if isinstance(
        node, ast.For | ast.While | ast.comprehension | ast.Yield | ast.YieldFrom | ast.BinOp | ast.AugAssign | ast.JoinedStr
    ):
        return True
    if isinstance(node, ast.Compare):
        return not all(isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot | ast.In) for op in node.ops)
    return isinstance(node, ast.Call) and last_name(node.func) not in {
        "get",
        "print",
        "str",
        "tuple",
        "ValueError",
        "KeyError",
        "NotImplementedError",
    }


def _branch(node: ast.AST) -> Iterator[Pair]:
    if isinstance(node, ast.If):
        output = _outcome(node.body)
        yield from ((inputs, output) for inputs in _conditions(node.test) if output is not None)
    elif isinstance(node, ast.IfExp) and (output := literal(node.body)) is not None:
        yield from ((inputs, output) for inputs in _conditions(node.test))
    elif isinstance(node, ast.Match):
        for case in node.cases:
            output = _outcome(case.body)
            yield from ((inputs, output) for inputs in _patterns(case.pattern) if output is not None)


def _outcome(body: list[ast.stmt]) -> str | None:
    """The literal that a branch returns or assigns, where it does nothing else."""
    if len(body) != 1 or not isinstance(body[0], ast.Return | ast.Assign):
        return None
    return literal(body[0].value)


def _conditions(test: ast.expr) -> list[tuple[str, ...]]:
    """Inputs for which a condition holds: `a == 2 and b == 3`, `(a, b) == (2, 3)`, `x in (2, 3)`, `x == 2 or x == 3`."""
    if isinstance(test, ast.BoolOp):
        parts = [_conditions(value) if not isinstance(value, ast.BoolOp) else [] for value in test.values]
        if isinstance(test.op, ast.Or):
            return [inputs for part in parts for inputs in part]
        return [tuple(one for part in parts for one in part[0])] if all(len(part) == 1 for part in parts) else []
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return []
    left, right = test.left, test.comparators[0]
    if isinstance(test.ops[0], ast.Eq | ast.Is):
        name, value = (right, left) if literal(left) is not None else (left, right)
        key = _key(value)
        return [key] if key is not None and _is_input(name) else []
    if isinstance(test.ops[0], ast.In) and isinstance(right, ast.Tuple | ast.List | ast.Set) and _is_input(left):
        return [key for item in right.elts[:200] if (key := _key(item)) is not None]
    return []


def _is_input(node: ast.expr) -> bool:
    """A name, names in brackets, or a name that is converted."""
    if isinstance(node, ast.Tuple | ast.List):
        return all(isinstance(item, ast.Name) for item in node.elts)
    if isinstance(node, ast.Call):
        return last_name(node.func) in {"str", "int", "tuple", "list", "float", "lower", "strip", "upper"}
    return isinstance(node, ast.Name)


def _patterns(pattern: ast.pattern) -> Iterator[tuple[str, ...]]:
    alternatives = pattern.patterns if isinstance(pattern, ast.MatchOr) else [pattern]
    for one in alternatives:
        parts = one.patterns if isinstance(one, ast.MatchSequence) else [one]
        values = [_pattern_value(part) for part in parts]
        if values and None not in values:
            yield tuple(value for value in values if value is not None)


def _pattern_value(pattern: ast.pattern) -> str | None:
    if isinstance(pattern, ast.MatchSingleton):
        return repr(pattern.value)
    return literal(pattern.value) if isinstance(pattern, ast.MatchValue) else None


# other languages --------------------------------------------------------------------------------------------------------

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
_VALUES = re.compile(LITERAL)


def other_mappings(text: str) -> Iterator[Mapped]:
    """The same, of a language that is read by its text."""
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
        values = _spelt(found[1])
        yield found.start(), tuple(((key,), value) for key, value in zip(values[::2], values[1::2], strict=False))
    for start, listed in listed_pairs(text):
        yield start, tuple(((spelt(key),), spelt(value)) for key, value in listed)
    for found in _TABLE.finditer(text):
        yield found.start(), tuple((_spelt(entry[1]), spelt(entry[2])) for entry in _ONE_ENTRY.finditer(found[1]))


def _other_branches(text: str) -> Iterator[tuple[int, Pair]]:
    for found in _BRANCH.finditer(text):
        output = next(group for group in reversed(found.groups()) if group)
        yield found.start(), (_spelt(found[1]), spelt(output))
    for found in _POSTFIX.finditer(text):
        yield found.start(), (_spelt(found[2]), spelt(found[1]))
    for found in _CASE.finditer(text):
        yield from ((found.start(), ((one,), spelt(found[2]))) for one in _spelt(found[1]))


def _spelt(text: str) -> tuple[str, ...]:
    return tuple(spelt(value) for value in _VALUES.findall(text))


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
