"""Imports point one way, and the core imports nothing that acts. The contracts themselves stand in pyproject.toml."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contracts.source import PACKAGES, ROOT, imports, modules, named, tree

COMPUTES = {
    "ast", "base64", "bisect", "collections", "configparser", "dataclasses", "datetime", "difflib", "enum", "fnmatch",
    "functools", "graphlib", "hashlib", "html", "itertools", "json", "math", "operator", "posixpath", "re", "reprlib", "shlex",
    "string", "tomllib", "typing", "unicodedata", "warnings", "zoneinfo",
    "pydantic", "pydantic_core",
    "xml", "defusedxml", "markdown_it",  # read text that they are given
    "helmsman",
}  # fmt: skip
"""All that the core may import. What is missing here and only computes may be added; what acts belongs into tasks/."""


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of the source to break."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_import_contracts_are_kept() -> None:
    ended = lint_imports(ROOT)
    assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize(
    ("file", "line", "broken"),
    [
        ("helmsman/naming.py", "import tasks.repository.git", "imports point one way"),
        ("blocks/claude.py", "import tasks.repository.git", "imports point one way"),
        ("tasks/repository/git.py", "import flows.loop", "imports point one way"),
        ("flows/loop.py", "import deployments.cli", "imports point one way"),
        ("helmsman/naming.py", "import subprocess", "the core is pure"),
        ("helmsman/naming.py", "import prefect", "the core is pure"),
        ("helmsman/orient/prompt.py", "import helmsman.verify.claims.reading", "the rooms of the core do not know each other"),
    ],
)
def test_an_import_that_breaks_a_contract_is_found(house: Path, file: str, line: str, broken: str) -> None:
    with (house / file).open("a", encoding="utf-8") as source:
        source.write(f"\n{line}\n")
    ended = lint_imports(house)
    assert ended.returncode == 1
    assert f"{broken} BROKEN" in ended.stdout


@pytest.mark.parametrize("path", modules("helmsman"), ids=named)
def test_the_core_imports_only_what_computes(path: Path) -> None:
    roots = {name.partition(".")[0] for name in imports(tree(path))}
    assert roots <= COMPUTES
