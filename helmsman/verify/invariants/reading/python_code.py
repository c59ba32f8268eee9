"""Python as a tree: only the parts of a file that changed, and never an error for what is no Python."""

import ast
import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from helmsman.python_of import python_of
from helmsman.verify.diff import FileDiff

LARGEST = 1_000_000
"""Characters that are parsed; a file above it is data."""
_START = re.compile(r"^(?=[^\s#)\]}\"'])(?!(?:else|elif|except|finally|case)\b)", re.MULTILINE)
_QUOTES = ('"""', "'''")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Part:
    """Statements of a module that changed."""

    first: int
    """Lines above them in the file."""
    tree: ast.Module

    def line(self, node: ast.stmt | ast.expr) -> int:
        return self.first + node.lineno

    def lines(self, node: ast.stmt) -> range:
        """All that a statement takes, without its decorators."""
        return range(self.line(node), self.first + (node.end_lineno or node.lineno) + 1)


def parse(text: str) -> ast.Module | None:
    """A tree, or None where it is no Python or too large."""
    return python_of(text) if len(text) <= LARGEST else None


def changed_parts(file: FileDiff, wanted: re.Pattern[str] | None = None, lines: frozenset[int] | None = None) -> list[Part]:
    """The statements at the top of a module that are not, letter by letter, in the module as it was.

    With `wanted` only those in whose text it is found, with `lines` only those that one of them is in: reading the rest
    would take longer than all else.
    """
    chunks = _changed_chunks(file.before or "", file.after or "")
    chosen = [chunk for chunk in chunks if wanted is None or wanted.search(chunk[1])]
    if lines is not None:
        ordered = sorted(lines)
        chosen = [chunk for chunk in chosen if bisect(ordered, chunk[0]) < bisect(ordered, chunk[0] + chunk[1].count("\n") + 1)]
    return _parts(file.after or "", chunks, chosen)


def former_parts(file: FileDiff, wanted: re.Pattern[str] | None = None) -> list[Part]:
    """The statements at the top of a module as it was that are not, letter by letter, in the module as it is."""
    chunks = _changed_chunks(file.after or "", file.before or "")
    return _parts(file.before or "", chunks, [chunk for chunk in chunks if wanted is None or wanted.search(chunk[1])])


_Chunk = tuple[int, str]
"""Lines above a statement, and its text."""


@lru_cache(maxsize=1024)
def _changed_chunks(old: str, new: str) -> tuple[_Chunk, ...]:
    old, new = _unix(old), _unix(new)
    first = _same_above(old, new)
    last = _same_below(old[first:], new[first:])
    above = new.count("\n", 0, first)
    known = {text for _, text in _chunks(old[first : len(old) - last])}
    return tuple((above + line, text) for line, text in _chunks(new[first : len(new) - last]) if text not in known)


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n") if "\r" in text else text


def _same_above(old: str, new: str) -> int:
    """Characters at the start that both have, up to a statement after a blank line and never into a string."""
    end = new.rfind("\n\n", 0, _agreeing(old, new))
    while end > 0 and not _START.match(new, end + 2):
        end = new.rfind("\n\n", 0, end)
    return end + 2 if end > 0 and not _opens_string(new[: end + 2]) else 0


def _same_below(old: str, new: str) -> int:
    """Characters at the end that both have, from a statement after a blank line on."""
    start = new.find("\n\n", len(new) - _agreeing(old[::-1], new[::-1]))
    while start >= 0 and not _START.match(new, start + 2):
        start = new.find("\n\n", start + 1)
    return len(new) - start - 2 if start >= 0 and not _opens_string(new[start + 2 :]) else 0


def _opens_string(text: str) -> bool:
    return any(text.count(quote) % 2 for quote in _QUOTES)


