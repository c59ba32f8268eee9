"""guardrails.md: a project's guardrails as Markdown that a person may edit, and what the person made of it.

A comment behind each heading names its guardrail. The last line lists those that were written, each with a fingerprint of its
words: so a reader tells what a person changed or deleted from what was changed or made elsewhere since, as several machines may
share one store, each with a file.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from helmsman.memory.guardrail_effect import effect_text
from helmsman.memory.learned_guardrails import REMOVED, code
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
_HEADING = re.compile(r"##[ \t]+(?P<words>.*?)(?:(?:<!-- g:|[\[(]g)(?P<code>[0-9a-f]{8})(?: -->|[\])]))?")
"""Version 0.1 wrote the code in brackets."""
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
    """Lines without blanks at their ends and without empty ones around them."""
    return "\n".join(line.rstrip() for line in clean_lines("\n".join(lines)).split("\n")).strip()


def _fingerprint(trigger: str, instruction: str) -> str:
    """Of the words alone: lines that are broken elsewhere are no change."""
    words = f"{_trigger(trigger)}\0{one_line(instruction)}"
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:8]


class _Block(NamedTuple):
    """A heading of the second level with what stands below it."""

    number: int
    code: str
    trigger: str
    lines: list[str]

    @property
    def instruction(self) -> str:
        return _ESCAPED.sub(r"\1", _trimmed(self.lines))

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
    pending, standing, flaws = dict(by_code), dict[str, Guardrail](), list[str]()
    for block in blocks[:MOST]:
        one, shown, words = pending.pop(block.code, None), mark.get(block.code), _fingerprint(block.trigger, block.instruction)
        if one is None and words == shown:
            continue  # forgotten elsewhere, or here twice
        after = one
        if one is None or words not in {shown, _fingerprint(one.trigger, one.instruction)}:  # a person's words
            if flaw := block.flaw():
                where = f"line {block.number}, {(block.trigger or ALWAYS)[:60]!r}"
                flaws.append(f"{where}: {flaw}; the file is left alone until that is fixed")
            else:
                name = code(f"{project}\0person\0{words}")
                new = Guardrail(id=name, project=project, instruction=block.instruction, by="person", created_at=now)
                after = _reworded(one or standing.get(name) or pending.pop(name, new), block)
        if after and not after.retired:
            standing[code_of(after)] = after
    flaws += [f"more than {MOST} guardrails; the file is left alone until there are fewer"] if len(blocks) > MOST else []
    missing = {name: one for name, one in pending.items() if not one.retired}
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
    """Headings with their text, a person's notes, what our last line lists (None: it is gone), and whether our title is there."""
    blocks, rest, titled, notes = list[_Block](), list[str](), False, False
    into, written = rest, None
    for number, line in enumerate(map(str.rstrip, clean_lines(text).split("\n")), 1):
        found, mark = _HEADING.fullmatch(line), _MARK.fullmatch(line)
        if found and (found["code"] or not notes):
            blocks.append(_Block(number, f"g{found['code'] or ''}", _trigger(found["words"]), []))
            into, notes = blocks[-1].lines, False
        elif mark:
            written = written or dict(pair.split("=") for pair in mark["pairs"].split())
            into, notes = rest, False
        elif line.startswith("# "):
            title = line.title() == TITLE
            into, notes, titled = rest, not title, titled or title
            rest += [] if line in {TITLE, NOTES} else [line]
        elif notes or not line.startswith(">"):
            into.append(line)
    return blocks, rest, written, titled


def _reworded(one: Guardrail, block: _Block) -> Guardrail:
    """As a person wants it to stand from now on. Other words have to show their own effect."""
    words: dict[str, Any] = {"trigger": block.trigger, "instruction": block.instruction, "edited": True}
    if one_line(block.instruction) != one_line(one.instruction):
        words |= {"after_seen": 0, "after_of": 0, "loops": 0}
    return one.model_copy(update={**words, "unneeded": 0, "retired": "", "retired_at": None})
