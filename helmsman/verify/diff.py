"""The structured diff that invariants and claims look at: every changed file, whole, as it was and as it is."""

from bisect import bisect_left
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
    """Places of lines that stand once on either side: the most of them that come in the same order on both."""
    ours, theirs = Counter(old), Counter(new)
    place = {line: number for number, line in enumerate(new) if theirs[line] == 1}
    pairs = [(number, place[line]) for number, line in enumerate(old) if ours[line] == 1 and line in place]
    # the longest choice of pairs, in their order, whose second numbers rise
    ends: list[int] = []  # for each length the smallest second number that such a choice ends with,
    last: list[int] = []  # and which pair that is
    before: list[int] = []  # for each pair the one that comes before it in its choice
    for number, (_, second) in enumerate(pairs):
        length = bisect_left(ends, second)
        ends[length : length + 1], last[length : length + 1] = [second], [number]
        before.append(last[length - 1] if length else -1)
    chosen: list[tuple[int, int]] = []
    at = last[-1] if last else -1
    while at >= 0:
        chosen.append(pairs[at])
        at = before[at]
    return chosen[::-1]
