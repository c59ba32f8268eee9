"""guardrails.md: a project's guardrails as Markdown that a person may edit, and what the person made of it.

A comment behind each heading names its guardrail. The last line lists those that were written, each with a fingerprint of its
words: so a reader tells what a person changed or deleted from what was changed or made elsewhere since, as several machines may
share one store, each with a file.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from helmsman.memory.guardrail_effect import effect_text
from helmsman.memory.learned_guardrails import REMOVED, code
from helmsman.parsers.markdown_text import CodeBlocks
from helmsman.plain import clean, clean_lines
from helmsman.records.base import Record
from helmsman.records.lessons import LONGEST_TEXT, Guardrail

TITLE, NOTES, RETIRED, ALWAYS = "# Guardrails", "# Notes", "# Retired", "Always"
HELP = """\
> What Helmsman tells the agent in each iteration: reword a heading or the text below it, delete both to be rid of them, or
> add a heading with a text of your own. What you write wins and stays; leave the comments as they are, and quoted lines like
> these to Helmsman, which writes them anew."""
"""Quoted, as all that is ours: quotations order nothing, whoever reads the file for orders."""
RETIRED_HELP = "> These stand no more; to have one again, write it above as a heading and a text."
LARGEST = 200_000
"""Characters of a file that are read."""
LONGEST_TRIGGER, MOST, MOST_RETIRED, MOST_PROBLEMS = 300, 200, 10, 20

_CODE = r"g[0-9a-f]{8}"
_HEADING = re.compile(rf"##[ \t]+(?P<words>.*?)(?:<!-- g:(?P<code>[0-9a-f]{{8}}) -->|[\[(](?P<old>{_CODE})[\])])?")
"""Version 0.1 wrote the code in brackets."""
_FACTS = "> Origin:", "> Effect:"
_ENTRY = re.compile(rf"- \[{_CODE}\] .*")
_MARK = re.compile(rf"<!-- helmsman(?P<pairs>(?: {_CODE}=[0-9a-f]{{8}})*) -->")
_OURS = re.compile(r"^([ \t]*\\*)(?=#{1,2}(?:[ \t]|$)|>|<!-- helmsman)", re.MULTILINE)
_ESCAPED = re.compile(r"^([ \t]*\\*)\\(?=#{1,2}(?:[ \t]|$)|>|<!-- helmsman)", re.MULTILINE)
"""How a line of an instruction would look like one of ours, and how it is kept from that."""


class Edits(Record):
    """What a person made of the file."""

    guardrails: tuple[Guardrail, ...] = ()
    """All that stand now, in the file's order, with the person's words."""
    changed: tuple[Guardrail, ...] = ()
    """To be written to the store: reworded, added, brought back, and removed ones, which are retired."""
    problems: tuple[str, ...] = ()
    """What could not be understood, with its line; 20 at most."""
    rest: str = ""
    """What else a person wrote. It is told to nobody, and has to be given to `render` or it is lost."""
    foreign: bool = False
    """The file is not Helmsman's, or too long: nothing was taken from it, and it must not be written."""


# --- writing ------------------------------------------------------------------------------------------------------


def render(guardrails: Sequence[Guardrail], retired: Sequence[Guardrail] = (), rest: str = "") -> str:
    """The file's text: guardrails in the order given, a person's notes, and what went last."""
    lines = [TITLE, "", HELP, ""]
    for one in guardrails:
        by = "a person wrote it" if one.by == "person" else clean(one.origin) or "unknown"
        again = "; reworded by a person" if one.edited and one.by != "person" else ""
        lines += _told(one, f" <!-- g:{code_of(one)[1:]} -->")
        lines += [f"> Origin: {by}{again}", ">", f"> Effect: {effect_text(one)}", ""]
    if kept := _trimmed(rest.split("\n")):
        lines += [NOTES, "", kept, ""]
    if retired:
        lines += [RETIRED, "", RETIRED_HELP, "", *_entries(retired), ""]
    shown = (f" {code_of(one)}={_fingerprint(one.trigger, one.instruction)}" for one in guardrails)
    return "\n".join([*lines, f"<!-- helmsman{''.join(shown)} -->", ""])


def render_for_agent(guardrails: Sequence[Guardrail]) -> str:
    """The same to read alone: what the agent writes into its copy is not taken over, so nothing in it says how to edit."""
    return "\n".join([TITLE, "", *(line for one in guardrails for line in _told(one))])


def _told(one: Guardrail, comment: str = "") -> list[str]:
    body = _OURS.sub(r"\1\\", _trimmed(one.instruction.split("\n")))
    return [f"## {_trigger(one.trigger) or ALWAYS}{comment}", "", body, ""]


def code_of(guardrail: Guardrail) -> str:
    """How the file names it; an id of another form has a code made of it."""
    return guardrail.id if re.fullmatch(_CODE, guardrail.id) else code(guardrail.id)


