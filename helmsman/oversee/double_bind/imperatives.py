"""Sentences and items of a Markdown text that order something, with their lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from helmsman.oversee.double_bind.modality import clauses, modality
from helmsman.records.oversight import Imperative, Modality

MOST_IMPERATIVES = 200
LONGEST_TEXT = 300
LONGEST_INPUT = 200_000
"""Characters of a text that are read; a document of orders has a few thousand."""
_LONGEST_BLOCK = 4000
_FENCE = re.compile(r" {0,12}(```+|~~~+)")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{3,})[ \t]*$")
_ITEM = re.compile(r"[ \t]{0,12}(?:[-*+]|[0-9]{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(.*)")
_NO_PROSE = re.compile(r"[ \t]*(?:\||>|</?[a-zA-Z!]|\[[^\]]{1,99}\]:)")
_SENTENCE_END = re.compile(r"(?<=[.!?])[*_)\"']{0,3} +(?=[A-Z`*_\"'(\[])")
_SHORTENED = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|approx)\.[*_)\"']{0,3}$", re.IGNORECASE)
_CONTEXTS: tuple[tuple[re.Pattern[str], Modality], ...] = (
    (
        re.compile(
            r"\b(?:do not|don'?ts?|never|must not|mustn't|out of scope|non-?goals?|forbidden|prohibited|off[- ]limits"
            r"|not allowed"
            r"|what not to do|not to do|anti-?patterns?|hands off)\b(?! forget)",
            re.IGNORECASE,
        ),
        "must_not",
    ),
    (re.compile(r"\bavoid\b|\bshould not\b", re.IGNORECASE), "should_not"),
)
_BOTH = re.compile(r"\bdo(?:'?s)? (?:and|&|/) don'?ts?\b", re.IGNORECASE)


@dataclass
class _Block:
    """A paragraph or an item, as it grows line by line."""

    line: int
    item: bool
    parts: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    size: int = 0

    def add(self, line: int, text: str) -> None:
        if self.size < _LONGEST_BLOCK:
            kept = text.strip()[: _LONGEST_BLOCK - self.size]
            self.parts.append((line, kept))
            self.size += len(kept) + 1


@dataclass(frozen=True)
class _Context:
    """What a heading or a leading sentence says of the items below it."""

    words: str = ""
    modality: Modality | None = None


_NONE = _Context()


def imperatives(source: str, text: str) -> tuple[Imperative, ...]:
    """What a text orders, in its order, 200 at most. Code, quotations, tables and headings order nothing."""
    found: list[Imperative] = []
    for block, context in _blocks(text[:LONGEST_INPUT]):
        for line, words, how in _orders(block, context):
            found.append(Imperative(source=source, line=line, text=words, modality=how))
            if len(found) == MOST_IMPERATIVES:
                return tuple(found)
    return tuple(found)


def _orders(block: _Block, context: _Context) -> Iterator[tuple[int, str, Modality]]:
    for line, sentence in _sentences(block):
        first = block.item and line == block.line
        if sentence.rstrip(" *_").endswith(":"):
            continue
        for clause in clauses(sentence):
            words = " ".join(clause.split()).strip(" *_")
            how = modality(words)
            under = context.modality if block.item else None
            if under and first and how in {None, "must"} and not _own_modality(words):
                yield line, f"{context.words}: {words}"[:LONGEST_TEXT], under
            elif how and words:
                yield line, words[:LONGEST_TEXT], how
            first = False


_EXPLICIT = re.compile(r"\b(?:must|always|shall|should|instead)\b", re.IGNORECASE)


def _own_modality(words: str) -> bool:
    """Whether an item under `Do not` says for itself that it is to be done."""
    return bool(_EXPLICIT.search(words))


def _sentences(block: _Block) -> Iterator[tuple[int, str]]:
    """Sentences of a block, each with the line that it begins on."""
    starts: list[tuple[int, int]] = []
    text = ""
    for line, part in block.parts:
        starts.append((len(text), line))
        text += f"{part} "
    at = 0
    for end in [*_ends(text), len(text)]:
        line = next(line for offset, line in reversed(starts) if offset <= at)
        if text[at:end].strip():
            yield line, text[at:end].strip()
        at = end


def _ends(text: str) -> Iterator[int]:
    for found in _SENTENCE_END.finditer(text):
        shortened = _SHORTENED.search(text[max(0, found.start() - 12) : found.start()])
        if not shortened and text.count("`", 0, found.start()) % 2 == 0:
            yield found.end()


class _Reader:
    """Goes through lines, and knows in what they stand."""

    def __init__(self) -> None:
        self.block: _Block | None = None
        self.headings: list[tuple[int, _Context]] = []
        self.lead = _NONE
        self.fence = ""
        self.comment = False

    def context(self) -> _Context:
        if self.lead.modality:
            return self.lead
        return next((context for _, context in reversed(self.headings) if context.modality), _NONE)

    def heading(self, level: int, words: str) -> None:
        self.headings = [(above, context) for above, context in self.headings if above < level]
        self.headings.append((level, _context(words)))
        self.lead = _NONE

    def close(self) -> tuple[_Block, _Context] | None:
        block, self.block = self.block, None
        if block is None:
            return None
        if not block.item:
            self.lead = _lead(block)
        return block, self.context()


def _blocks(text: str) -> Iterator[tuple[_Block, _Context]]:
    """Paragraphs and items, with what stands above them."""
    reader, lines = _Reader(), text.splitlines()
    for number, line in enumerate(lines[_front_matter(lines) :], 1 + _front_matter(lines)):
        kind = _kind(reader, line)
        if kind == "more" and reader.block is not None:
            reader.block.add(number, line)
            continue
        _underline(reader, line)
        closed = reader.close()
        if closed:
            yield closed
        _open(reader, kind, number, line)
    closed = reader.close()
    if closed:
        yield closed


def _open(reader: _Reader, kind: str, number: int, line: str) -> None:
    heading, item = _HEADING.match(line), _ITEM.match(line)
    if kind == "heading" and heading:
        reader.heading(len(heading[1]), heading[2])
    elif kind == "item" and item:
        reader.block = _Block(number, item=True)
        reader.block.add(number, item[1])
    elif kind == "more":
        reader.block = _Block(number, item=False)
        reader.block.add(number, line)


def _underline(reader: _Reader, line: str) -> None:
    """A paragraph that the next line underlines is a heading."""
    block = reader.block
    if block is not None and not block.item and len(block.parts) == 1 and _UNDERLINE.match(line):
        reader.block = None
        reader.heading(1 if "=" in line else 2, block.parts[0][1])


def _kind(reader: _Reader, line: str) -> Literal["none", "heading", "item", "more"]:
    fence = _FENCE.match(line)
    if reader.fence:
        if fence and fence[1].startswith(reader.fence) and not line.strip(" `~"):
            reader.fence = ""
        return "none"
    if fence:
        reader.fence = fence[1]
        return "none"
    if reader.comment or line.lstrip().startswith("<!--"):
        reader.comment = "-->" not in line
        return "none"
    return _prose(reader, line)


def _prose(reader: _Reader, line: str) -> Literal["none", "heading", "item", "more"]:
    if not line.strip() or _NO_PROSE.match(line) or _UNDERLINE.match(line):
        return "none"
    if _HEADING.match(line):
        return "heading"
    if _ITEM.match(line):
        return "item"
    code = reader.block is None and line.startswith(("    ", "\t"))
    return "none" if code else "more"


def _front_matter(lines: list[str]) -> int:
    """How many lines of settings stand above the text."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    return next((number for number, line in enumerate(lines[1:200], 2) if line.rstrip() == "---"), 0)


def _lead(block: _Block) -> _Context:
    """A paragraph that ends with a colon speaks for the items after it."""
    words = block.parts[-1][1].strip(" *_") if block.parts else ""
    return _context(words.rstrip(":")) if words.endswith(":") else _NONE


def _context(words: str) -> _Context:
    words = " ".join(words.split()).strip(" #*_:")[:60]
    return _Context(words, None if _BOTH.search(words) else _of_context(words))


def _of_context(words: str) -> Modality | None:
    for pattern, how in _CONTEXTS:
        if pattern.search(words):
            return how
    return None
