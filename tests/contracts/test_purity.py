"""The core beyond its imports: no clock, no disk, no screen, not even through a name that needs no import of its own."""

import ast
from collections.abc import Iterator

import pytest

from tests.contracts.source import modules, named, tree

ACTS = {"open", "print", "input", "exec", "eval", "compile", "breakpoint", "__import__"}
"""Built-in functions that reach out, or run what nobody has read."""
CLOCKS = {"now", "utcnow", "today"}
DATES = {"datetime", "date"}


def impurities(module: ast.Module) -> list[str]:
    return [found for node in ast.walk(module) for found in _impurities_of(node)]


def _impurities_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in ACTS:
        yield f"line {node.lineno}: {node.id}"
    if isinstance(node, ast.Attribute) and node.attr in CLOCKS and _last_name(node.value) in DATES:
        yield f"line {node.lineno}: {ast.unparse(node)}, where a clock is read; take `now` as an argument"


def _last_name(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]


def test_the_core_reads_no_clock_and_touches_no_disk_or_screen() -> None:
    assert [f"{named(path)}, {found}" for path in modules("helmsman") for found in impurities(tree(path))] == []


@pytest.mark.parametrize(
    "line",
    [
        "now = datetime.now(UTC)",
        "now = datetime.datetime.utcnow()",
        "day = date.today()",
        "at: datetime = Field(default_factory=datetime.now)",
        "text = open('notes').read()",
        "print('here')",
        "show = print",
        "shell = __import__('os')",
    ],
)
def test_an_impure_line_is_found(line: str) -> None:
    assert impurities(ast.parse(line))


@pytest.mark.parametrize("line", ["late = now > state.now", "situation.now.isoformat()", "when = datetime(2026, 1, 1)"])
def test_a_moment_that_was_handed_in_is_pure(line: str) -> None:
    assert impurities(ast.parse(line)) == []
