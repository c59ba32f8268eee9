"""RUBRIC.md as Markdown: which line is a heading, a list item, a fence of code, a comment or prose."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate


@dataclass(frozen=True)
class Flaw:
    """One thing that is wrong with a rubric."""

    line: int
    """Counted from 1, in the file."""
    cause: str
    remedy: str
    """What to do, as an instruction."""


class Kind(StrEnum):
    HEADING = "heading"
    ITEM = "item"
    FENCE = "fence"
    COMMENT = "comment"
    TEXT = "text"
    BLANK = "blank"


@dataclass(frozen=True)
class Piece:
    """A line, or the lines of a fence or a comment."""

    kind: Kind
    line: int
    """Counted from 1, in the file."""
    raw: str
    """As it stands in the file."""
    text: str = ""
    """Without marks: a heading's title, an item's words, a fence's content, else the stripped line."""
    depth: int = 0
    """A heading's level from 1, else the indentation in characters."""
    closed: bool = True
    """Whether a fence or a comment comes to its end."""


_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]++(.*))?")
_SQUEEZED = re.compile(r" {0,3}(##)([A-Za-z].*)")
_ITEM = re.compile(r"([ \t]*+)(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]++(.*))?")
_FENCE = re.compile(r"(`{3,}+)[^`]*+|(~{3,}+).*")
_TAB = 4


def pieces(text: str, first_line: int = 1) -> Iterator[Piece]:
    """Cut a document into pieces, each line in exactly one. What is not closed takes one line; the rest is read as usual."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    closers = _closers(lines)
    last_arrow = max((number for number, line in enumerate(lines) if "-->" in line), default=-1)
    number = 0
    while number < len(lines):
        mark = _fence(lines[number])
        if mark:
            end = _fence_end(lines, number, mark) if len(mark) <= closers[number + 1].get(mark[0], 0) else None
            found = _fenced(lines[number : end or number + 1], number + first_line, closed=end is not None)
        elif lines[number].lstrip().startswith("<!--"):
            end = _comment_end(lines, number) if number <= last_arrow else None
            found = _commented(lines[number : end or number + 1], number + first_line, closed=end is not None)
        else:
            end, found = number + 1, _plain(lines[number], number + first_line)
        yield found
        number = end or number + 1


def _fence(line: str) -> str:
    """The backticks or tildes that open a fence in this line, if any; an item may begin with one."""
    item = _ITEM.fullmatch(line)
    match = _FENCE.fullmatch((item[2] or "").strip() if item else line.strip())
    return (match[1] or match[2]) if match else ""


def _closers(lines: Sequence[str]) -> list[dict[str, int]]:
    """For each line, and one beyond: the longest closing mark of either kind from there on, so that no search is in vain."""
    backwards = accumulate(map(_closing, reversed(lines)), _longer, initial=dict[str, int]())
    return list(backwards)[::-1]


def _closing(line: str) -> dict[str, int]:
    mark = line.strip()
    return {mark[0]: len(mark)} if mark[:3] in {"```", "~~~"} and set(mark) == {mark[0]} else {}


def _longer(known: dict[str, int], new: dict[str, int]) -> dict[str, int]:
    better = {mark: length for mark, length in new.items() if length > known.get(mark, 0)}
    return known | better if better else known


def _fence_end(lines: Sequence[str], start: int, mark: str) -> int | None:
    """The line after the one that closes the fence."""
    return next(
        (end + 1 for end in range(start + 1, len(lines)) if _closing(lines[end]).get(mark[0], 0) >= len(mark)),
        None,
    )


def _comment_end(lines: Sequence[str], start: int) -> int | None:
    return next((end + 1 for end in range(start, len(lines)) if "-->" in lines[end]), None)


def _fenced(lines: Sequence[str], line: int, *, closed: bool) -> Piece:
    return Piece(Kind.FENCE, line, "\n".join(lines), "\n".join(lines[1:-1]), _indentation(lines[0]), closed)


def _commented(lines: Sequence[str], line: int, *, closed: bool) -> Piece:
    return Piece(Kind.COMMENT, line, "\n".join(lines), closed=closed)


def _plain(line: str, number: int) -> Piece:
    if not line.strip() or _is_rule(line.strip()):
        return Piece(Kind.BLANK, number, line)
    heading = _HEADING.fullmatch(line) or _SQUEEZED.fullmatch(line)
    if heading:
        return Piece(Kind.HEADING, number, line, (heading[2] or "").strip(), len(heading[1]))
    item = _ITEM.fullmatch(line)
    text = (item[2] or "") if item else line
    return Piece(Kind.ITEM if item else Kind.TEXT, number, line, text.strip(), _indentation(line))


def _is_rule(line: str) -> bool:
    """Whether it is a line drawn across the page, such as `---` or `* * *`."""
    marks = line.replace(" ", "")
    return len(marks) > 2 and marks[0] in "-*_" and set(marks) == {marks[0]}  # noqa: PLR2004 - Markdown's own number


def _indentation(line: str) -> int:
    wide = line.expandtabs(_TAB)
    return len(wide) - len(wide.lstrip())
