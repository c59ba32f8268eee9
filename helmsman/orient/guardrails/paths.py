"""Where a path of a tool call leads: into the worktree, to a temporary place, or outside."""

import re
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from fnmatch import translate
from functools import lru_cache
from posixpath import dirname, join, normpath
from typing import NamedTuple

from helmsman.orient.guardrails.rules import DEVICES, TEMPORARY, Rules
from helmsman.orient.guardrails.shell import HOME, UNKNOWN, placed

LONGEST = 4096
"""Characters of a path; no system opens a longer one."""
_MOST_PARTS = 256


class Kind(Enum):
    INSIDE = auto()
    TEMPORARY = auto()
    OUTSIDE = auto()


class Place(NamedTuple):
    kind: Kind
    path: str
    """Relative to the worktree where it is inside, "" for its top; else absolute."""
    holds_worktree: bool = False
    """Whether it is the worktree itself or a folder above it."""


def locate(word: str, folder: str | None, rules: Rules) -> Place | None:
    """Where a word leads that is used as a path in `folder`; None where the text doesn't tell."""
    if not word or len(word) > LONGEST:
        return None
    path = placed(word, folder, rules.home or HOME)
    if path is None:
        return None
    plain, resolved = _clean(path), _resolved(path, rules)
    tops = {normpath(rules.worktree), _resolved(normpath(rules.worktree), rules)}
    holds = any(is_below(top, resolved) for top in tops)
    for top in sorted(tops):
        if is_below(resolved, top):
            return Place(Kind.INSIDE, resolved[len(top) :].strip("/"), holds)
    if any(is_below(plain, device) for device in DEVICES):
        return Place(Kind.TEMPORARY, plain)
    temporary = any(is_below(resolved, normpath(top)) for top in (*TEMPORARY, *rules.temporary) if top)
    return Place(Kind.TEMPORARY if temporary else Kind.OUTSIDE, resolved, holds)


def _clean(path: str) -> str:
    """With one slash at the start, where POSIX keeps two."""
    return f"/{path.lstrip('/')}" if path.startswith("//") else path


def _resolved(path: str, rules: Rules) -> str:
    """Links are followed as far as the path is known."""
    known, unknown, _ = path.partition(UNKNOWN)
    if not unknown:
        return _clean(normpath(rules.resolve(path)))
    folder = dirname(known)
    return _clean(normpath(join(rules.resolve(folder), path[len(folder) :].lstrip("/"))))


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or in it."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def matches_any(path: str, globs: Iterable[str]) -> bool:
    """A glob without a slash means a name in any folder; one that ends with a slash means everything below."""
    parts = path.split("/")
    return len(parts) <= _MOST_PARTS and any(_matches(parts, _pieces(glob)) for glob in globs)


@lru_cache(maxsize=500)
def _pieces(glob: str) -> tuple[re.Pattern[str] | None, ...]:
    """One pattern for each part of a path; None for any number of parts."""
    below = f"{glob}**" if glob.endswith("/") else glob
    anywhere = below if "/" in glob.rstrip("/") else f"**/{below}"
    names = anywhere.removeprefix("./").removeprefix("/").split("/")
    return tuple(None if name == "**" else re.compile(translate(name.replace("[", "[[]"))) for name in names)


def _matches(parts: Sequence[str], pieces: Sequence[re.Pattern[str] | None]) -> bool:
    """The pieces against the parts, each pair looked at once: `reached` are the pieces that may come next."""
    reached = _with_skips({0}, pieces)
    for part in parts:
        following = {number for number in reached if number < len(pieces) and pieces[number] is None}
        following |= {number + 1 for number in reached if number < len(pieces) and _fits(pieces[number], part)}
        reached = _with_skips(following, pieces)
    return len(pieces) in reached


def _fits(piece: re.Pattern[str] | None, part: str) -> bool:
    return piece is not None and piece.match(part) is not None


def _with_skips(reached: set[int], pieces: Sequence[re.Pattern[str] | None]) -> set[int]:
    """`**` may also stand for nothing."""
    found: set[int] = set()
    for number in reached:
        found.add(number)
        while number < len(pieces) and pieces[number] is None:
            number += 1  # noqa: PLW2901 - walks on from where it stands
            found.add(number)
    return found
