"""progress.md, the agent's working memory: rendered before an iteration, read back after it.

The goal in it is the operator's: it is always rendered from the configuration and never read back, so an altered goal lasts
one iteration at most and is told.
"""

import re
from collections.abc import Mapping

from helmsman.records.memory import Choice, Completed, WorkingMemory

HEADINGS = ("ORIGINAL_GOAL", "ITERATION", "COMPLETED", "DECISIONS", "UNCERTAINTIES", "REMAINING_GAP", "CONFIDENCE")
KEPT_ENTRIES = 20
KEPT_CHARACTERS = 400
"""An entry is a sentence or two; what is longer belongs into the repository's own documents."""
LONGEST_FILE = 256 * 1024


def render(memory: WorkingMemory, goal: str, iteration: int) -> str:
    """progress.md as the agent finds it."""
    bodies = {
        "ORIGINAL_GOAL": goal,
        "ITERATION": str(iteration),
        "COMPLETED": "\n".join(_completed_line(item) for item in memory.completed),
        "DECISIONS": "\n".join(_choice_line(choice) for choice in memory.decisions),
        "UNCERTAINTIES": "\n".join(f"- {text}" for text in memory.uncertainties),
        "REMAINING_GAP": memory.remaining_gap,
        "CONFIDENCE": "" if memory.confidence is None else str(memory.confidence),
    }
    return "".join(f"## {name}\n{_indent_headings(bodies[name])}\n\n" for name in HEADINGS) + _HOW_TO


def read(text: str, goal: str) -> WorkingMemory:
    """progress.md as the agent left it. Never raises: what cannot be read is named in `problems`."""
    found = _sections(text[:LONGEST_FILE])
    problems = tuple(_problems(found, goal, len(text)))
    return WorkingMemory(
        completed=tuple(_completed(line) for line in _items(found.get("COMPLETED", ""))),
        decisions=tuple(_choice(line) for line in _items(found.get("DECISIONS", ""))),
        uncertainties=tuple(_items(found.get("UNCERTAINTIES", ""))),
        remaining_gap=found.get("REMAINING_GAP", "")[: 4 * KEPT_CHARACTERS],
        confidence=_percent(found.get("CONFIDENCE", "")),
        problems=problems,
    )


_HOW_TO = """\
<!-- Keep these headings. COMPLETED: `- what (confidence 90)`. DECISIONS: `- chose X; rejected Y; reason Z; revisit if W`.
One line an entry. CONFIDENCE: 0 to 100 that the goal is reached. -->
"""

_HEADING = re.compile(r"^## ([A-Z_]+)[ \t]*$", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_CONFIDENCE = re.compile(r"\(confidence:? *(\d{1,3}) *%?\)\s*$", re.IGNORECASE)
_CHOICE_PARTS = re.compile(r";\s*(?=(?:rejected|reason|revisit[ _]if)\b)", re.IGNORECASE)


def _indent_headings(body: str) -> str:
    """A goal may itself contain `## COMPLETED`; as a quoted line it cannot be taken for ours."""
    return "\n".join(f" {line}" if line.startswith("## ") else line for line in body.splitlines())


def _sections(text: str) -> dict[str, str]:
    parts = _HEADING.split(_COMMENT.sub("", text.replace("\r\n", "\n")))
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    return {name: body.strip() for name, body in pairs if name in HEADINGS}


def _items(body: str) -> list[str]:
    """List entries, newest last in the file; the last ones are kept."""
    lines = (line.strip() for line in body.splitlines())
    entries = [line.lstrip("-* ").strip()[:KEPT_CHARACTERS] for line in lines if line.startswith(("-", "*"))]
    return [entry for entry in entries if entry][-KEPT_ENTRIES:]


def _completed(line: str) -> Completed:
    match = _CONFIDENCE.search(line)
    text = line[: match.start()].strip() if match else line
    return Completed(text=text, confidence=min(int(match[1]), 100) if match else None)


def _completed_line(item: Completed) -> str:
    return f"- {item.text}" + ("" if item.confidence is None else f" (confidence {item.confidence})")


def _choice(line: str) -> Choice:
    first, *rest = _CHOICE_PARTS.split(line)
    named = {_part_name(part): part.split(None, 2 if part[:7].lower() == "revisit" else 1)[-1].lstrip(": ") for part in rest}
    chose = re.sub(r"^chose:?\s+", "", first, flags=re.IGNORECASE)
    return Choice(
        chose=chose,
        rejected=named.get("rejected", ""),
        reason=named.get("reason", ""),
        revisit_if=named.get("revisit_if", ""),
    )


def _part_name(part: str) -> str:
    word = part.lower()
    return "revisit_if" if word.startswith("revisit") else "rejected" if word.startswith("rejected") else "reason"


def _choice_line(choice: Choice) -> str:
    parts = (
        f"chose {choice.chose}",
        f"rejected {choice.rejected}" if choice.rejected else "",
        f"reason {choice.reason}" if choice.reason else "",
        f"revisit if {choice.revisit_if}" if choice.revisit_if else "",
    )
    return "- " + "; ".join(part for part in parts if part)


def _percent(body: str) -> int | None:
    match = re.search(r"\d{1,3}", body)
    return min(int(match[0]), 100) if match else None


def _problems(found: Mapping[str, str], goal: str, size: int) -> list[str]:
    missing = [name for name in HEADINGS if name not in found]
    altered = "ORIGINAL_GOAL" in found and found["ORIGINAL_GOAL"] != _indent_headings(goal).strip()
    return [
        *([f"headings missing: {', '.join(missing)}"] if missing else []),
        *(["ORIGINAL_GOAL was altered; it has been restored"] if altered else []),
        *([f"the file is {size} characters long; what lies beyond {LONGEST_FILE} was not read"] if size > LONGEST_FILE else []),
    ]
