"""docs/features.md, the markers of the tests, and the report that joins them."""

import subprocess
import sys

import pytest

from tests.contracts.source import ROOT
from tools.features import Row, report, rows

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


@pytest.mark.parametrize("row", rows(DOCUMENT), ids=lambda row: row.id)
def test_a_row_has_a_short_name_and_says_since_when_it_is(row: Row) -> None:
    assert len(row.name) <= 40
    assert row.since in SINCE


def test_no_test_claims_a_row_that_is_not_there() -> None:
    ended = subprocess.run([sys.executable, "tools/features.py"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert all(f"{row.id:<4} {row.name} ({row.since})" in ended.stdout.splitlines() for row in rows(DOCUMENT))
