"""Generated parts of a document, each between a marker with its name and an end marker; people write the rest."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
_PART = re.compile(r"(<!-- (table|diagram): (\w+) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)


def replace_parts(text: str, parts: Mapping[str, str]) -> str:
    """The text with every generated part replaced. Raises KeyError for a part without markers, or markers without a part."""
    mismatched = parts.keys() ^ {part[3] for part in _PART.finditer(text)}
    if mismatched:
        raise KeyError(*sorted(mismatched))
    return _PART.sub(lambda part: f"{part[1]}{parts[part[3]]}\n{part[4]}", text)


def update_document(document: Path, parts: Mapping[str, str], tool: str, arguments: Sequence[str]) -> int:
    """Write the document with its current parts. --check writes nothing, and returns 1 if the document is stale."""
    before = document.read_text(encoding="utf-8")
    after = replace_parts(before, parts)
    if "--check" in arguments:
        name = document.relative_to(ROOT).as_posix()
        print(f"{name} is " + ("up to date" if before == after else f"stale: run python tools/{Path(tool).name}"))
        return int(before != after)
    document.write_text(after, encoding="utf-8")
    return 0
