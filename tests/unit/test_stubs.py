"""Stubs in place of functions."""

import ast

import pytest

from helmsman.verify.stubs import with_stubs

pytestmark = pytest.mark.feature("V16")

TEXT = '''"""A module."""
LIMIT = 3


def kept():
    return 1


class Cart:
    @property
    def total(self):
        """The sum."""
        return sum(self.lines)

    async def load(self):
        """Only a docstring."""


def wrapped():
    @cache
    def inner():
        return 2

    return inner


def short(): return 4
'''


def first_statements(text: str) -> dict[str, str]:
    """The first statement of each function, after its docstring."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {node.name: ast.unparse(node.body[-1 if len(node.body) == 1 else bool(ast.get_docstring(node))]) for node in functions}


def test_changed_functions_raise_an_error_and_others_stay() -> None:
    stubbed = with_stubs(TEXT, range(8, 24), TEXT)
    assert stubbed is not None
    statements = first_statements(stubbed)
    assert {name for name, first in statements.items() if first == "raise NotImplementedError"} == {"total", "load", "wrapped"}
    assert statements["kept"] == "return 1"


def test_new_functions_return_an_ellipsis_and_a_new_class_has_an_empty_init() -> None:
    new = "\n\ndef total():\n    return 2\n\n\nclass Box:\n    def __init__(self):\n        self.size = 1\n"
    stubbed = with_stubs(TEXT + new, range(1, 100), TEXT)
    assert stubbed is not None
    assert first_statements(stubbed)["__init__"] == "return"
    assert "def total():\n    return ...\n" in stubbed
    assert stubbed.count("raise NotImplementedError") == 5  # also of the method with the same name


def test_a_function_on_one_line_gets_its_stub_there() -> None:
    new = "def é(a,\n    b): return a + b\ndef box(): ...\n"
    stubbed = with_stubs(TEXT + new, range(28, 40), f"{TEXT}def box(): pass\n") or ""
    assert "    b): return ...; return a + b\ndef box(): raise NotImplementedError; ...\n" in stubbed
    assert first_statements(stubbed)["short"] == "return 4"


@pytest.mark.parametrize("lines", [[2], []], ids=["a constant", "nothing"])
def test_without_a_changed_function_nothing_is_replaced(lines: list[int]) -> None:
    assert with_stubs(TEXT, lines) is None
    assert with_stubs("def broken(:\n", [1]) is None
