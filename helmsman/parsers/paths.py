"""Recognize file paths in text, compare different spellings of a path, and match glob patterns."""

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
"""Folders that repositories usually ignore, so that git shows no changes there."""
_OWN_FILES = frozenset({"progress.md"})  # is in `.helmsman/`, but usually named without the folder


def as_path(token: str) -> str:
    """Return the file path in a word, without marks and line numbers; empty if it is not certainly a path."""
    word = f"`{link[1]}`" if (link := _LINK.fullmatch(token)) else token
    quoted = word.startswith("`") and word.endswith("`")
    path = _PLACE.sub("", word.strip("`'\"").removesuffix("'s"))
    if len(path) > _LONGEST or not _PATH.fullmatch(path) or path.startswith("//"):
        return ""
    name = path.rpartition("/")[2].lower()
    stem, _, extension = name.rpartition(".")
    if name in _FILES["products"] or "..." in path:
        return ""
    is_bare = not quoted and "/" not in path
    if name in _FILES["names"]:
        return path if not is_bare or "." in name or path[0].isupper() else ""
    is_known = stem.strip(".") and extension in _EXTENSIONS and not (is_bare and extension in _FILES["weak"])
    return path if is_known else ""


def parts(path: str) -> tuple[str, ...]:
    """Split a path into parts in lower case, without `./`."""
    return tuple(part for part in path.lower().replace("\\", "/").split("/") if part not in {"", "."})


class Paths:
    """A set of paths that finds a file by any spelling of its path."""

    def __init__(self, paths: Iterable[str]) -> None:
        """Index the paths by file name for lookups in constant time."""
        self._all = frozenset(map(parts, paths := tuple(paths)))
        self._by_name: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
        for path in map(parts, paths):
            if path:
                self._by_name[path[-1]].append(path)

    def __contains__(self, path: str) -> bool:
        """Whether one path is a suffix of the other: `app.py`, `src/app.py` and `/a/repository/src/app.py` can be one file.

        A file in a submodule matches the submodule's path, as git shows only that.
        """
        wanted = parts(path)
        if any(wanted[:length] in self._all for length in range(1, len(wanted))):
            return True
        candidates = self._by_name.get(wanted[-1], ()) if wanted else ()
        return any(wanted[-len(candidate) :] == candidate or candidate[-len(wanted) :] == wanted for candidate in candidates)


def is_visible_to_git(path: str, worktree: str) -> bool:
    """Whether a diff must show changes of this file: it is in the worktree, and not in a usually ignored folder."""
    root = f"{worktree.rstrip('/')}/"
    if path.startswith("/") and (root == "/" or not path.startswith(root)):
        return False
    relative = parts(path.removeprefix(root) if path.startswith("/") else path)
    return (
        bool(relative)
        and ".." not in relative
        and relative[0] != "~"
        and relative[-1] not in _OWN_FILES
        and JUNK.isdisjoint(relative[:-1])
    )


# --- patterns over paths and branches: `*` is anything but a slash, `**` any number of levels ---------------------------------

Pieces = Sequence[re.Pattern[str] | None]  # one pattern for each level; None for any number of levels


def matches_any(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path matches one of the patterns.

    A pattern without a slash matches a name in any folder; one that ends with a slash matches everything below. A leading `/` or
    `./` is the repository's root. Brackets are literal.
    """
    for pattern in patterns:
        below = f"{pattern}**" if pattern.endswith("/") else pattern
        anywhere = below if "/" in pattern.rstrip("/") else f"**/{below}"
        if match_pieces(path, pieces_of(anywhere.removeprefix("./").removeprefix("/").replace("[", "[[]"))):
            return True
    return False


def match_pieces(path: str, pieces: Pieces) -> bool:
    """Match level by level, all alternatives at once: the time stays bounded for any number of `**`."""
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
