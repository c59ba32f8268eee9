"""Flow files hold flows and nothing else.

Prefect loads them by path, so a class defined there exists twice: what one of them has stored, the other does not know.
"""

import ast
import subprocess
import sys

import pytest
import yaml

from tests.contracts.source import ROOT, modules, named, tree


def strangers(module: ast.Module) -> list[str]:
    """Statements of a flow file other than docstring, imports and flows."""
    body = module.body[1:] if ast.get_docstring(module) else module.body
    beside = [ast.unparse(node) for node in body if not isinstance(node, ast.Import | ast.ImportFrom) and not _is_flow(node)]
    inside = [node.name for node in ast.walk(module) if isinstance(node, ast.ClassDef)]
    return beside + inside


def _is_flow(node: ast.stmt) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return any(ast.unparse(decorator).partition("(")[0] == "flow" for decorator in node.decorator_list)


def entrypoints() -> list[str]:
    deployed = yaml.safe_load((ROOT / "prefect.yaml").read_text(encoding="utf-8"))
    return [deployment["entrypoint"] for deployment in deployed["deployments"]]


def test_a_flow_file_holds_only_flows() -> None:
    assert {named(path): found for path in modules("flows") if (found := strangers(tree(path)))} == {}


@pytest.mark.parametrize(
    "source",
    [
        "class Record: ...",
        "LIMIT = 5",
        "def helper(): ...",
        "@task\ndef step(): ...",
        "@flow\ndef loop():\n    class Hidden: ...",
        "if DEBUG:\n    import logging",
    ],
)
def test_anything_else_in_a_flow_file_is_found(source: str) -> None:
    assert strangers(ast.parse(f'"""When."""\nfrom prefect import flow\n{source}'))


@pytest.mark.feature("D1")
def test_every_entrypoint_in_prefect_yaml_loads_as_a_flow() -> None:
    code = """
import sys
from prefect.flows import load_flow_from_entrypoint
for entrypoint in sys.argv[1:]:
    print(load_flow_from_entrypoint(entrypoint).name)
"""
    command = [sys.executable, "-c", code, *entrypoints()]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.stdout.split() == [entrypoint.rpartition(":")[2] for entrypoint in entrypoints()], ended.stderr
