"""guardrails.md: a project's guardrails as Markdown that a person may edit, and what the person made of it.

A comment behind each heading names its guardrail. The last line lists those that were written, each with a fingerprint of its
words: so a reader tells what a person changed or deleted from what was changed or made elsewhere since, as several machines may
share one store, each with a file.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from helmsman.memory.guardrail_effect import effect_text
from helmsman.memory.learned_guardrails import REMOVED, code
from helmsman.parsers.markdown_text import CodeBlocks
from helmsman.plain import clean, clean_lines, one_line
from helmsman.records.base import Record
from helmsman.records.lessons import LONGEST_TEXT, Guardrail

TITLE, NOTES, ALWAYS = "# Guardrails", "# Notes", "Always"
HELP = """\
> What Helmsman tells the agent in each iteration: reword a heading or the text below it, delete both to be rid of them, or
> add a heading with a text of your own. What you write wins and stays; leave the comments as they are, and quoted lines like
> these to Helmsman, which writes them anew."""
"""Quoted, as all that is ours: quotations order nothing, whoever reads the file for orders."""
LARGEST = 200_000  # characters of a file that are read
LONGEST_TRIGGER, MOST, MOST_PROBLEMS = 300, 200, 20

_CODE = r"g[0-9a-f]{8}"
_HEADING = re.compile(rf"##[ \t]+(?P<words>.*?)(?:<!-- g:(?P<code>[0-9a-f]{{8}}) -->|[\[(](?P<old>{_CODE})[\])])?")
"""Version 0.1 wrote the code in brackets."""
_FACTS = "> Origin:", "> Effect:"
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
    broken: bool = False
    """Something in it was not taken over, or it is not Helmsman's: it must not be written until a person has fixed it."""


def render(guardrails: Sequence[Guardrail], rest: str = "") -> str:
    """The file's text: guardrails in the order given, and a person's notes."""
    lines = [TITLE, "", HELP, ""]
    for one in guardrails:
        by = "written by a person" if one.by == "person" else clean(one.origin) or "unknown"
        again = "; reworded by a person" if one.edited and one.by != "person" else ""
        lines += _section(one, f" <!-- g:{code_of(one)[1:]} -->")
        lines += [f"> Origin: {by}{again}", ">", f"> Effect: {effect_text(one)}", ""]
    if kept := _trimmed(rest.split("\n")):
        lines += [NOTES, "", kept, ""]
    shown = (f" {code_of(one)}={_fingerprint(one.trigger, one.instruction)}" for one in guardrails)
    return "\n".join([*lines, f"<!-- helmsman{''.join(shown)} -->", ""])


def render_for_agent(guardrails: Sequence[Guardrail]) -> str:
    """The same to read alone: what the agent writes into its copy is not taken over, so nothing in it says how to edit."""
    return "\n".join([TITLE, "", *(line for one in guardrails for line in _section(one))])


def _section(one: Guardrail, comment: str = "") -> list[str]:
    body = _OURS.sub(r"\1\\", _trimmed(one.instruction.split("\n")))
    return [f"## {_trigger(one.trigger) or ALWAYS}{comment}", "", body, ""]


def code_of(guardrail: Guardrail) -> str:
    """How the file names it; an id of another form has a code made of it."""
    return guardrail.id if re.fullmatch(_CODE, guardrail.id) else code(guardrail.id)


def _trigger(text: str) -> str:
    """In one line; empty for one that is always to be thought of."""
    words = one_line(text)
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
    words = f"{_trigger(trigger)}\0{one_line(instruction)}"
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:8]


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


def read(text: str, known: Sequence[Guardrail], project: str, now: datetime) -> Edits:
    """What a person made of the file. `known`: all of the project's guardrails, retired ones too. Never raises."""
    blocks, rest, written, titled = _parts(text[: LARGEST + 1])
    ours = titled or written is not None
    if len(text) > LARGEST or not ours:
        why = f"neither `{TITLE}` nor Helmsman's last line is in it" if not ours else f"it is longer than {LARGEST:,} characters"
        return Edits(guardrails=tuple(one for one in known if not one.retired), problems=(why,), broken=True)
    by_code, mark = {code_of(one): one for one in known}, written or {}
    standing, seen, flaws = _standing(blocks, by_code, mark, project, now)
    missing = {name: one for name, one in by_code.items() if name not in seen and not one.retired}
    removed = [one.model_copy(update={"retired": REMOVED, "retired_at": now}) for name, one in missing.items() if name in mark]
    standing |= {name: one for name, one in missing.items() if name not in mark}
    unmarked = ["Helmsman's last line is missing, so nothing counts as deleted"] if written is None else []
    return Edits(
        guardrails=tuple(standing.values()),
        changed=(*(one for name, one in standing.items() if one != by_code.get(name)), *removed),
        problems=tuple([*flaws, *unmarked][:MOST_PROBLEMS]),
        rest=_trimmed(rest),
        broken=bool(flaws),
    )


