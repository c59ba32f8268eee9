"""Draw the state diagrams of docs/control.md from the tables that run: `python tools/diagrams.py [--check]`.

With --check nothing is written; it ends with 1 when the document is stale.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # run by path, as a tool is

from helmsman.oversee.diagrams import ladder_diagram
from tools.parts import ROOT, draw

DOCUMENT = ROOT / "docs" / "control.md"


def diagrams() -> Mapping[str, str]:
    return {"ladder": _fenced(ladder_diagram())}


def _fenced(diagram: str) -> str:
    return f"```mermaid\n{diagram}\n```"


if __name__ == "__main__":
    sys.exit(draw(DOCUMENT, diagrams(), __file__, sys.argv[1:]))
