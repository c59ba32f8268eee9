"""Imports point one way, few modules import Prefect, and flow files hold only flows. The contracts stand in pyproject.toml."""

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

from tests.contracts.source import PACKAGES, ROOT, dotted, imports, modules, named, tree

COMPUTES = {
    "ast", "base64", "bisect", "collections", "configparser", "contextlib", "dataclasses", "datetime", "difflib", "enum",
    "fnmatch", "functools", "graphlib", "hashlib", "html", "itertools", "json", "math", "operator", "posixpath", "re", "reprlib",
    "shlex", "statistics", "string", "textwrap", "tomllib", "types", "typing", "unicodedata", "urllib.parse",
    "warnings", "zoneinfo",
    "pydantic", "pydantic_core",
    "xml", "defusedxml", "markdown_it", "tree_sitter", "tree_sitter_bash",  # read text that they are given
    "jinja2", "markupsafe", "importlib",  # read the package's own templates and tables
    "helmsman",
}  # fmt: skip
"""All that the core may import. What is missing here and only computes may be added; what acts belongs into tasks/."""

CONTRACTS = (
    "imports point one way",
    "the core is pure",
    "no import cycle",
    "packages of the shell form a ladder",
    "packages of the core form a ladder",
)
BREAKING = (
    ("helmsman.plain", "tasks.repository.git"),
    ("blocks.claude", "tasks.repository.git"),
    ("tasks.repository.git", "flows.loop"),
    ("flows.loop", "deployments.cli"),
    ("helmsman.plain", "subprocess"),
    ("helmsman.plain", "prefect"),
    ("tasks.repository.git", "tasks.loop.start"),
    ("helmsman.verify.claims", "helmsman.orient.brief"),
)
"""Each breaks one of the contracts."""


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_import_contracts_are_kept() -> None:
    ended = lint_imports(ROOT)
    assert ended.returncode == 0, ended.stdout


def test_imports_that_break_a_contract_are_found(tmp_path: Path) -> None:
    """In a copy of the source, all at once: each reading of the whole source takes seconds."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for importer, imported in BREAKING:
        with (tmp_path / importer.replace(".", "/")).with_suffix(".py").open("a", encoding="utf-8") as source:
            source.write(f"\nimport {imported}\n")
    ended = lint_imports(tmp_path)
    assert ended.returncode == 1
    assert all(f"{name} BROKEN" in ended.stdout for name in CONTRACTS)
    found = " ".join(ended.stdout.split())
    assert [pair for pair in BREAKING if f"{pair[0]} -> {pair[1]} (l." not in found] == []


def test_the_core_imports_only_what_computes() -> None:
    found = {(named(path), name) for path in modules("helmsman") for name in imports(tree(path))}
    assert [pair for pair in sorted(found) if COMPUTES.isdisjoint((pair[1], pair[1].partition(".")[0]))] == []


KNOW_PREFECT = (
    "blocks.claude",
    "blocks.judge",
    "blocks.tracker",
    "deployments.deploy",
    "flows.align",
    "flows.chain",
    "flows.iteration",
    "flows.loop",
    "flows.on_issue",
    "flows.on_push",
    "flows.parallel",
    "flows.sweep",
    "tasks.alignment.run",
    "tasks.approvals.pause",
    "tasks.credentials",
    "tasks.engine.runs",
    "tasks.engine.step",
    "tasks.groups.members",
    "tasks.loop.run",
    "tasks.loop.steps",
    "tasks.loop.sweep",
    "tasks.observers.artifacts",
    "tasks.trackers.notify",
    "tasks.triggers.push_runs",
)
"""The only modules that import Prefect."""
BRING_IT_IN = (
    "tasks.approvals.ask",
    "tasks.loop.finish",
    "tasks.loop.since_start",
)
"""Modules that import one of those."""
HEAVY = ("prefect", "pydantic", "git", "httpx", "sqlalchemy", "yaml", "psutil", "opentelemetry")

FIRST_CULPRIT = """
import importlib, sys
heavy, *modules = sys.argv[1:]
for module in modules:
    importlib.import_module(module)
    if set(heavy.split(",")) & set(sys.modules):
        sys.exit(f"{module} imports one of {heavy}")
"""


def complaint(heavy: Iterable[str], *imported: str) -> str:
    """Which of these modules, imported one after the other, was the first to bring in something heavy."""
    command = [sys.executable, "-c", FIRST_CULPRIT, ",".join(heavy), *imported]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stderr


def test_only_the_files_that_speak_with_the_engine_import_prefect() -> None:
    found = [dotted(path) for path in modules(*PACKAGES) if any(name.split(".")[0] == "prefect" for name in imports(tree(path)))]
    assert sorted(found) == sorted(KNOW_PREFECT)


@pytest.mark.feature("H6")
def test_only_the_file_that_is_loaded_where_an_exporter_is_configured_imports_opentelemetry() -> None:
    """It is an extra: everybody else has to do without it."""
    known = ((dotted(path), imports(tree(path))) for path in modules(*PACKAGES))
    found = {
        name for name, used in known if any(one.startswith(("opentelemetry", "tasks.observers.telemetry_sdk")) for one in used)
    }
    assert found == {"tasks.observers.telemetry_sdk", "tasks.observers.telemetry"}
    assert complaint(["opentelemetry"], "tasks.observers.telemetry") == ""


def test_importing_any_other_file_does_not_bring_prefect_in() -> None:
    others = [name for path in modules(*PACKAGES) if (name := dotted(path)) not in (*KNOW_PREFECT, *BRING_IT_IN)]
    assert "deployments.cli" in others
    assert complaint(["prefect"], *others) == ""


def test_the_command_line_itself_imports_nothing_heavy() -> None:
    assert complaint(HEAVY, "deployments.cli") == ""


def test_a_file_that_brings_something_heavy_in_is_named() -> None:
    assert (
        complaint(["git", "psutil"], "helmsman.errors", "tasks.system.process")
        == "tasks.system.process imports one of git,psutil\n"
    )


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
