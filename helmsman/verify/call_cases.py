"""Test cases of the form call-equals-literal: the called function, its arguments and the expected value.

A case needs only the call, or a new object and one call of its method: no earlier state, no other fixture, no double.
`called_languages` has the differences between languages.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from helmsman.parsers.case_rows import rows_around
from helmsman.parsers.literals import (
    BLOCKS,
    DECLARATORS,
    Env,
    NoLiteral,
    assigned_pairs,
    descendants,
    parts_of,
    text_of,
    value_of,
)
from helmsman.parsers.made_objects import made_object
from helmsman.parsers.source import query_matches

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_CASES = 500  # per file
LONGEST_LITERAL = 40  # maximum characters of a literal that may be a table key rather than prose
_TABLES = frozenset({"dictionary", "list", "tuple", "set", "object", "array", "literal_value"})
_ASSIGNMENTS = (
    "assignment", "augmented_assignment", "assignment_statement", "assignment_expression", "augmented_assignment_expression",
    "short_var_declaration",
)  # fmt: skip
_LOOPS = ("for_", "while_")
_WRAPPERS = {1, "expression_list"}  # number of children, or type, of nodes between a call and its declaration
_WITHIN_TABLES = _TABLES | {"pair", "string", "keyed_element", "literal_element", "unary_operator", "parenthesized_expression"}
_CONVERSIONS = {"str": "__str__", "repr": "__repr__", "len": "__len__", "String": "toString"}  # the methods that they call
ANY = object()  # expected value of a call whose result no test compares with a literal


class Function(NamedTuple):
    """A function that tests call, as they import it, or a method or attribute of an object that it makes."""

    module: str  # its name, or its path if the language imports files
    name: str  # empty if the module itself is called, `C.m` for a method of a class
    method: str = ""
    body: str = ""  # source of the function that tests of this file were made into: see `extract_bodies`

    @property
    def title(self) -> str:
        name = f"what {self.module} runs" if self.body else self.name or self.module
        return f"{name}.{self.method}" if self.method else name


class MadeWith(NamedTuple):
    """Which arguments of a method's call make its object."""

    first: int = 0  # number of the first ones
    names: tuple[str, ...] = ()  # names of further ones


class Values(NamedTuple):
    """Positional and keyword arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    made: MadeWith = MadeWith()


class Case(NamedTuple):
    """`f(1, key=2) == 3`."""

    function: Function
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    expected: Any
    made: MadeWith = MadeWith()

    @property
    def values(self) -> Values:
        return Values(self.args, self.kwargs, self.made)


class Truth(Enum):
    """Expected value of a call whose result a test only asserts to be true or false."""

    TRUE = True
    FALSE = False


class Literal(NamedTuple):
    """A number or short text in a source."""

    value: Any
    line: int
    table: int | None = None  # position of the outermost collection around it


class Calls(NamedTuple):
    """A function, the calls of its tests, and neighbouring calls."""

    function: Function
    own: tuple[Case, ...]
    near: tuple[Values, ...]
    named: tuple[Case, ...] = ()  # test cases whose input and answer are both literals in the source
    names_answers: bool = False  # whether the source names the answers of nearly all test cases, and few other values
    unnamed: tuple[Case, ...] = ()  # test cases with a value in their input that is no literal in the source


Texts = Mapping[str, str]  # texts of files by path
Found = Sequence[Mapping[str, "list[Node]"]]  # matches of a language's query
Resolve = Callable[[str], Function | None]  # finds the function for a dotted name; None if it is not to be called


class Program(NamedTuple):
    """A program that makes calls."""

    target: str  # what the interpreter gets: a path within the checkout
    files: Texts


class Language(NamedTuple):
    """How to find test cases in a language, and how to repeat their calls in a program."""

    name: str
    query: str
    tests: tuple[str, ...]  # suffixes of its test files
    is_source: Callable[[str], bool]
    resolve: Callable[[Found, str, Collection[str]], Resolve]
    """Takes the query's matches, the test's path, and the paths of all files."""
    cases: Callable[[Texts, Texts, Collection[str]], list[Case]]
    """Returns cases of functions that changed sources define, given tests, changed sources, and the paths of all files."""
    interpreter: Callable[[Sequence[str]], str]  # returns shell words, given the commands of the checks
    program: Callable[[Sequence[Calls], Texts, str], Program]
    """Takes calls, tests, and the prefix of the line with the answers."""
    prepares: re.Pattern[str]  # setup for all tests of a file, which their calls may need
    harmless: "Callable[[Node, Function], bool | None]" = lambda _statement, _function: True
    """Whether a statement before the call creates no state; None if that depends on the functions that it calls."""
    possible: "Callable[[Node, Env], bool]" = lambda _call, _env: True  # whether a test runner makes exactly this call
    compared_only: bool = False  # whether to skip calls whose result is not compared with a literal
    consumers: frozenset[str] = frozenset()  # what a test sees the result of a generator or a coroutine through
    written: Callable[[Any], str] = repr  # formats a value as a literal
    further: tuple[str, ...] = ()  # names of files to read along with the tests


_TRUTHS = {"true": Truth.TRUE, "false": Truth.FALSE}  # by the capture of the asserted expression


class _Call(NamedTuple):
    """A call of one of the repository's functions."""

    function: Function
    node: "Node"
    arguments: "list[Node]"
    receiver: str = ""  # the expression for the object whose method is called
    made: MadeWith = MadeWith()


