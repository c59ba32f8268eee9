"""The grammar of guardrails.md: how its lines are told apart, and how words of others are kept from looking like ours."""

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from helmsman.code_blocks import CodeBlocks
from helmsman.memory.guardrails.birth import code
from helmsman.plain import clean, clean_lines
from helmsman.records.lessons import Guardrail

TITLE, NOTES, RETIRED = "# Guardrails", "# Notes", "# Retired"
RETIRED_HELP = "> These stand no more; to have one again, write it above as a heading and a text."
ORIGIN, EFFECT = "> Origin:", "> Effect:"
ALWAYS = "Always"
"""Heading of a guardrail without a trigger."""
_CODE = r"g[0-9a-f]{8}"
_BRACKETED = re.compile(rf"[\[(]({_CODE})[\])]")
_BRACKETED_LENGTH = 11
_CHAPTER = re.compile(r"#[ \t]+.*")
_ENTRY = re.compile(rf"- \[{_CODE}\] .*")
_MARK = re.compile(rf"<!-- helmsman(?P<pairs>(?: {_CODE}=[0-9a-f]{{8}})*) -->")
_MARK_LIKE = "<!-- helmsman"
_OURS_IN_BODY = re.compile(rf"[ \t]*(?P<slashes>\\*)(?:#{{1,2}}(?:[ \t]|\Z)|{ORIGIN}|{EFFECT}|{_MARK_LIKE})")
_OURS_IN_NOTES = re.compile(
    rf"[ \t]*(?P<slashes>\\*)(?:(?:{TITLE}|{NOTES}|{RETIRED})[ \t]*\Z|##[ \t].*[\[(]{_CODE}[\])][ \t]*\Z|{_MARK_LIKE})",
    re.IGNORECASE,
)


@dataclass
class Block:
    """A heading of the second level with what stands below it."""

    number: int
    """Its line, counted from 1."""
    words: str
    code: str
    """Empty where there is none."""
    lines: list[str] = field(default_factory=list[str])

    @property
    def trigger(self) -> str:
        return trigger_of(self.words)

    @property
    def instruction(self) -> str:
        return text_of(map(_unescaped, _without_facts(self.lines)))

    @property
    def raw(self) -> str:
        """As a note: without its code, so that it is no guardrail there."""
        return text_of((f"## {self.words}", *_without_facts(self.lines)))


@dataclass
class Page:
    """A file, taken apart."""

    blocks: list[Block] = field(default_factory=list[Block])
    rest: list[str] = field(default_factory=list[str])
    """Lines of a person that are no guardrail."""
    titled: bool = False
    mark: dict[str, str] | None = None
    """Fingerprints of what was written, by code; None where that line of ours is gone."""


# --- words --------------------------------------------------------------------------------------------------------


def trigger_of(text: str) -> str:
    """In one line; empty for one that is always to be thought of."""
    words = " ".join(clean(text).split())
    return "" if words.casefold() == ALWAYS.casefold() else words


def text_of(lines: Iterator[str] | Sequence[str]) -> str:
    """Lines without blanks at their ends and without empty ones around them, two empty ones in a row as one."""
    kept: list[str] = []
    for line in clean_lines("\n".join(lines)).split("\n"):
        if line.strip() or (kept and kept[-1]):
            kept.append(line.rstrip())
    return "\n".join(kept).strip()


def fingerprint(trigger: str, instruction: str) -> str:
    """Of the words alone: lines that are broken elsewhere are no change."""
    words = "\0".join((trigger_of(trigger), " ".join(clean(instruction).split())))
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:8]


def code_of(guardrail: Guardrail) -> str:
    """How the file names it; an id of another form has a code made of it."""
    return guardrail.id if re.fullmatch(_CODE, guardrail.id) else code(guardrail.id)


# --- writing ------------------------------------------------------------------------------------------------------


def heading(trigger: str, its_code: str) -> str:
    return f"## {trigger_of(trigger) or ALWAYS} [{its_code}]"


def body(instruction: str) -> str:
    """An instruction none of whose lines looks like one of ours."""
    return "\n".join(_escaped(line, _OURS_IN_BODY) for line in text_of(instruction.split("\n")).split("\n"))


