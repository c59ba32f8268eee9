"""guardrails.md: a project's guardrails as Markdown for a person to edit, and the person's edits.

A comment after each heading identifies its guardrail. The last line lists the written ones with fingerprints of their words,
to distinguish a person's edits and deletions from later changes elsewhere: several machines may share one store, each with
its own file.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from helmsman.memory.learned_guardrails import REMOVED, code, effect_text
from helmsman.plain import clean, clean_lines, one_line
from helmsman.records.base import Record
from helmsman.records.lessons import LONGEST_TEXT, Guardrail

TITLE, NOTES, ALWAYS = "# Guardrails", "# Notes", "Always"
HELP = """\
> Helmsman shows these to the agent in each iteration. Edit a heading or its text, delete both to remove a guardrail, or add a
> heading with your own text. Your edits win and stay. Leave the comments and quoted lines like these alone: Helmsman rewrites
> them."""
"""A quotation, like all of Helmsman's own text, so that readers of instructions skip it."""
LARGEST = 200_000  # characters that are read of a file
LONGEST_TRIGGER, MOST_PROBLEMS = 300, 20

_CODE = r"g[0-9a-f]{8}"
_HEADING = re.compile(r"##[ \t]+(?P<words>.*?)(?:(?:<!-- g:|[\[(]g)(?P<code>[0-9a-f]{8})(?: -->|[\])]))?")
"""Version 0.1 wrote the code in brackets."""
_MARK = re.compile(rf"<!-- helmsman(?P<pairs>(?: {_CODE}=[0-9a-f]{{8}})*) -->")
_LOOKS_LIKE_OURS = re.compile(r"^([ \t]*\\*)(?=#{1,2}(?:[ \t]|$)|>|<!-- helmsman)", re.MULTILINE)
_ESCAPED = re.compile(r"^([ \t]*\\*)\\(?=#{1,2}(?:[ \t]|$)|>|<!-- helmsman)", re.MULTILINE)
"""Lines of an instruction that look like Helmsman's own, and their escaped form."""


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
    """Something in it was not taken over: it must not be written until a person has fixed it."""


def render(guardrails: Sequence[Guardrail], rest: str = "") -> str:
    """Text of the file: guardrails in the given order, and a person's notes."""
    lines = [TITLE, "", HELP, ""]
    for guardrail in guardrails:
        by = "written by a person" if guardrail.by == "person" else clean(guardrail.origin) or "unknown"
        suffix = "; reworded by a person" if guardrail.edited and guardrail.by != "person" else ""
        lines += _section(guardrail, f" <!-- g:{code_of(guardrail)[1:]} -->")
        lines += [f"> Origin: {by}{suffix}", ">", f"> Effect: {effect_text(guardrail)}", ""]
    if notes := _join_trimmed(rest.split("\n")):
        lines += [NOTES, "", notes, ""]
    fingerprints = (f" {code_of(guardrail)}={_fingerprint(guardrail.trigger, guardrail.instruction)}" for guardrail in guardrails)
    return "\n".join([*lines, f"<!-- helmsman{''.join(fingerprints)} -->", ""])


def render_for_agent(guardrails: Sequence[Guardrail]) -> str:
    """Read-only text for the agent, without instructions for editing: edits of its copy are ignored."""
    return "\n".join([TITLE, "", *(line for guardrail in guardrails for line in _section(guardrail))])


def _section(guardrail: Guardrail, comment: str = "") -> list[str]:
    body = _LOOKS_LIKE_OURS.sub(r"\1\\", _join_trimmed(guardrail.instruction.split("\n")))
    return [f"## {_normalised_trigger(guardrail.trigger) or ALWAYS}{comment}", "", body, ""]


def code_of(guardrail: Guardrail) -> str:
    """Code of a guardrail in the file; hashed from ids of another form."""
    return guardrail.id if re.fullmatch(_CODE, guardrail.id) else code(guardrail.id)


def _normalised_trigger(text: str) -> str:
    """Trigger on one line; empty if it always applies."""
    words = one_line(text)
    return "" if words.casefold() == ALWAYS.casefold() else words


def _join_trimmed(lines: Iterable[str]) -> str:
    """Join lines without trailing spaces and surrounding empty lines."""
    return "\n".join(line.rstrip() for line in clean_lines("\n".join(lines)).split("\n")).strip()


def _fingerprint(trigger: str, instruction: str) -> str:
    """Hash of the words alone: line breaks do not matter."""
    words = f"{_normalised_trigger(trigger)}\0{one_line(instruction)}"
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:8]


