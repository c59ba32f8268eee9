"""Classes of Python whose objects are all equal although no method says so: nothing that they hold is compared."""

import ast
from collections.abc import Iterator

from helmsman.verify.invariants.answers.literals import literal
from helmsman.verify.invariants.equality.truths import truth
from helmsman.verify.invariants.reading.python_code import Function, dotted, last_name, parameters

_FIELDS = frozenset({"field", "ib", "attrib"})
_DATACLASSES = frozenset({"dataclass", "define", "frozen", "mutable", "s", "attrs", "attributes"})
_LEFT_OUT = frozenset({"compare", "eq", "cmp"})


def compares_nothing(owner: ast.ClassDef) -> bool:
    """Whether every field of a dataclass, of at least one, is left out of its equality."""
    if not any(last_name(decorator) in _DATACLASSES and not _is_by_identity(decorator) for decorator in owner.decorator_list):
        return False
    defined = any(isinstance(node, Function) and node.name == "__eq__" for node in owner.body)
    values = [node.value for node in owner.body if isinstance(node, ast.AnnAssign) and not _is_of_class(node.annotation)]
    return bool(values) and not owner.bases and not defined and all(_is_left_out(value) for value in values)


def _is_by_identity(decorator: ast.expr) -> bool:
    """`@dataclass(eq=False)`."""
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    return any(keyword.arg == "eq" and _is_false(keyword.value) for keyword in keywords)


def _is_of_class(annotation: ast.expr) -> bool:
    return last_name(annotation) in {"ClassVar", "KW_ONLY"}


def _is_left_out(value: ast.expr | None) -> bool:
    keywords = value.keywords if isinstance(value, ast.Call) and last_name(value.func) in _FIELDS else []
    return any(keyword.arg in _LEFT_OUT and _is_false(keyword.value) for keyword in keywords)


def _is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is False


def compares_constants(owner: ast.ClassDef) -> bool:
    """Whether an equality rests on what is the same for every object: `self.key() == other.key()` where `key` is a constant."""
    same = frozenset(_constants(owner))
    return any(
        isinstance(node, ast.FunctionDef) and node.name == "__eq__" and any(_is_decided(one, same) for one in _answers(node))
        for node in owner.body
    )


def compares_classes(owner: ast.ClassDef) -> bool:
    """Whether objects that hold something are equal as soon as they are of one class."""
    equalities = [node for node in owner.body if isinstance(node, ast.FunctionDef) and node.name == "__eq__"]
    return _has_state(owner) and any(_looks_at_classes(node) for node in equalities)


def _looks_at_classes(node: ast.FunctionDef) -> bool:
    """Whether nothing but the class decides, and not always against."""
    tests = [one.test for one in ast.walk(node) if isinstance(one, ast.If | ast.IfExp)]
    answers = [one for one in _answers(node) if last_name(one or node) != "NotImplemented" and truth(one) is not False]
    plain = all(isinstance(one, ast.If | ast.Return | ast.Expr) for one in node.body)
    decided = all(_is_of_class_only(one) or (truth(one) is True and bool(tests)) for one in answers)
    return plain and bool(answers) and decided and all(_is_of_class_only(_without_not(test)) for test in tests)


def _without_not(node: ast.expr) -> ast.expr:
    return node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else node


def _constants(owner: ast.ClassDef) -> Iterator[str]:
    """Names of methods, and of the function that they are for, that always give one literal."""
    for node in owner.body:
        if isinstance(node, ast.FunctionDef):
            results = {literal(one) for one in _answers(node)}
            if len(results) == 1 and None not in results:
                yield {"__hash__": "hash", "__repr__": "repr", "__str__": "str"}.get(node.name, node.name)


def _answers(node: ast.FunctionDef) -> Iterator[ast.expr | None]:
    return (one.value for one in ast.walk(node) if isinstance(one, ast.Return))


def _is_decided(answer: ast.expr | None, same: frozenset[str]) -> bool:
    parts = answer.values if isinstance(answer, ast.BoolOp) and isinstance(answer.op, ast.And) else [answer]
    compared = [one for one in parts if not _is_of_class_only(one)]
    return bool(compared) and all(
        isinstance(one, ast.Compare)
        and isinstance(one.ops[0], ast.Eq)
        and bool(name := _asked(one.left))
        and name == _asked(one.comparators[0])
        and name in same
        for one in compared
    )


def _asked(node: ast.expr) -> str:
    """`key` of `self.key()`, `self.key` and `key(self)`."""
    return last_name(node)


def _is_of_class_only(answer: ast.expr | None) -> bool:
    if isinstance(answer, ast.Call):
        wanted = answer.args[-1] if answer.args else None
        own = wanted is not None and (isinstance(wanted, ast.Name) or _class_of(wanted))
        return last_name(answer.func) == "isinstance" and own
    if not isinstance(answer, ast.Compare) or not isinstance(answer.ops[0], ast.Eq | ast.Is | ast.NotEq | ast.IsNot):
        return False
    return all(_class_of(side) for side in (answer.left, answer.comparators[0]))


def _class_of(node: ast.expr) -> bool:
    """`type(x)`, `x.__class__`."""
    if isinstance(node, ast.Call):
        return dotted(node.func) == "type" and len(node.args) == 1
    return isinstance(node, ast.Attribute) and node.attr == "__class__"


def _has_state(owner: ast.ClassDef) -> bool:
    """Fields of a dataclass, or parameters of `__init__`."""
    fields = any(isinstance(node, ast.AnnAssign) and not _is_of_class(node.annotation) for node in owner.body)
    return fields or any(isinstance(node, Function) and node.name == "__init__" and parameters(node) for node in owner.body)
