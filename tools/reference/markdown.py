"""Markdown from code: cells with any content, tables, docstrings as a sentence."""

import ast
import html
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


def cell(text: str) -> str:
    """Text for a table cell: one line, with no markup except code in backticks."""
    parts = " ".join(text.split()).split("`")
    plain = [html.escape(part, quote=False).replace("|", r"\|").replace("*", r"\*").replace("_", r"\_") for part in parts[::2]]
    formatted = [code(part) for part in parts[1::2]]
    return (
        "".join(a + b for a, b in zip(plain, [*formatted, ""], strict=False)) if len(parts) % 2 else html.escape(" ".join(parts))
    )


def code(text: str) -> str:
    """Code for a cell; empty for nothing."""
    return f"<code>{html.escape(text).replace('|', '&#124;')}</code>" if text else ""


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines)


def page(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def module_docstring(path: Path) -> str:
    """The docstring of a module."""
    return " ".join((ast.get_docstring(parse(path)) or "").split())
