"""guardrails.md: a project's guardrails as Markdown that a person may edit, and what the person made of it.

The last line of ours notes which guardrails were written, each with a fingerprint of its words. So a reader can tell what a
person changed or deleted from what was changed or made elsewhere since: several machines may share one store, each with a file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from helmsman.memory.guardrails import REMOVED, code, effect_text
from helmsman.memory.guardrails.page import (
    ALWAYS,
    EFFECT,
    NOTES,
    ORIGIN,
    RETIRED,
    RETIRED_HELP,
    TITLE,
    Block,
    Page,
    body,
    code_of,
    fingerprint,
    heading,
    mark,
    notes,
    page,
    text_of,
    trigger_of,
)
from helmsman.plain import clean
from helmsman.records.base import Record
from helmsman.records.lessons import LONGEST_TEXT, Guardrail

HELP = """\
> What Helmsman tells the agent in each iteration: reword a heading or the text below it, delete both to be rid of them, or
> add a heading with a text of your own. What you write wins and stays; leave the codes in brackets and the last line as they
> are, and quoted lines like these to Helmsman, which writes them anew."""
"""Quoted, as all that is ours: quotations order nothing, whoever reads the file for orders."""
LARGEST = 200_000
"""Characters of a file that are read."""
LONGEST_TRIGGER = 300
MOST = 200
"""Guardrails that one file may hold."""
MOST_RETIRED = 10
"""Those that went last are shown, and no more."""
MOST_PROBLEMS = 20
_TWICE = "it stands there twice; the second one is left out"


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
        lines += [heading(one.trigger, code_of(one)), "", body(one.instruction), "", *_facts(one), ""]
    if kept := text_of(rest.split("\n")):
        lines += [NOTES, "", notes(kept), ""]
    if retired:
        lines += [RETIRED, "", RETIRED_HELP, "", *_entries(retired), ""]
    shown = {code_of(one): fingerprint(one.trigger, one.instruction) for one in guardrails}
    return "\n".join([*lines, mark(shown), ""])


def render_for_agent(guardrails: Sequence[Guardrail]) -> str:
    """The same to read alone: what the agent writes into its copy is not taken over, so nothing in it says how to edit."""
    lines = [TITLE, ""]
    for one in guardrails:
        lines += [f"## {trigger_of(one.trigger) or ALWAYS}", "", body(one.instruction), ""]
    return "\n".join(lines)


def _facts(one: Guardrail) -> Iterator[str]:
    by = "a person wrote it" if one.by == "person" else clean(one.origin) or "unknown"
    yield f"{ORIGIN} {by}{'; reworded by a person' if one.edited and one.by != 'person' else ''}"
    yield ">"
    yield f"{EFFECT} {effect_text(one)}"


def _entries(retired: Sequence[Guardrail]) -> Iterator[str]:
    last = sorted(retired, key=lambda one: one.retired_at or one.created_at, reverse=True)
    for one in last[:MOST_RETIRED]:
        said = ": ".join(part for part in (trigger_of(one.trigger), " ".join(clean(one.instruction).split())) if part)
        yield f"- [{code_of(one)}] {said} ({(one.retired_at or one.created_at):%Y-%m-%d}, {clean(one.retired)})"


# --- reading ------------------------------------------------------------------------------------------------------


def read(text: str, known: Sequence[Guardrail], project: str, now: datetime) -> Edits:
    """What a person made of the file. `known`: all of the project's guardrails, retired ones too. Never raises."""
    standing = tuple(one for one in known if not one.retired)
    if len(text) > LARGEST:
        return Edits(guardrails=standing, problems=(f"it is longer than {LARGEST:,} characters",), foreign=True)
    by_code = {code_of(one): one for one in known}
    found = page(text, by_code)
    if not found.titled and found.mark is None:
        return Edits(guardrails=standing, problems=(f"neither `{TITLE}` nor Helmsman's last line is in it",), foreign=True)
    reading = _Reading(by_code, found, project, now)
    for block in found.blocks:
        reading.take(block)
    return reading.ended()


