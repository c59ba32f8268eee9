"""Generated parts of a document, each between a marker with its name and an end marker; the rest belongs to a person."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
_PART = re.compile(r"(<!-- (table|diagram): (\w+) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)


def drawn(text: str, made: Mapping[str, str]) -> str:
    """The text with every part regenerated. Raises KeyError for a part without a place, or a place without a part."""
    missing = made.keys() ^ {part[3] for part in _PART.finditer(text)}
    if missing:
        raise KeyError(*sorted(missing))
    return _PART.sub(lambda part: f"{part[1]}{made[part[3]]}\n{part[4]}", text)


def draw(document: Path, made: Mapping[str, str], tool: str, arguments: Sequence[str]) -> int:
    """Write the document with its current parts. --check writes nothing, and returns 1 if the document is stale."""
    before = document.read_text(encoding="utf-8")
    after = drawn(before, made)
    if "--check" in arguments:
        name = document.relative_to(ROOT).as_posix()
        print(f"{name} is " + ("up to date" if before == after else f"stale: run python tools/{Path(tool).name}"))
        return int(before != after)
    document.write_text(after, encoding="utf-8")
    return 0