def _parts(text: str) -> tuple[list[_Block], list[str], dict[str, str] | None, bool]:
    """Headings with what stands below them, what else a person wrote, fingerprints of what was written by code (None: that line
    of ours is gone), and whether our title is there.

    A heading with a code ends whatever was open, as an unclosed block of code, and so do our own chapters and facts.
    """
    blocks, rest, titled, fence, chapter = list[_Block](), list[str](), False, CodeBlocks(), TITLE
    into, written = rest, None
    for number, line in enumerate(map(str.rstrip, clean_lines(text).split("\n")), 1):
        found, mark = _HEADING.fullmatch(line), _MARK.fullmatch(line)
        its_code = (f"g{found['code']}" if found["code"] else found["old"] or "") if found else ""
        if found and (its_code or not (fence.open or chapter == NOTES)):
            blocks.append(_Block(number, found["words"].strip(), its_code))
            into, fence, chapter = blocks[-1].lines, CodeBlocks(), TITLE
        elif mark or line.title() in {TITLE, NOTES}:
            titled |= line.title() == TITLE
            written = dict(pair.split("=") for pair in mark["pairs"].split()) if mark and written is None else written
            into, fence, chapter = rest, CodeBlocks(), TITLE if mark else line.title()
        elif line.startswith(_FACTS) and chapter != NOTES:
            fence = CodeBlocks()
        elif fence.holds(line) or chapter == NOTES or not line.startswith(">"):
            if re.match(r"#[ \t]", line) and not fence.open and chapter != NOTES:
                into, chapter = rest, NOTES  # a chapter of a person's own
            into.append(line)
    return blocks, rest, written, titled


def _standing(
    blocks: Sequence[_Block], known: Mapping[str, Guardrail], mark: Mapping[str, str], project: str, now: datetime
) -> tuple[dict[str, Guardrail], set[str], list[str]]:
    """What the headings stand for, by code; codes and fingerprints that they name; and what cannot be taken over."""
    standing, seen, flaws = dict[str, Guardrail](), set[str](), list[str]()
    for block in blocks[:MOST]:
        words, shown = block.fingerprint, mark.get(block.code)
        one = None if block.code in seen else known.get(block.code)
        if one is None and (words in seen or (words == shown and block.code not in known)):
            continue  # said already, or forgotten elsewhere
        if one:
            after = _after(one, block, shown)
        elif not (after := block.flaw()):
            name = code(f"{project}\0person\0{words}")
            new = Guardrail(
                id=name, project=project, trigger=block.trigger, instruction=block.instruction, by="person", created_at=now
            )
            after = _back(known.get(name, new))
        if isinstance(after, str):
            flaws.append(f"line {block.number}, {clean(block.words)[:60]!r}: {after}; the file is left alone until that is fixed")
            after = one
        seen |= {block.code, words}
        if after:
            seen.add(code_of(after))
            standing |= {} if after.retired else {code_of(after): after}
    flaws += [f"more than {MOST} guardrails; the file is left alone until there are fewer"] if len(blocks) > MOST else []
    return standing, seen, flaws


def _after(one: Guardrail, block: _Block, shown: str | None) -> Guardrail | str:
    """A guardrail as its heading wants it: a person's words count where they differ from what was written and from ours."""
    if block.fingerprint in {shown, _fingerprint(one.trigger, one.instruction)}:
        return _back(one) if one.retired and shown is None else one
    if flaw := block.flaw():
        return flaw
    words: dict[str, Any] = {"trigger": block.trigger, "instruction": block.instruction, "unneeded": one.unneeded}
    if one_line(block.instruction) != one_line(one.instruction):  # other words have to show their own effect
        words |= {"after_seen": 0, "after_of": 0, "loops": 0, "unneeded": 0}
    return _back(one, **words)


def _back(one: Guardrail, **words: Any) -> Guardrail:
    """As a person wants it to stand from now on."""
    return one.model_copy(update={"retired": "", "retired_at": None, "edited": True, "unneeded": 0, **words})
