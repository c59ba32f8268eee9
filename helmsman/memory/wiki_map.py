"""The map of a project: its folders, and what the first sentence of their own README or package says."""

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from helmsman.memory.quoting import plain
from helmsman.memory.wiki import MAP, Page
from helmsman.records.base import Record
from helmsman.texts import counted

MOST_FOLDERS = 80
"""Folders of the two upper levels that are shown."""
MOST_AT_THE_TOP = 40
"""Files of the top that are named."""
TELLING = ("README.md", "README.rst", "README", "__init__.py", "package.json", "mod.rs", "lib.rs", "doc.go")
"""Files of a folder that say what it does; the first that says something counts."""
_SAYS, _NAME, _KINDS = 160, 100, 3
_LONGEST, _LONGEST_LINE = 10_000, 1_000
"""Characters of a file that are looked at."""
_SENTENCE = re.compile(r'\s*\{?\s*(?:r?"""|//!|//|"description": *")?\s*((?!``)[A-Z`][^<>{}=|"]*?)(?:[.!?](?:\s|"|$)|"|$)')
"""Prose, in a document, a docstring, a comment or a manifest."""


class Tree(Record):
    """A project as it lies in a commit."""

    files: tuple[str, ...] = ()
    """Paths from the top, as many as were read."""
    left_out: int = 0
    texts: Mapping[str, str] = {}
    """Beginnings of those files that tell something, by path."""


def map_page(tree: Tree) -> Page:
    """Folders of the two upper levels, and what they do."""
    below = _below(tree.files)
    folders = _upper(below)
    lines = [_folder(name, below[name], _what(name, tree.texts)) for name in sorted(folders)]
    top = [f"`{plain(name, _NAME)}`" for name in sorted(tree.files) if "/" not in name]
    more = f", and {len(top) - MOST_AT_THE_TOP} more" if len(top) > MOST_AT_THE_TOP else ""
    left = [len(below) - len(folders), tree.left_out]
    body = [
        *(lines or ["(no folders)"]),
        *(["", f"At the top: {', '.join(top[:MOST_AT_THE_TOP])}{more}"] if top else []),
        *(["", f"Left out: {counted(left[0], 'folder')} and {counted(left[1], 'file')}."] if any(left) else []),
    ]
    return Page(name=MAP, title="Map", about="Folders of this project, and what they do.", body="\n".join(body))


def wanted(files: Sequence[str], most: int) -> tuple[str, ...]:
    """Files whose beginnings are worth reading for the map, those of large folders first."""
    known = set(files)
    inside = (f"{folder}/{name}" for folder in _upper(_below(files)) for name in TELLING)
    return tuple(path for path in inside if path in known)[:most]


def _upper(below: Mapping[str, Sequence[str]]) -> list[str]:
    return sorted(below, key=lambda name: (name.count("/"), -len(below[name]), name))[:MOST_FOLDERS]


def _below(files: Sequence[str]) -> Mapping[str, list[str]]:
    """What lies in the folders of the two upper levels."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in files:
        parts = path.split("/")
        for depth in range(1, min(len(parts), 3)):
            found["/".join(parts[:depth])].append(path)
    return found


def _folder(name: str, files: Sequence[str], says: str) -> str:
    kinds = Counter(posixpath.splitext(path)[1] for path in files)
    most = ", ".join(plain(kind, 12) for kind, _ in kinds.most_common(_KINDS) if kind)
    about = f": {says}" if says else ""
    return f"- `{plain(name, _NAME)}/` ({counted(len(files), 'file')}{f', {most}' if most else ''}){about}"


def _what(folder: str, texts: Mapping[str, str]) -> str:
    """The first sentence in which one of its files says what it is for."""
    heads = (texts.get(f"{folder}/{name}", "")[:_LONGEST] for name in TELLING)
    lines = (line for head in heads for line in re.sub(r"(?<=\w)\r?\n(?=\w)", " ", head).split("\n"))
    found = (_SENTENCE.match(line[:_LONGEST_LINE]) for line in lines)
    return next((plain(f"{one[1]}.", _SAYS) for one in found if one), "")