def _agreeing(one: str, other: str) -> int:
    """Length of the text that both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _parts(text: str, chunks: Sequence[_Chunk], chosen: Sequence[_Chunk]) -> list[Part]:
    # An odd number of triple quotes: a string goes on in what looks like the next statement.
    whole = bool(chosen) and any(_opens_string(chunk) for _, chunk in chunks)
    trees = [] if whole else [(first, _chunk_tree(chunk)) for first, chunk in chosen]
    if whole or any(tree is None for _, tree in trees):
        trees = [(0, parse(text))]
    return [Part(first, tree) for first, tree in trees if tree is not None]


@lru_cache(maxsize=1024)
def _chunk_tree(text: str) -> ast.Module | None:
    return parse(text)


def _chunks(text: str) -> Iterator[_Chunk]:
    """Statements at the top with the number of lines above each; decorators stay with what they decorate."""
    starts = [0, *(found.start() for found in _START.finditer(text) if found.start()), len(text)]
    line = begin = 0
    for start, end in pairwise(starts):
        if text[start : start + 1] == "@" and end < len(text):
            continue
        yield line, text[begin:end]
        line, begin = line + text.count("\n", begin, end), end


def functions(tree: ast.Module) -> Iterator[tuple[Function, ast.ClassDef | None, bool]]:
    """Functions of modules and classes with their class; the last says whether they stand under no condition."""
    pending: list[tuple[ast.stmt, ast.ClassDef | None, bool]] = [(node, None, True) for node in reversed(tree.body)]
    while pending:
        node, owner, plain = pending.pop()
        if isinstance(node, Function):
            yield node, owner, plain
        elif isinstance(node, ast.ClassDef):
            pending += [(inner, node, plain) for inner in reversed(node.body)]
        elif isinstance(node, ast.If | ast.Try | ast.With):
            pending += [(inner, owner, False) for inner in _inner(node)]


def _inner(node: ast.If | ast.Try | ast.With) -> list[ast.stmt]:
    handlers = [inner for handler in getattr(node, "handlers", []) for inner in handler.body]
    return [*node.body, *getattr(node, "orelse", []), *handlers, *getattr(node, "finalbody", [])]


def body_without_docstring(node: Function) -> list[ast.stmt]:
    first = node.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    return node.body[1:] if documented else node.body


def last_name(node: ast.AST) -> str:
    """`d` of `a.b.c.d`, of `a.b.c.d(...)` and of `d[...]`; empty where there is no name."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def dotted(node: ast.AST) -> str:
    """`a.b.c` as it is written; empty where anything else than names and dots is in it."""
    names = list[str]()
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""


def parameters(node: Function) -> list[str]:
    """Names of all parameters but the first of a method, with their stars."""
    given = node.args
    plain = [arg.arg for arg in (*given.posonlyargs, *given.args)]
    plain = plain[1:] if plain[:1] in (["self"], ["cls"], ["mcs"]) else plain
    stars = [f"*{arg.arg}" for arg in (given.vararg, given.kwarg) if arg]
    return [*plain, *(arg.arg for arg in given.kwonlyargs), *stars]


def in_string(text: str, line: int) -> bool:
    """Whether a line, counted from 1, begins within a string of several lines."""
    return line in below_open_quotes(text) and line in _lines_of_strings(text)


@lru_cache(maxsize=64)
def below_open_quotes(text: str) -> frozenset[int]:
    """Numbers of the lines above which triple quotes stand that nothing has closed, as far as counting tells."""
    found, opened = set[int](), dict.fromkeys(_QUOTES, 0)
    for number, line in enumerate(text.split("\n"), 1):
        if any(opened.values()):
            found.add(number)
        for quote in _QUOTES:
            opened[quote] ^= line.count(quote) % 2
    return frozenset(found)


@lru_cache(maxsize=64)
def _lines_of_strings(text: str) -> frozenset[int]:
    """Lines of a string below its first; strings that stand below each other and are one for Python count too."""
    tree = parse(text)
    strings = (node for node in ast.walk(tree or ast.Module([], [])) if isinstance(node, ast.Constant | ast.JoinedStr))
    return frozenset(line for node in strings for line in range(node.lineno + 1, (node.end_lineno or 0) + 1))
