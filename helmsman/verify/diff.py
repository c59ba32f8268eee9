"""The structured diff that invariants and claims look at: every changed file, whole, as it was and as it is."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import pairwise

Part = tuple[int, int, int, int]
"""Lines from the first number up to the second of the old version, from the third up to the fourth of the new one."""


@dataclass(frozen=True)
class Line:
    """A line that is only on one side."""

    number: int  # counted from 1, in the file of its side
    text: str


@dataclass(frozen=True)
class FileDiff:
    """One changed file."""

    path: str  # as it is called now; as it was called, where it is gone
    before: str | None  # its text at the start; None where it was not there, or is no text that we read
    after: str | None  # its text now; None where it is gone, or is no text that we read
    status: str = "M"  # a added, D deleted, M modified, R renamed, as git says
    old_path: str = ""  # as it was called, where it was renamed

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
        """What differs: places, from 0, of its lines before and after."""
        return tuple(changed_parts(self.old, self.new))


def lines_of(text: str | None) -> list[str]:
    """Lines as editors and compilers count them: a form feed and the separators of Unicode end none."""
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []


@dataclass(frozen=True)
class TreeDiff:
    """Everything that differs between two commits."""

    files: tuple[FileDiff, ...] = ()
    left_out: tuple[str, ...] = ()
    """Paths that were not read: binary, too large, or beyond the number of files that are looked at."""

    def __iter__(self) -> Iterator[FileDiff]:
        return iter(self.files)


# --- lines that differ ------------------------------------------------------------------------------------------------
# Found in a time that no file can blow up: small parts are compared exactly; larger ones are first cut at the lines that stand
# once on either side, for an exact comparison takes the cube of their length where lines repeat, as in a rewritten snapshot.

_SMALL = 40_000  # pairs of lines up to which a part is compared exactly: some hundredths of a second at worst
_DEEPEST = 12  # times that a part is cut; what is left then counts as changed
_MOST_MOVED = 200  # blocks of lines in another order: each of them costs a pass over all


def changed_parts(old: Sequence[str], new: Sequence[str]) -> Iterator[Part]:
    """The parts that both sides do not have in common, in order."""
    parts = _changed(old, new, (0, len(old), 0, len(new)), 0)
    return ((a, b, c, d) for a, b, c, d in parts if a < b or c < d)


def common_start(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines, or letters, both begin with."""
    return next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


def _changed(old: Sequence[str], new: Sequence[str], part: Part, depth: int) -> Iterator[Part]:
    a, b, c, d = part
    first = common_start(old[a:b], new[c:d])
    last = common_start(old[a + first : b][::-1], new[c + first : d][::-1])
    a, b, c, d = a + first, b - last, c + first, d - last
    if a == b or c == d:
        yield a, b, c, d
    elif (b - a) * (d - c) <= _SMALL:
        steps = SequenceMatcher(None, old[a:b], new[c:d], autojunk=False).get_opcodes()
        yield from ((a + i, a + j, c + k, c + m) for step, i, j, k, m in steps if step != "equal")
    elif depth < _DEEPEST and (anchors := _anchors(old[a:b], new[c:d])):
        places = [(a - 1, c - 1), *((a + i, c + k) for i, k in anchors), (b, d)]
        for (i, k), (j, m) in pairwise(places):
            yield from _changed(old, new, (i + 1, j, k + 1, m), depth + 1)
    else:
        yield a, b, c, d


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Places of lines that stand once on either side, as far as they come in one order; none where little does."""
    ours, theirs = Counter(old), Counter(new)
    left, right = ([at for at, line in enumerate(side) if ours[line] == theirs[line] == 1] for side in (old, new))
    place = {new[at]: number for number, at in enumerate(right)}
    order = [place[old[at]] for at in left]
    if sum(second != first + 1 for first, second in pairwise(order)) > _MOST_MOVED:
        return []
    blocks = SequenceMatcher(None, order, range(len(right)), autojunk=False).get_matching_blocks()
    return [(left[i + at], right[j + at]) for i, j, size in blocks for at in range(size)]
