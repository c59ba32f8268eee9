"""The structured diff that invariants and claims look at: every changed file, whole, as it was and as it is."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from helmsman.verify.changed_lines import Part, changed_parts


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
    no_room: tuple[str, ...] = ()  # those of them that are small enough by themselves, and did not fit beside the others

    def __iter__(self) -> Iterator[FileDiff]:
        return iter(self.files)
