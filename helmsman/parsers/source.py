"""Sources as trees: the tests in a file, what they assert, what skips, mutes or fakes something.

What is looked for stands in `queries/`, one file for each grammar. Grammars are imported when a text is first read.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module, resources
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from helmsman.toml_of import bundled

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query

LARGEST, LONGEST_LINE = 200_000, 20_000
"""Characters of a file and of a line that are read: what is longer is data, and may take a grammar the square of it."""


class Grammar(NamedTuple):
    """Where a grammar is, and which file of `queries/` is for it."""

    module: str
    query: str
    function: str


TABLE: Mapping[str, Any] = bundled("helmsman.parsers", "languages.toml")
GRAMMARS: Mapping[str, Grammar] = {
    suffix: Grammar(*grammar) for suffixes, grammar in TABLE["grammars"].items() for suffix in suffixes.split()
}
"""By suffix."""
_MUTES = re.compile(
    r"#\s*(?:noqa|type:\s*ignore|pyright:\s*ignore|pylint:\s*disable|pragma:\s*no\s*cover|nosec|rubocop:disable|credo:disable)"
    r"|(?:eslint-disable|@ts-(?:ignore|nocheck|expect-error)|(?:istanbul|c8|v8)\s+ignore|biome-ignore|tslint:disable|nolint"
    r"|shellcheck\s+disable|swiftlint:disable|phpcs:ignore|@phpstan-ignore|@psalm-suppress|NOLINT|NOSONAR|noinspection|pragma\s+warning\s+disable)",
    re.IGNORECASE,
)
"""Comments that tell a checker to look away."""
_BLANK = re.compile(rb"\s*")
_AROUND = frozenset({"decorated_definition", "expression_statement"})
_MACROS = frozenset({"c", "cpp"})
_TITLED = frozenset({"javascript", "ruby", "elixir"})  # languages in which tests have titles


class Place(NamedTuple):
    """Something in a file: its lines, counted from 1, and its text."""

    line: int
    last: int
    text: str


@dataclass(frozen=True)
class Test:
    """A test that a runner collects."""

    __test__ = False

    name: str  # with classes or suites around it: `TestAdd.test_two`, `add > gives two`
    line: int
    last: int
    skipped: bool = False  # skipped, expected to fail, or left out by a mark on another one
    assertions: int = 0


@dataclass(frozen=True)
class Source:
    """A source file. Never raises; what cannot be parsed has only what its readable parts tell."""

    path: str
    text: str

    @property
    def language(self) -> str:
        """Name of its grammar; empty where there is none."""
        grammar = GRAMMARS.get(self.path.rpartition(".")[2].lower()) if "." in self.path else None
        return grammar.query if grammar else ""

    @cached_property
    def tests(self) -> tuple[Test, ...]:
        """Tests that its runner would collect, wherever the file lies."""
        nodes = [*self._of("test"), *(node for node in self._of("test.marked") if self._is_marked(node, "test.mark"))]
        unique = {(node.start_byte, node.end_byte): node for node in nodes}
        suites, around, found = self._of("suite")[::-1], list["Node"](), list[Test]()
        for _, node in sorted(unique.items()):
            while suites and suites[-1].start_byte <= node.start_byte:
                around.append(suites.pop())
            around = [suite for suite in around if node.end_byte <= suite.end_byte]
            start, end = extent = self._extent(node)
            names = (*(self._name_in(suite, "suite.name") for suite in around), self._name_in(node, "test.name"))
            left_out = bool(self._spans["focus"].starts) and not self._spans["focus"].meet(extent)
            starts, place = self._spans["assertion"].starts, _place(node)
            inside = bisect_left(starts, end) - bisect_left(starts, start)
            skipped, joint = self._spans["skip"].meet(extent) or left_out, " > " if self.language in _TITLED else "."
            found.append(Test(joint.join(names), place.line, place.last, skipped, inside))
        return tuple(found)

    @cached_property
    def skips(self) -> tuple[Place, ...]:
        """Marks and calls by which tests run nowhere. A condition that may be false counts for nothing: it names platforms."""
        return self._places("skip", "focus")

    @cached_property
    def assertions(self) -> tuple[Place, ...]:
        return self._places("assertion")

    @cached_property
    def idle(self) -> tuple[Place, ...]:
        """Assertions that hold whatever the code does."""
        return self._places("idle")

    @cached_property
    def doubles(self) -> tuple[Place, ...]:
        """Where something is put in the place of other code; the text is what it names."""
        return self._places("double.of" if self._of("double.of") else "double")

    @cached_property
    def suppressions(self) -> tuple[Place, ...]:
        """Where a checker is suppressed."""
        lines = (Place(number, number, line) for number, line in enumerate(self.text.split("\n"), 1))
        comments = (place for place in (self._places("comment") if self.language else lines) if _MUTES.search(place.text))
        return tuple(sorted((*comments, *self._places("suppression"))))

    @cached_property
    def literals(self) -> tuple[Place, ...]:
        return self._places("literal")

    @property
    def literal_spans(self) -> tuple[tuple[int, int, int], ...]:
        """Where in the bytes of the text literals stand, without their quotes, and on which line, counted from 1."""
        return tuple((node.start_byte, node.end_byte, node.start_point.row + 1) for node in self._of("literal"))

    @cached_property
    def inline_tests(self) -> tuple[tuple[int, int], ...]:
        """Where in the bytes of the text modules stand that are there for tests only: `#[cfg(test)] mod tests` of Rust."""
        return tuple(sorted(self._extent(node) for node in self._of("inline.marked") if self._is_marked(node, "inline.mark")))

    @cached_property
    def _spans(self) -> Mapping[str, "_Spans"]:
        return {name: _Spans.of(self._of(name)) for name in ("skip", "focus", "assertion")}

    @cached_property
    def _before(self) -> Mapping[int, int]:
        """Where what stands behind an attribute begins, and where the attribute begins."""
        data = self.text.encode(errors="replace")
        ends = ((found.end(), node.start_byte) for node in self._of("before") if (found := _BLANK.match(data, node.end_byte)))
        return dict(ends)

    def _starts(self, node: "Node") -> list[int]:
        """Where it begins, and where each attribute in front of it does."""
        found = [node.start_byte]
        while (start := self._before.get(found[-1])) is not None:
            found.append(start)
        return found

    def _is_marked(self, node: "Node", mark: str) -> bool:
        return not self._mark_starts[mark].isdisjoint(self._starts(node))

    @cached_property
    def _mark_starts(self) -> Mapping[str, frozenset[int]]:
        return {name: frozenset(node.start_byte for node in self._of(name)) for name in ("test.mark", "inline.mark")}

    def _extent(self, node: "Node") -> tuple[int, int]:
        """With the attributes in front of it, its decorators, and the block behind a macro: `TEST(A, b) { … }`."""
        parent = node.parent
        outer = parent if parent is not None and parent.type in _AROUND else node
        behind = outer.next_named_sibling if self.language in _MACROS and outer.type == "expression_statement" else None
        block = behind is not None and behind.type == "compound_statement"
        return self._starts(outer)[-1], behind.end_byte if behind is not None and block else outer.end_byte

    def _name_in(self, node: "Node", capture: str) -> str:
        """The first name inside of a node, which is its own."""
        names = self._of(capture)
        at = bisect_left(names, node.start_byte, key=lambda one: one.start_byte)
        text = _place(names[at]).text if at < len(names) and names[at].end_byte <= node.end_byte else ""
        return text.strip("\"'`") if text[:1] in {'"', "'", "`"} else text.strip("()")

    def _of(self, name: str) -> list["Node"]:
        return self._captures.get(name, [])

    def _places(self, *names: str) -> tuple[Place, ...]:
        return tuple(sorted({_place(node) for name in names for node in self._of(name)}))

    @cached_property
    def _captures(self) -> Mapping[str, list["Node"]]:
        grammar = GRAMMARS.get(self.path.rpartition(".")[2].lower())
        if grammar is None or not _is_read(self.text):
            return {}
        from tree_sitter import QueryCursor

        parser, query = _loaded(grammar)
        tree = parser.parse(self.text.encode(errors="replace"))
        found = QueryCursor(query).captures(tree.root_node)
        return {name: sorted(nodes, key=lambda node: node.start_byte) for name, nodes in found.items()}


def matches(path: str, text: str, query: str) -> list[dict[str, list["Node"]]]:
    """What a further query of `queries/` finds in a text, each time by the names of what it captures."""
    grammar = GRAMMARS.get(path.rpartition(".")[2].lower())
    if grammar is None or not _is_read(text):
        return []
    from tree_sitter import QueryCursor

    parser, loaded = _loaded(grammar._replace(query=query))
    return [found for _, found in QueryCursor(loaded).matches(parser.parse(text.encode(errors="replace")).root_node)]


def _is_read(text: str) -> bool:
    return 0 < len(text) <= LARGEST and max(map(len, text.split("\n"))) <= LONGEST_LINE


@lru_cache(maxsize=32)
def _loaded(grammar: Grammar) -> tuple["Parser", "Query"]:
    from tree_sitter import Language, Parser, Query

    capsule: object = getattr(import_module(grammar.module), grammar.function)()
    language = Language(capsule)
    wanted = resources.files("helmsman.parsers").joinpath(f"queries/{grammar.query}.scm").read_text(encoding="utf-8")
    return Parser(language), Query(language, wanted)


def _place(node: "Node") -> Place:
    text = node.text.decode(errors="replace") if node.text else ""
    return Place(node.start_point.row + 1, node.end_point.row + 1, text)


def with_inline_tests(source: Source, start: Source) -> str | None:
    """The text with the modules for tests of the start in place of its own; None where there were none, or they are the same."""
    data, before = source.text.encode(errors="replace"), start.text.encode(errors="replace")
    wanted = [before[first:last] for first, last in start.inline_tests]
    if not wanted or wanted == [data[first:last] for first, last in source.inline_tests]:
        return None
    for first, last in reversed(source.inline_tests):
        data = data[:first] + data[last:]
    return b"\n".join((data, *wanted, b"")).decode(errors="replace")


class _Spans(NamedTuple):
    """Where nodes begin, and how far the longest one goes that begins there or before; they lie apart or in each other."""

    starts: list[int]
    furthest: list[int]

    @classmethod
    def of(cls, nodes: list["Node"]) -> "_Spans":
        return cls([node.start_byte for node in nodes], list(accumulate((node.end_byte for node in nodes), max)))

    def meet(self, extent: tuple[int, int]) -> bool:
        """Whether one of them lies in an extent, or the extent in one of them."""
        at = bisect_right(self.starts, extent[0])
        inside = bisect_left(self.starts, extent[0])
        return (at > 0 and self.furthest[at - 1] >= extent[1]) or (inside < len(self.starts) and self.starts[inside] < extent[1])
