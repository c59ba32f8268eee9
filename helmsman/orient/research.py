"""The research phase: before any source is changed, four perspectives look at the goal and the code, and a way is chosen.

It is bounded: what is incomplete is asked for again, a few times, and then the work begins with what there is. The thresholds
(an approach of 50 characters, a confidence of 30, one way weighed at least) are those of the research protocol in S2.
"""

import re
from collections.abc import Iterator, Sequence

from helmsman.guardrails import RESEARCH_FILE as FILE
from helmsman.parsers.progress_file import percent
from helmsman.plain import clean, clean_lines
from helmsman.prompts import Piece, render_pieces
from helmsman.records.iteration import RESEARCH_TRIES, Research
from helmsman.records.state import LoopState
from helmsman.texts import plural

HEADINGS = ("STRENGTHS", "RISKS", "GAPS", "APPROACHES_CONSIDERED", "APPROACH", "CONFIDENCE")
SHORTEST_APPROACH = 50  # characters
LEAST_CONFIDENCE = 30
KEPT_ENTRIES, KEPT_CHARACTERS, KEPT_APPROACH = 10, 400, 2_000
LONGEST_FILE = 64 * 1024

_HEADING = re.compile(r"^#{1,3} *([A-Z_]+)[ \t:]*$", re.MULTILINE)
_ITEM = re.compile(r"(?:[-*+]|[0-9]{1,3}[.)])\s+(\S.*)")


def research_of(state: LoopState, text: str, changed: Sequence[str]) -> Research:
    """What the iteration that is due has found out. `text`: research.md as the agent left it; `changed`: files that it changed,
    which have been taken back.
    """
    found = read(text)
    problems = list(_problems(found, text))
    if changed:
        named = ", ".join(clean(path) for path in changed[:5])
        problems.insert(0, f"changed in {plural(len(changed), 'file')}, and taken back ({named}): research may not change files")
    return found.model_copy(update={"tries": state.memory.research.tries + 1, "problems": tuple(problems)})


def read(text: str) -> Research:
    """What can be read of the file. Never raises."""
    parts = _HEADING.split(re.sub(r"\r\n?", "\n", text[:LONGEST_FILE]))
    bodies = {str(name): "" for name in HEADINGS}
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        bodies[name] = f"{bodies.get(name, '')}\n{body}"  # one that appears twice has both
    return Research(
        strengths=_items(bodies["STRENGTHS"]),
        risks=_items(bodies["RISKS"]),
        gaps=_items(bodies["GAPS"]),
        approaches=_items(bodies["APPROACHES_CONSIDERED"]),
        approach=clean_lines(bodies["APPROACH"]).strip()[:KEPT_APPROACH],
        confidence=percent(bodies["CONFIDENCE"]),
    )


def research_phase(state: LoopState) -> Iterator[tuple[str, Sequence[Piece]]]:
    """The sections of a prompt that asks for research, what was wrong with the last try first; none in one for the work."""
    if not state.researching:
        return
    found = state.memory.research
    if found.problems:
        yield "research problems", render_pieces("research_problems", found=found, most=RESEARCH_TRIES)
    yield "research", render_pieces("research", file=FILE)


def _items(body: str) -> tuple[str, ...]:
    found = (_ITEM.fullmatch(line.strip()) for line in body.split("\n"))
    entries = (clean(entry[1]).strip() for entry in found if entry)
    return tuple(entry[:KEPT_CHARACTERS] for entry in entries if not entry.startswith("<"))[:KEPT_ENTRIES]


def _problems(found: Research, text: str) -> Iterator[str]:
    if not text.strip():
        yield f".helmsman/{FILE} was not written"
        return
    for name, entries in (("STRENGTHS", found.strengths), ("RISKS", found.risks), ("GAPS", found.gaps)):
        if not entries:
            yield f"{name}: expected one entry at least, found none"
    if not found.approaches:
        yield "APPROACHES_CONSIDERED: expected one way at least, found none"
    if len(found.approach) < SHORTEST_APPROACH:
        yield f"APPROACH: expected {SHORTEST_APPROACH} characters at least, found {len(found.approach)}"
    if found.confidence is None:
        yield "CONFIDENCE: expected a number from 0 to 100, found none"
    elif found.confidence < LEAST_CONFIDENCE:
        instead = "weigh another approach, or close a gap first"
        yield f"CONFIDENCE: expected {LEAST_CONFIDENCE} at least, found {found.confidence}; {instead}"
