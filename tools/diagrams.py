"""Draw the state diagrams of docs/control.md from the tables that run: `python tools/diagrams.py [--check]`.

With --check nothing is written; it ends with 1 when the document is stale.
"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # run by path, as a tool is

from helmsman.oversee.diagrams import breaker_diagram, ladder_diagram  # noqa: E402

DOCUMENT = ROOT / "docs" / "control.md"
_PART = re.compile(r"(<!-- diagram: (\w+) -->\n).*?(<!-- end of diagram -->)", re.DOTALL)


def diagrams() -> Mapping[str, str]:
    return {"breaker": breaker_diagram(), "ladder": ladder_diagram()}


def drawn(text: str, pictures: Mapping[str, str]) -> str:
    """The text with every part between markers drawn anew. A picture without a place, or a place without one, is a KeyError."""
    missing = pictures.keys() ^ {part[2] for part in _PART.finditer(text)}
    if missing:
        raise KeyError(*sorted(missing))
    return _PART.sub(lambda part: f"{part[1]}```mermaid\n{pictures[part[2]]}\n```\n{part[3]}", text)


def main(arguments: list[str]) -> int:
    before = DOCUMENT.read_text(encoding="utf-8")
    after = drawn(before, diagrams())
    if "--check" in arguments:
        print("docs/control.md is " + ("up to date" if before == after else "stale: run python tools/diagrams.py"))
        return int(before != after)
    DOCUMENT.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
