"""Imports inside a project, their cycles, and names that nobody mentions."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.records.oversight import Variety
from helmsman.verify.variety import facts_of, variety_of
from helmsman.verify.variety.graph import cyclic, modules

pytestmark = pytest.mark.feature("S15")


def counted(**texts: str) -> Variety:
    """A tree by paths in which two underscores stand for a slash."""
    paths = {name.replace("__", "/"): text for name, text in texts.items()}
    return variety_of({f"{path}.py": facts_of(f"{path}.py", text) for path, text in paths.items()})


PACKAGE = ("shop/__init__.py", "shop/cart.py", "shop/tax/__init__.py", "shop/tax/rate.py", "tools.py")


@pytest.mark.parametrize(
    ("importer", "name", "target"),
    [
        ("tools.py", "shop.cart", "shop/cart.py"),
        ("tools.py", "shop.cart.Cart", "shop/cart.py"),
        ("tools.py", "shop.tax.rate.RATE", "shop/tax/rate.py"),
        ("shop/cart.py", ".tax", "shop/tax/__init__.py"),
        ("shop/cart.py", ".tax.rate", "shop/tax/rate.py"),
        ("shop/tax/rate.py", "..cart", "shop/cart.py"),
        ("shop/tax/rate.py", ".", "shop/tax/__init__.py"),
        ("shop/cart.py", "...cart", None),
        ("shop/cart.py", "json", None),
        ("shop/cart.py", "shop.cart", None),
    ],
)
def test_a_python_import_finds_its_file(importer: str, name: str, target: str | None) -> None:
    assert modules(PACKAGE).target(importer, name) == target


@pytest.mark.parametrize(
    ("paths", "importer", "name", "target"),
    [
        (("src/shop/__init__.py", "src/shop/a.py", "src/shop/b.py"), "src/shop/a.py", "shop.b", "src/shop/b.py"),
        (("back/app/__init__.py", "back/app/a.py", "x.py"), "x.py", "app.a", "back/app/a.py"),
        (("scripts/run.py", "scripts/helper.py"), "scripts/run.py", "helper", "scripts/helper.py"),
        (("a/app/__init__.py", "a/app/m.py", "b/app/__init__.py", "b/app/m.py", "b/x.py"), "b/x.py", "app.m", "b/app/m.py"),
        (("web/a.ts", "web/b/index.tsx"), "web/a.ts", "./b", "web/b/index.tsx"),
        (("web/a.ts", "web/b.ts"), "web/a.ts", "./b.js", "web/b.ts"),
        (("web/a.ts", "b.vue"), "web/a.ts", "../b.vue", "b.vue"),
        (("web/a.ts",), "web/a.ts", "../../../etc/passwd", None),
    ],
)
def test_layouts_of_projects_are_understood(paths: tuple[str, ...], importer: str, name: str, target: str | None) -> None:
    assert modules(paths).target(importer, name) == target


def test_edges_inside_the_project_are_counted_once_for_each_pair_of_files() -> None:
    found = counted(app="import json\nimport shop\nfrom shop import a, b\n", shop="a = 1\nb = 2\n")
    assert (found.imports, found.cycles, found.files) == (1, 0, 2)


def test_modules_that_import_each_other_are_a_cycle_unless_one_import_is_late() -> None:
    assert counted(a="import b\n", b="import c\n", c="import a\n", d="import a\n").cycles == 3
    late = counted(a="import b\n", b="def f():\n    import a\n")
    types = counted(a="import b\n", b="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a\n")
    assert (late.cycles, late.imports, types.cycles, types.imports) == (0, 2, 0, 2)


def test_tests_add_neither_files_nor_lines_nor_imports() -> None:
    plain = counted(shop="x = 1\n")
    tested = counted(shop="x = 1\n", tests__test_shop="import shop\n\ndef test_x():\n    assert shop.x == 1\n")
    assert tested == plain.model_copy(update={"tests": 1})


def test_a_private_name_is_dead_where_no_other_text_mentions_it() -> None:
    dead = "def _old():\n    return 1\n"
    assert counted(a=dead, b="def other(): ...\n").dead == 1
    assert counted(a=dead, b="from a import _old\n").dead == 0
    assert counted(a=dead, tests__test_a="import a\n\ndef test_old():\n    assert a._old() == 1\n").dead == 0
    assert counted(a=dead.replace("_old", "old")).dead == 0
    assert counted(a=f"{dead}\nglobals()['x']\n").dead == 0


def test_a_long_chain_of_imports_is_followed_without_recursion() -> None:
    ring = {str(number): frozenset({str((number + 1) % 20_000)}) for number in range(20_000)}
    assert len(cyclic(ring)) == 20_000


NODES = st.integers(0, 6).map(str)
GRAPHS = st.dictionaries(NODES, st.frozensets(NODES, max_size=4), max_size=7)


def reached(graph: dict[str, frozenset[str]], start: str) -> set[str]:
    found, pending = set[str](), list(graph.get(start, ()))
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending += graph.get(node, ())
    return found


@given(GRAPHS)
def test_cycles_are_exactly_the_modules_that_reach_themselves_through_another(graph: dict[str, frozenset[str]]) -> None:
    ways = {node: reached(graph, node) for node in graph}
    pairs = permutations(graph, 2)
    assert cyclic(graph) == {one for one, other in pairs if other in ways[one] and one in ways[other]}


@given(st.permutations(["one", "two", "three", "four"]))
def test_names_of_files_change_no_count(names: list[str]) -> None:
    a, b, c, d = names
    texts = {
        a: f"import {b}\n",
        b: f"import {a}\nimport {c}\n",
        c: "from typing import Any\n\n\ndef get(x: Any): ...\n\n\ndef _old(): ...\n",
        d: f"def f():\n    import {c}  # noqa: F401\n",
    }
    expected = Variety(files=4, lines=8, suppressions=1, casts=1, imports=4, cycles=2, public_names=2, dead=1)
    assert counted(**texts) == expected
