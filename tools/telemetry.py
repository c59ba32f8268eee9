"""Generate the tables of docs/telemetry.md from the telemetry in the code: `python tools/telemetry.py [--check]`.

--check writes nothing, and exits with 1 if the document is stale.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # run by path, like every tool

from helmsman.render.spans import telemetry_names
from tools.parts import ROOT, draw

DOCUMENT = ROOT / "docs" / "telemetry.md"


def tables() -> Mapping[str, str]:
    names = telemetry_names()
    made = {
        "spans": _table(("span", "what it is"), names["spans"]),
        "attributes": _table(("attribute", "what it says"), names["attributes"]),
        "metrics": _metrics(names["instruments"]),
    }
    return {name: "\n".join(rows) for name, rows in made.items()}


def _table(heads: tuple[str, str], rows: Mapping[str, str]) -> Iterator[str]:
    yield f"| {heads[0]} | {heads[1]} |\n|---|---|"
    yield from (f"| `{name}` | {meaning} |" for name, meaning in rows.items())


def _metrics(instruments: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    yield "| metric | kind | unit | what it counts |\n|---|---|---|---|"
    for name, one in instruments.items():
        yield f"| `{name}` | {one['kind']} | `{one['unit']}` | {one['meaning']} |"


if __name__ == "__main__":
    sys.exit(draw(DOCUMENT, tables(), __file__, sys.argv[1:]))