def group_by_function(cases: Sequence[Case]) -> Mapping[Function, list[Case]]:
    """Group cases by function, without duplicate calls."""
    by_call = dict[Function, dict[str, Case]]()
    for case in cases:
        calls_so_far, key = by_call.setdefault(case.function, {}), repr(case.values)
        if key not in calls_so_far or calls_so_far[key].expected is ANY:
            calls_so_far[key] = case
    return {function: list(calls_so_far.values()) for function, calls_so_far in by_call.items()}


def extract_cases(language: Language, path: str, text: str, paths: Collection[str] = ()) -> list[Case]:
    """Return the cases of a test file that need only the call."""
    if language.prepares.search(text):
        return []
    matched = query_matches(path, text, language.query)
    resolve = language.resolve(matched, path, paths)
    nodes = sorted((match["call"][0] for match in matched if "call" in match), key=lambda node: node.start_byte)
    calls = [call for node in nodes if (call := _read_call(resolve, node))]
    compared: dict[tuple[int, int], Node | Truth] = {
        _unparenthesized(match[name][0]): truth for name, truth in _TRUTHS.items() for match in matched if name in match
    }
    compared |= {_unparenthesized(match["compared"][0]): match["expected"][0] for match in matched if "compared" in match}
    return list(islice((case for call in calls for case in _cases_of_call(language, call, calls, compared)), MOST_CASES))


def _read_call(resolve: Resolve, node: "Node") -> _Call | None:
    """Return the call of a function or method, or the read of an attribute; None if it is not to be made."""
    called, given = node.child_by_field_name("function") or node, node.child_by_field_name("arguments")
    arguments = parts_of(given) if given else []
    owner = called.child_by_field_name("object") or called.child_by_field_name("operand")
    method = text_of(called.named_children[-1]) if called.named_children else ""
    if text_of(called) in _CONVERSIONS and len(arguments) == 1:
        (owner, *arguments), method = arguments, _CONVERSIONS[text_of(called)]
    if (made := made_object(owner)) and (maker := resolve(made.maker)):
        named = [one for one in made.arguments if one.type == "keyword_argument"]
        which = MadeWith(len(made.arguments) - len(named), tuple(text_of(one.named_children[0]) for one in named))
        return _Call(maker._replace(method=method), node, [*made.arguments, *arguments], made.receiver, which)
    function = resolve(text_of(called)) if given else None
    return _Call(function, node, arguments) if function else None


def defined_functions(language: Language, path: str, text: str) -> frozenset[str]:
    """Return the names of functions that a source defines."""
    return frozenset(text_of(node) for match in query_matches(path, text, language.query) for node in match.get("defined", ()))


def literals(language: Language, path: str, text: str) -> list[Any]:
    """Return numbers and short strings in a source."""
    return [literal.value for literal in literals_by_line(language, path, text)]


def literals_by_line(language: Language, path: str, text: str) -> list[Literal]:
    """Return numbers and short strings in a source, with their places."""
    found: list[Literal] = []
    for match in query_matches(path, text, language.query):
        for node in match.get("literal", ()):
            with suppress(NoLiteral):
                if node.parent and not is_docstring(node):
                    found.append(Literal(value_of(node, {}), node.start_point[0] + 1, _table_around(node)))
    return [literal for literal in found if len(str(literal.value)) < LONGEST_LITERAL]


def _table_around(node: "Node") -> int | None:
    """Return the position of the outermost of the collections directly around a literal."""
    position, parent = None, node.parent
    while parent is not None and parent.type in _WITHIN_TABLES:
        position = parent.start_byte if parent.type in _TABLES else position
        parent = parent.parent
    return position


