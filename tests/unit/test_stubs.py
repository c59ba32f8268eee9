"""Functions that raise an error instead of doing their work."""

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
    stubbed = with_stubs(TEXT, range(8, 24))
    assert stubbed is not None
    statements = first_statements(stubbed)
    assert {name for name, first in statements.items() if first == "raise NotImplementedError"} == {"total", "load", "wrapped"}
    assert statements["kept"] == "return 1"


@pytest.mark.parametrize("lines", [[2], [26], []], ids=["a constant", "a function on one line", "nothing"])
def test_without_a_changed_function_nothing_is_replaced(lines: list[int]) -> None:
    assert with_stubs(TEXT, lines) is None
    assert with_stubs("def broken(:\n", [1]) is None
