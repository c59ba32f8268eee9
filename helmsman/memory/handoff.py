"""What a completed loop leaves to know: a section of the alignment file, behind the four that are agreed on.

All of it comes from an agent and from what it worked on, so all of it is a quotation: whoever reads the file for orders passes it
over, and the reader of the alignment looks for no question behind its four sections. What a later loop is told of it is fenced.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, NoReturn

from helmsman.errors import OperatorError
from helmsman.memory.quoting import block_quote
from helmsman.orient.alignment import own_goal
from helmsman.orient.alignment_file import read
from helmsman.parsers.markdown_text import CodeBlocks
from helmsman.plain import clean_lines, inert
from helmsman.prompts import Piece, render_pieces
from helmsman.records.alignment import LONGEST_MORE, Alignment
from helmsman.records.base import Record
from helmsman.records.lessons import Summary
from helmsman.records.memory import Choice
from helmsman.records.state import LoopState
from helmsman.texts import counted, dollars_told, duration
from helmsman.tokens import tokens, trim

KEPT_WHOLE = 5
"""Handoffs that stay as they are; older ones become a line each."""
MOST_EARLIER = 100
"""Such lines."""
HANDED_TOKENS = 1_200
"""Of what a loop is told of those before it."""
_GOAL, _ENTRY, _CHOICE, _GAP = 300, 200, 300, 500
_CHECKS, _DONE, _DECISIONS, _OPEN = 8, 8, 8, 5
"""Entries of a list: the newest ones."""
_GOAL_IN_A_LINE = 120
EARLIER = "## Earlier handoffs"
_HEADING = re.compile(r"## Handoff of loop ([a-z0-9-]{1,63}) \(([0-9]{4}-[0-9]{2}-[0-9]{2})\)")
_EARLIER_LINE = re.compile(r"> - ([0-9]{4}-[0-9]{2}-[0-9]{2}) ([a-z0-9-]{1,63}): .*")
_UPPER_HEADING = re.compile(r"#{1,2}[ \t]+\S.*")
_QUOTE = re.compile(r"[ \t]*>[ \t]?")


class Handoff(Record):
    """What one loop leaves."""

    loop: str
    day: str
    """Of its end, as 2026-11-22."""
    text: str
    """The section, its heading included."""

    @property
    def name(self) -> tuple[str, str]:
        return self.day, self.loop


class _Section(NamedTuple):
    """Lines from one heading of the first or second level to the next."""

    lines: tuple[str, ...]

    @property
    def name(self) -> tuple[str, str] | None:
        """Day and loop, where it is a handoff."""
        found = _HEADING.fullmatch(self.lines[0].rstrip())
        return (found[2], found[1]) if found else None

    @property
    def is_earlier(self) -> bool:
        return self.lines[0].rstrip() == EARLIER

    @property
    def body(self) -> str:
        """Its words, however they are quoted."""
        return clean_lines("\n".join(_QUOTE.sub("", line, count=1) for line in self.lines[1:])).strip()

    @property
    def in_a_line(self) -> str:
        day, loop = self.name or ("", "")
        said = dict(line.split(": ", 1) for line in self.body.split("\n") if line.startswith(("Goal: ", "Outcome: ")))
        outcome = f" ({inert(said['Outcome'], _GOAL_IN_A_LINE)})" if "Outcome" in said else ""
        return f"> - {day} {loop}: {inert(said.get('Goal', ''), _GOAL_IN_A_LINE)}{outcome}"


# --- what a loop leaves -------------------------------------------------------------------------------------------


def handoff_of(state: LoopState, summary: Summary | None = None) -> Handoff:
    """What this loop leaves to know. `summary`: how memory sums it up, where there is one."""
    ended = state.ending.at if state.ending else state.updated_at
    day, loop = ended.date().isoformat(), state.loop
    return Handoff(loop=loop, day=day, text=f"## Handoff of loop {loop} ({day})\n\n{block_quote([*_lines(state, summary)])}")


def _lines(state: LoopState, summary: Summary | None) -> Iterator[str]:
    memory, used = state.memory, state.spending
    kind = f"{summary.subject.task_type}, " if summary else ""
    took = f"{counted(state.iteration, 'iteration')}, {duration(used.seconds)}, {dollars_told(used.cost_usd, state.untold)}"
    yield from (_goal(state.config.goal), f"Outcome: {kind}{state.outcome or 'unfinished'} after {took}")
    lists = (
        ("Proven by", _proofs(state), _CHECKS),
        ("Done, in the agent's words", [inert(one.text, _ENTRY) for one in memory.completed], _DONE),
        ("Decisions", [_decision(one) for one in memory.decisions], _DECISIONS),
        ("Remaining", [inert(memory.remaining_gap, _GAP)], 1),
        ("Uncertain", [inert(one, _ENTRY) for one in memory.uncertainties], _OPEN),
    )
    for title, entries, most in lists:
        if kept := [entry for entry in entries if entry][-most:]:
            yield from ("", f"{title}:", *(f"- {entry}" for entry in kept))


def _goal(goal: str) -> str:
    return f"Goal: {inert(own_goal(goal), _GOAL)}"


def _proofs(state: LoopState) -> list[str]:
    criteria = ", ".join(criterion.id for criterion in state.config.judge.criteria)
    found = [inert(f"a judge: {criteria}", _ENTRY)] if criteria else []
    for result in state.checks.results if state.checks else ():
        numbers = f" ({result.counts.passed} passed, {result.counts.skipped} skipped)" if result.counts else ""
        found += [inert(result.command, _ENTRY - len(numbers)) + numbers] if result.passed else []
    return found


def _decision(one: Choice) -> str:
    more = (("rejected", one.rejected), ("reason:", one.reason), ("revisit if", one.revisit_if))
    return inert("; ".join([f"chose {one.chose}", *(f"{name} {text}" for name, text in more if text)]), _CHOICE)


# --- into the file ------------------------------------------------------------------------------------------------


def with_handoff(text: str, handoff: Handoff) -> str:
    """The alignment file's text with the handoff at its end. The four sections stay as they stand, line endings included.

    Handed over already: the same text. Raises OperatorError where it is no alignment, or there is no room left.
    """
    before = _understood(text)
    more = with_section(before.more, handoff)
    if more == before.more:
        return text
    if len(more) > LONGEST_MORE:
        raise OperatorError(
            "there is no room for a handoff in the alignment file",
            expected=f"{LONGEST_MORE:,} characters behind its four sections at most",
            found=f"{len(more):,}",
            remedy="shorten what stands there",
        )
    newline = "\r\n" if "\r\n" in text else "\n"
    end = text.rstrip().count("\n") - before.more.count("\n") if before.more else len(text)
    head = "\n".join(text.split("\n")[:end]).rstrip()
    after = head + f"\n\n{more}\n".replace("\n", newline)
    if _understood(after) != before.model_copy(update={"more": more}):
        _refuse("with a handoff it would not be read as it is read now")
    return after


def _understood(text: str) -> Alignment:
    found = read(text.removeprefix("\ufeff"))
    return found if isinstance(found, Alignment) else _refuse(found)


def _refuse(why: str) -> NoReturn:
    raise OperatorError("nothing can be handed over in the alignment file", found=why, remedy="fix the file")


def with_section(more: str, handoff: Handoff) -> str:
    """What stands behind the four sections, with this handoff last. Whatever is no handoff stays where it is."""
    sections = _sections(more)
    if handoff.name in _names(sections):
        return more
    whole = [section for section in sections if section.name]
    old = whole[: max(0, len(whole) - KEPT_WHOLE + 1)]
    kept = _shortened(sections, old) if old else sections
    before = "\n".join(line for section in kept for line in section.lines).rstrip()
    return f"{before}\n\n{handoff.text}" if before else handoff.text


def joined(more: str, left: str) -> str:
    """What stands behind the four sections, and handoffs that are kept beside the file, each once."""
    sections = _sections(more)
    known, new = _names(sections), [section for section in _sections(left) if section.lines[0].strip()]
    kept = ["\n".join(section.lines).rstrip() for section in new if section.name not in known]
    both = "\n\n".join(filter(None, [more, *kept]))
    return both if len(both) <= LONGEST_MORE else more


def _sections(more: str) -> list[_Section]:
    """Cut at headings; a line of a code block is none."""
    cut, code = list[list[str]](), CodeBlocks()
    for line in more.replace("\r\n", "\n").split("\n") if more else []:
        inside = code.holds(line)
        if not cut or (not inside and _UPPER_HEADING.fullmatch(line)):
            cut.append([])
        cut[-1].append(line)
    return [_Section(tuple(lines)) for lines in cut]


def _names(sections: Sequence[_Section]) -> set[tuple[str, str]]:
    """Days and loops of all that were handed over."""
    lines = (_EARLIER_LINE.fullmatch(line.rstrip()) for section in sections if section.is_earlier for line in section.lines)
    return {section.name for section in sections if section.name} | {(line[1], line[2]) for line in lines if line}


def _shortened(sections: Sequence[_Section], old: Sequence[_Section]) -> list[_Section]:
    """With a line for each of the old ones, where such lines are already or where the first of the old ones stood. What a person
    wrote between the lines stays; of the lines the newest ones.
    """
    known = next((section for section in sections if section.is_earlier), None)
    place, gone = known or old[0], {id(section) for section in old}
    before = "\n".join(known.lines).rstrip().split("\n") if known else []
    lines = [*(before if len(before) > 1 else [EARLIER, ""]), *(section.in_a_line for section in old)]
    ours = [at for at, line in enumerate(lines) if _EARLIER_LINE.fullmatch(line.rstrip())]
    too_many = set(ours[: max(0, len(ours) - MOST_EARLIER)])
    earlier = _Section((*(line for at, line in enumerate(lines) if at not in too_many), ""))
    return [earlier if section is place else section for section in sections if section is place or id(section) not in gone]


# --- for the next loop --------------------------------------------------------------------------------------------


def handed_down(more: str) -> str:
    """What a loop that starts is told of those before it, the newest first; empty where none left anything. Bounded."""
    sections = _sections(more)
    handoffs = [f"Loop {section.name[1]} ({section.name[0]})\n{section.body}" for section in sections if section.name][::-1]
    earlier = [section.body for section in sections if section.is_earlier and section.body]
    kept, room = list[str](), HANDED_TOKENS
    for text in [*handoffs, *(f"Before those:\n{body}" for body in earlier)]:
        if kept and tokens(f"\n\n{text}") > room:
            break
        kept.append(trim(text, HANDED_TOKENS))
        room -= tokens(f"\n\n{kept[-1]}")
    return "\n\n".join(kept)


def inherited_from(state: LoopState) -> str:
    """What a loop is told that begins with the work of one that has completed: what that one left, then what it was told."""
    own = handoff_of(state)
    told = [f"Loop {own.loop} ({own.day})\n{own.text.partition(chr(10))[2].strip()}", state.inherited]
    return trim("\n\n".join(filter(None, told)), HANDED_TOKENS)


def handoff_section(handed: str) -> Sequence[Piece]:
    """For the prompt: quoted, and said to be information."""
    return render_pieces("handoff", handed=handed) if handed else ()


def spent(alignment: Alignment) -> bool:
    """Whether a loop has completed the goal that was agreed on: a loop with another goal may then start beside it."""
    goal = _goal(alignment.specification.goal)
    return any(goal in section.body.split("\n") for section in _sections(alignment.more) if section.name)
