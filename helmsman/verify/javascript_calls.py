"""Test cases of the form call-equals-literal in JavaScript: which function is called with what, and what it has to give."""

import json
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import resources
from itertools import islice, takewhile
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING, Any, NamedTuple

from helmsman.parsers.javascript_values import BLOCKS, DECLARATIONS, Env, Word, rows_around, value_of
from helmsman.parsers.literals import NoLiteral, text_of, unknown
from helmsman.parsers.source import matches
from helmsman.verify.call_cases import ANY, MOST_CASES, Calls, Case, Function

if TYPE_CHECKING:
    from tree_sitter import Node

QUERY = "javascript_calls"
SUFFIXES = ("js", "mjs", "cjs")
"""Of files that node reads as they are."""
_ENDS = ("", *(f".{suffix}" for suffix in SUFFIXES), *(f"/index.{suffix}" for suffix in SUFFIXES))
_STATE = re.compile(
    r"\b(?:before|beforeEach|beforeAll|setup)\s*\(|\b(?:jest|vi|sinon|td|mock)\.(?!fn\b|config)|\bprocess\.env\b|\buseFakeTimers\b"
)
"""What prepares something for tests, or puts it in the place of other code: their calls may need it."""
_EQUAL = frozenset(
    ["equal", "equals", "strictEqual", "deepEqual", "deepStrictEqual", "is", "same", "toBe", "toEqual", "toStrictEqual"]
)
_MATCHERS: Mapping[str, Any] = {"toBeNull": None, "toBeUndefined": Word.UNDEFINED, "toBeNaN": Word.NAN}
_RUNNERS = frozenset(["test", "it", "describe", "suite", "context", "specify", "xit", "xtest", "xdescribe"])
_ASSERTING = frozenset(["assert", "expect", "equal", "strictEqual", "deepEqual", "deepStrictEqual", "t"])
_HARMLESS = frozenset(
    [
        "import_statement",
        "export_statement",
        "function_declaration",
        "class_declaration",
        "for_in_statement",
        "comment",
        "empty_statement",
    ]
)
_TURNED = frozenset(["not", "resolves", "rejects"])
_ROOT = re.compile(r"\w+")
Found = Sequence[Mapping[str, list["Node"]]]


class _Call(NamedTuple):
    """A call of a function of the repository."""

    start: int
    function: Function
    node: "Node"


def cases(tests: Mapping[str, str], sources: Mapping[str, str], paths: Collection[str]) -> list[Case]:
    """Those of functions that a changed source defines or is, in files of the repository."""
    names = {name for path, text in sources.items() for name in defined(path, text)}
    found = (case for path, text in tests.items() for case in cases_of(path, text, paths))
    return [case for case in found if case.function.name in names or case.function.module in sources]


def cases_of(path: str, text: str, paths: Collection[str]) -> list[Case]:
    """Those of a test file that need nothing but the call: nothing prepared, no double, no state made before.

    A call whose answer is compared with no literal is one as well: what it gives is known to the tests.
    """
    if _STATE.search(text):
        return []
    found = matches(path, text, QUERY)
    names = dict(_imports(found, path, paths))
    every = sorted((match["call"][0] for match in found if "call" in match), key=lambda node: node.start_byte)
    calls = [_Call(node.start_byte, function, node) for node in every if (function := _function(node, names))]
    return list(islice((case for call in calls for case in _cases(call, calls)), MOST_CASES))


def defined(path: str, text: str) -> frozenset[str]:
    """Names of functions in a source."""
    return frozenset(text_of(node) for match in matches(path, text, QUERY) for node in match.get("defined", ()))


def literals(path: str, text: str) -> list[Any]:
    """Numbers and short texts that a source holds."""
    found: list[Any] = []
    for match in matches(path, text, QUERY):
        found += [text_of(node) for node in match.get("text", ()) if len(text_of(node)) < 40]  # noqa: PLR2004 - keys, no texts
        with suppress(NoLiteral):
            found += [value_of(node, {}) for node in match.get("number", ())]
    return found


def is_source(path: str) -> bool:
    return path.endswith(tuple(f".{suffix}" for suffix in SUFFIXES)) and ".config." not in path


def written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_word)


def _word(value: object) -> str:
    return value.value if isinstance(value, Word) else "ANY"


def interpreter(commands: Sequence[str]) -> str:
    """The node that the checks use."""
    return next((found[0] for command in commands if (found := _NODE.search(command))), "node")


_NODE = re.compile(r"(?:[\w./-]*/)?node(?=\s)")


def script(batch: Sequence[Calls], _tests: Sequence[str], mark: str) -> str:
    """A program that makes the calls and prints what came of them, in a line that begins with the mark."""
    asked = [
        {
            "module": one.function.module,
            "name": one.function.name,
            "own": [[case.args, case.expected] for case in one.own],
            "near": [args for args, _ in one.near],
        }
        for one in batch
    ]
    text = json.dumps(asked, default=lambda word: {mark: _word(word)})
    program = resources.files("helmsman.verify").joinpath("javascript_calls.mjs").read_text(encoding="utf-8")
    return f"const mark = {json.dumps(mark)};\nconst asked = {json.dumps(text)};\n{program}"


