"""What fits on a few screens is read; what does not is scrolled past."""

import ast

from tests.contracts.source import PACKAGES, modules, named, tree

LONGEST_FILE = 400
LONGEST_FUNCTION = 50
ARGUED: dict[str, str] = {}
"""`folder/file.py` or `folder/file.py:function`, and why it may be longer."""


def long_functions(module: ast.Module) -> list[str]:
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [node.name for node in functions if (node.end_lineno or 0) - node.lineno + 1 > LONGEST_FUNCTION]


def test_files_and_functions_are_short() -> None:
    every = modules(*PACKAGES, "tests", "tools", "bench")
    files = [named(path) for path in every if len(path.read_text(encoding="utf-8").splitlines()) > LONGEST_FILE]
    functions = [f"{named(path)}:{name}" for path in every for name in long_functions(tree(path))]
    assert [name for name in files + functions if name not in ARGUED] == []


def test_a_long_function_is_found_wherever_it_hides() -> None:
    fits = "".join(f"        step({n})\n" for n in range(LONGEST_FUNCTION - 1))
    assert long_functions(ast.parse(f"class Room:\n    def fits(self):\n{fits}")) == []
    assert long_functions(ast.parse(f"class Room:\n    async def long(self):\n{fits}        step()\n")) == ["long"]
