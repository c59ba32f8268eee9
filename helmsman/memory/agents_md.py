"""What loops learnt about working in a project, as lines for its AGENTS.md: only what is new there and contradicts nothing in it.

Whoever wrote AGENTS.md orders agents; we propose. Our lines stand in a section of their own, and the rest of the file stays.
"""

import re
from collections.abc import Collection, Iterator, Sequence

from helmsman.memory.guardrail_effect import Verdict, persons, verdict
from helmsman.memory.learned_guardrails import contradiction
from helmsman.memory.merge import SAME, alike
from helmsman.oversee.imperatives import imperatives
from helmsman.parsers.markdown_text import upper_headings
from helmsman.plain import inert
from helmsman.records.lessons import Guardrail, Lesson, LessonKind, Tier
from helmsman.records.state import LoopState

SECTION = "## Learned by Helmsman"
MOST_LINES = 10  # lines of our section, those that are there included: what grows without end is read by nobody
MIN_CONFIDENCE, MIN_SUCCESS = 0.7, 0.6  # of a convention that is proposed; as many as it takes to be told to another loop
LONGEST_LINE = 600
"""Characters. Our own advice fits. What doesn't is left out: half a sentence may order a lot."""
_COMMAND = 120
_COMMANDS = 3
_MOST_SAID = 400  # sentences of AGENTS.md that a line is compared with
_CANDIDATES = 40
_ITEM = re.compile(r"[ \t]*[-*+][ \t]+\S.*")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_LIST_MARK = re.compile(r"^[\s>#*+-]+|^\s*[0-9]{1,3}[.)]\s+")


def learnings(
    state: LoopState, lessons: Sequence[Lesson], guardrails: Sequence[Guardrail], present: str, *, commands: Collection[str] = ()
) -> tuple[str, ...]:
    """Lines that are worth proposing, the surest first.

    `present`: AGENTS.md as it is. `commands`: those that the project's own files name.
    """
    lines = present.replace("\r\n", "\n").split("\n")
    room = MOST_LINES - sum(bool(_ITEM.fullmatch(line)) for line in lines[slice(*_section(lines) or (0, 0))])
    # sentences of the file, code and lists included; of a long one the first ones
    parts = (_LIST_MARK.sub("", part).strip() for line in lines for part in (line, *_SENTENCE_END.split(line)))
    said = list(dict.fromkeys(filter(None, parts)))[:_MOST_SAID]
    known = imperatives("AGENTS.md", present)
    # the project's own checks that passed when the work was proven, unless the file names them; others are for one goal
    results = state.checks.results if state.checks else ()
    proven = dict.fromkeys(one.command.strip() for one in results if one.passed)
    new = [one for one in proven if one in commands and one not in present][:_COMMANDS]
    plain = (one for one in new if one.isprintable() and "`" not in one and 0 < len(one) <= _COMMAND)
    checks = (f"Check your work with `{command}`." for command in plain)
    kept: list[str] = []
    candidates = (*((line, line) for line in checks), *list(_candidates(lessons, guardrails))[:_CANDIDATES])
    for line, order in candidates:
        if len(kept) >= room:
            break
        repeated = any(alike(line, sentence) >= SAME for sentence in (*said, *kept))
        if line and not repeated and contradiction(order, known) is None:
            kept.append(line)
            known = (*imperatives("AGENTS.md", order), *known)
    return tuple(kept)


def _candidates(lessons: Sequence[Lesson], guardrails: Sequence[Guardrail]) -> Iterator[tuple[str, str]]:
    """Guardrails that help or that a person wants, then sure conventions. What does not fit a line is left out.

    Each as a line, and without its condition, as contradictions are looked for: of what holds in one situation alone nobody finds
    any.
    """
    useful = [one for one in guardrails if not one.retired and (verdict(one) is Verdict.EFFECTIVE or persons(one))]
    promoted = (one for one in lessons if one.kind is LessonKind.CONVENTION and one.tier is Tier.SEMANTIC and not one.retired)
    sure = (one for one in promoted if one.confidence >= MIN_CONFIDENCE and one.success_rate >= MIN_SUCCESS)
    certain = sorted(sure, key=lambda one: (-one.confidence, -one.observed, one.id))
    said = [(one.instruction, one.trigger.strip()) for one in sorted(useful, key=lambda one: -one.before_seen)]
    for order, when in (*said, *((one.text, "") for one in certain)):
        whole = f"{when}: {order}" if when else order
        line, bare = (inert(text, 2 * len(text)) for text in (whole, order))  # longer than what is taken apart can get
        if bare and len(line) <= LONGEST_LINE:
            yield line, bare


def with_lines(present: str, lines: Sequence[str]) -> str:
    """The file with these lines at the end of our section, which is made where it is missing. An empty text: a new file."""
    newline = "\r\n" if "\r\n" in present else "\n"
    new = [f"- {line}" for line in lines]
    known = present.split("\n")
    place = _section([line.rstrip("\r") for line in known])
    if place is None:
        head = [present.rstrip(), ""] if present.strip() else ["# AGENTS.md", ""]
        return newline.join([*head, SECTION, "", *new, ""])
    start, end = place
    last = max((at for at in range(start, end) if known[at].strip()), default=start)
    between = [""] if last == start else []
    head, tail = "\n".join(known[: last + 1]).rstrip("\r"), "\n".join(known[last + 1 :])
    return newline.join([head, *between, *new, tail])


def _section(lines: Sequence[str]) -> tuple[int, int] | None:
    """First line of our section, and the first one after it."""
    headings = upper_headings(lines)
    start = next((at for at in headings if lines[at].rstrip() == SECTION), None)
    return None if start is None else (start, next((at for at in headings if at > start), len(lines)))
