"""docs/presets.md shows the hats and presets that come with Helmsman as they are now."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from helmsman.parsers.definitions import read_hat, read_sheet
from helmsman.records.agent import FailureClass
from helmsman.records.hats import Condition, Hat, Sheet
from tools.presets import DOCUMENT, ROOT

pytestmark = pytest.mark.feature("M10")

TEXT = DOCUMENT.read_text(encoding="utf-8")


def test_the_document_is_up_to_date_and_the_tool_says_so() -> None:
    tool = [sys.executable, "-P", str(ROOT / "tools" / "presets.py"), "--check"]
    ended = subprocess.run(tool, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "docs/presets.md is up to date\n"), ended.stderr


def test_the_examples_are_files_that_can_be_read() -> None:
    sheet, hat = re.findall(r"^```\n(\+\+\+\n.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    assert isinstance(read_sheet(sheet, "example"), Sheet)
    assert isinstance(read_hat(hat, "example"), Hat)


def test_every_condition_and_every_class_of_failure_is_explained() -> None:
    rows = {line.split("`")[1] for line in Path(DOCUMENT).read_text(encoding="utf-8").splitlines() if line.startswith("| `")}
    assert set(Condition.model_fields) <= rows
    assert not [kind for kind in FailureClass if f"`{kind}`" not in TEXT]