def _cases_of_call(
    language: Language, call: _Call, calls: Sequence[_Call], compared: Mapping[tuple[int, int], "Node | Truth"]
) -> Iterator[Case]:
    """Yield the cases of one call. `compared`: expected value by the position of the compared expression."""
    function, node, arguments, receiver, made = call
    if not _is_independent(language, call, calls):
        return
    compared_only = language.compared_only or bool(function.method)
    for env in rows_around(node):
        with suppress(NoLiteral):
            args = tuple(value_of(argument, env) for argument in arguments if argument.type != "keyword_argument")
            keywords = [argument.named_children[:2] for argument in arguments if argument.type == "keyword_argument"]
            kwargs = {text_of(name): value_of(value, env) for name, value in keywords}
            expected = ANY
            # the call, or the name that it is assigned to
            for candidate in (node, *_consumers_of(language, node), *_uses_of_result(node)):
                with suppress(NoLiteral, KeyError):
                    asserted = compared[_unparenthesized(candidate)]
                    expected = asserted if isinstance(asserted, Truth) else value_of(asserted, env)
                    break
            if language.possible(node, {**env, receiver: None}) and not (expected is ANY and compared_only):
                yield Case(function, args, kwargs, expected, made)


def _is_independent(language: Language, call: _Call, calls: Sequence[_Call]) -> bool:
    """Whether no earlier statement in the blocks around a call may have created state that it needs."""
    function, at = call.function, call.node
    while (parent := at.parent) is not None:
        for statement in parent.named_children if parent.type in BLOCKS else ():
            if statement.start_byte >= at.start_byte:
                break
            if call.receiver and text_of(statement).startswith(f"{call.receiver}."):
                return False
            harmless = language.harmless(statement, function)
            later = calls[bisect_left(calls, statement.start_byte, key=_start) :]
            others = [*takewhile(lambda call, end=statement.end_byte: _start(call) < end, later)]
            if any(one.function.module == function.module and _is_for_effect(one, statement) for one in others):
                return False
            if harmless is False or (harmless is None and any(other.function[:2] != function[:2] for other in others)):
                return False
        at = parent
    return True


def _is_for_effect(call: _Call, statement: "Node") -> bool:
    """Whether nothing uses a call's result, and it is this statement, or one in this loop."""
    alone = call.node.parent
    block = alone.parent if alone and alone.type == "expression_statement" else None
    return block is not None and (alone == statement or (block.parent == statement and statement.type.startswith(_LOOPS)))


def _start(call: _Call) -> int:
    return call.node.start_byte


def _consumers_of(language: Language, call: "Node") -> Iterator["Node"]:
    """Yield what directly around a call consumes its result: `list(f(1))`, `await f(1)`."""
    outer = call.parent
    if outer is not None and outer.type == "argument_list" and outer.named_child_count == 1:
        outer = outer.parent
    if outer is not None and (outer.type in language.consumers or text_of(outer.named_children[0]) in language.consumers):
        yield outer


def _uses_of_result(call: "Node") -> Iterator["Node"]:
    """Yield the uses of the name that a call is assigned to, further down in the same block."""
    declaration = call.parent
    while declaration and declaration.type not in DECLARATORS and {declaration.named_child_count, declaration.type} & _WRAPPERS:
        declaration = declaration.parent
    pairs = assigned_pairs(declaration) if declaration and declaration.type in DECLARATORS else ()
    name = next((text_of(name) for name, value in pairs if value.start_byte <= call.start_byte < value.end_byte), "")
    block = declaration.parent if declaration else None
    block = block.parent if block and block.type.endswith(("declaration", "expression_statement")) else block
    later = [statement for statement in (block.named_children if block and name else ()) if statement.start_byte >= call.end_byte]
    for statement in takewhile(lambda statement: not _assigns(statement, name), later):
        yield from (use for use in descendants(statement, "identifier") if text_of(use) == name)


def _assigns(statement: "Node", name: str) -> bool:
    targets = (node.child_by_field_name("left") for node in descendants(statement, *_ASSIGNMENTS))
    return any(text_of(target) == name for left in targets if left for target in descendants(left, "identifier"))


def _unparenthesized(node: "Node") -> tuple[int, int]:
    """Return a node's position without enclosing parentheses."""
    while node.type == "parenthesized_expression" and node.named_children:
        node = node.named_children[0]
    return node.start_byte, node.end_byte


def is_docstring(text: "Node") -> bool:
    return text.parent is not None and text.parent.type == "expression_statement"
