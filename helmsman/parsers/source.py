"""Syntax trees of sources: tests, assertions, skips, suppressions and doubles in a file.

Patterns are in `queries/`, one file for each grammar. Grammars are imported on first use.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module, resources
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from helmsman.toml_text import load_bundled

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query, QueryCursor

LARGEST, LONGEST_LINE = 200_000, 20_000
"""Maximum characters of a file and of a line: longer ones are data, and parsing may take quadratic time."""


class Grammar(NamedTuple):
    """A grammar's module and function, and its file in `queries/`."""

    module: str
    query: str
    function: str


TABLE: Mapping[str, Any] = load_bundled("helmsman.parsers", "languages.toml")
GRAMMARS: Mapping[str, Grammar] = {
    suffix: Grammar(*grammar) for suffixes, grammar in TABLE["grammars"].items() for suffix in suffixes.split()
}
"""By suffix."""
_SUPPRESSION = re.compile(
    r"#\s*(?:noqa|type:\s*ignore|pyright:\s*ignore|pylint:\s*disable|pragma:\s*no\s*cover|nosec|rubocop:disable|credo:disable)"
    r"|(?:eslint-disable|@ts-(?:ignore|nocheck|expect-error)|(?:istanbul|c8|v8)\s+ignore|biome-ignore|tslint:disable|nolint"
    r"|shellcheck\s+disable|swiftlint:disable|phpcs:ignore|@phpstan-ignore|@psalm-suppress|NOLINT|NOSONAR|noinspection|pragma\s+warning\s+disable)",
    re.IGNORECASE,
)
"""Comments that suppress a checker."""
_BLANK = re.compile(rb"\s*")
_WRAPPER_NODES = frozenset({"decorated_definition", "expression_statement"})
_MACROS = frozenset({"c", "cpp"})
_TITLED = frozenset({"javascript", "ruby", "elixir"})  # languages whose tests have titles


class Place(NamedTuple):
    """A part of a file: its lines, counted from 1, and its text."""

    line: int
    last: int
    text: str


@dataclass(frozen=True)
class Test:
    """A test that a runner collects."""

    __test__ = False

    name: str  # including classes or suites: `TestAdd.test_two`, `add > gives two`
    line: int
    last: int
    skipped: bool = False  # skipped, expected to fail, or excluded by a focus mark on another test
    assertions: int = 0

    @property
    def bare_name(self) -> str:
        """Its name without classes and suites. A title with blanks may contain a full stop."""
        return self.name.rpartition(" > " if " " in self.name else ".")[2]


