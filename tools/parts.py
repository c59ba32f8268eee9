"""Parts of a document that a tool draws anew, each between a marker with its name and one at its end; the rest is a person's."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
_PART = re.compile(r"(<!-- (table|diagram): (\w+) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)


def drawn(text: str, made: Mapping[str, str]) -> str:
    """The text with every part drawn anew. A part without a place, or a place without one, is a KeyError."""
    missing = made.keys() ^ {part[3] for part in _PART.finditer(text)}
    if missing:
        raise KeyError(*sorted(missing))
    return _PART.sub(lambda part: f"{part[1]}{made[part[3]]}\n{part[4]}", text)


def draw(document: Path, made: Mapping[str, str], tool: str, arguments: Sequence[str]) -> int:
    """Write the document with its parts as they are now. With --check nothing is written; 1 when the document is stale."""
    before = document.read_text(encoding="utf-8")
    after = drawn(before, made)
    if "--check" in arguments:
        name = document.relative_to(ROOT).as_posix()
        print(f"{name} is " + ("up to date" if before == after else f"stale: run python tools/{Path(tool).name}"))
        return int(before != after)
    document.write_text(after, encoding="utf-8")
    return 0
