"""Draw the tables of docs/telemetry.md from what is told: `python tools/telemetry.py [--check]`.

With --check nothing is written; it ends with 1 when the document is stale.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # run by path, as a tool is

from helmsman.telemetry.names import ATTRIBUTES, INSTRUMENTS, SPANS  # noqa: E402

DOCUMENT = ROOT / "docs" / "telemetry.md"
_PART = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def tables() -> Mapping[str, str]:
    made = {
        "spans": _table(("span", "what it is"), SPANS),
        "attributes": _table(("attribute", "what it says"), ATTRIBUTES),
        "metrics": _metrics(),
    }
    return {name: "\n".join(rows) for name, rows in made.items()}


def drawn(text: str, made: Mapping[str, str]) -> str:
    """The text with every part between markers drawn anew. A table without a place, or a place without one, is a KeyError."""
    missing = made.keys() ^ {part[2] for part in _PART.finditer(text)}
    if missing:
        raise KeyError(*sorted(missing))
    return _PART.sub(lambda part: f"{part[1]}{made[part[2]]}\n{part[3]}", text)


def _table(heads: tuple[str, str], rows: Mapping[str, str]) -> Iterator[str]:
    yield f"| {heads[0]} | {heads[1]} |\n|---|---|"
    yield from (f"| `{name}` | {meaning} |" for name, meaning in rows.items())


def _metrics() -> Iterator[str]:
    yield "| metric | kind | unit | what it counts |\n|---|---|---|---|"
    for name, one in INSTRUMENTS.items():
        yield f"| `{name}` | {one.kind} | `{one.unit}` | {one.meaning} |"


def main(arguments: list[str]) -> int:
    before = DOCUMENT.read_text(encoding="utf-8")
    after = drawn(before, tables())
    if "--check" in arguments:
        print("docs/telemetry.md is " + ("up to date" if before == after else "stale: run python tools/telemetry.py"))
        return int(before != after)
    DOCUMENT.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