@dataclass(frozen=True)
class Source:
    """A source file. Never raises; if it cannot be parsed completely, only its valid parts count."""

    path: str
    text: str

    @property
    def language(self) -> str:
        """Name of its grammar; empty if there is none."""
        grammar = _grammar_of(self.path)
        return grammar.query if grammar else ""

    @cached_property
    def tests(self) -> tuple[Test, ...]:
        """Tests that its runner would collect, regardless of the file's path."""
        nodes = [*self._captured("test"), *self._marked("test")]
        unique = {(node.start_byte, node.end_byte): node for node in nodes}
        suites, enclosing, found = self._captured("suite")[::-1], list["Node"](), list[Test]()
        for _, node in sorted(unique.items()):
            while suites and suites[-1].start_byte <= node.start_byte:
                enclosing.append(suites.pop())
            enclosing = [suite for suite in enclosing if node.end_byte <= suite.end_byte]
            start, end = extent = self._extent(node)
            names = (*(self._name_in(suite, "suite.name") for suite in enclosing), self._name_in(node, "test.name"))
            is_excluded = bool(self._spans["focus"].starts) and not self._spans["focus"].meet(extent)
            starts, place = self._spans["assertion"].starts, _place_of(node)
            assertions = bisect_left(starts, end) - bisect_left(starts, start)
            skipped, separator = self._spans["skip"].meet(extent) or is_excluded, " > " if self.language in _TITLED else "."
            found.append(Test(separator.join(names), place.line, place.last, skipped, assertions))
        return tuple(found)

    def places(self, *names: str) -> tuple[Place, ...]:
        """Return places by name: `assertion`, `literal`, and `idle` for assertions that always hold."""
        return tuple(sorted({_place_of(node) for name in names for node in self._captured(name)}))

    @cached_property
    def skips(self) -> tuple[Place, ...]:
        """Marks and calls that skip tests everywhere. Conditional skips do not count: they name platforms."""
        return self.places("skip", "focus")

    @cached_property
    def doubles(self) -> tuple[Place, ...]:
        """Replacements of code by doubles; the text is the replaced name."""
        return self.places("double.of" if self._captured("double.of") else "double")

    @cached_property
    def suppressions(self) -> tuple[Place, ...]:
        """Suppressions of checkers."""
        lines = (Place(number, number, line) for number, line in enumerate(self.text.split("\n"), 1))
        comments = (place for place in (self.places("comment") if self.language else lines) if _SUPPRESSION.search(place.text))
        return tuple(sorted((*comments, *self.places("suppression"))))

    def nodes(self, name: str) -> list["Node"]:
        """Return the nodes of a capture of the language's query, by place."""
        return self._captured(name)

    @cached_property
    def inline_tests(self) -> tuple[tuple[int, int], ...]:
        """Byte ranges of modules for tests only: `#[cfg(test)] mod tests` in Rust."""
        return tuple(sorted(map(self._extent, self._marked("inline"))))

    @cached_property
    def _spans(self) -> Mapping[str, "_Spans"]:
        return {name: _Spans.of(self._captured(name)) for name in ("skip", "focus", "assertion")}

    @cached_property
    def _before(self) -> Mapping[int, int]:
        """Start of each attribute, by the start of what follows it."""
        data = self.text.encode(errors="replace")
        ends = (
            (match.end(), node.start_byte) for node in self._captured("before") if (match := _BLANK.match(data, node.end_byte))
        )
        return dict(ends)

    def _starts(self, node: "Node") -> list[int]:
        """Return the start of a node and of each attribute before it."""
        starts = [node.start_byte]
        while (start := self._before.get(starts[-1])) is not None:
            starts.append(start)
        return starts

    def _marked(self, name: str) -> list["Node"]:
        """Return the nodes with a mark among the attributes before them."""
        marks = {node.start_byte for node in self._captured(f"{name}.mark")}
        return [node for node in self._captured(f"{name}.marked") if not marks.isdisjoint(self._starts(node))]

    def _extent(self, node: "Node") -> tuple[int, int]:
        """Return a node's byte range with its attributes, decorators, and the block after a macro: `TEST(A, b) { … }`."""
        parent = node.parent
        outer = parent if parent is not None and parent.type in _WRAPPER_NODES else node
        following = outer.next_named_sibling if self.language in _MACROS and outer.type == "expression_statement" else None
        has_block = following is not None and following.type == "compound_statement"
        return self._starts(outer)[-1], following.end_byte if following is not None and has_block else outer.end_byte

    def _name_in(self, node: "Node", capture: str) -> str:
        """Return the first name inside of a node, which is its own name."""
        names = self._captured(capture)
        at = bisect_left(names, node.start_byte, key=lambda name: name.start_byte)
        text = _place_of(names[at]).text if at < len(names) and names[at].end_byte <= node.end_byte else ""
        return text.strip("\"'`") if text[:1] in {'"', "'", "`"} else text.strip("()")

    def _captured(self, name: str) -> list["Node"]:
        return self._captures.get(name, [])

    @cached_property
    def _captures(self) -> Mapping[str, list["Node"]]:
        parsed = _parse(self.path, self.text)
        found = parsed[0].captures(parsed[1]) if parsed else {}
        return {name: sorted(nodes, key=lambda node: node.start_byte) for name, nodes in found.items()}


def query_matches(path: str, text: str, query: str) -> list[dict[str, list["Node"]]]:
    """Return the matches of another query of `queries/` in a text, each with its captures by name."""
    parsed = _parse(path, text, query)
    return [found for _, found in parsed[0].matches(parsed[1])] if parsed else []


def _grammar_of(path: str) -> Grammar | None:
    return GRAMMARS.get(path.rpartition(".")[2].lower()) if "." in path else None


def _parse(path: str, text: str, query: str = "") -> tuple["QueryCursor", "Node"] | None:
    """Return a cursor for a query, the language's own by default, and the syntax tree; None if the text cannot be read."""
    grammar = _grammar_of(path)
    if grammar is None or not 0 < len(text) <= LARGEST or max(map(len, text.split("\n"))) > LONGEST_LINE:
        return None
    from tree_sitter import QueryCursor

    parser, loaded = _load(grammar._replace(query=query) if query else grammar)
    return QueryCursor(loaded), parser.parse(text.encode(errors="replace")).root_node


@lru_cache(maxsize=32)
def _load(grammar: Grammar) -> tuple["Parser", "Query"]:
    from tree_sitter import Language, Parser, Query

    capsule: object = getattr(import_module(grammar.module), grammar.function)()
    language = Language(capsule)
    query = resources.files("helmsman.parsers").joinpath(f"queries/{grammar.query}.scm").read_text(encoding="utf-8")
    return Parser(language), Query(language, query)


def _place_of(node: "Node") -> Place:
    text = node.text.decode(errors="replace") if node.text else ""
    return Place(node.start_point.row + 1, node.end_point.row + 1, text)


def syntax_root(path: str, text: str) -> "Node | None":
    """Return the root of a text's syntax tree; None if the text cannot be read."""
    parsed = _parse(path, text)
    return parsed[1] if parsed else None


class _Spans(NamedTuple):
    """Start of each node, and the furthest end of any node up to it; nodes are disjoint or nested."""

    starts: list[int]
    furthest: list[int]

    @classmethod
    def of(cls, nodes: list["Node"]) -> "_Spans":
        return cls([node.start_byte for node in nodes], list(accumulate((node.end_byte for node in nodes), max)))

    def meet(self, extent: tuple[int, int]) -> bool:
        """Whether a node is inside of an extent, or the extent inside of a node."""
        at = bisect_right(self.starts, extent[0])
        inside = bisect_left(self.starts, extent[0])
        return (at > 0 and self.furthest[at - 1] >= extent[1]) or (inside < len(self.starts) and self.starts[inside] < extent[1])


