"""How tests make the objects whose methods and attributes they use: in place, in a variable, in a set-up or in a fixture."""

import re
from typing import TYPE_CHECKING, NamedTuple

from helmsman.parsers.literals import BLOCKS, descendants, find_declared_value, parts_of, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_MAKERS = frozenset({"call", "call_expression", "new_expression"})
_FIXTURE = re.compile(r"@(?:pytest\.)?fixture\b")
_SET_UPS = frozenset({"setUp", "setup", "setup_method", "asyncSetUp"})
_BEFORE_OR_AFTER = re.compile(r"(?i)(?:async_?)?(?:set_?up|(?P<after>tear_?down))")
_KEEPS = re.compile(r"(?:self|cls)\.\w+(?:: [^=]+)? = |(?:await )?super\(\)|pass\b")
_ENDS = re.compile(r"(?:await )?(?:self|cls)\.")
_DOCSTRING = re.compile(r"[rR]?[\"']")


class Made(NamedTuple):
    """An object that a call makes."""

    receiver: str  # the expression that a test has for the object
    maker: str  # what is called: a class, or a function
    arguments: list["Node"]


def made_object(owner: "Node | None") -> Made | None:
    """Return how the object that this expression stands for is made: `C(1)`, or `x` after `x = C(1)`."""
    while owner is not None and owner.type == "parenthesized_expression":
        owner = owner.named_children[0]
    call = _find_maker(owner) if owner else None
    if owner is None or call is None or call.type not in _MAKERS:
        return None
    arguments = call.child_by_field_name("arguments")
    maker = call.child_by_field_name("function") or call.child_by_field_name("constructor")
    return Made(text_of(owner), text_of(maker), parts_of(arguments) if arguments else [])


def _find_maker(owner: "Node") -> "Node | None":
    if owner.type == "identifier":
        return find_declared_value(owner) or _returned_by_fixture(owner) or _assigned_before_each(owner)
    return _assigned_in_set_up(owner) if text_of(owner).startswith("self.") else owner


def _assigned_in_set_up(attribute: "Node") -> "Node | None":
    """Return what the set-up of the class around an attribute of `self` assigns to it."""
    around = _enclosing(attribute, "class_definition")
    methods = descendants(around, "function_definition") if around else ()
    set_ups = [method for method in methods if _field(method, "name") in _SET_UPS]
    assigned = [
        one for method in set_ups for one in descendants(method, "assignment") if _field(one, "left") == text_of(attribute)
    ]
    return assigned[0].child_by_field_name("right") if len(assigned) == 1 else None


def _returned_by_fixture(name: "Node") -> "Node | None":
    """Return what the fixture of this name in the same file returns or yields."""
    test, file = _enclosing(name, "function_definition"), _enclosing(name, "module")
    parameters = test.child_by_field_name("parameters") if test else None
    if file is None or parameters is None or text_of(name) not in map(text_of, parameters.named_children):
        return None
    fixtures = [
        body
        for decorated in file.named_children
        if decorated.type == "decorated_definition" and _FIXTURE.match(text_of(decorated))
        if (function := decorated.child_by_field_name("definition")) and _field(function, "name") == text_of(name)
        if (body := function.child_by_field_name("body")) and len(_statements(body)) == 1  # it does nothing else
    ]
    returned = [one for body in fixtures for one in descendants(body, "return_statement", "yield") if one.named_children]
    return returned[0].named_children[0] if len(returned) == 1 else None


def _assigned_before_each(name: "Node") -> "Node | None":
    """Return what a JavaScript block around the name assigns to it before each test: `beforeEach(() => { x = new C(1); })`."""
    around = name.parent
    while around is not None:
        for statement in around.named_children if around.type in BLOCKS else ():
            if statement.type == "expression_statement" and text_of(statement).startswith("beforeEach("):
                for assigned in descendants(statement, "assignment_expression"):
                    if _field(assigned, "left") == text_of(name):
                        return assigned.child_by_field_name("right")
        around = around.parent
    return None


def is_prepared(test: "Node") -> bool:
    """Whether the set-up or tear-down of a Python test does more than to make objects: it may reset state, or write files."""
    scopes = [_enclosing(test, "class_definition"), _enclosing(test, "module")]
    blocks = [scope.child_by_field_name("body") or scope for scope in scopes if scope]
    parts = [part.child_by_field_name("definition") or part for block in blocks for part in block.named_children]
    for function in (part for part in parts if part.type == "function_definition"):
        match, body = _BEFORE_OR_AFTER.match(_field(function, "name")), function.child_by_field_name("body")
        texts = [text_of(statement) for statement in _statements(body)] if match and body else []
        if match and not all(_KEEPS.match(text) or (match["after"] and _ENDS.match(text)) for text in texts):
            return True
    return False


def _statements(body: "Node") -> list["Node"]:
    return [one for one in parts_of(body) if not _DOCSTRING.match(text_of(one))]


def _enclosing(node: "Node", kind: str) -> "Node | None":
    around = node.parent
    while around is not None and around.type != kind:
        around = around.parent
    return around


def _field(node: "Node", name: str) -> str:
    return text_of(node.child_by_field_name(name))
