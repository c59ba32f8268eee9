"""The map of a project: its folders and what they do, by their own words and those of its guides. Nothing is run or guessed."""

import ast
import json
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from helmsman.code_blocks import CodeBlocks
from helmsman.memory.quoting import plain
from helmsman.memory.wiki import MAP, Page
from helmsman.python_of import python_of
from helmsman.records.base import Record
from helmsman.texts import counted

MOST_FOLDERS = 80
"""Folders of the two upper levels that are shown."""
MOST_AT_THE_TOP = 40
"""Files of the top that are named."""
TELLING = ("README.md", "README.rst", "README", "__init__.py", "package.json", "mod.rs", "lib.rs", "doc.go")
"""Files of a folder that say what it does; the first that says something counts."""
GUIDES = ("AGENTS.md", "CLAUDE.md", "README.md", "CONTRIBUTING.md")
"""Files of the top that may say what a folder does."""
_SAYS, _NAME = 160, 100
_KINDS = 3
_LARGEST = 64_000
"""Characters of a file that are looked at."""
_NO_PROSE = re.compile(r"\s*(?:$|[#=\-~*_|>`<!\[:]|\.\. )")
_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)")
_SAID_OF = re.compile(r"[\s>*+\-|│├└─`#]*`?([\w.-]{1,60}(?:/[\w.-]{1,60})?)/`?[\s:\u2013\u2014|*`-]+(\S.{2,})")


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
    said = _by_guides(tree.texts)
    folders = sorted(below, key=lambda name: (name.count("/"), -len(below[name]), name))[:MOST_FOLDERS]
    lines = [_folder(name, below[name], _what(name, tree.texts) or said.get(name, "")) for name in sorted(folders)]
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
    """Files whose beginnings are worth reading for the map, those of the top and of large folders first."""
    known = set(files)
    below = _below(files)
    folders = sorted(below, key=lambda name: (name.count("/"), -len(below[name]), name))[:MOST_FOLDERS]
    inside = (f"{folder}/{name}" for folder in folders for name in TELLING)
    return tuple(path for path in dict.fromkeys((*GUIDES, *inside)) if path in known)[:most]


def _below(files: Sequence[str]) -> Mapping[str, list[str]]:
    """What lies in the folders of the two upper levels."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in files:
        first, second, *rest = [*path.split("/"), ""]
        if second:
            found[first].append(path)
        if rest and rest[0]:
            found[f"{first}/{second}"].append(path)
    return found


def _folder(name: str, files: Sequence[str], says: str) -> str:
    kinds = Counter(posixpath.splitext(path)[1] for path in files)
    most = ", ".join(plain(kind, 12) for kind, _ in kinds.most_common(_KINDS) if kind)
    about = f": {says}" if says else ""
    return f"- `{plain(name, _NAME)}/` ({counted(len(files), 'file')}{f', {most}' if most else ''}){about}"


def _what(folder: str, texts: Mapping[str, str]) -> str:
    said = (_says(name, texts.get(f"{folder}/{name}", "")) for name in TELLING)
    return next((text for text in said if text), "")


def _says(name: str, text: str) -> str:
    """The first sentence in which a file says what its folder is for."""
    reader = _READERS.get(posixpath.splitext(name)[1], _prose)
    found = reader(text[:_LARGEST])
    sentence = _SENTENCE.match(found)
    return plain(sentence[1] if sentence else found, _SAYS)


def _prose(text: str) -> str:
    return next((" ".join(paragraph) for paragraph in _paragraphs(text)), "")


def _paragraphs(text: str) -> Iterator[list[str]]:
    """Paragraphs that are neither heading, picture, list nor code."""
    paragraph, code = list[str](), CodeBlocks()
    for line in (*text.splitlines(), ""):
        if code.holds(line) or _NO_PROSE.match(line):
            if paragraph:
                yield paragraph
            paragraph = []
        else:
            paragraph.append(line.strip())


def _docstring(text: str) -> str:
    tree = python_of(text)
    return (tree and ast.get_docstring(tree)) or ""


def _package(text: str) -> str:
    try:
        read: Any = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    said = cast("dict[str, Any]", read).get("description") if isinstance(read, dict) else ""
    return said if isinstance(said, str) else ""


def _comments(mark: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        lines = (line.strip() for line in text.splitlines())
        return " ".join(line.removeprefix(mark).strip() for line in lines if line.startswith(mark))

    return read


_READERS: Mapping[str, Callable[[str], str]] = {
    ".py": _docstring,
    ".json": _package,
    ".rs": _comments("//!"),
    ".go": _comments("//"),
}


def _by_guides(texts: Mapping[str, str]) -> Mapping[str, str]:
    """What the guides of the top say of folders: `tasks/: the shell`, in a list, a table or a drawn tree."""
    said: dict[str, str] = {}
    for guide in GUIDES:
        for line in texts.get(guide, "")[:_LARGEST].splitlines():
            found = _SAID_OF.match(line[:1000])
            if found:
                said.setdefault(found[1], plain(found[2].strip(" |"), _SAYS))
    return said