def _entries(retired: Sequence[Guardrail]) -> Iterator[str]:
    last = sorted(retired, key=lambda one: one.retired_at or one.created_at, reverse=True)
    for one in last[:MOST_RETIRED]:
        said = ": ".join(part for part in (_trigger(one.trigger), " ".join(clean(one.instruction).split())) if part)
        yield f"- [{code_of(one)}] {said} ({(one.retired_at or one.created_at):%Y-%m-%d}, {clean(one.retired)})"


def _trigger(text: str) -> str:
    """In one line; empty for one that is always to be thought of."""
    words = " ".join(clean(text).split())
    return "" if words.casefold() == ALWAYS.casefold() else words


def _trimmed(lines: Iterable[str]) -> str:
    """Lines without blanks at their ends and without empty ones around them, two empty ones in a row as one."""
    kept: list[str] = []
    for line in clean_lines("\n".join(lines)).split("\n"):
        if line.strip() or (kept and kept[-1]):
            kept.append(line.rstrip())
    return "\n".join(kept).strip()


def _fingerprint(trigger: str, instruction: str) -> str:
    """Of the words alone: lines that are broken elsewhere are no change."""
    words = "\0".join((_trigger(trigger), " ".join(clean(instruction).split())))
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:8]


# --- reading ------------------------------------------------------------------------------------------------------


@dataclass
class _Block:
    """A heading of the second level with what stands below it."""

    number: int
    words: str
    code: str
    lines: list[str] = field(default_factory=list[str])

    @property
    def trigger(self) -> str:
        return _trigger(self.words)

    @property
    def instruction(self) -> str:
        return _ESCAPED.sub(r"\1", _trimmed(self.lines))

    @property
    def fingerprint(self) -> str:
        return _fingerprint(self.trigger, self.instruction)

    def flaw(self) -> str:
        """Why it is no guardrail."""
        if not self.instruction:
            return "there is no text below it"
        if len(self.instruction) > LONGEST_TEXT:
            return f"its text is longer than {LONGEST_TEXT} characters"
        return f"its heading is longer than {LONGEST_TRIGGER} characters" if len(self.trigger) > LONGEST_TRIGGER else ""


@dataclass
class _Page:
    """A file, taken apart."""

    blocks: list[_Block] = field(default_factory=list[_Block])
    rest: list[str] = field(default_factory=list[str])
    titled: bool = False
    mark: dict[str, str] | None = None
    """Fingerprints of what was written, by code; None where that line of ours is gone."""


def read(text: str, known: Sequence[Guardrail], project: str, now: datetime) -> Edits:
    """What a person made of the file. `known`: all of the project's guardrails, retired ones too. Never raises."""
    by_code = {code_of(one): one for one in known}
    page = _page(text[: LARGEST + 1], by_code)
    ours = page.titled or page.mark is not None
    if len(text) > LARGEST or not ours:
        why = f"neither `{TITLE}` nor Helmsman's last line is in it" if not ours else f"it is longer than {LARGEST:,} characters"
        return Edits(guardrails=tuple(one for one in known if not one.retired), problems=(why,), foreign=True)
    reading = _Reading(by_code, page, project, now)
    for block in page.blocks:
        reading.take(block)
    return reading.edits()


def _page(text: str, known: Collection[str]) -> _Page:
    """`known`: codes of guardrails. A heading with one of them ends whatever was open, as an unclosed block of code."""
    page, fence = _Page(), CodeBlocks()
    into = page.rest
    chapter: str = ""
    for number, line in enumerate(map(str.rstrip, clean_lines(text).split("\n")), 1):
        block = _block(number, line)
        if block and (block.code in known or not (fence.open or chapter == NOTES)):
            page.blocks.append(block)
            into, fence = block.lines, CodeBlocks()
            chapter = RETIRED if chapter == RETIRED else ""
        elif line.title() in {TITLE, NOTES, RETIRED}:
            page.titled |= line.title() == TITLE
            into, fence, chapter = page.rest, CodeBlocks(), line.title()
        elif mark := _MARK.fullmatch(line):
            pairs = (pair.partition("=") for pair in mark["pairs"].split())
            page.mark = page.mark or {its_code: words for its_code, _, words in pairs}
            into, fence, chapter = page.rest, CodeBlocks(), ""
        elif chapter == RETIRED and (line == RETIRED_HELP or _ENTRY.fullmatch(line)):
            into = page.rest
        elif line.startswith(_FACTS) and chapter != NOTES:
            fence = CodeBlocks()
        elif fence.holds(line) or chapter == NOTES or not line.startswith(">"):
            if re.match(r"#[ \t]", line) and not fence.open and chapter != NOTES:
                into, chapter = page.rest, NOTES  # a chapter of a person's own
            into.append(line)
    return page


