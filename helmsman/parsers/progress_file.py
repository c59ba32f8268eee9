"""progress.md, the agent's notes: laid out before an iteration and read back after it. Free text of at most 40 lines.

A line that begins with Done, Decided, Unclear or Next is kept by its kind as well, for the next loop and for people. The older
form, with a heading for each kind, is read.
"""

import re
from collections.abc import Iterator

from helmsman.plain import clean, shortened
from helmsman.records.iteration import Choice, Completed, WorkingMemory

LINES = 40
KEPT_ENTRIES = 20
KEPT_CHARACTERS = 400  # A line is a sentence or two; what is longer belongs into the repository's own documents
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
    """progress.md as the agent finds it. Of a memory that was kept in the older form, a line for each entry."""
    lines = memory.notes.split("\n") if memory.notes else list(_older(memory))
    return "".join(f"{line}\n" for line in lines)


def _older(memory: WorkingMemory) -> Iterator[str]:
    yield from (f"Done: {item.text}" for item in memory.completed)
    for one in memory.decisions:
        parts = {"rejected": one.rejected, "reason": one.reason, "revisit if": one.revisit_if}
        yield "; ".join((f"Decided: {one.chose}", *(f"{name} {text}" for name, text in parts.items() if text)))
    yield from (f"Unclear: {text}" for text in memory.uncertainties)
    yield from (f"Next: {line}" for line in map(str.strip, memory.remaining_gap.split("\n")) if line)


def read(text: str) -> WorkingMemory:
    """progress.md as the agent left it. Never raises: what was cut is told in `problems`.

    Of the older form, the goal is the operator's and is not read back.
    """
    plain = "\n".join(clean(line).rstrip() for line in text[:LONGEST_FILE].splitlines())
    first, *parts = _HEADING.split(plain)
    sections = zip(parts[::2], parts[1::2], strict=True)
    older = (
        f"{_KINDS[name]}: {_bare(line)}" for name, body in sections if name in _KINDS for line in body.split("\n") if line.strip()
    )
    lines = [shortened(line, KEPT_CHARACTERS) for line in (older if parts else first.split("\n")) if line.strip()]
    kept = lines[-LINES:]
    found = [(match[1].lower(), match[2].strip()) for line in kept if (match := _KIND.match(_bare(line)))]
    done = (*(said for kind, said in found if kind == "done"), *(line for line in kept if _DONE.fullmatch(line)))
    return WorkingMemory(
        notes="\n".join(kept),
        completed=tuple(Completed(text=said) for said in done if said)[-KEPT_ENTRIES:],
        decisions=tuple(_choice(said) for kind, said in found if kind == "decided" and said)[-KEPT_ENTRIES:],
        uncertainties=tuple(said for kind, said in found if kind == "unclear" and said)[-KEPT_ENTRIES:],
        remaining_gap=shortened("\n".join(said for kind, said in found if kind == "next"), 4 * KEPT_CHARACTERS),
        problems=(f"it had {len(lines)} lines, and only the last {LINES} were kept",) if len(lines) > LINES else (),
    )


def without_plan(memory: WorkingMemory) -> WorkingMemory:
    """The notes without what was to be done next."""
    kept = (line for line in memory.notes.split("\n") if not re.match(r"next\b", _bare(line), re.IGNORECASE))
    return memory.model_copy(update={"remaining_gap": "", "notes": "\n".join(kept)})


def _bare(line: str) -> str:
    """Without the mark of a list."""
    return _MARK.sub("", line.strip(), count=1)


def _choice(line: str) -> Choice:
    first, *rest = _CHOICE_PART.split(line)
    parts = {name.lower().replace(" ", "_"): text.strip() for name, text in zip(rest[::2], rest[1::2], strict=True)}
    return Choice(chose=_CHOSE.sub("", first).strip(), **parts)


def percent(body: str) -> int | None:
    """The first number of a text, at most 100; a share such as 0.85 is 85 as well."""
    match = _NUMBER.search(body[:KEPT_CHARACTERS])
    if match is None:
        return None
    value = float(match[0])
    return round(min(value * 100 if "." in match[0] and value <= 1 else value, 100))
