"""docs/features.md, the markers of the tests, and the report that joins them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contracts.source import ROOT
from tools.features import Row, report, rows

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
        "1 rows are proven; without a test are 2:",
        "A1   First (0.1)",
        "B1   Third (0.1, in part)",
    ]


def test_every_line_of_the_document_s_tables_is_a_row_with_an_id_of_its_own() -> None:
    lines = [line for line in DOCUMENT.splitlines() if line.startswith("| ") and not line.startswith("| id ")]
    ids = [row.id for row in rows(DOCUMENT)]
    assert [line.split()[1] for line in lines] == ids
    assert len(set(ids)) == len(ids)


def test_a_row_has_a_short_name_and_says_since_when_it_is() -> None:
    assert [row for row in rows(DOCUMENT) if len(row.name) > 40 or row.since not in SINCE] == []


def test_no_test_claims_a_row_that_is_not_there(request: pytest.FixtureRequest) -> None:
    """Checks the tests of this session; `make test` runs all."""
    claimed = {row for item in request.session.items for marker in item.iter_markers("feature") for row in marker.args}
    assert claimed <= {row.id for row in rows(DOCUMENT)}


@pytest.mark.parametrize(
    ("row", "exit_code", "said"), [("A1", 0, "A1   First (0.1)"), ("Z9", 1, "has no row Z9")], ids=["there", "not there"]
)
def test_the_report_is_of_the_tests_beside_it_and_refuses_a_row_that_is_not_there(
    row: str, exit_code: int, said: str, tmp_path: Path
) -> None:
    for folder in ("docs", "tests", "tools"):
        (tmp_path / folder).mkdir()
    (tmp_path / "docs" / "features.md").write_text(TABLE)
    (tmp_path / "tests" / "test_it.py").write_text(f"import pytest\n\n@pytest.mark.feature({row!r})\ndef test_it(): ...\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = feature(*ids): rows\n")
    shutil.copy(TOOL, tmp_path / "tools")
    command = [sys.executable, "-P", str(tmp_path / "tools" / TOOL.name)]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == exit_code, ended.stdout + ended.stderr
    assert said in ended.stdout + ended.stderr
    assert ("       tests/test_it.py::test_it" in ended.stdout.splitlines()) == (exit_code == 0)