def _block(number: int, line: str) -> _Block | None:
    found = _HEADING.fullmatch(line) if line.startswith("##") else None
    if found is None:
        return None
    return _Block(number, found["words"].strip(), f"g{found['code']}" if found["code"] else found["old"] or "")


@dataclass
class _Reading:
    """Goes through the blocks of one file."""

    known: Mapping[str, Guardrail]
    page: _Page
    project: str
    now: datetime
    standing: dict[str, Guardrail] = field(default_factory=dict[str, Guardrail])
    """By code, in the order of the file."""
    seen: set[str] = field(default_factory=set[str])
    """Codes and fingerprints that a block was found for."""
    problems: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        """Whoever lost a code is found by the words."""
        with_heading = {block.code for block in self.page.blocks}
        words = {_fingerprint(one.trigger, one.instruction): its_code for its_code, one in self.known.items()}
        self.lost = {said: its_code for said, its_code in words.items() if its_code not in with_heading}
        self.mark = self.page.mark or {}

    def take(self, block: _Block) -> None:
        its_code = block.code if block.code in self.known else self.lost.get(block.fingerprint, "")
        one = None if its_code in self.seen else self.known.get(its_code)
        if one is None:
            self._new(block, block.flaw())
            return
        shown = self.mark.get(its_code)
        if block.fingerprint in {shown, _fingerprint(one.trigger, one.instruction)}:
            taken_back = one.retired and shown is None and self.page.mark is not None
            self._stands(its_code, _back(one) if taken_back else one, block)
        elif flaw := block.flaw():
            self._note(block, f"{flaw}; the guardrail is left as it was")
            self._stands(its_code, one, block)
        else:  # the words of the file, where a person wrote them
            self._stands(its_code, _reworded(one, block), block)

    def _new(self, block: _Block, flaw: str) -> None:
        if not flaw and block.fingerprint in self.seen:
            self._problem(block, "it stands there twice; the second one is left out")
            return
        if block.code and self.mark.get(block.code) == block.fingerprint:
            flaw = f"[{block.code}] is known no more"
        flaw = flaw or (f"more than {MOST} guardrails" if len(self.standing) >= MOST else "")
        if flaw:
            self._note(block, flaw)
            return
        if block.code and block.code not in self.known:
            self._problem(block, f"the code [{block.code}] is not known; it is taken as a new one of yours")
        one = _added(block, self.project, self.now)
        before = self.known.get(code_of(one))
        self._stands(code_of(one), _back(before) if before else one, block)

    def _stands(self, its_code: str, one: Guardrail, block: _Block) -> None:
        self.seen |= {its_code, block.fingerprint}
        if not one.retired:
            self.standing[its_code] = one

    def _note(self, block: _Block, why: str) -> None:
        """Nothing that somebody wrote is lost."""
        self._problem(block, f"{why}; its text is kept among the notes")
        self.page.rest += ["", f"## {block.words}", *block.lines]

    def _problem(self, block: _Block, why: str) -> None:
        self.problems.append(f"line {block.number}, {clean(block.words)[:60]!r}: {why}")

    def edits(self) -> Edits:
        if self.page.mark is None:
            self.problems.append("Helmsman's last line is missing, so nothing counts as deleted")
        missing = {its_code: one for its_code, one in self.known.items() if its_code not in self.seen and not one.retired}
        removed = [one for its_code, one in missing.items() if its_code in self.mark]
        self.standing |= {its_code: one for its_code, one in missing.items() if its_code not in self.mark}
        changed = [one for its_code, one in self.standing.items() if one != self.known.get(its_code)]
        changed += [one.model_copy(update={"retired": REMOVED, "retired_at": self.now}) for one in removed]
        return Edits(
            guardrails=tuple(self.standing.values()),
            changed=tuple(changed),
            problems=tuple(self.problems[:MOST_PROBLEMS]),
            rest=_trimmed(self.page.rest),
        )


def _back(one: Guardrail) -> Guardrail:
    """As a person wants it to stand again."""
    return one.model_copy(update={"retired": "", "retired_at": None, "edited": True, "unneeded": 0})


def _reworded(one: Guardrail, block: _Block) -> Guardrail:
    """With a person's words; other words have to show their own effect."""
    other = _fingerprint("", block.instruction) != _fingerprint("", one.instruction)
    anew = {"after_seen": 0, "after_of": 0, "loops": 0, "unneeded": 0} if other else {}
    words = {"trigger": block.trigger, "instruction": block.instruction}
    return one.model_copy(update={**words, **anew, "edited": True, "retired": "", "retired_at": None})


def _added(block: _Block, project: str, now: datetime) -> Guardrail:
    return Guardrail(
        id=code(f"{project}\0person\0{block.fingerprint}"),
        project=project,
        trigger=block.trigger,
        instruction=block.instruction,
        by="person",
        edited=True,
        created_at=now,
    )
