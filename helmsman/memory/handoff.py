"""What a completed loop leaves to know: a section of the alignment file, behind the four that are agreed on.

All of it comes from an agent and from what it worked on, so all of it is a quotation: whoever reads the file for orders passes it
over, and the reader of the alignment looks for no question behind its four sections. What a later loop is told of it is fenced.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from helmsman.errors import OperatorError
from helmsman.parsers.alignment_file import own_goal, read
from helmsman.parsers.markdown_text import upper_headings
from helmsman.plain import block_quote, clean_lines, inert
from helmsman.prompts import Piece, render_pieces
from helmsman.records.alignment import LONGEST_MORE, Alignment
from helmsman.records.state import LoopState
from helmsman.texts import duration, format_dollars, plural
from helmsman.tokens import tokens, trim

KEPT = 5  # handoffs that stay in the file; older ones are in its history
HANDED_TOKENS = 1_200  # of what a loop is told of those before it
_GOAL, _ENTRY, _CHOICE, _GAP = 300, 200, 300, 500
_CHECKS, _DONE, _DECISIONS, _OPEN = 8, 8, 8, 5  # entries of a list: the newest ones
_HEADING = re.compile(r"## Handoff of loop ([a-z0-9-]{1,63}) \(([0-9]{4}-[0-9]{2}-[0-9]{2})\)")
_QUOTE = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)


class Handoff(NamedTuple):
    """What one loop leaves: a section of a document. Whatever else stands in the document has no loop."""

    text: str  # the section, its heading included

    @property
    def name(self) -> tuple[str, str] | None:
        """Day of its end, as 2026-11-22, and loop."""
        found = _HEADING.fullmatch(self.text.partition("\n")[0].rstrip())
        return (found[2], found[1]) if found else None

    @property
    def body(self) -> str:
        """Its words, however they are quoted."""
        return clean_lines(_QUOTE.sub("", self.text.partition("\n")[2])).strip()

    @property
    def in_prompt(self) -> str:
        day, loop = self.name or ("", "")
        return f"Loop {loop} ({day})\n{self.body}"


def handoff_of(state: LoopState) -> Handoff:
    ended = state.ending.at if state.ending else state.updated_at
    memory, used = state.memory, state.spending
    took = f"{plural(state.iteration, 'iteration')}, {duration(used.seconds)}, {format_dollars(used.cost_usd, state.untold)}"
    lines = [_goal(state.config.goal), f"Outcome: {state.outcome or 'unfinished'} after {took}"]
    criteria = ", ".join(criterion.id for criterion in state.config.judge.criteria)
    proofs = [inert(f"a judge: {criteria}", _ENTRY)] if criteria else []
    for result in state.checks.results if state.checks else ():
        numbers = f" ({result.counts.passed} passed, {result.counts.skipped} skipped)" if result.counts else ""
        proofs += [inert(result.command, _ENTRY - len(numbers)) + numbers] if result.passed else []
    decisions: list[str] = []
    for one in memory.decisions:
        more = (("rejected", one.rejected), ("reason:", one.reason), ("revisit if", one.revisit_if))
        said = "; ".join([f"chose {one.chose}", *(f"{name} {text}" for name, text in more if text)])
        decisions.append(inert(said, _CHOICE))
    lists = (
        ("Proven by", proofs, _CHECKS),
        ("Done, in the agent's words", [inert(one.text, _ENTRY) for one in memory.completed], _DONE),
        ("Decisions", decisions, _DECISIONS),
        ("Remaining", [inert(memory.remaining_gap, _GAP)], 1),
        ("Uncertain", [inert(one, _ENTRY) for one in memory.uncertainties], _OPEN),
    )
    for title, entries, most in lists:
        if kept := [entry for entry in entries if entry][-most:]:
            lines += ["", f"{title}:", *(f"- {entry}" for entry in kept)]
    return Handoff(f"## Handoff of loop {state.loop} ({ended.date().isoformat()})\n\n{block_quote(lines)}")


def _goal(goal: str) -> str:
    return f"Goal: {inert(own_goal(goal), _GOAL)}"


def with_handoff(text: str, handoff: Handoff) -> str:
    """The alignment file's text with the handoff at its end. The four sections stay as they stand, line endings included.

    Handed over already: the same text. Raises OperatorError where it is no alignment, or there is no room left.
    """
    before = read(text.removeprefix("\ufeff"))
    if not isinstance(before, Alignment):
        raise OperatorError("nothing can be handed over in the alignment file", found=before, remedy="fix the file")
    more = with_section(before.more, handoff)
    if more == before.more:
        return text
    if len(more) > LONGEST_MORE:
        raise OperatorError(
            "there is no room for a handoff in the alignment file",
            expected=f"{LONGEST_MORE:,} characters behind its four sections at most",
            found=f"{len(more):,}",
            remedy="shorten it",
        )
    newline = "\r\n" if "\r\n" in text else "\n"
    end = text.rstrip().count("\n") - before.more.count("\n") if before.more else len(text)
    head = "\n".join(text.split("\n")[:end]).rstrip()
    after = head + f"\n\n{more}\n".replace("\n", newline)
    if read(after.removeprefix("\ufeff")) != before.model_copy(update={"more": more}):
        why = "with a handoff it would not be read as it is read now"
        raise OperatorError("nothing can be handed over in the alignment file", found=why, remedy="fix the file")
    return after


def with_section(more: str, handoff: Handoff) -> str:
    """What stands behind the four sections, with this handoff last. Whatever is no handoff stays where it is."""
    sections = _sections(more)
    names = [section.name for section in sections if section.name]
    if handoff.name in names:
        return more
    gone = names[: max(0, len(names) - KEPT + 1)]
    before = "\n".join(section.text for section in sections if section.name not in gone).rstrip()
    return f"{before}\n\n{handoff.text}" if before else handoff.text


def joined(more: str, left: str) -> str:
    """What stands behind the four sections, and handoffs that are kept beside the file, each once."""
    known = {section.name for section in _sections(more) if section.name}
    kept = [section.text.rstrip() for section in _sections(left) if section.text.strip() and section.name not in known]
    both = "\n\n".join(filter(None, [more, *kept]))
    return both if len(both) <= LONGEST_MORE else more


def _sections(more: str) -> list[Handoff]:
    """Cut at headings of the first two levels."""
    lines = more.replace("\r\n", "\n").split("\n") if more else []
    cuts = sorted({0, *upper_headings(lines), len(lines)})
    return [Handoff("\n".join(lines[start:end])) for start, end in pairwise(cuts)]


def handed_down(more: str) -> str:
    """What a loop that starts is told of those before it, the newest first; empty where none left anything. Bounded."""
    kept, room = list[str](), HANDED_TOKENS
    for text in (section.in_prompt for section in _sections(more)[::-1] if section.name):
        if kept and tokens(f"\n\n{text}") > room:
            break
        kept.append(trim(text, HANDED_TOKENS))
        room -= tokens(f"\n\n{kept[-1]}")
    return "\n\n".join(kept)


def inherited_from(state: LoopState) -> str:
    """What a loop is told that begins with the work of one that has completed: what that one left, then what it was told."""
    return trim("\n\n".join(filter(None, [handoff_of(state).in_prompt, state.inherited])), HANDED_TOKENS)


def handoff_section(handed: str) -> Sequence[Piece]:
    """For the prompt: quoted, and said to be information."""
    return render_pieces("handoff", handed=handed) if handed else ()


def spent(alignment: Alignment) -> bool:
    """Whether a loop has completed the goal that was agreed on: a loop with another goal may then start beside it."""
    goal = _goal(alignment.goal)
    return any(goal in section.body.split("\n") for section in _sections(alignment.more) if section.name)
