"""Test cases of the form call-equals-literal in Go: which function is called with what, and what it has to give."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import resources
from itertools import islice
from posixpath import dirname
from typing import TYPE_CHECKING, Any, cast

from helmsman.parsers.literals import NoLiteral, text_of, unknown
from helmsman.parsers.source import matches
from helmsman.verify.call_cases import ANY, MOST_CASES, Calls, Case, Function

if TYPE_CHECKING:
    from tree_sitter import Node

QUERY = "go_calls"
_MODULE = re.compile(r"(?m)^module\s+(\S+)")
_STATE = re.compile(r"\bTestMain\b|\bt\.Setenv\b|\bt\.Chdir\b|\bfunc init\(")
"""What prepares something for tests: their calls may need it."""
_CALLED = re.compile(r"\b([A-Z]\w*)\(")
_HARMLESS = re.compile(r"(?:t|assert|require|is|cmp)\.")
_ASSERTING = re.compile(r"(?:assert|require)\.(?:Equal|Exactly|EqualValues)|reflect\.DeepEqual|cmp\.Equal")
_LARGEST = 2**62
Env = dict[str, Any]


def cases(tests: Mapping[str, str], sources: Mapping[str, str], paths: Collection[str]) -> list[Case]:
    """Those of functions that a changed source defines, in packages that a program may import."""
    module = _MODULE.search(tests.get("go.mod", ""))
    if module is None:
        return []
    names = {(dirname(path), name) for path, text in sources.items() for name in defined(path, text)}
    each = ((dirname(path), case) for path, text in tests.items() if path in paths for case in cases_of(path, text))
    known = [(folder, case) for folder, case in each if (folder, case.function.name) in names]
    return [case._replace(function=Function(f"{module[1]}/{folder}".rstrip("/"), case.function.name)) for folder, case in known]


def cases_of(path: str, text: str) -> list[Case]:
    """Those of a test file that need nothing but the call; functions are named without their package."""
    found = matches(path, text, QUERY) if path.endswith("_test.go") and not _STATE.search(text) else []
    package = next((text_of(match["package"][0]) for match in found if "package" in match), "").removesuffix("_test")
    calls = sorted((match["call"][0] for match in found if "call" in match), key=lambda node: node.start_byte)
    return list(islice((case for call in calls for case in _cases(call, package)), MOST_CASES))


def defined(path: str, text: str) -> frozenset[str]:
    """Names of functions that others may call; none of a program."""
    found = matches(path, text, QUERY)
    if any(text_of(node) == "main" for match in found for node in match.get("package", ())):
        return frozenset()
    names = (text_of(node) for match in found for node in match.get("defined", ()))
    return frozenset(name for name in names if name[:1].isupper())


def literals(path: str, text: str) -> list[Any]:
    """Numbers and short texts that a source holds."""
    found: list[Any] = []
    for match in matches(path, text, QUERY):
        for node in match.get("literal", ()):
            with suppress(NoLiteral):
                found.append(_value(node, {}))
    return [one for one in found if len(str(one)) < 40]  # noqa: PLR2004 - keys, no texts


def is_source(path: str) -> bool:
    return path.endswith(".go") and not path.endswith("_test.go")


def written(value: Any) -> str:
    return "nil" if value is None else json.dumps(value, ensure_ascii=False)


def interpreter(commands: Sequence[str]) -> str:
    """The go of the checks, which runs a file."""
    return next((f"{found[0]} run" for command in commands if (found := _GO.search(command))), "go run")


_GO = re.compile(r"(?:[\w./-]*/)?\bgo(?=\s)")


def script(batch: Sequence[Calls], _tests: Sequence[str], mark: str) -> str:
    """A program that makes the calls and prints what came of them, in a line that begins with the mark."""
    packages = list(dict.fromkeys(calls.function.module for calls in batch))
    imports = "\n".join(f"\tp{at} {json.dumps(module)}" for at, module in enumerate(packages))
    asked = "\n".join(_asked(calls, packages.index(calls.function.module)) for calls in batch)
    program = resources.files("helmsman.verify").joinpath("go_calls.go.txt").read_text(encoding="utf-8")
    return program.replace("// IMPORTS", imports).replace("// ASKED", asked).replace('"MARK"', json.dumps(mark))


def _asked(calls: Calls, package: int) -> str:
    own = "".join(_own(case, _call(calls, case.args, package)) for case in calls.own)
    near = "".join(f"\t\t\tfunc() any {{ return {_call(calls, args, package)} }},\n" for args, _ in calls.near)
    return f"\t\t{{[]own{{\n{own}\t\t}}, []func() any{{\n{near}\t\t}}}},"


def _own(case: Case, call: str) -> str:
    right = "nil" if case.expected is ANY else f"func() bool {{ return {call} == {written(case.expected)} }}"
    return f"\t\t\t{{func() any {{ return {call} }}, {right}}},\n"


def _call(calls: Calls, args: Sequence[Any], package: int) -> str:
    return f"p{package}.{calls.function.name}({', '.join(map(written, args))})"


# --- what is called, and what it has to give ------------------------------------------------------------------------


def _cases(call: "Node", package: str) -> Iterator[Case]:
    head, _, name = text_of(call.child_by_field_name("function")).rpartition(".")
    arguments = call.child_by_field_name("arguments")
    if arguments is None or head not in {"", package} or not name[:1].isupper() or not _undisturbed(call, name):
        return
    for env in _rows(call):
        with suppress(NoLiteral):
            args = tuple(_value(one, env) for one in arguments.named_children)
            yield Case(Function("", name), args, {}, _expected(call, env))


def _undisturbed(call: "Node", name: str) -> bool:
    """Whether nothing before it, in the blocks around it, may have made a state that it needs."""
    at = call
    while (parent := at.parent) is not None and parent.type != "source_file":
        for one in parent.named_children if parent.type == "statement_list" else ():
            other = one.type == "expression_statement" and not _HARMLESS.match(text_of(one))
            calls = set(_CALLED.findall(text_of(one))) if one.type.endswith("declaration") else set[str]()
            if one.start_byte < at.start_byte and (other or calls - {name}):
                return False
        at = parent
    return True


def _expected(call: "Node", env: Env) -> Any:
    """The literal that it, or the name that it is given to, is compared with; ANY where there is none."""
    for place in (call, *_uses(call)):
        with suppress(NoLiteral):
            return _compared(place, env)
    return ANY


def _compared(place: "Node", env: Env) -> Any:
    around = place.parent
    if (
        around is not None
        and around.type == "binary_expression"
        and text_of(around.child_by_field_name("operator")) in {"!=", "=="}
    ):
        return _value(_other(around.named_children, place), env)
    call = around.parent if around is not None and around.type == "argument_list" else None
    if around is not None and call is not None and _ASSERTING.fullmatch(text_of(call.child_by_field_name("function"))):
        sides = [one for one in around.named_children if text_of(one) != "t"]
        return _value(_other(sides[:2], place), env)
    return unknown(place)


def _other(sides: Sequence["Node"], place: "Node") -> "Node":
    return next((one for one in sides if one.id != place.id), place)


def _uses(call: "Node") -> Iterator["Node"]:
    """Where the one name stands that it is given to, in the same `if` or further down."""
    declaration = call.parent.parent if call.parent and call.parent.type == "expression_list" else None
    left = declaration.child_by_field_name("left") if declaration and declaration.type == "short_var_declaration" else None
    if declaration is None or left is None or left.named_child_count != 1 or declaration.parent is None:
        return
    pending = [one for one in declaration.parent.named_children if one.start_byte > declaration.start_byte]
    for node in pending:
        if node.type == "identifier" and text_of(node) == text_of(left):
            yield node
        pending += node.named_children


# --- tables of cases, and literals ----------------------------------------------------------------------------------


def _rows(call: "Node") -> list[Env]:
    """What names are in each turn of the loops around it; none where that is not known."""
    around, at = list["Node"](), call.parent
    while at is not None:
        around += [at] if at.type == "for_statement" else []
        at = at.parent
    found = [Env()]
    for loop in reversed(around):
        found = [{**env, **row} for env in found for row in _turns(loop, env)][:MOST_CASES]
    return found


def _turns(loop: "Node", env: Env) -> Iterator[Env]:
    clause = next((one for one in loop.named_children if one.type == "range_clause"), None)
    left, right = (clause.child_by_field_name(side) for side in ("left", "right")) if clause else (None, None)
    if left is None or right is None:
        return
    names = [text_of(one) for one in left.named_children]
    with suppress(NoLiteral):
        for pair in _table(right, env):
            yield dict(zip(names, pair, strict=False))


def _table(node: "Node", env: Env) -> list[tuple[Any, Any]]:
    """Keys and rows of a slice of structs, or of a map."""
    literal = _declared(node) if node.type == "identifier" else node
    kind = literal.child_by_field_name("type") if literal and literal.type == "composite_literal" else None
    body = literal.child_by_field_name("body") if literal else None
    if kind is None or body is None:
        return unknown(node)
    if kind.type == "map_type":
        return [(_value(key, env), _value(value, env)) for key, value in (one.named_children for one in body.named_children)]
    fields = [text_of(one.child_by_field_name("name")) for one in _below(kind, "field_declaration")]
    rows = [_row(one, fields, env) if fields else _value(one, env) for one in body.named_children if one.type != "comment"]
    return list(enumerate(rows))


def _row(element: "Node", fields: Sequence[str], env: Env) -> Any:
    """Values by field, as far as they are literals."""
    body = element.named_children[0] if element.type == "literal_element" else element
    given = [one for one in body.named_children if one.type != "comment"]
    keyed = [(text_of(one.named_children[0]), one.named_children[1]) for one in given if one.type == "keyed_element"]
    found = Env()
    for name, value in keyed or list(zip(fields, given, strict=False)):
        with suppress(NoLiteral):
            found[name] = _value(value, env)
    return found


def _below(node: "Node", kind: str) -> Iterator["Node"]:
    pending = [node]
    for one in pending:
        if one.type == kind:
            yield one
        pending += one.named_children


def _declared(name: "Node") -> "Node | None":
    """What a name is given, in the nearest list of statements around it."""
    at = name
    while (parent := at.parent) is not None:
        before = (one for one in parent.named_children if one.type == "short_var_declaration" and one.start_byte < at.start_byte)
        found = [one for one in before if text_of(one.child_by_field_name("left")) == text_of(name)]
        right = found[-1].child_by_field_name("right") if found else None
        if right is not None and right.named_child_count == 1:
            return right.named_children[0]
        at = parent
    return None


def _value(node: "Node", env: Env, depth: int = 0) -> Any:
    """A literal as JSON has it. Raises NoLiteral."""
    text = text_of(node)
    if depth > 10:  # noqa: PLR2004 - names that stand for names
        return unknown(node)
    if node.type in {"literal_element", "parenthesized_expression"} and node.named_children:
        return _value(node.named_children[0], env, depth + 1)
    if node.type in {"selector_expression", "identifier"}:
        return _named(node, env, depth)
    if node.type == "raw_string_literal":
        return text.strip("`")
    if node.type in _WORDS:
        return _WORDS[node.type]
    return _read(node, text.replace("_", "") if node.type.startswith(("int", "unary")) else text)


_WORDS = {"true": True, "false": False, "nil": None}


def _named(node: "Node", env: Env, depth: int) -> Any:
    head, _, field = text_of(node).partition(".")
    row = env.get(head)
    if field:
        fields = cast("Env", row) if isinstance(row, dict) else {}
        return fields[field] if field in fields else unknown(node)
    if head in env:
        return row
    declared = _declared(node)
    return _value(declared, env, depth + 1) if declared else unknown(node)


def _read(node: "Node", text: str) -> Any:
    """A number or a text that Go and JSON write alike."""
    if node.type not in {"int_literal", "float_literal", "interpreted_string_literal", "unary_expression"}:
        return unknown(node)
    try:
        value = json.loads(text)
    except ValueError:
        return unknown(node)
    return value if isinstance(value, str) or abs(value) < _LARGEST else unknown(node)