# --- tests, test support and sources by path, as common runners collect them -----------------------------------------------

LANGUAGES = {suffix: language for language, suffixes in TABLE["suffixes"].items() for suffix in suffixes.split()}
_NAMES: dict[str, re.Pattern[str]] = {language: re.compile(pattern) for language, pattern in TABLE["tests"].items()}
_FOLDERS = {"javascript": "__tests__", "rust": "tests"}  # folders in which all files are tests
_JVM_SOURCE_SETS = frozenset({"test", "androidTest", "integrationTest"})
_SKIPPED_FOLDERS = frozenset({"build", "dist", "node_modules", "venv", "CVS", "_darcs"})
"""pytest's norecursedirs, and folders that JavaScript runners skip."""
_GO_SKIPPED_FOLDERS = frozenset({"testdata", "vendor"})  # folders that `./...` skips, besides names that begin with _ or a dot
_SUPPORT = frozenset(["test", "tests", "spec", "specs", "__tests__", "__mocks__", "__snapshots__", "testdata", "fixtures"])
_GENERATED_PATH = re.compile(
    r"(?:^|/)(?:__)?generated(?:__)?/|(?:^|/)[^/]{1,200}(?:\.generated\.[a-z]{1,5}"
    r"|_pb2(?:_grpc)?\.pyi?|\.pb\.(?:go|cc|h)|\.g\.(?:cs|dart|ts))$"
)
_GENERATED_HEAD = re.compile(
    r"^\s{0,9}(?://|#|/\*|\*|--|<!--).{0,120}"
    r"(?:@generated\b|(?i:\b(?:auto-?matically |auto-?)?generated (?:by|with|from|using|file|code)\b"
    r"|\bthis (?:file|code|module) (?:is|was|has been) (?:auto-?matically "
    r"|auto-?)?generated\b|\bcode generated\b.{0,80}\bdo not edit\b))",
    re.MULTILINE,
)
_HEAD = 1500  # characters to search for a generator's notice


def language_of(path: str) -> str:
    """Return a path's language, with TypeScript as `javascript` and Kotlin as `java`; empty if it is not code."""
    return LANGUAGES.get(path.rpartition(".")[2].lower(), "") if "." in path else ""


@lru_cache(maxsize=4096)
def is_test_file(path: str, text: str = "") -> bool:
    """Whether runners collect tests from a file, by its path; some files also need the text."""
    *folders, name = path.split("/")
    language = language_of(path)
    if language not in _NAMES or any(folder in _SKIPPED_FOLDERS or folder.startswith(".") for folder in folders):
        return False
    if language == "go" and any(part.startswith(("_", ".")) or part in _GO_SKIPPED_FOLDERS for part in (*folders, name)):
        return False
    source_set = language == "java" and any(outer == "src" and inner in _JVM_SOURCE_SETS for outer, inner in pairwise(folders))
    if _NAMES[language].fullmatch(name.rpartition(".")[0]) or _FOLDERS.get(language) in folders or source_set:
        return True
    needs_text = bool(text) and (language == "rust" or (language == "javascript" and "test" in folders))
    return needs_text and bool(Source(path, text).tests)


def needs_text(path: str) -> bool:
    """Whether only the text shows if it is a test file, as for Rust tests within sources, or files below `test` for mocha."""
    language, folders = language_of(path), path.split("/")[:-1]
    return not is_test_file(path) and (language == "rust" or (language == "javascript" and "test" in folders))


def is_only_tests(path: str, text: str) -> bool:
    """Whether a collected file contains nothing that other code uses."""
    if language_of(path) == "python":
        names = _TOP_LEVEL_NAME.findall(_FIXTURE.sub("", text))
        return any(map(_TEST_NAME.match, names)) and all(name.startswith("_") or _TEST_NAME.match(name) for name in names)
    return bool(Source(path, text).tests) and not _EXPORTS.search(text)


_FIXTURE = re.compile(r"(?m)^@(?:pytest\.)?fixture.*\n(?:@.*\n)*(?:async )?def .*")
_TOP_LEVEL_NAME = re.compile(r"(?m)^(?:(?:async )?def|class) (\w+)")
_TEST_NAME = re.compile(r"test|Test|.*(?:Test|Tests|TestCase)$")
_EXPORTS = re.compile(r"\bexport\b|\bmodule\.exports\b|\bexports\.|\bimport\.meta\.vitest\b")


def is_test_support(path: str) -> bool:
    """Whether a path is test support: fixtures, data, helpers."""
    *folders, name = path.split("/")
    return name == "conftest.py" or not _SUPPORT.isdisjoint(folders)


def is_source(path: str) -> bool:
    """Whether a path is source code, not tests or test support."""
    return bool(language_of(path)) and not is_test_file(path) and not is_test_support(path)


def is_generated(path: str, text: str) -> bool:
    """Whether a file is generated, by its folder, its name or a notice at its top."""
    return bool(_GENERATED_PATH.search(path) or _GENERATED_HEAD.search(text[:_HEAD]))