@dataclass
class _Reading:
    """Goes through the blocks of one file."""

    known: dict[str, Guardrail]
    page: Page
    project: str
    now: datetime
    standing: dict[str, Guardrail] = field(default_factory=dict[str, Guardrail])
    """By code, in the order of the file."""
    problems: list[str] = field(default_factory=list[str])
    rest: list[str] = field(default_factory=list[str])
    done: set[str] = field(default_factory=set[str])
    """Codes that a block was found for."""
    lost: dict[str, str] = field(default_factory=dict[str, str])
    """Codes without a heading that has them, by the fingerprint of their words."""

    def __post_init__(self) -> None:
        """Look for codes once: a file may have many headings."""
        with_heading = {block.code for block in self.page.blocks}
        words = {its_code: fingerprint(one.trigger, one.instruction) for its_code, one in self.known.items()}
        self.lost = {its_words: its_code for its_code, its_words in words.items() if its_code not in with_heading}

    def take(self, block: Block) -> None:
        its_code = self._code(block)
        one = self.known.get(its_code)
        if its_code in self.done:
            self._again(block, its_code)
        elif one is None:
            self._new(block)
        else:
            self.done.add(its_code)
            self._known(block, its_code, one)

    def _code(self, block: Block) -> str:
        """Its own; or, where somebody lost it, that of the guardrail with the same words that has no block."""
        if block.code in self.known:
            return block.code
        return self.lost.get(fingerprint(block.trigger, block.instruction), block.code)

    def _known(self, block: Block, its_code: str, one: Guardrail) -> None:
        words, now_known = fingerprint(block.trigger, block.instruction), fingerprint(one.trigger, one.instruction)
        shown = (self.page.mark or {}).get(its_code)
        if words not in {shown, now_known}:
            flaw = _flaw(block)
            reworded = one if flaw else _reworded(one, block)
            self._standing(its_code, reworded)
            if flaw:
                self._unread(block, f"{flaw}; the guardrail is left as it was")
        elif one.retired and shown is None and self.page.mark is not None:  # taken out of the retired ones
            self._standing(its_code, _back(one))
        else:
            self._standing(its_code, one)

    def _again(self, block: Block, its_code: str) -> None:
        """The same guardrail twice: what is said differently is one of its own."""
        one = self.standing.get(its_code)
        same = one is not None and fingerprint(block.trigger, block.instruction) == fingerprint(one.trigger, one.instruction)
        if same:
            self._problem(block, _TWICE)
        else:
            self._new(block)

    def _new(self, block: Block) -> None:
        words = fingerprint(block.trigger, block.instruction)
        if block.code and (self.page.mark or {}).get(block.code) == words:
            self._unread(block, f"[{block.code}] is known no more")
            return
        flaw = _flaw(block) or (f"more than {MOST} guardrails" if len(self.standing) >= MOST else "")
        if flaw:
            self._unread(block, flaw)
            return
        if block.code and block.code not in self.known:
            self._problem(block, f"the code [{block.code}] is not known; it is taken as a new one of yours")
        one = _added(block, self.project, self.now)
        its_code = code_of(one)
        before = self.known.get(its_code)
        if its_code in self.done:
            self._problem(block, _TWICE)
            return
        self.done.add(its_code)
        self._standing(its_code, one if before is None else _back(before))

    def _standing(self, its_code: str, one: Guardrail) -> None:
        if not one.retired:
            self.standing[its_code] = one

    def _unread(self, block: Block, why: str) -> None:
        """Nothing that somebody wrote is lost: it becomes a note."""
        self._problem(block, f"{why}; its text is kept among the notes")
        self.rest.append(block.raw)

    def _problem(self, block: Block, why: str) -> None:
        self.problems.append(f"line {block.number}, {clean(block.words)[:60]!r}: {why}")

    def ended(self) -> Edits:
        """What came of it all."""
        removed = [one for its_code, one in self.known.items() if self._gone(its_code, one)]
        if self.page.mark is None:
            self.problems.append("Helmsman's last line is missing, so nothing counts as deleted")
        for its_code, one in self.known.items():
            if its_code not in self.standing and not one.retired and one not in removed:
                self.standing[its_code] = one
        changed = [one for its_code, one in self.standing.items() if one != self.known.get(its_code)]
        changed += [one.model_copy(update={"retired": REMOVED, "retired_at": self.now}) for one in removed]
        return Edits(
            guardrails=tuple(self.standing.values()),
            changed=tuple(changed),
            problems=tuple(self.problems[:MOST_PROBLEMS]),
            rest=text_of([*self.page.rest, *(line for note in self.rest for line in ("", *note.split("\n")))]),
        )

    def _gone(self, its_code: str, one: Guardrail) -> bool:
        """Whether it was in the file and is there no more."""
        return not one.retired and its_code not in self.done and its_code in (self.page.mark or {})


def _flaw(block: Block) -> str:
    """Why a block is no guardrail."""
    if not block.instruction:
        return "there is no text below it"
    if len(block.instruction) > LONGEST_TEXT:
        return f"its text is longer than {LONGEST_TEXT} characters"
    return f"its heading is longer than {LONGEST_TRIGGER} characters" if len(block.trigger) > LONGEST_TRIGGER else ""


def _back(one: Guardrail) -> Guardrail:
    """As a person wants it to stand again."""
    return one.model_copy(update={"retired": "", "retired_at": None, "edited": True, "unneeded": 0})


def _reworded(one: Guardrail, block: Block) -> Guardrail:
    """With a person's words; other words have to show their own effect."""
    other = fingerprint("", block.instruction) != fingerprint("", one.instruction)
    anew = {"after_seen": 0, "after_of": 0, "loops": 0, "unneeded": 0} if other else {}
    words = {"trigger": block.trigger, "instruction": block.instruction}
    return one.model_copy(update={**words, **anew, "edited": True, "retired": "", "retired_at": None})


def _added(block: Block, project: str, now: datetime) -> Guardrail:
    return Guardrail(
        id=code(f"{project}\0person\0{fingerprint(block.trigger, block.instruction)}"),
        project=project,
        trigger=block.trigger,
        instruction=block.instruction,
        by="person",
        edited=True,
        created_at=now,
    )
