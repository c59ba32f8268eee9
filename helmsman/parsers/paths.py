"""Which words are paths of files, and whether two ways of naming a file can mean the same one; and glob patterns."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fnmatch import translate
from functools import lru_cache

from helmsman.parsers.source import TABLE
from helmsman.plain import word_set

_PATH = re.compile(r"(?:[\w.@+~-]*/)*[\w.@+-]+")
_PLACE = re.compile(r"(?:::[\w:\[\]-]+|:[0-9]+(?:[-:][0-9]+)*|#L?[0-9]+(?:-L?[0-9]+)?)$")
_LINK = re.compile(r"\[`?([^\]`]+)`?\]\([^)\s]*\)")
_LONGEST = 300

_FILES = {kind: word_set(words) for kind, words in TABLE["files"].items()}
_EXTENSIONS = _FILES["suffixes"] | word_set(" ".join(TABLE["suffixes"].values()))
JUNK = _FILES["ignored"]
"""Folders that repositories usually ignore: that git shows nothing there says nothing."""
_OWN = frozenset({"progress.md"})  # kept in `.helmsman/`, and named without it more often than not


def as_path(token: str) -> str:
    """The file that one word of a sentence names, without marks and line numbers; empty where it names none for certain."""
    word = f"`{link[1]}`" if (link := _LINK.fullmatch(token)) else token
    quoted = word.startswith("`") and word.endswith("`")
    path = _PLACE.sub("", word.strip("`'\"").removesuffix("'s"))
    if len(path) > _LONGEST or not _PATH.fullmatch(path) or path.startswith("//"):
        return ""
    name = path.rpartition("/")[2].lower()
    stem, _, extension = name.rpartition(".")
    if name in _FILES["products"] or "..." in path:
        return ""
    plain = not quoted and "/" not in path
    if name in _FILES["names"]:
        return path if not plain or "." in name or path[0].isupper() else ""
    known = stem.strip(".") and extension in _EXTENSIONS and not (plain and extension in _FILES["weak"])
    return path if known else ""


def parts(path: str) -> tuple[str, ...]:
    """Folder by folder, in small letters, without `./`."""
    return tuple(part for part in path.lower().replace("\\", "/").split("/") if part not in {"", "."})


class Paths:
    """A set of paths in which a file is found by any way of naming it."""

    def __init__(self, paths: Iterable[str]) -> None:
        """Indexed by file name, so that a look-up takes the same time however many there are."""
        self._all = frozenset(map(parts, paths := tuple(paths)))
        self._by_name: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
        for path in map(parts, paths):
            if path:
                self._by_name[path[-1]].append(path)

    def __contains__(self, path: str) -> bool:
        """Whether one is the end of the other: `app.py`, `src/app.py` and `/a/repository/src/app.py` can be one file.

        What lies in a submodule is shown by git as the submodule alone.
        """
        wanted = parts(path)
        if any(wanted[:length] in self._all for length in range(1, len(wanted))):
            return True
        candidates = self._by_name.get(wanted[-1], ()) if wanted else ()
        return any(wanted[-len(one) :] == one or one[-len(wanted) :] == wanted for one in candidates)


def git_would_show(path: str, worktree: str) -> bool:
    """Whether a change of this file must be seen in a diff: it lies in the worktree, and in no folder that is usually ignored."""
    root = f"{worktree.rstrip('/')}/"
    if path.startswith("/") and (root == "/" or not path.startswith(root)):
        return False
    own = parts(path.removeprefix(root) if path.startswith("/") else path)
    return bool(own) and ".." not in own and own[0] != "~" and own[-1] not in _OWN and JUNK.isdisjoint(own[:-1])


# --- patterns over paths and branches: `*` is anything but a slash, `**` any number of levels ---------------------------------

Pieces = Sequence[re.Pattern[str] | None]  # one pattern for each level; None for any number of levels


def matches_any(path: str, patterns: Iterable[str]) -> bool:
    """A pattern without a slash means a name in any folder; one that ends with a slash means everything below.

    `/` or `./` at its beginning is the root of the repository. Brackets are letters like any other.
    """
    return any(matches(path, _rooted(pattern)) for pattern in patterns)


def matches(path: str, pieces: Pieces) -> bool:
    """Level by level, all ways at once: the time does not explode with the number of `**`, whoever wrote them."""
    levels, ways = path.split("/"), {0}
    for piece in pieces:
        if piece is None:
            ways = set(range(min(ways, default=len(levels) + 1), len(levels) + 1))
        else:
            ways = {way + 1 for way in ways if way < len(levels) and piece.match(levels[way])}
    return len(levels) in ways


@lru_cache(maxsize=1000)
def pieces_of(pattern: str) -> Pieces:
    return tuple(None if name == "**" else re.compile(translate(name)) for name in pattern.split("/"))


@lru_cache(maxsize=1000)
def _rooted(pattern: str) -> Pieces:
    below = f"{pattern}**" if pattern.endswith("/") else pattern
    anywhere = below if "/" in pattern.rstrip("/") else f"**/{below}"
    return pieces_of(anywhere.removeprefix("./").removeprefix("/").replace("[", "[[]"))
