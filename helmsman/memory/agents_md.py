"""Lines for a project's AGENTS.md from what loops learnt: only new ones that contradict nothing in it.

The authors of AGENTS.md instruct agents; Helmsman only proposes. Its lines are in a separate section, and the rest of the file
stays unchanged.
"""

import re
from collections.abc import Collection, Iterator, Sequence

from helmsman.memory.learned_guardrails import Verdict, belongs_to_person, contradiction, verdict
from helmsman.memory.merge import SAME, text_similarity
from helmsman.oversee.imperatives import read_imperatives
from helmsman.parsers.markdown_text import upper_headings
from helmsman.plain import inert
from helmsman.records.lessons import Guardrail, Lesson, LessonKind, Tier
from helmsman.records.state import LoopState

SECTION = "## Learned by Helmsman"
MOST_LINES = 10  # lines of the section, including existing ones: nobody reads an endless list
MIN_CONFIDENCE, MIN_SUCCESS = 0.7, 0.6  # of a proposed convention; the same as for recall in another loop
LONGEST_LINE = 600
"""Characters. Helmsman's own advice fits. Longer lines are omitted: half a sentence may be misleading."""
_COMMAND = 120
_COMMANDS = 3
_MOST_SENTENCES = 400  # sentences of AGENTS.md compared with a line
_CANDIDATES = 40
_ITEM = re.compile(r"[ \t]*[-*+][ \t]+\S.*")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_LIST_MARK = re.compile(r"^[\s>#*+-]+|^\s*[0-9]{1,3}[.)]\s+")


def propose_lines(
    state: LoopState, lessons: Sequence[Lesson], guardrails: Sequence[Guardrail], present: str, *, commands: Collection[str] = ()
) -> tuple[str, ...]:
    """Lines to propose, the most certain first.

    `present`: current text of AGENTS.md. `commands`: those named in the project's own files.
    """
    lines = present.replace("\r\n", "\n").split("\n")
    room = MOST_LINES - sum(bool(_ITEM.fullmatch(line)) for line in lines[slice(*_section(lines) or (0, 0))])
    # sentences of the file, including code and lists; the first ones of a long file
    parts = (_LIST_MARK.sub("", part).strip() for line in lines for part in (line, *_SENTENCE_END.split(line)))
    sentences = list(dict.fromkeys(filter(None, parts)))[:_MOST_SENTENCES]
    orders = read_imperatives("AGENTS.md", present)
    # the project's own checks that passed when the work was proven, unless in the file; other checks are for one goal
    results = state.checks.results if state.checks else ()
    proven = dict.fromkeys(result.command.strip() for result in results if result.passed)
    new_commands = [result for result in proven if result in commands and result not in present][:_COMMANDS]
    valid = (result for result in new_commands if result.isprintable() and "`" not in result and 0 < len(result) <= _COMMAND)
    checks = (f"Check your work with `{command}`." for command in valid)
    lines_to_add: list[str] = []
    candidates = (*((line, line) for line in checks), *list(_candidates(lessons, guardrails))[:_CANDIDATES])
    for line, order in candidates:
        if len(lines_to_add) >= room:
            break
        repeated = any(text_similarity(line, sentence) >= SAME for sentence in (*sentences, *lines_to_add))
        if line and not repeated and contradiction(order, orders) is None:
            lines_to_add.append(line)
            orders = (*read_imperatives("AGENTS.md", order), *orders)
    return tuple(lines_to_add)


def _candidates(lessons: Sequence[Lesson], guardrails: Sequence[Guardrail]) -> Iterator[tuple[str, str]]:
    """Effective guardrails and a person's, then certain conventions. Those too long for a line are omitted.

    Each as a line, and as an instruction without its condition, in which contradictions can be found.
    """
    active = [guardrail for guardrail in guardrails if not guardrail.retired]
    useful = [rule for rule in active if verdict(rule) is Verdict.EFFECTIVE or belongs_to_person(rule)]
    conventions = (lesson for lesson in lessons if lesson.kind is LessonKind.CONVENTION and not lesson.retired)
    promoted = (lesson for lesson in conventions if lesson.tier is Tier.SEMANTIC)
    reliable = (lesson for lesson in promoted if lesson.confidence >= MIN_CONFIDENCE and lesson.success_rate >= MIN_SUCCESS)
    sorted_conventions = sorted(reliable, key=lambda lesson: (-lesson.confidence, -lesson.observed, lesson.id))
    instructions = [(rule.instruction, rule.trigger.strip()) for rule in sorted(useful, key=lambda rule: -rule.before_seen)]
    for order, when in (*instructions, *((lesson.text, "") for lesson in sorted_conventions)):
        full_text = f"{when}: {order}" if when else order
        line, bare_order = (inert(text, 2 * len(text)) for text in (full_text, order))  # longer than any escaped text
        if bare_order and len(line) <= LONGEST_LINE:
            yield line, bare_order


def add_lines(present: str, lines: Sequence[str]) -> str:
    """The file with these lines at the end of Helmsman's section, added if missing. An empty text is a new file."""
    newline = "\r\n" if "\r\n" in present else "\n"
    new_items = [f"- {line}" for line in lines]
    present_lines = present.split("\n")
    section = _section([line.rstrip("\r") for line in present_lines])
    if section is None:
        head = [present.rstrip(), ""] if present.strip() else ["# AGENTS.md", ""]
        return newline.join([*head, SECTION, "", *new_items, ""])
    start, end = section
    last = max((at for at in range(start, end) if present_lines[at].strip()), default=start)
    between = [""] if last == start else []
    head, tail = "\n".join(present_lines[: last + 1]).rstrip("\r"), "\n".join(present_lines[last + 1 :])
    return newline.join([head, *between, *new_items, tail])


def _section(lines: Sequence[str]) -> tuple[int, int] | None:
    """First line of Helmsman's section, and the first line after it."""
    headings = upper_headings(lines)
    start = next((at for at in headings if lines[at].rstrip() == SECTION), None)
    return None if start is None else (start, next((at for at in headings if at > start), len(lines)))
