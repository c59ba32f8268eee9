"""progress.md, the agent's working memory: rendered before an iteration, read back after it.

The goal in it is the operator's: it is always rendered from the configuration and never read back, so an altered goal lasts
one iteration at most and is told. What was read once is rendered and read again unchanged, however often.
"""

import re
from collections.abc import Mapping

from helmsman.plain import shortened
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
    return _HOW_TO + "".join(f"\n## {name}\n{_indent_headings(_unix(bodies[name]))}\n" for name in HEADINGS)


def read(text: str, goal: str) -> WorkingMemory:
    """progress.md as the agent left it. Never raises: what cannot be read is named in `problems`."""
    found = _sections(text[:LONGEST_FILE])
    return WorkingMemory(
        completed=tuple(_completed(line) for line in _items(found.get("COMPLETED", ""))),
        decisions=tuple(_choice(line) for line in _items(found.get("DECISIONS", ""))),
        uncertainties=tuple(_short(line) for line in _items(found.get("UNCERTAINTIES", ""))),
        remaining_gap=shortened(found.get("REMAINING_GAP", ""), 4 * KEPT_CHARACTERS),
        confidence=percent(found.get("CONFIDENCE", "")),
        problems=tuple(_problems(found, goal, len(text))),
    )


_HOW_TO = """\
<!-- Keep these headings. COMPLETED: `- what (confidence 90)`. DECISIONS: `- chose X; rejected Y; reason Z; revisit if W`.
One line an entry. CONFIDENCE: 0 to 100 that the goal is reached. -->
"""
"""Above the first heading, where it belongs to no section."""

_HEADING = re.compile(r"^## ([A-Z_]+)[ \t]*$", re.MULTILINE)
_ITEM = re.compile(r"(?:[-*+]|[0-9]{1,3}[.)])\s+(.*)")
_CONFIDENCE = re.compile(r"\(confidence:? *([0-9]{1,3}) *%?\)$", re.IGNORECASE)
_CHOSE = re.compile(r"^(?:chose(?=[:\s]|$))?[:\s]*", re.IGNORECASE)
_CHOICE_PART = re.compile(r";\s*(rejected|reason|revisit[ _]if)(?=[:;\s]|$)[:\s]*", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def _unix(text: str) -> str:
    return re.sub(r"\r\n?", "\n", text)


def _indent_headings(body: str) -> str:
    """A goal may itself contain `## COMPLETED`; as a quoted line it cannot be taken for ours."""
    return re.sub(r"^## ", " ## ", body, flags=re.MULTILINE)


def _body(text: str) -> str:
    """A section without the indent that `_indent_headings` gave it."""
    return re.sub(r"^ ## ", "## ", text, flags=re.MULTILINE).strip()


def _sections(text: str) -> dict[str, str]:
    """Bodies by heading. One that was written twice has both: an agent that appends loses nothing."""
    parts = _HEADING.split(_unix(text))
    bodies: dict[str, list[str]] = {}
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        bodies.setdefault(name, []).append(body)
    return {name: _body("\n".join(bodies[name])) for name in HEADINGS if name in bodies}


def _items(body: str) -> list[str]:
    """List entries, newest last in the file; the last ones are kept."""
    found = (_ITEM.fullmatch(line.strip()) for line in body.split("\n"))
    return [entry[1] for entry in found if entry][-KEPT_ENTRIES:]


def _short(text: str) -> str:
    return shortened(text, KEPT_CHARACTERS)


def _completed(line: str) -> Completed:
    match = _CONFIDENCE.search(line)
    text = line[: match.start()].strip() if match else line
    return Completed(text=_short(text), confidence=min(int(match[1]), 100) if match else None)


def _completed_line(item: Completed) -> str:
    return f"- {item.text}" + ("" if item.confidence is None else f" (confidence {item.confidence})")


def _choice(line: str) -> Choice:
    first, *rest = _CHOICE_PART.split(line)
    parts = {name.lower().replace(" ", "_"): _short(text.strip()) for name, text in zip(rest[::2], rest[1::2], strict=True)}
    return Choice(chose=_short(_CHOSE.sub("", first).strip()), **parts)


def _choice_line(choice: Choice) -> str:
    parts = (
        f"chose {choice.chose}",
        f"rejected {choice.rejected}" if choice.rejected else "",
        f"reason {choice.reason}" if choice.reason else "",
        f"revisit if {choice.revisit_if}" if choice.revisit_if else "",
    )
    return "- " + "; ".join(part for part in parts if part)


def percent(body: str) -> int | None:
    """The first number of a text, at most 100; a share such as 0.85 is 85 as well."""
    match = _NUMBER.search(body[:KEPT_CHARACTERS])
    if match is None:
        return None
    value = float(match[0])
    return round(min(value * 100 if "." in match[0] and value <= 1 else value, 100))


def _problems(found: Mapping[str, str], goal: str, size: int) -> list[str]:
    missing = [name for name in HEADINGS if name not in found]
    altered = "ORIGINAL_GOAL" in found and found["ORIGINAL_GOAL"] != _body(_unix(goal))
    return [
        *([f"headings missing: {', '.join(missing)}"] if missing else []),
        *(["ORIGINAL_GOAL was altered; it has been restored"] if altered else []),
        *([f"the file is longer than {LONGEST_FILE} characters; what lies beyond was not read"] if size > LONGEST_FILE else []),
    ]
