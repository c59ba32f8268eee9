"""Generate the tables of docs/telemetry.md from the telemetry in the code: `python tools/telemetry.py [--check]`.

--check writes nothing, and exits with 1 if the document is stale.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # run by path, like every tool

from helmsman.render.spans import telemetry_names
from tools.generated_parts import ROOT, update_document

DOCUMENT = ROOT / "docs" / "telemetry.md"


def tables() -> Mapping[str, str]:
    names = telemetry_names()
    parts = {
        "spans": _table(("span", "what it is"), names["spans"]),
        "attributes": _table(("attribute", "what it says"), names["attributes"]),
        "metrics": _metrics(names["instruments"]),
    }
    return {name: "\n".join(rows) for name, rows in parts.items()}


def _table(headings: tuple[str, str], rows: Mapping[str, str]) -> Iterator[str]:
    yield f"| {headings[0]} | {headings[1]} |\n|---|---|"
    yield from (f"| `{name}` | {meaning} |" for name, meaning in rows.items())


def _metrics(instruments: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    yield "| metric | kind | unit | what it counts |\n|---|---|---|---|"
    for name, instrument in instruments.items():
        yield f"| `{name}` | {instrument['kind']} | `{instrument['unit']}` | {instrument['meaning']} |"


if __name__ == "__main__":
    sys.exit(update_document(DOCUMENT, tables(), __file__, sys.argv[1:]))