# --- what is called, and what it has to give ------------------------------------------------------------------------


def _imports(found: Found, path: str, paths: Collection[str]) -> Iterator[tuple[str, Function]]:
    for match in found:
        if "module" in match and (module := _file(path, text_of(match["module"][0]), paths)):
            name = text_of(match["name"][0]) if "name" in match else ""
            yield text_of(match["local"][0]) if "local" in match else name, Function(module, name)


def _file(test: str, said: str, paths: Collection[str]) -> str:
    """The file that a relative import means; empty where there is none."""
    base = normpath(join(dirname(test), said)) if said.startswith(".") else ""
    return next((f"{base}{end}" for end in _ENDS if base and f"{base}{end}" in paths and is_source(f"{base}{end}")), "")


def _function(call: "Node", names: Mapping[str, Function]) -> Function | None:
    """What is called: a name, or one of a module."""
    path = text_of(call.child_by_field_name("function"))
    head, _, name = path.rpartition(".")
    module = names.get(head)
    return names.get(path) or (Function(module.module, name) if module and not module.name else None)


def _cases(call: _Call, calls: Sequence[_Call]) -> Iterator[Case]:
    arguments = call.node.child_by_field_name("arguments")
    if arguments is None or not _undisturbed(call, calls):
        return
    for env in rows_around(call.node):
        with suppress(NoLiteral):
            args = tuple(value_of(one, env) for one in arguments.named_children if one.type != "comment")
            yield Case(call.function, args, {}, _expected(call.node, env))


def _undisturbed(call: _Call, calls: Sequence[_Call]) -> bool:
    """Whether nothing before it, in the blocks around it, may have made a state that it needs."""
    at = call.node
    while (parent := at.parent) is not None:
        if parent.type in BLOCKS:
            before = (one for one in parent.named_children if one.start_byte < at.start_byte)
            if not all(_is_harmless(one, call.function, calls) for one in before):
                return False
        at = parent
    return True


def _is_harmless(statement: "Node", function: Function, calls: Sequence[_Call]) -> bool:
    if statement.type == "expression_statement":
        root = _ROOT.match(text_of(statement))
        if root is None or root[0] in _RUNNERS or root[0] not in _ASSERTING:
            return bool(root and root[0] in _RUNNERS) or text_of(statement)[:1] in "\"'"
    elif statement.type not in DECLARATIONS:
        return statement.type in _HARMLESS
    inside = takewhile(lambda one: one.start < statement.end_byte, calls[bisect_left(calls, statement.start_byte, key=_start) :])
    return all(one.function == function for one in inside)


def _start(call: _Call) -> int:
    return call.start


def _expected(call: "Node", env: Env) -> Any:
    """What it has to give, by the literal that it is compared with, itself or by a name."""
    for place in (call, *_uses(call)):
        with suppress(NoLiteral):
            return _compared(place, env)
    return ANY


def _uses(call: "Node") -> Iterator["Node"]:
    """Where the name is an argument that it is given to."""
    declarator = call.parent
    block = declarator.parent.parent if declarator and declarator.type == "variable_declarator" and declarator.parent else None
    name = declarator.child_by_field_name("name") if declarator and block else None
    pending = [one for one in block.named_children if one.start_byte > call.end_byte] if block and name else []
    for node in pending:
        if node.type == "identifier" and node.parent and node.parent.type == "arguments" and text_of(node) == text_of(name):
            yield node
        pending += node.named_children


def _compared(place: "Node", env: Env) -> Any:
    """The literal in `equal(PLACE, 1)`, `expect(PLACE).toBe(1)` and the like. Raises NoLiteral."""
    arguments = place.parent
    call = arguments.parent if arguments and arguments.type == "arguments" else None
    if arguments is None or call is None:
        raise NoLiteral
    path = text_of(call.child_by_field_name("function"))
    head, _, name = path.partition(".")
    sides = arguments.named_children[:2]
    if (name.rpartition(".")[2] in _EQUAL and head in _ASSERTING) or path in _EQUAL:
        return value_of(next((one for one in sides if one.id != place.id), place), env)
    return _matched(call, env) if path == "expect" else unknown(call)


def _matched(expect: "Node", env: Env) -> Any:
    """What is expected behind `expect(…)`."""
    words, at = list[str](), expect
    while at.parent is not None and at.parent.type == "member_expression":
        at = at.parent
        words.append(text_of(at.child_by_field_name("property")))
    outer = at.parent if words and not _TURNED & set(words) else None
    if outer is None or outer.type != "call_expression":
        return unknown(expect)
    if words[-1] in _MATCHERS:
        return _MATCHERS[words[-1]]
    given = outer.child_by_field_name("arguments")
    return value_of(given.named_children[0], env) if words[-1] in _EQUAL and given and given.named_children else unknown(expect)
