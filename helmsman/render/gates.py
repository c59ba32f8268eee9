"""A gate as a person reads it in a terminal: the question, what was seen, and the exact command behind each choice."""

import html
import re
import shlex
from collections.abc import Iterator

from helmsman.plain import clean, clean_lines, shortened
from helmsman.records.gates import GATES, Answer, Choice, Gate, GateKind
from helmsman.texts import counted

EVIDENCE_LINES = 8
EVIDENCE_WIDTH = 160
"""Lines of evidence that are shown, and characters of each."""

_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_INDENT = " " * 11
_NEEDED = {GateKind.BUDGET: "--set limits.KEY=VALUE"}
"""Without it, an approval of that kind would say nothing."""


def gate_lines(gate: Gate, loop: str) -> list[str]:
    """Question, evidence, choices with their commands, and what happens when nobody answers."""
    return [
        f"asked      {GATES[gate.kind].title} ({clean(gate.key)}), {gate.asked_at:%Y-%m-%d %H:%M} UTC{_asked_of(gate)}",
        f"question   {clean(gate.question)}",
        *([f"not taken  {clean(gate.refused)}"] if gate.refused else ()),
        *_evidence_lines(gate),
        *_choice_lines(gate, loop),
        "with       --guidance TEXT: told to the next iteration; approve also takes --set KEY=VALUE",
        f"deadline   {_deadline(gate)}",
    ]


def answer_line(answer: Answer) -> str:
    """What was answered, by whom and through which way."""
    words = f": {clean(answer.guidance)[:EVIDENCE_WIDTH]}" if answer.guidance else ""
    who = f" by {clean(answer.by)}" if answer.by else ""
    return f"answered   {answer.choice}{who} ({answer.via}){words}"


def answer_command(gate: Gate, choice: Choice, loop: str) -> str:
    """What to type for a choice. The name comes from a stored state, so nothing in it may be more than a word to a shell."""
    name = shlex.quote(clean(loop))
    match choice:
        case Choice.APPROVE:
            return " ".join(filter(None, (f"helmsman approve {name}", _NEEDED.get(gate.kind, ""))))
        case Choice.REVISE:
            return f"helmsman reject {name} --guidance TEXT"
        case Choice.STOP if Choice.REVISE not in gate.choices:
            return f"helmsman reject {name}"
        case _:
            return f"helmsman answer {name} {choice}"


def _asked_of(gate: Gate) -> str:
    return f", of {clean(gate.asked_of)}" if gate.asked_of else ""


def _evidence_lines(gate: Gate) -> Iterator[str]:
    """Without tables: their signs mean something in the form only, and `helmsman log` has what they say."""
    known = (_unescaped(line).rstrip() for line in clean_lines(gate.evidence).splitlines())
    lines = [line for line in known if line and not line.startswith("|")]
    for number, line in enumerate(lines[:EVIDENCE_LINES]):
        yield f"{_INDENT if number else 'evidence   '}{shortened(line, EVIDENCE_WIDTH)}"
    if len(lines) > EVIDENCE_LINES:
        yield f"{_INDENT}… {counted(len(lines) - EVIDENCE_LINES, 'more line')}"


def _unescaped(line: str) -> str:
    """A line of Markdown as a page shows it: what keeps foreign signs from being markup there is noise in a terminal."""
    return clean(html.unescape(_ESCAPED.sub(r"\1", line)))


def _choice_lines(gate: Gate, loop: str) -> Iterator[str]:
    for choice, effect in gate.choices.items():
        yield f"{choice:<10} {effect}"
        yield f"{_INDENT}{answer_command(gate, choice, loop)}"


def _deadline(gate: Gate) -> str:
    if gate.deadline is None:
        return "none: the question stays open until somebody answers"
    effect = gate.choices.get(gate.at_timeout)
    return f"{gate.deadline:%Y-%m-%d %H:%M} UTC; unanswered until then: {gate.at_timeout}{f' ({effect})' if effect else ''}"
