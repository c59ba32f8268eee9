"""Print the sizes of the product next to its plan: lines, files, functions and types of each package, and of the tests.

    python tools/structure.py

Lines are physical lines of Python. A package without a plan should move into one that has a plan. No figure is an error.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LAYERS = ("helmsman", "tasks", "flows", "blocks", "deployments")
BUDGETS: Mapping[str, int] = {
    "helmsman": 480, "helmsman/config": 850, "helmsman/records": 2400, "helmsman/parsers": 4330, "helmsman/verify": 2420,
    "helmsman/oversee": 3880, "helmsman/memory": 1610, "helmsman/guardrails": 1180, "helmsman/orient": 1080,
    "helmsman/render": 1960, "tasks/system": 1150, "tasks/repository": 2060, "tasks/engine": 980, "tasks/sandbox": 920,
    "tasks/models": 350, "tasks/checks": 780, "tasks/agents": 1370, "tasks/memory": 1470, "tasks/trackers": 1590,
    "tasks/approvals": 370, "tasks/observers": 660, "tasks/loop": 2300, "tasks/groups": 480, "tasks/alignment": 330,
    "tasks/triggers": 640, "deployments": 3970, "flows": 270, "blocks": 90, "tests": 40_000, "product": 40_000,
}  # fmt: skip
"""Limits of lines, including planned features."""
TABLES, TABLES_BUDGET = frozenset({".toml", ".j2", ".scm"}), 2500
"""Tables, templates and queries, in addition to the product's lines."""


class Size(NamedTuple):
    """Size of a package. `functions` has the lines of each."""

    lines: int
    files: int
    types: int
    functions: tuple[int, ...]

    def plus(self, other: "Size") -> "Size":
        lines, files, types = self.lines + other.lines, self.files + other.files, self.types + other.types
        return Size(lines, files, types, self.functions + other.functions)


EMPTY = Size(0, 0, 0, ())


def size_of(text: str) -> Size:
    """Size of one file."""
    nodes = list(ast.walk(ast.parse(text)))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    types = sum(isinstance(node, ast.ClassDef) for node in nodes)
    return Size(text.count("\n"), 1, types, tuple(1 + (node.end_lineno or node.lineno) - node.lineno for node in functions))


def package_of(path: Path) -> str:
    """Folder below its layer, or the layer itself if that is one package."""
    parts = list(path.relative_to(ROOT).parts)
    return "/".join(parts[:2]) if parts[0] in {"helmsman", "tasks"} and parts[2:] else parts[0]


def sizes() -> dict[str, Size]:
    """Sizes by package, of the product and of the tests."""
    by_package: dict[str, Size] = {}
    for layer in (*LAYERS, "tests"):
        for path in sorted((ROOT / layer).rglob("*.py")):
            size, package = size_of(path.read_text(encoding="utf-8")), package_of(path)
            for name in (package,) if layer == "tests" else (package, "product"):
                by_package[name] = by_package.get(name, EMPTY).plus(size)
    return {name: by_package[name] for name in sorted(by_package, key=lambda name: (name in {"product", "tests"}, name))}


def lines_in_tables() -> int:
    files = (path for layer in LAYERS for path in (ROOT / layer).rglob("*") if path.suffix in TABLES)
    return sum(path.read_text(encoding="utf-8").count("\n") for path in files)


def rows() -> Iterator[str]:
    yield f"{'package':<22}{'lines':>8}{'plan':>8}{'files':>7}{'types':>7}{'functions':>11}{'median':>8}{'p90':>5}{'longest':>9}"
    for name, size in sizes().items():
        plan = f"{BUDGETS[name]:,}" if name in BUDGETS else "none"
        lengths = sorted(size.functions) or [0]
        counts = f"{size.files:>7}{size.types:>7}{len(size.functions):>11}"
        longest = f"{median(lengths):>8.0f}{lengths[len(lengths) * 9 // 10]:>5}{lengths[-1]:>9}"
        yield f"{name:<22}{size.lines:>8,}{plan:>8}{counts}{longest}"
    yield f"{'tables, templates':<22}{lines_in_tables():>8,}{TABLES_BUDGET:>8,}"


if __name__ == "__main__":
    print("\n".join(rows()))
