"""What a completed loop leaves to know: a section of the alignment file, behind the four that are agreed on.

All of it comes from an agent and from what it worked on, so all of it is a quotation: whoever reads the file for orders passes it
over, and the reader of the alignment looks for no question behind its four sections. What a later loop is told of it is fenced.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from helmsman.errors import OperatorError
from helmsman.parsers.alignment_file import own_goal, read
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
_HEADING = r"## Handoff of loop ([a-z0-9-]{1,63}) \(([0-9]{4}-[0-9]{2}-[0-9]{2})\)[ \t\r]*(?:\n|\Z)"
_SECTION = re.compile(rf"^{_HEADING}(?:[ \t\r]*\n|[ \t]*>.*(?:\n|\Z))*", re.MULTILINE)
_QUOTE = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)


class Handoff(NamedTuple):
    """What one loop leaves: a section of a document."""

    text: str  # the heading and what is quoted below it

    @property
    def name(self) -> tuple[str, str]:
        """Day of its end, as 2026-11-22, and loop."""
        found = re.match(_HEADING, self.text)
        return (found[2], found[1]) if found else ("", "")

    @property
    def body(self) -> str:
        """Its words, however they are quoted."""
        return clean_lines(_QUOTE.sub("", self.text.partition("\n")[2])).strip()

    @property
    def in_prompt(self) -> str:
        day, loop = self.name
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
    newline = "\r\n" if "\r\n" in text else "\n"
    after = with_section(text, Handoff(handoff.text.replace("\n", newline)))
    if after == text:
        return text
    after += newline
    found = read(after.removeprefix("\ufeff"))
    if not isinstance(found, Alignment) or found.model_copy(update={"more": before.more}) != before:
        why = "with a handoff it would not be read as it is read now, or it would be too long"
        raise OperatorError("nothing can be handed over in the alignment file", found=why, remedy="fix the file")
    return after


def with_section(text: str, handoff: Handoff) -> str:
    """A text with this handoff at its end, unless it is there, and with the newest of the others. All else stays as it is."""
    known = handoffs(text)
    if handoff.name in [one.name for one in known]:
        return text
    for one in known[: max(0, len(known) - KEPT + 1)]:
        text = text.replace(one.text, "", 1)
    newline = "\r\n" if "\r\n" in handoff.text else "\n"
    return f"{text.rstrip()}{newline}{newline}{handoff.text}" if text.strip() else handoff.text


def joined(more: str, left: str) -> str:
    """What stands behind the four sections, and handoffs that are kept beside the file, each once."""
    known = {one.name for one in handoffs(more)}
    both = "\n\n".join(filter(None, [more, *(one.text.rstrip() for one in handoffs(left) if one.name not in known)]))
    return both if len(both) <= LONGEST_MORE else more


def handoffs(text: str) -> list[Handoff]:
    return [Handoff(found[0]) for found in _SECTION.finditer(text)]


def handed_down(more: str) -> str:
    """What a loop that starts is told of those before it, the newest first; empty where none left anything. Bounded."""
    kept, room = list[str](), HANDED_TOKENS
    for text in (one.in_prompt for one in handoffs(more)[::-1]):
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
    return any(goal in one.body.split("\n") for one in handoffs(alignment.more))