class _Block(NamedTuple):
    """A second-level heading and the text below it."""

    number: int
    code: str
    trigger: str
    lines: list[str]

    @property
    def instruction(self) -> str:
        return _ESCAPED.sub(r"\1", _join_trimmed(self.lines))

    def flaw(self) -> str:
        """Why it is not a valid guardrail; empty if it is."""
        if not self.instruction:
            return "there is no text below it"
        if len(self.instruction) > LONGEST_TEXT:
            return f"its text is longer than {LONGEST_TEXT} characters"
        return f"its heading is longer than {LONGEST_TRIGGER} characters" if len(self.trigger) > LONGEST_TRIGGER else ""


def read(text: str, known: Sequence[Guardrail], project: str, now: datetime) -> Edits:
    """Read a person's edits of the file. `known`: all guardrails of the project, including retired ones. Never raises."""
    if len(text) > LARGEST:
        standing = tuple(guardrail for guardrail in known if not guardrail.retired)
        return Edits(guardrails=standing, problems=(f"it is longer than {LARGEST:,} characters",), broken=True)
    blocks, rest, written = _parts(text)
    by_code, mark = {code_of(guardrail): guardrail for guardrail in known}, written or {}
    remaining, active, flaws = dict(by_code), dict[str, Guardrail](), list[str]()
    for block in blocks:
        guardrail, written_print = remaining.pop(block.code, None), mark.get(block.code)
        fingerprint = _fingerprint(block.trigger, block.instruction)
        if guardrail is None and fingerprint == written_print:
            continue  # deleted elsewhere, or duplicated here
        after = guardrail
        stored = guardrail and _fingerprint(guardrail.trigger, guardrail.instruction)
        if guardrail is None or fingerprint not in {written_print, stored}:  # reworded by a person
            if flaw := block.flaw():
                where = f"line {block.number}, {(block.trigger or ALWAYS)[:60]!r}"
                flaws.append(f"{where}: {flaw}; the file is not written until that is fixed")
            else:
                name = code(f"{project}\0person\0{fingerprint}")
                created = Guardrail(id=name, project=project, instruction=block.instruction, by="person", created_at=now)
                after = _with_person_words(guardrail or active.get(name) or remaining.pop(name, created), block)
        if after and not after.retired:
            active[code_of(after)] = after
    missing = {name: guardrail for name, guardrail in remaining.items() if not guardrail.retired}
    retired: dict[str, Any] = {"retired": REMOVED, "retired_at": now}
    removed = [guardrail.model_copy(update=retired) for name, guardrail in missing.items() if name in mark]
    active |= {name: guardrail for name, guardrail in missing.items() if name not in mark}
    unmarked = ["Helmsman's last line is missing, so nothing counts as deleted"] if written is None else []
    return Edits(
        guardrails=tuple(active.values()),
        changed=(*(guardrail for name, guardrail in active.items() if guardrail != by_code.get(name)), *removed),
        problems=tuple([*flaws, *unmarked][:MOST_PROBLEMS]),
        rest=_join_trimmed(rest),
        broken=bool(flaws),
    )


def _parts(text: str) -> tuple[list[_Block], list[str], dict[str, str] | None]:
    """Headings with text, a person's notes, and entries of the last line (None if missing)."""
    blocks, rest, in_notes = list[_Block](), list[str](), False
    target, written = rest, None
    for number, line in enumerate(map(str.rstrip, clean_lines(text).split("\n")), 1):
        heading, mark = _HEADING.fullmatch(line), _MARK.fullmatch(line)
        if heading and (heading["code"] or not in_notes):
            blocks.append(_Block(number, f"g{heading['code'] or ''}", _normalised_trigger(heading["words"]), []))
            target, in_notes = blocks[-1].lines, False
        elif mark:
            written = written or dict(pair.split("=") for pair in mark["pairs"].split())
            target, in_notes = rest, False
        elif line.startswith("# "):
            target, in_notes = rest, line != TITLE
            rest += [] if line in {TITLE, NOTES} else [line]
        elif in_notes or not line.startswith(">"):
            target.append(line)
    return blocks, rest, written


def _with_person_words(guardrail: Guardrail, block: _Block) -> Guardrail:
    """The guardrail with a person's words. A new instruction resets the counts of its effect."""
    words: dict[str, Any] = {"trigger": block.trigger, "instruction": block.instruction, "edited": True}
    if one_line(block.instruction) != one_line(guardrail.instruction):
        words |= {"after_seen": 0, "after_of": 0, "loops": 0}
    return guardrail.model_copy(update={**words, "unneeded": 0, "retired": "", "retired_at": None})
