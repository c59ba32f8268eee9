"""Imports point one way, and the core imports nothing that acts. The contracts themselves stand in pyproject.toml."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.contracts.source import PACKAGES, ROOT, imports, modules, named, tree

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
    ("helmsman.naming", "tasks.repository.git"),
    ("blocks.claude", "tasks.repository.git"),
    ("tasks.repository.git", "flows.loop"),
    ("flows.loop", "deployments.cli"),
    ("helmsman.naming", "subprocess"),
    ("helmsman.naming", "prefect"),
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
