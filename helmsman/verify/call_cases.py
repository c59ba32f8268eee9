"""Test cases of the form call-equals-literal: which function is called with what, and what it has to give.

A case needs nothing but the call: no state that was made before, nothing prepared, no double. `called_languages` has what differs
between languages.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from helmsman.parsers.literals import BLOCKS, DECLARATORS, Env, NoLiteral, below, rows_around, text_of, value_of
from helmsman.parsers.source import matches

if TYPE_CHECKING:
    from re import Pattern

    from tree_sitter import Node

MOST_CASES = 500  # of one file
LONGEST_LITERAL = 40  # characters of a literal that may be a key of a table, and is no text
ANY = object()  # expected of a call whose answer no test compares with a literal


class Function(NamedTuple):
    """One that tests call, by how they import it."""

    module: str  # by its name, or its path where the language imports files
    name: str  # empty where the module itself is called

    @property
    def title(self) -> str:
        return self.name or self.module


class Case(NamedTuple):
    """`f(1, key=2) == 3`."""

    function: Function
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    expected: Any


Values = tuple[tuple[Any, ...], dict[str, Any]]  # arguments by place and by name


class Calls(NamedTuple):
    """A function, the calls of its tests, and those beside them."""

    function: Function
    own: tuple[Case, ...]
    near: tuple[Values, ...]
    named: tuple[Case, ...] = ()
    """Those of its tests that the source answers word by word: it has the input and the answer as literals."""


Texts = Mapping[str, str]  # files by their paths
Found = Sequence[Mapping[str, "list[Node]"]]  # what the query of a language matches
Resolve = Callable[[str], Function | None]  # what a called name or path of names is; None for what is not to be called


class Language(NamedTuple):
    """How tests of a language are written, and how a program of it makes their calls again."""

    name: str
    query: str
    file: str  # of the program, in the root of the checkout or in a folder of its own
    tests: tuple[str, ...]  # suffixes of its test files
    is_source: Callable[[str], bool]
    resolve: Callable[[Found, str, Collection[str]], Resolve]
    """By what the query matches, the test's path, and the paths of all files."""
    cases: Callable[[Texts, Texts, Collection[str]], list[Case]]
    """Of functions that a changed source defines: of tests, changed sources, and the paths of all files."""
    interpreter: Callable[[Sequence[str]], str]  # as words of a shell, by the commands of the checks
    script: Callable[[Sequence[Calls], Sequence[str], str], str]
    """Of calls, paths of tests, and how the line begins that has the answers."""
    prepares: "Pattern[str]"  # what prepares something for all tests of a file: their calls may need it
    harmless: "Callable[[Node, Function], bool | None]" = lambda _statement, _function: True
    """Whether a statement before the call makes no state; None where that depends on which functions it calls."""
    possible: "Callable[[Node, Env], bool]" = lambda _call, _env: True  # whether a test runner calls it just so
    compared_only: bool = False  # whether a call is left out whose answer is compared with no literal
    written: Callable[[Any], str] = repr  # a literal as the language has it
    further: tuple[str, ...] = ()  # files that are read with the tests


_Call = tuple[Function, "Node"]  # a call of a function of the repository


def grouped(cases: Sequence[Case]) -> Mapping[Function, list[Case]]:
    """By function, each call once."""
    found = dict[Function, dict[str, Case]]()
    for case in cases:
        known, call = found.setdefault(case.function, {}), repr((case.args, case.kwargs))
        if call not in known or known[call].expected is ANY:
            known[call] = case
    return {function: list(known.values()) for function, known in found.items()}


def cases_of(language: Language, path: str, text: str, paths: Collection[str] = ()) -> list[Case]:
    """Those of a test file that need nothing but the call."""
    if language.prepares.search(text):
        return []
    found = matches(path, text, language.query)
    resolve = language.resolve(found, path, paths)
    nodes = sorted((match["call"][0] for match in found if "call" in match), key=lambda node: node.start_byte)
    calls = [(function, node) for node in nodes if (function := resolve(text_of(node.child_by_field_name("function"))))]
    compared = {_bare(match["compared"][0]): match["expected"][0] for match in found if "compared" in match}
    return list(islice((case for call in calls for case in _cases(language, call, calls, compared)), MOST_CASES))


def defined(language: Language, path: str, text: str) -> frozenset[str]:
    """Names of functions in a source."""
    return frozenset(text_of(node) for match in matches(path, text, language.query) for node in match.get("defined", ()))


def literals(language: Language, path: str, text: str) -> list[Any]:
    """Numbers and short texts that a source holds."""
    found: list[Any] = []
    for match in matches(path, text, language.query):
        for node in match.get("literal", ()):
            with suppress(NoLiteral):
                found += [value_of(node, {})] if node.parent and node.parent.type != "expression_statement" else []  # a docstring
    return [one for one in found if len(str(one)) < LONGEST_LITERAL]


def _cases(language: Language, call: _Call, calls: Sequence[_Call], compared: Mapping[tuple[int, int], "Node"]) -> Iterator[Case]:
    """`compared`: by the place of what is compared with something what that is."""
    function, node = call
    given = node.child_by_field_name("arguments")
    if given is None or not _undisturbed(language, call, calls):
        return
    arguments = [one for one in given.named_children if one.type != "comment"]
    for env in rows_around(node):
        with suppress(NoLiteral):
            args = tuple(value_of(one, env) for one in arguments if one.type != "keyword_argument")
            named = [(one.named_children[0], one.named_children[1]) for one in arguments if one.type == "keyword_argument"]
            kwargs = {text_of(name): value_of(value, env) for name, value in named}
            expected = ANY
            for place in (node, *(() if language.compared_only else _uses(node))):  # it, or the name that it is given to
                with suppress(NoLiteral, KeyError):
                    expected = value_of(compared[_bare(place)], env)
                    break
            if language.possible(node, env) and not (expected is ANY and language.compared_only):
                yield Case(function, args, kwargs, expected)


def _undisturbed(language: Language, call: _Call, calls: Sequence[_Call]) -> bool:
    """Whether nothing before it, in the blocks around it, may have made a state that it needs."""
    function, at = call
    while (parent := at.parent) is not None:
        for one in parent.named_children if parent.type in BLOCKS else ():
            if one.start_byte >= at.start_byte:
                break
            harmless = language.harmless(one, function)
            inside = calls[bisect_left(calls, one.start_byte, key=_start) :]
            others = takewhile(lambda call, end=one.end_byte: _start(call) < end, inside)
            if harmless is False or (harmless is None and any(other != function for other, _ in others)):
                return False
        at = parent
    return True


def _start(call: _Call) -> int:
    return call[1].start_byte


def _uses(call: "Node") -> Iterator["Node"]:
    """Where the one name stands that it is given to, in the same statement or further down."""
    made = call.parent
    while made is not None and made.type not in DECLARATORS and made.named_child_count == 1:
        made = made.parent
    name = made.child_by_field_name(DECLARATORS[made.type][0]) if made and made.type in DECLARATORS else None
    around = made.parent if made else None
    around = around.parent if around and around.type.endswith("declaration") else around
    for one in around.named_children if around and name else ():
        if one.start_byte >= call.end_byte:
            yield from (use for use in below(one, "identifier") if text_of(use) == text_of(name))


def _bare(node: "Node") -> tuple[int, int]:
    """Where it stands, without parentheses around it."""
    while node.type == "parenthesized_expression" and node.named_children:
        node = node.named_children[0]
    return node.start_byte, node.end_byte
