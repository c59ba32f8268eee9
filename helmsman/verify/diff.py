"""The structured diff that invariants and claims look at: every changed file, whole, as it was and as it is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property


@dataclass(frozen=True)
class Line:
    """A line that is only on one side."""

    number: int
    """Counted from 1, in the file of its side."""
    text: str


@dataclass(frozen=True)
class FileDiff:
    """One changed file."""

    path: str
    """As it is called now; as it was called, where it is gone."""
    before: str | None
    """Its text at the start; None where it was not there, or is no text that we read."""
    after: str | None
    """Its text now; None where it is gone, or is no text that we read."""
    status: str = "M"
    """A added, D deleted, M modified, R renamed, as git says."""
    old_path: str = ""
    """As it was called, where it was renamed."""

    @cached_property
    def removed(self) -> tuple[Line, ...]:
        return tuple(Line(number + 1, self._old[number]) for number in self._only[0])

    @cached_property
    def added(self) -> tuple[Line, ...]:
        return tuple(Line(number + 1, self._new[number]) for number in self._only[1])

    @cached_property
    def _old(self) -> list[str]:
        return lines_of(self.before)

    @cached_property
    def _new(self) -> list[str]:
        return lines_of(self.after)

    @cached_property
    def _only(self) -> tuple[list[int], list[int]]:
        """Places of the lines that are on one side only."""
        old, new = self._old, self._new
        first = common_start(old, new)
        last = common_start(old[first:][::-1], new[first:][::-1])  # most changes are small: the rest need not be matched
        middle = old[first : len(old) - last], new[first : len(new) - last]
        steps = [step for step in SequenceMatcher(None, *middle, autojunk=False).get_opcodes() if step[0] != "equal"]
        gone = [first + n for _, a, b, _, _ in steps for n in range(a, b)]
        return gone, [first + n for _, _, _, a, b in steps for n in range(a, b)]


def lines_of(text: str | None) -> list[str]:
    """Lines as editors and compilers count them: a form feed and the separators of Unicode end none."""
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []


def common_start(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines, or letters, both begin with."""
    return next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


@dataclass(frozen=True)
class TreeDiff:
    """Everything that differs between two commits."""

    files: tuple[FileDiff, ...] = ()
    left_out: tuple[str, ...] = ()
    """Paths that were not read: binary, too large, or beyond the number of files that are looked at."""

    def __iter__(self) -> Iterator[FileDiff]:
        return iter(self.files)


def shown(text: str, longest: int = 200) -> str:
    """A line as a finding quotes it."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def texts_after(diff: TreeDiff, others: Sequence[tuple[str, str]] = ()) -> dict[str, str]:
    """Texts by path as they are now, of changed files and of others that are given."""
    return dict(others) | {file.path: file.after for file in diff if file.after is not None}
