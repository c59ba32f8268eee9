"""The sentences of a last message in which the agent may state what it did: no code, no quotes, no plans.

A wrapped line belongs to its paragraph, so that a `not` at the end of a line is not lost. What stands under a heading such as
`Next steps`, or behind an unticked box, is no statement.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from helmsman.verify.claims.status_report import spans
from helmsman.verify.claims.words import BAD_MARKS, any_word

CODE_FENCE = re.compile(r"^ {0,3}(`{3,}+(?![^\n]*`)|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_LONGEST = 20_000
"""Characters of a message that are read, from its end."""
_SENTENCE = 600
"""Characters of a sentence that are read; what is longer is a listing."""

_HEADING = re.compile(r"(?:#{1,6}[ \t]+(.*)|(?:\*\*|__)([^*]+?)(?:\*\*|__):?)")
_ITEM = re.compile(r"(?:[-*+•]|[0-9]{1,3}[.)])[ \t]+(\[[ xX]\][ \t]+)?(.*)")
_LEAD = re.compile(r".{1,100}:")
_END = re.compile(r"(?<=[.!?;])(?<!e\.g\.)(?<!i\.e\.)\s+")
_NO_STATEMENT = any_word(
    """
    next to-?dos? remain(s|ing)? left plan(s|ned)? pending future follow-?ups? later open known recommend(ed|ations?)?
    suggest(ed|ions?)? ideas? how usage examples? instructions? requirements? acceptance criteria goals? objectives? questions?
    block(ed|ers?)? not never cannot should would could will must if when before previous(ly)? earlier background history
    alternatives? scope skipped rejected proposed optional you your needs? needed
    """
)
"""In a heading or lead-in: what stands below it was not done, not now, or not by the agent."""
_MARKS = re.compile(r"^[^\w`./~\[(]+")


@dataclass(frozen=True)
class Sentence:
    """One sentence of prose, without list marks and bold type."""

    text: str
    under: str = ""
    """The heading or lead-in (`Files changed:`) that it stands under."""
    first: bool = True
    """Whether it opens its paragraph or list entry."""
    ticked: bool = False
    """Whether it stands behind a ticked box."""


@dataclass
class _Paragraph:
    lines: list[str]
    item: bool = False
    ticked: bool = False


def sentences(message: str) -> Iterator[Sentence]:
    """Read from top to bottom; 20,000 characters from the end at most."""
    heading = lead = ""
    for part in _paragraphs(_prose(message)):
        text = " ".join(" ".join(part.lines).replace("**", "").split())
        if titled := _HEADING.fullmatch(part.lines[0]) if len(part.lines) == 1 and not part.item else None:
            heading, lead = (titled[1] or titled[2] or "").strip("#: \t*"), ""
            continue
        lead = lead if part.item else ""
        if not _NO_STATEMENT.search(f"{heading}\n{lead}"):
            yield from _split(text, lead or heading, ticked=part.ticked)
        lead = text.rstrip(":") if _LEAD.fullmatch(text) else lead


def _prose(message: str) -> str:
    kept = CODE_FENCE.sub("\n", message[-_LONGEST:].replace("\u2019", "'"))
    for start, end in reversed(list(spans(kept))):
        kept = f"{kept[:start]}\n\n{kept[end:]}"
    return kept


def _paragraphs(text: str) -> Iterator[_Paragraph]:
    """Paragraphs and list entries; quotes, tables and unticked entries are left out, with the lines that continue them."""
    current: _Paragraph | None = None
    for line in (line.strip() for line in text.splitlines()):
        begun = _begin(line, inside=current is not None)
        if begun is None and current is not None:
            current.lines.append(line)
            continue
        if current is not None and current.lines:
            yield current
        current = begun if line else None
        if current is not None and _HEADING.fullmatch(line):
            yield current
            current = None
    if current is not None and current.lines:
        yield current


def _begin(line: str, *, inside: bool) -> _Paragraph | None:
    """The paragraph that this line opens; one without lines is left out. None where it continues the one that it stands in."""
    if not line or line[0] in ">|":
        return _Paragraph([])
    if match := _ITEM.fullmatch(line):
        box = (match[1] or "").strip().lower()
        return _Paragraph([] if box == "[ ]" else [match[2] or "."], item=True, ticked=box == "[x]")
    return None if inside and not _HEADING.fullmatch(line) else _Paragraph([line])


def _split(text: str, under: str, *, ticked: bool) -> Iterator[Sentence]:
    for number, part in enumerate(_END.split(text)):
        plain = _MARKS.sub("", part[:_SENTENCE]).strip()
        if plain and BAD_MARKS.isdisjoint(part):
            yield Sentence(plain, under, first=number == 0, ticked=ticked)
