"""The items of a rubric's lists: which lines belong together."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from helmsman.verify.rubric.pieces import Flaw, Kind, Piece


@dataclass(frozen=True)
class Item:
    """One entry, whatever number of lines it takes."""

    line: int
    """Where it begins, counted from 1, in the file."""
    text: str
    code: bool = False
    """Whether it stood in a fence, where backticks are the shell's."""


def command_items(section: Iterable[Piece]) -> Iterator[Item | Flaw]:
    """Every list item at any depth, and every line of a fence. Indented lines right below an item belong to it."""
    line, words = 0, list[str]()
    for piece in section:
        if words and piece.kind is Kind.TEXT and piece.depth:
            words.append(piece.text)
            continue
        if words:
            yield Item(line, _one_line(words))
            yield from _stray(piece)
        line, words = piece.line, [piece.text] if piece.kind is Kind.ITEM else []
        if piece.kind is Kind.FENCE:
            yield from _fence_items(piece)
    if words:
        yield Item(line, _one_line(words))


def criterion_items(section: Iterable[Piece]) -> Iterator[Item]:
    """The list items of the upper level; what is indented or follows without an empty line belongs to the item above."""
    line, words, depth, apart = 0, list[str](), 0, False
    for piece in section:
        if piece.kind is Kind.ITEM and (not words or piece.depth <= depth + 1):
            if words:
                yield Item(line, "".join(words))
            line, words, depth = piece.line, [piece.text], piece.depth
        elif words and _belongs(piece, apart=apart):
            words += _continued(piece, apart=apart)
        elif words and piece.kind not in {Kind.BLANK, Kind.COMMENT}:
            yield Item(line, "".join(words))
            words = []
        apart = piece.kind is Kind.BLANK
    if words:
        yield Item(line, "".join(words))


def _stray(piece: Piece) -> Iterator[Flaw]:
    """Text under an item reads like one more command, and Markdown takes it for a part of the one above."""
    if piece.kind is Kind.TEXT and not piece.text.startswith("#"):
        remedy = "begin it with `- `, or indent it, or leave an empty line before it"
        yield Flaw(piece.line, "this line is neither an item of its own nor indented like a part of the one above", remedy)


def _fence_items(fence: Piece) -> Iterator[Item]:
    words: list[str] = []
    for number, line in enumerate(fence.text.split("\n"), fence.line + 1):
        words.append(line.strip())
        if line.rstrip().endswith("\\"):
            continue
        yield from _command_line(number - len(words) + 1, words)
        words = []
    yield from _command_line(fence.line + 1 + fence.text.count("\n") + 1 - len(words), words)


def _command_line(line: int, words: list[str]) -> Iterator[Item]:
    command = _one_line(words).removeprefix("$ ")
    if command and not command.startswith("#"):
        yield Item(line, command, code=True)


def _one_line(words: list[str]) -> str:
    return " ".join(word.removesuffix("\\").strip() for word in words).strip()


def _belongs(piece: Piece, *, apart: bool) -> bool:
    text = piece.kind is Kind.TEXT or (piece.kind is Kind.FENCE and piece.closed)
    return piece.kind is Kind.ITEM or (text and (piece.depth > 0 or not apart))


def _continued(piece: Piece, *, apart: bool) -> list[str]:
    if piece.kind is Kind.TEXT:
        return ["\n" if apart else " ", piece.text]
    return ["\n", f"- {piece.text}" if piece.kind is Kind.ITEM else piece.raw]
