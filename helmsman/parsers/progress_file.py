"""progress.md, the agent's notes: written before an iteration and read after it. Free text of at most 40 lines.

Lines that begin with Done, Decided, Unclear or Next are also kept by kind, for the next loop and for people. The older format,
with a heading for each kind, is still read.
"""

import re

from helmsman.plain import clean, shorten
from helmsman.records.iteration import Choice, Completed, WorkingMemory

LINES = 40
KEPT_ENTRIES = 20
KEPT_CHARACTERS = 400  # per line, a sentence or two; longer texts belong in the repository's own documents
LONGEST_FILE = 256 * 1024

_HEADING = re.compile(
    r"^## (ORIGINAL_GOAL|ITERATION|COMPLETED|DECISIONS|UNCERTAINTIES|REMAINING_GAP|CONFIDENCE)[ \t]*$", re.MULTILINE
)
_MARK = re.compile(r"(?:[-*+]|[0-9]{1,3}[.)])\s+")
_KIND = re.compile(r"(done|decided|unclear|next)\b[:\s]*(.*)", re.IGNORECASE)
_DONE = re.compile(r".{1,200}:\s*done\W*", re.IGNORECASE)
_CHOSE = re.compile(r"^(?:chose(?=[:\s]|$))?[:\s]*", re.IGNORECASE)
_CHOICE_PART = re.compile(r";\s*(rejected|reason|revisit[ _]if)(?=[:;\s]|$)[:\s]*", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_KINDS = {"COMPLETED": "Done", "DECISIONS": "Decided", "UNCERTAINTIES": "Unclear", "REMAINING_GAP": "Next"}


def render(memory: WorkingMemory) -> str:
    """Return the text of progress.md; a memory in the older format gets a line for each entry."""
    if memory.notes:
        return f"{memory.notes}\n"
    lines = [f"Done: {item.text}" for item in memory.completed]
    for choice in memory.decisions:
        parts = {"rejected": choice.rejected, "reason": choice.reason, "revisit if": choice.revisit_if}
        lines.append("; ".join((f"Decided: {choice.chose}", *(f"{name} {text}" for name, text in parts.items() if text))))
    lines += [f"Unclear: {text}" for text in memory.uncertainties]
    lines += [f"Next: {line}" for line in map(str.strip, memory.remaining_gap.split("\n")) if line]
    return "".join(f"{line}\n" for line in lines)


def read(text: str) -> WorkingMemory:
    """Parse progress.md. Never raises: truncation is reported in `problems`.

    The goal in the older format is the operator's and not read.
    """
    plain = "\n".join(clean(line).rstrip() for line in text[:LONGEST_FILE].splitlines())
    first, *parts = _HEADING.split(plain)
    sections = zip(parts[::2], parts[1::2], strict=True)
    older = (
        f"{_KINDS[name]}: {_strip_marker(line)}"
        for name, body in sections
        if name in _KINDS
        for line in body.split("\n")
        if line.strip()
    )
    lines = [shorten(line, KEPT_CHARACTERS) for line in (older if parts else first.split("\n")) if line.strip()]
    kept_lines = lines[-LINES:]
    entries = [(match[1].lower(), match[2].strip()) for line in kept_lines if (match := _KIND.match(_strip_marker(line)))]
    done = (*(entry for kind, entry in entries if kind == "done"), *(line for line in kept_lines if _DONE.fullmatch(line)))
    return WorkingMemory(
        notes="\n".join(kept_lines),
        completed=tuple(Completed(text=entry) for entry in done if entry)[-KEPT_ENTRIES:],
        decisions=tuple(_parse_choice(entry) for kind, entry in entries if kind == "decided" and entry)[-KEPT_ENTRIES:],
        uncertainties=tuple(entry for kind, entry in entries if kind == "unclear" and entry)[-KEPT_ENTRIES:],
        remaining_gap=shorten("\n".join(entry for kind, entry in entries if kind == "next"), 4 * KEPT_CHARACTERS),
        problems=(f"it had {len(lines)} lines; only the last {LINES} were kept",) if len(lines) > LINES else (),
    )


def without_next_steps(memory: WorkingMemory) -> WorkingMemory:
    """Return the notes without their next steps."""
    kept = (line for line in memory.notes.split("\n") if not re.match(r"next\b", _strip_marker(line), re.IGNORECASE))
    return memory.model_copy(update={"remaining_gap": "", "notes": "\n".join(kept)})


def _strip_marker(line: str) -> str:
    """Return a line without its list marker."""
    return _MARK.sub("", line.strip(), count=1)


def _parse_choice(line: str) -> Choice:
    first, *rest = _CHOICE_PART.split(line)
    parts = {name.lower().replace(" ", "_"): text.strip() for name, text in zip(rest[::2], rest[1::2], strict=True)}
    return Choice(chose=_CHOSE.sub("", first).strip(), **parts)


def parse_percent(body: str) -> int | None:
    """Return the first number of a text, at most 100; a fraction such as 0.85 means 85."""
    match = _NUMBER.search(body[:KEPT_CHARACTERS])
    if match is None:
        return None
    value = float(match[0])
    return round(min(value * 100 if "." in match[0] and value <= 1 else value, 100))
