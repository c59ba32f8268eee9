"""Handoffs: what a completed loop leaves in the alignment file, after its four agreed sections.

All of it comes from an agent and its work, so it is quoted: readers of instructions skip it, and the parser of the alignment
looks for no question after the four sections. Later loops get it fenced.
"""

import re
from typing import NamedTuple

from helmsman.errors import OperatorError
from helmsman.parsers.alignment_file import own_goal, read
from helmsman.plain import block_quote, clean_lines, inert
from helmsman.prompts import render
from helmsman.records.alignment import LONGEST_MORE, Alignment
from helmsman.records.state import LoopState
from helmsman.texts import format_dollars, format_duration, plural
from helmsman.tokens import tokens, trim

KEPT = 5  # handoffs that stay in the file; older ones are in its history
HANDED_TOKENS = 1_200  # of earlier handoffs in a prompt
_GOAL, _ENTRY, _CHOICE, _GAP = 300, 200, 300, 500
_CHECKS, _DONE, _DECISIONS, _OPEN = 8, 8, 8, 5  # entries of a list: the newest ones
_HEADING = r"## Handoff of loop ([a-z0-9-]{1,63}) \(([0-9]{4}-[0-9]{2}-[0-9]{2})\)[ \t\r]*(?:\n|\Z)"
_SECTION = re.compile(rf"^{_HEADING}(?:[ \t\r]*\n|[ \t]*>.*(?:\n|\Z))*", re.MULTILINE)
_QUOTE = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)


class Handoff(NamedTuple):
    """Handoff of one loop: a section of a document."""

    text: str  # the heading and the quotation below it

    @property
    def name(self) -> tuple[str, str]:
        """Day of its end, as 2026-11-22, and loop."""
        match = re.match(_HEADING, self.text)
        return (match[2], match[1]) if match else ("", "")

    @property
    def body(self) -> str:
        """Its text without quotation marks."""
        return clean_lines(_QUOTE.sub("", self.text.partition("\n")[2])).strip()

    @property
    def in_prompt(self) -> str:
        day, loop = self.name
        return f"Loop {loop} ({day})\n{self.body}"


def handoff_of(state: LoopState) -> Handoff:
    ended = state.ending.at if state.ending else state.updated_at
    memory, spending = state.memory, state.spending
    cost = format_dollars(spending.cost_usd, state.untold)
    effort = f"{plural(state.iteration, 'iteration')}, {format_duration(spending.seconds)}, {cost}"
    lines = [_goal_line(state.config.goal), f"Outcome: {state.outcome or 'unfinished'} after {effort}"]
    criteria = ", ".join(criterion.id for criterion in state.config.judge.criteria)
    proofs = [inert(f"a judge: {criteria}", _ENTRY)] if criteria else []
    for result in state.checks.results if state.checks else ():
        numbers = f" ({result.counts.passed} passed, {result.counts.skipped} skipped)" if result.counts else ""
        proofs += [inert(result.command, _ENTRY - len(numbers)) + numbers] if result.passed else []
    decisions: list[str] = []
    for decision in memory.decisions:
        details = (("rejected", decision.rejected), ("reason:", decision.reason), ("revisit if", decision.revisit_if))
        line = "; ".join([f"chose {decision.chose}", *(f"{name} {text}" for name, text in details if text)])
        decisions.append(inert(line, _CHOICE))
    lists = (
        ("Proven by", proofs, _CHECKS),
        ("Done, in the agent's words", [inert(decision.text, _ENTRY) for decision in memory.completed], _DONE),
        ("Decisions", decisions, _DECISIONS),
        ("Remaining", [inert(memory.remaining_gap, _GAP)], 1),
        ("Uncertain", [inert(decision, _ENTRY) for decision in memory.uncertainties], _OPEN),
    )
    for title, entries, most in lists:
        if kept := [entry for entry in entries if entry][-most:]:
            lines += ["", f"{title}:", *(f"- {entry}" for entry in kept)]
    return Handoff(f"## Handoff of loop {state.loop} ({ended.date().isoformat()})\n\n{block_quote(lines)}")


def _goal_line(goal: str) -> str:
    return f"Goal: {inert(own_goal(goal), _GOAL)}"


def add_handoff(text: str, handoff: Handoff) -> str:
    """The alignment file's text with the handoff at its end. The four sections stay unchanged, including line endings.

    A handoff that is already there changes nothing. Raises OperatorError if it is no alignment, or there is no room left.
    """
    before = read(text.removeprefix("\ufeff"))
    if not isinstance(before, Alignment):
        raise OperatorError("the handoff cannot be added to the alignment file", found=before, remedy="fix the file")
    newline = "\r\n" if "\r\n" in text else "\n"
    after = add_section(text, Handoff(handoff.text.replace("\n", newline)))
    if after == text:
        return text
    after += newline
    reread = read(after.removeprefix("\ufeff"))
    if not isinstance(reread, Alignment) or reread.model_copy(update={"more": before.more}) != before:
        reason = "with the handoff its four sections would change, or it would be too long"
        raise OperatorError("the handoff cannot be added to the alignment file", found=reason, remedy="fix the file")
    return after


def add_section(text: str, handoff: Handoff) -> str:
    """The text with this handoff appended, unless it is there, and with the newest of the others; nothing else changes."""
    present = handoffs(text)
    if handoff.name in [handoff_there.name for handoff_there in present]:
        return text
    for handoff_there in present[: max(0, len(present) - KEPT + 1)]:
        text = text.replace(handoff_there.text, "", 1)
    newline = "\r\n" if "\r\n" in handoff.text else "\n"
    return f"{text.rstrip()}{newline}{newline}{handoff.text}" if text.strip() else handoff.text


def join_handoffs(more: str, left: str) -> str:
    """Text after the four sections, plus handoffs kept outside of the file, without duplicates."""
    names = {handoff.name for handoff in handoffs(more)}
    combined = "\n\n".join(
        filter(None, [more, *(handoff.text.rstrip() for handoff in handoffs(left) if handoff.name not in names)])
    )
    return combined if len(combined) <= LONGEST_MORE else more


def handoffs(text: str) -> list[Handoff]:
    return [Handoff(match[0]) for match in _SECTION.finditer(text)]


def earlier_handoffs(more: str) -> str:
    """Earlier handoffs for a new loop, newest first and bounded; empty if there are none."""
    texts, room = list[str](), HANDED_TOKENS
    for text in (handoff.in_prompt for handoff in handoffs(more)[::-1]):
        if texts and tokens(f"\n\n{text}") > room:
            break
        texts.append(trim(text, HANDED_TOKENS))
        room -= tokens(f"\n\n{texts[-1]}")
    return "\n\n".join(texts)


def inherited_handoffs(state: LoopState) -> str:
    """Handoffs for a loop that continues the work of a completed one: its own handoff, then those that it got."""
    return trim("\n\n".join(filter(None, [handoff_of(state).in_prompt, state.inherited])), HANDED_TOKENS)


def handoff_section(handed: str) -> str:
    """Section of the prompt: quoted, and marked as information."""
    return render("handoff", handed=handed) if handed else ""


def is_goal_completed(alignment: Alignment) -> bool:
    """Whether a loop has completed the agreed goal: a loop with another goal may then start."""
    goal = _goal_line(alignment.goal)
    return any(goal in handoff.body.split("\n") for handoff in handoffs(alignment.more))
