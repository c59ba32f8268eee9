"""The research phase: before any source changes, four perspectives examine goal and code, and an approach is chosen.

It is bounded: incomplete research is requested again a few times, then the work starts with what there is. The thresholds
(an approach of 50 characters, a confidence of 30, at least one considered approach) are those of the research protocol in S2.
"""

import re
from collections.abc import Iterator, Sequence

from helmsman.guardrails import RESEARCH_FILE as FILE
from helmsman.parsers.progress_file import parse_percent
from helmsman.plain import clean, clean_lines
from helmsman.prompts import render
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


def read_research_file(state: LoopState, text: str, changed: Sequence[str]) -> Research:
    """Research of the due iteration. `text`: research.md as the agent left it; `changed`: files that it changed, which have
    been reverted.
    """
    research = read(text)
    problems = list(_problems(research, text))
    if changed:
        names = ", ".join(clean(path) for path in changed[:5])
        problems.insert(0, f"{plural(len(changed), 'file')} changed and restored ({names}): research may not change files")
    return research.model_copy(update={"tries": state.memory.research.tries + 1, "problems": tuple(problems)})


def read(text: str) -> Research:
    """Parse the file as far as possible. Never raises."""
    parts = _HEADING.split(re.sub(r"\r\n?", "\n", text[:LONGEST_FILE]))
    bodies = {str(name): "" for name in HEADINGS}
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        bodies[name] = f"{bodies.get(name, '')}\n{body}"  # repeated headings are merged
    return Research(
        strengths=_items(bodies["STRENGTHS"]),
        risks=_items(bodies["RISKS"]),
        gaps=_items(bodies["GAPS"]),
        approaches=_items(bodies["APPROACHES_CONSIDERED"]),
        approach=clean_lines(bodies["APPROACH"]).strip()[:KEPT_APPROACH],
        confidence=parse_percent(bodies["CONFIDENCE"]),
    )


def research_phase(state: LoopState) -> Iterator[tuple[str, str]]:
    """Sections of a research prompt, with problems of the last try first; none in a prompt for work."""
    if not state.researching:
        return
    research = state.memory.research
    if research.problems:
        yield "research problems", render("research_problems", found=research, most=RESEARCH_TRIES)
    yield "research", render("research", file=FILE)


def _items(body: str) -> tuple[str, ...]:
    matches = (_ITEM.fullmatch(line.strip()) for line in body.split("\n"))
    entries = (clean(match[1]).strip() for match in matches if match)
    return tuple(entry[:KEPT_CHARACTERS] for entry in entries if not entry.startswith("<"))[:KEPT_ENTRIES]


def _problems(research: Research, text: str) -> Iterator[str]:
    if not text.strip():
        yield f".helmsman/{FILE} was not written"
        return
    for name, entries in (("STRENGTHS", research.strengths), ("RISKS", research.risks), ("GAPS", research.gaps)):
        if not entries:
            yield f"{name}: expected at least one entry, found none"
    if not research.approaches:
        yield "APPROACHES_CONSIDERED: expected at least one approach, found none"
    if len(research.approach) < SHORTEST_APPROACH:
        yield f"APPROACH: expected {SHORTEST_APPROACH} characters or more, found {len(research.approach)}"
    if research.confidence is None:
        yield "CONFIDENCE: expected a number from 0 to 100, found none"
    elif research.confidence < LEAST_CONFIDENCE:
        alternative = "weigh another approach, or close a gap first"
        yield f"CONFIDENCE: expected {LEAST_CONFIDENCE} or more, found {research.confidence}; {alternative}"
