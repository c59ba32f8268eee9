"""Literals in one spelling, whatever the language: of Python as a tree, of others as text."""

import ast
import re

from helmsman.verify.invariants.reading.python_code import parse

_DEEPEST = 6
_LONGEST_NUMBER = 10_000
"""Bits; some 3,000 decimal digits."""


def literal(node: ast.expr | None, depth: int = 0) -> str | None:
    """A literal in one spelling, or None where it is none. `-1` and `[1, "a"]` are, `x` and `1 + 1` are not."""
    if isinstance(node, ast.Constant):
        return None if node.value is ... else _written(node.value)[:2000]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = literal(node.operand, depth + 1) if depth < _DEEPEST else None
        return None if inner is None else f"-{inner}"
    if isinstance(node, ast.Tuple | ast.List | ast.Set) and depth < _DEEPEST:
        items = [literal(item, depth + 1) for item in node.elts[:200]]
        return None if None in items else f"{type(node).__name__[0]}({', '.join(map(str, items))})"
    if isinstance(node, ast.Dict) and depth < _DEEPEST:
        parts = [literal(part, depth + 1) for pair in zip(node.keys, node.values, strict=True) for part in pair]
        pairs = zip(parts[::2], parts[1::2], strict=True)
        return None if None in parts else f"D({', '.join(f'{key}: {value}' for key, value in pairs)})"
    return None


def _written(value: object) -> str:
    """Python writes no number of more than 4,300 decimal digits; source may hold one in others."""
    return hex(value) if isinstance(value, int) and value.bit_length() > _LONGEST_NUMBER else repr(value)


def parsed(text: str) -> ast.expr | None:
    """A literal as Python reads it, or None where it reads none."""
    tree = parse(text)
    first = tree.body[0] if tree is not None and len(tree.body) == 1 else None
    return first.value if isinstance(first, ast.Expr) else None


LITERAL = (
    r"(?:-?0[xX][0-9a-fA-F_]{1,40}|-?[0-9][0-9_]{0,40}(?:\.[0-9]{1,40})?"
    r"|\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|\b(?:true|false|null|nil|None)\b)"
)
RESULT = rf"(?:{LITERAL}|\(\s?{LITERAL}(?:\s?,\s?{LITERAL}){{1,5}}\s?\)|\[\s?{LITERAL}(?:\s?,\s?{LITERAL}){{0,9}}\s?\])"
"""What may come out: a literal, or a tuple or a list of some."""
_VALUES = re.compile(LITERAL)
_HEX = re.compile(r"-?0[xX][0-9a-fA-F]{1,40}")


def spelt(text: str) -> str:
    """A literal of another language, or a tuple or a list of some, in one spelling."""
    if text[:1] in {"(", "["}:
        return f"{'T' if text[0] == '(' else 'L'}({', '.join(spelt_each(text))})"
    if text[:1] in {"'", '"'}:
        return f'"{text[1:-1]}"'
    bare = text.replace("_", "")
    return str(int(bare, 16)) if _HEX.fullmatch(bare) else bare


def spelt_each(text: str) -> tuple[str, ...]:
    """All literals of a text, in one spelling each."""
    return tuple(spelt(value) for value in _VALUES.findall(text))
