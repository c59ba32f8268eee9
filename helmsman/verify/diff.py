"""Structured diff for invariants and claims: the full text of every changed file before and after."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import pairwise

Part = tuple[int, int, int, int]
"""Half-open line ranges: first to second of the old version, third to fourth of the new one."""


@dataclass(frozen=True)
class Line:
    """A line that exists only on one side."""

    number: int  # counted from 1, in the file of its side
    text: str


@dataclass(frozen=True)
class FileDiff:
    """One changed file."""

    path: str  # current path; the old one if deleted
    before: str | None  # text at the start; None if missing or not read
    after: str | None  # text now; None if deleted or not read
    status: str = "M"  # A added, D deleted, M modified, R renamed, as in git
    old_path: str = ""  # old path, if renamed

    @cached_property
    def removed(self) -> tuple[Line, ...]:
        return tuple(Line(number + 1, self.old[number]) for first, end, _, _ in self.parts for number in range(first, end))

    @cached_property
    def added(self) -> tuple[Line, ...]:
        return tuple(Line(number + 1, self.new[number]) for _, _, first, end in self.parts for number in range(first, end))

    @cached_property
    def old(self) -> list[str]:
        return lines_of(self.before)

    @cached_property
    def new(self) -> list[str]:
        return lines_of(self.after)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Differing line ranges before and after, counted from 0."""
        return tuple(changed_parts(self.old, self.new))


def lines_of(text: str | None) -> list[str]:
    """Split text into lines as editors and compilers do: form feeds and Unicode separators do not end a line."""
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []


@dataclass(frozen=True)
class TreeDiff:
    """Everything that differs between two commits."""

    files: tuple[FileDiff, ...] = ()
    left_out: tuple[str, ...] = ()
    """Paths that were not read: binary, too large, or beyond the maximum number of files."""

    def __iter__(self) -> Iterator[FileDiff]:
        return iter(self.files)


# --- lines that differ ------------------------------------------------------------------------------------------------
# Bounded in time for any file: small parts are compared exactly; larger ones are first split at lines that are unique on both
# sides, because an exact comparison takes cubic time if lines repeat, as in a rewritten snapshot.

_SMALL = 40_000  # maximum pairs of lines for an exact comparison: some hundredths of a second at worst
_DEEPEST = 12  # maximum depth of splits; the rest counts as changed
_MOST_MOVED = 200  # maximum blocks of reordered lines: each costs a pass over all lines


def changed_parts(old: Sequence[str], new: Sequence[str]) -> Iterator[Part]:
    """Yield the differing parts in order."""
    parts = _diff_part(old, new, (0, len(old), 0, len(new)), 0)
    return ((a, b, c, d) for a, b, c, d in parts if a < b or c < d)


def common_start(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the length of the common prefix of two sequences."""
    return next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


def _diff_part(old: Sequence[str], new: Sequence[str], part: Part, depth: int) -> Iterator[Part]:
    a, b, c, d = part
    first = common_start(old[a:b], new[c:d])
    last = common_start(old[a + first : b][::-1], new[c + first : d][::-1])
    a, b, c, d = a + first, b - last, c + first, d - last
    if a == b or c == d:
        yield a, b, c, d
    elif (b - a) * (d - c) <= _SMALL:
        steps = SequenceMatcher(None, old[a:b], new[c:d], autojunk=False).get_opcodes()
        yield from ((a + i, a + j, c + k, c + m) for step, i, j, k, m in steps if step != "equal")
    elif depth < _DEEPEST and (anchors := _find_anchors(old[a:b], new[c:d])):
        places = [(a - 1, c - 1), *((a + i, c + k) for i, k in anchors), (b, d)]
        for (i, k), (j, m) in pairwise(places):
            yield from _diff_part(old, new, (i + 1, j, k + 1, m), depth + 1)
    else:
        yield a, b, c, d


def _find_anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return positions of lines that are unique on both sides and in the same order; none if most are reordered."""
    ours, theirs = Counter(old), Counter(new)
    left, right = ([at for at, line in enumerate(side) if ours[line] == theirs[line] == 1] for side in (old, new))
    place = {new[at]: number for number, at in enumerate(right)}
    order = [place[old[at]] for at in left]
    if sum(second != first + 1 for first, second in pairwise(order)) > _MOST_MOVED:
        return []
    blocks = SequenceMatcher(None, order, range(len(right)), autojunk=False).get_matching_blocks()
    return [(left[i + at], right[j + at]) for i, j, size in blocks for at in range(size)]
