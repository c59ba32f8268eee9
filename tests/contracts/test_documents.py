"""Documents name files, commands, options and keys that exist; features.md and the receiver's OpenAPI match tests and code."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from deployments.cli import app
from helmsman.config import LoopConfig
from helmsman.config.layers import leaves
from helmsman.oversee.decide import QUESTIONS
from tests.contracts.source import ROOT, listed_files, named
from tools.features import Row, report, rows
from tools.receiver_openapi import FILE, openapi_document

DOCUMENTS = {
    name: path.read_text(encoding="utf-8")
    for path in listed_files()
    if (name := named(path)).endswith(".md")
    and (name in {"README.md", "CONTRIBUTING.md", "SECURITY.md"} or name.startswith(("docs/", "plugin/")))
    and not name.startswith("docs/decisions/")
}
KEYS = leaves(LoopConfig(goal="-"))
RULES = {question.rule for question in QUESTIONS} | {"limits.tokens.untold", "completion.verified"}
"""Named like keys of the sections that they belong to."""
FILES = (".md", ".toml", ".dump")
SECTIONS = {key.split(".")[0] for key in KEYS if "." in key}
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))

CODE = re.compile(r"`([^`\n]+)`|^ {4,}(.+)$|^```\w*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
OURS = re.compile(r"(?<![\w./-])(?:(?:deployments|flows|tasks|blocks|helmsman|tests|bench|tools)/[\w./-]*[\w/])")
COMMAND = re.compile(r"(?:^|[\s(])helmsman ((?:[a-z]+ ?)+)([^\n|;&]*)")
OPTION = re.compile(r"(?<!\S)--[a-z-]+")
KEY = re.compile(r"(?<![\w./-])([a-z_]+)\.([a-z_]+(?:\.[a-z_]+)*)(?![\w/(-])")


def code(text: str) -> Iterator[str]:
    """Pieces of a document that are code, a line at a time."""
    for found in CODE.finditer(text):
        yield from next(filter(None, found.groups()), "").splitlines()


def everywhere() -> Iterator[tuple[str, str]]:
    return ((name, line) for name, text in DOCUMENTS.items() for line in code(text))


def command_of(words: list[str]) -> Any:
    """The command that these words begin with; None where there is none."""
    group: Any = typer.main.get_command(app)
    for word in words:
        group = group.commands.get(word)
        if group is None or not hasattr(group, "commands"):
            return group
    return None


def test_files_that_newcomers_are_sent_to_are_there() -> None:
    sent = [found for found in OURS.findall(DOCUMENTS["CONTRIBUTING.md"]) if not (ROOT / found).exists()]
    assert sent == []


def test_commands_that_documents_name_are_there_with_their_options() -> None:
    wrong: list[str] = []
    for name, line in everywhere():
        for words, rest in COMMAND.findall(line.replace("--entrypoint helmsman worker", "helmsman")):
            command = command_of(words.split())
            known = {option for parameter in getattr(command, "params", ()) for option in parameter.opts} | {
                "--help",
                "--version",
            }
            wrong += [f"{name}: {line}"] * (command is None)
            wrong += [f"{name}: {option} in {line}" for option in re.findall(r"(?<!\S)--[a-z-]+", rest) if option not in known]
    assert wrong == []


def test_targets_of_make_that_documents_name_are_there() -> None:
    asked = [(name, found[1]) for name, line in everywhere() if (found := re.match(r"make ([a-z]+)", line))]
    assert asked
    assert [pair for pair in asked if pair[1] not in TARGETS] == []


def test_the_count_of_attacks_has_help_of_its_own() -> None:
    command = [sys.executable, "-m", "bench.redteam", "--help"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert told.startswith("usage: python -m bench.redteam ")


def test_keys_of_the_configuration_that_documents_name_are_there() -> None:
    keys = [(name, found[0]) for name, line in everywhere() for found in KEY.finditer(line) if found[1] in SECTIONS]
    assert len(keys) > len(KEYS) / 2
    known = {*KEYS, *RULES, *(key.rpartition(".")[0] for key in KEYS)}
    assert [(name, key) for name, key in keys if key not in known and not key.endswith(FILES)] == []


def test_every_test_that_security_names_is_there() -> None:
    """Fails when a test is renamed and SECURITY.md is not."""
    there = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "security").glob("test_*.py"))
    tests = set(re.findall(r"`(test_\w+)`", DOCUMENTS["SECURITY.md"]))
    files = set(re.findall(r"`(test_\w+\.py)`", DOCUMENTS["SECURITY.md"]))
    assert tests
    assert sorted(name for name in tests if f"def {name}(" not in there) == []
    assert sorted(name for name in files if not (ROOT / "tests" / "security" / name).exists()) == []
    folders = re.findall(r"`(tests/\w+/\w+\.py)`", DOCUMENTS["SECURITY.md"])
    assert [name for name in folders if not (ROOT / name).exists()] == []


TOOL = ROOT / "tools" / "features.py"
DOCUMENT = (ROOT / "docs" / "features.md").read_text(encoding="utf-8")
SINCE = {"0.1", "0.1, in part", "planned"}

TABLE = """
| id | behaviour | since |
|---|---|---|
| A1 | **First.** It does this. | 0.1 |
| A2 | **Second.** And that. | planned |
| B1 | **Third.** And more | 0.1, in part |
"""


def test_a_row_is_read_with_its_name_and_release() -> None:
    assert rows(TABLE) == [Row("A1", "First", "0.1"), Row("A2", "Second", "planned"), Row("B1", "Third", "0.1, in part")]


def test_rows_without_a_test_come_last() -> None:
    assert report(rows(TABLE), {"A2": ["tests/a.py::test_one", "tests/b.py::test_two"]}).splitlines() == [
        "A2   Second (planned)",
        "       tests/a.py::test_one",
        "       tests/b.py::test_two",
        "",
        "1 rows are proven; 2 have no test:",
        "A1   First (0.1)",
        "B1   Third (0.1, in part)",
    ]


def test_every_table_line_of_the_document_is_a_row_with_its_own_id() -> None:
    lines = [line for line in DOCUMENT.splitlines() if line.startswith("| ") and not line.startswith("| id ")]
    ids = [row.id for row in rows(DOCUMENT)]
    assert [line.split()[1] for line in lines] == ids
    assert len(set(ids)) == len(ids)


def test_a_row_has_a_short_name_and_a_release() -> None:
    assert [row for row in rows(DOCUMENT) if len(row.name) > 40 or row.since not in SINCE] == []


def test_no_test_names_a_missing_row(request: pytest.FixtureRequest) -> None:
    """Checks the tests of this session; `make test` runs all."""
    claimed = {row for item in request.session.items for marker in item.iter_markers("feature") for row in marker.args}
    assert claimed <= {row.id for row in rows(DOCUMENT)}


@pytest.mark.parametrize(
    ("row", "exit_code", "said"), [("A1", 0, "A1   First (0.1)"), ("Z9", 1, "has no row Z9")], ids=["there", "not there"]
)
def test_the_report_covers_the_repository_s_tests_and_rejects_a_missing_row(
    row: str, exit_code: int, said: str, tmp_path: Path
) -> None:
    for folder in ("docs", "tests", "tools"):
        (tmp_path / folder).mkdir()
    (tmp_path / "docs" / "features.md").write_text(TABLE)
    (tmp_path / "tests" / "test_it.py").write_text(f"import pytest\n\n@pytest.mark.feature({row!r})\ndef test_it(): ...\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = feature(*ids): rows\n")
    shutil.copy(TOOL, tmp_path / "tools")
    command = [sys.executable, "-P", str(tmp_path / "tools" / TOOL.name)]
    completed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert completed.returncode == exit_code, completed.stdout + completed.stderr
    assert said in completed.stdout + completed.stderr
    assert ("       tests/test_it.py::test_it" in completed.stdout.splitlines()) == (exit_code == 0)


@pytest.mark.feature("D2")
def test_the_receiver_s_openapi_document_is_current() -> None:
    """`python tools/receiver_openapi.py` updates it."""
    assert json.loads(FILE.read_text(encoding="utf-8")) == openapi_document()
