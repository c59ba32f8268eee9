"""What memory says: to an agent as a section of its prompt, and to people as lines.

All of it is quoted: a row of the store and a line of guardrails.md may come from whoever could write there, an agent too.
"""

from collections.abc import Iterator, Sequence

from helmsman.memory.estimates import in_words
from helmsman.orient.budget import whole
from helmsman.plain import clean
from helmsman.prompts import Piece, render_pieces
from helmsman.records.lessons import Guardrail, LessonKind, Recalled, Reminder
from helmsman.tokens import tokens

_HEADINGS = {
    LessonKind.CONVENTION: "How this project does things:",
    LessonKind.STRATEGY: "What led to success:",
    LessonKind.ANTIPATTERN: "What failed again and again, so do something else:",
}


def lessons_section(recalled: Recalled) -> Sequence[Piece]:
    """What the prompt says at its end, where models weigh most: first of other work, then of this project."""
    return (*notes(recalled.reminders), *guardrail_notes(recalled.guardrails))


def notes(reminders: Sequence[Reminder]) -> Sequence[Piece]:
    """Lessons, quoted kind by kind, a line each."""
    if not reminders:
        return ()
    kinds = [{"heading": _HEADINGS[kind], "lines": _lines([one for one in reminders if one.kind is kind])} for kind in _HEADINGS]
    return render_pieces("lessons", kinds=[one for one in kinds if one["lines"]])


def guardrail_notes(guardrails: Sequence[Guardrail]) -> Sequence[Piece]:
    """Guardrails, quoted, a line each."""
    if not guardrails:
        return ()
    return render_pieces("guardrails", lines="\n".join(f"- {_in_a_line(one)}" for one in guardrails))


def cost(reminders: Sequence[Reminder]) -> int:
    """Tokens that they take in a prompt."""
    return tokens(whole(notes(reminders)))


def guardrails_cost(guardrails: Sequence[Guardrail]) -> int:
    """Tokens that they take in a prompt, with the line end that parts them from what stands above."""
    return tokens("\n" + whole(guardrail_notes(guardrails))) if guardrails else 0


def recalled_lines(recalled: Recalled) -> Iterator[str]:
    """For people: what memory said to an iteration, and why."""
    if recalled.problem:
        yield f"memory     none: {clean(recalled.problem)}"
    for one in recalled.guardrails:
        yield f"guardrail  {_in_a_line(one)}"
    for one in recalled.reminders:
        yield f"recalled   {one.kind}: {clean(one.text)}"
        yield f"           because: {clean(one.why)}; score {one.score:.2f}"
    yield from estimate_lines(recalled)


def estimate_lines(recalled: Recalled) -> Iterator[str]:
    """For people, at a loop's start: what to expect of it."""
    if recalled.estimate is not None:
        yield f"estimate   {in_words(recalled.estimate)}"


def _lines(reminders: Sequence[Reminder]) -> str:
    return "\n".join(f"- {clean(one.text).strip()}" for one in reminders)


def _in_a_line(one: Guardrail) -> str:
    instruction, trigger = clean(one.instruction).strip(), clean(one.trigger).strip()
    return f"{trigger}: {instruction}" if trigger else instruction
