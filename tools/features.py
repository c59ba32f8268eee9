"""Print each row of docs/features.md with the tests that prove it, rows without one last.

    python tools/features.py

A test proves a row by its marker: `@pytest.mark.feature("V3")`. Exits with 1 if a marker names an unknown row, or if the tests
cannot be collected.
"""

import io
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^\| (?P<id>[A-Z]\d+) \| (?P<behaviour>.+?) \| (?P<since>[^|]+) \|$", re.MULTILINE)
NAME = re.compile(r"\*\*(.+?)\*\*")

Proofs = dict[str, list[str]]
"""Names of tests by the id of the row that they prove, in pytest's order."""


@dataclass(frozen=True)
class Row:
    """A promised behaviour."""

    id: str
    name: str
    since: str


@dataclass
class Collector:
    """A pytest plugin that collects markers only."""

    proofs: Proofs = field(default_factory=dict[str, list[str]])

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            for marker in item.iter_markers("feature"):
                for row in marker.args:
                    self._add(str(row), item.nodeid.partition("[")[0])

    def _add(self, row: str, test: str) -> None:
        tests = self.proofs.setdefault(row, [])
        if test not in tests:
            tests.append(test)


def rows(text: str) -> list[Row]:
    """Rows of a Markdown table; a row's name is the bold text at its beginning."""
    return [Row(row["id"], _name(row["behaviour"]), row["since"].strip()) for row in ROW.finditer(text)]


def _name(behaviour: str) -> str:
    match = NAME.match(behaviour)
    return match[1].rstrip(".") if match else behaviour


def collect() -> Proofs:
    """Proofs by row. Exits with pytest's output if it cannot collect."""
    collector, output = Collector(), io.StringIO()
    with redirect_stdout(output):
        code = pytest.main(["--collect-only", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", str(ROOT)], [collector])
    if code != pytest.ExitCode.OK:
        sys.exit(output.getvalue())
    return collector.proofs


def report(all_rows: Sequence[Row], proofs: Mapping[str, list[str]]) -> str:
    """Proven rows with their tests, then those without, each in the order of the document."""
    proven = [row for row in all_rows if row.id in proofs]
    unproven = [row for row in all_rows if row.id not in proofs]
    lines = [line for row in proven for line in (_format_title(row), *(f"       {test}" for test in proofs[row.id]))]
    return "\n".join([*lines, "", f"{len(proven)} rows are proven; {len(unproven)} have no test:", *map(_format_title, unproven)])


def _format_title(row: Row) -> str:
    return f"{row.id:<4} {row.name} ({row.since})"


def main() -> int:
    all_rows, proofs = rows((ROOT / "docs" / "features.md").read_text(encoding="utf-8")), collect()
    print(report(all_rows, proofs))
    unknown = sorted(proofs.keys() - {row.id for row in all_rows})
    for row in unknown:
        print(f"docs/features.md has no row {row}, which this test names: {proofs[row][0]}", file=sys.stderr)
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