def notes(rest: str) -> str:
    return "\n".join(_escaped(line, _OURS_IN_NOTES) for line in rest.split("\n"))


def mark(shown: Mapping[str, str]) -> str:
    return " ".join((_MARK_LIKE, *(f"{its_code}={words}" for its_code, words in shown.items()), "-->"))


def _escaped(line: str, ours: re.Pattern[str]) -> str:
    found = ours.match(line)
    return f"{line[: found.start('slashes')]}\\{line[found.start('slashes') :]}" if found else line


def _unescaped(line: str, ours: re.Pattern[str] = _OURS_IN_BODY) -> str:
    found = ours.match(line)
    return f"{line[: found.start('slashes')]}{line[found.start('slashes') + 1 :]}" if found and found["slashes"] else line


# --- reading ------------------------------------------------------------------------------------------------------


def page(text: str, known: Collection[str]) -> Page:
    """A file's text taken apart. `known`: codes of guardrails."""
    reader = _Reader(known)
    for number, line in enumerate(clean_lines(text).split("\n"), 1):
        reader.take(number, line.rstrip())
    return reader.page


class _Reader:
    """Goes through the lines, and knows in what they stand."""

    def __init__(self, known: Collection[str]) -> None:
        self.page = Page()
        self._known = known
        self._block: Block | None = None
        self._noting = self._listing = self._beginning = False
        self._code = CodeBlocks()

    def take(self, number: int, line: str) -> None:
        block = _block(number, line)
        if block and (block.code in self._known or not (self._code.open or self._noting)):
            self._open(block)
        elif self._listing and (line == RETIRED_HELP or _ENTRY.fullmatch(line)):
            self._turn(listing=True)  # which ends a block that somebody put between the retired ones
        elif not (self._structure(line) or (self._beginning and line.startswith(">"))):
            self._text(line)

    def _open(self, block: Block) -> None:
        self._turn(listing=self._listing)
        self._block = block
        self.page.blocks.append(block)

    def _turn(self, *, noting: bool = False, listing: bool = False) -> None:
        """What was open ends here."""
        self._block, self._noting, self._listing, self._code = None, noting, listing, CodeBlocks()
        self._beginning = False

    def _structure(self, line: str) -> bool:
        """Whether a line is one of ours, or begins a chapter of a person's own."""
        said = line.casefold()
        if line.startswith(_MARK_LIKE):
            found = _MARK.fullmatch(line)
            if found and self.page.mark is None:
                self.page.mark = dict(_pair(pair) for pair in found["pairs"].split())
            self._turn()  # what somebody adds at the end may be a guardrail again
        elif said in {TITLE.casefold(), NOTES.casefold(), RETIRED.casefold()}:
            self.page.titled |= said == TITLE.casefold()
            self._turn(noting=said == NOTES.casefold(), listing=said == RETIRED.casefold())
            self._beginning = said == TITLE.casefold()
        else:
            if _CHAPTER.fullmatch(line) and not (self._code.open or self._noting):
                self._turn(noting=True)
            return False
        return True

    def _text(self, line: str) -> None:
        self._code.holds(line)
        if self._block is not None:
            self._block.lines.append(line)
        else:
            self.page.rest.append(_unescaped(line, _OURS_IN_NOTES))


def _block(number: int, line: str) -> Block | None:
    """What a line begins, if it is a heading of the second level."""
    if not line.startswith("## "):
        return None
    words = line[2:].strip()
    found = _BRACKETED.fullmatch(words[-_BRACKETED_LENGTH:])
    return Block(number, words[:-_BRACKETED_LENGTH].rstrip(), found[1]) if found else Block(number, words, "")


def _pair(text: str) -> tuple[str, str]:
    its_code, _, words = text.partition("=")
    return its_code, words


def _without_facts(lines: Sequence[str]) -> Iterator[str]:
    """Origin and effect are ours, in however many quoted lines somebody's editor has broken them."""
    facts = False
    for line in lines:
        facts = line.startswith((ORIGIN, EFFECT)) or (facts and line.startswith(">"))
        if not facts:
            yield line
