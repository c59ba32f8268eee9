"""Reading `.claude/gulf-align.md`, the alignment that users of gulf-loop bring along, by putting it into our form."""

import re
from collections.abc import Iterator

SECTIONS = {
    "specification alignment": "Specification",
    "process alignment": "Process",
    "evaluation alignment": "Evaluation",
    "gulf of envisioning — gap check": "Gap check",
    "gulf of envisioning - gap check": "Gap check",
}
PARTS = {
    "goal": "Goal",
    "deliverables": "Deliverables",
    "out of scope": "Out of scope",
    "approach": "Approach",
    "sequence": "Sequence",
    "stack assumptions": "Stack assumptions",
    "machine checks": "Machine checks",
    "behavioral checks": "Behavioural checks",
    "behavioural checks": "Behavioural checks",
    "edge cases": "Edge cases",
    "capability gaps": "Capability",
    "instruction gaps": "Instruction",
    "intentionality gaps": "Intentionality",
    "blocking questions": "Blocking questions",
}
"""Its headings and labels in lower case, and ours."""
PROSE = {"Goal", "Approach"}
EMPTY = {"", "none", "(none)", "n/a", "-", "[]"}

_HEADING = re.compile(r"##[ \t]+(.*\S)[ \t]*")
_LABEL = re.compile(r"[-*][ \t]+\*\*([^*]+?):?\*\*[ \t]*:?[ \t]*(.*)")
_SPANS = re.compile(r"`([^`]+)`")


def is_gulf(text: str) -> bool:
    """Whether a text has this form: its first heading of the second level is one of the four."""
    first = next((found for line in text.splitlines() if (found := _HEADING.fullmatch(line))), None)
    return first is not None and first[1].casefold() in SECTIONS


def translated(text: str) -> str:
    """The same in our form, for `alignment_file.read`. Whatever follows the four sections stays as it is."""
    return "\n".join(["# Alignment", *_lines(text.splitlines())])


def _lines(lines: list[str]) -> Iterator[str]:
    section = ""
    for line in lines:
        heading, label = _HEADING.fullmatch(line), _LABEL.fullmatch(line.rstrip())
        if heading:
            section = SECTIONS.get(heading[1].casefold(), "")
            yield f"## {section or heading[1]}"
        elif section and label:
            part = PARTS.get(label[1].strip().casefold(), label[1].strip())
            yield from (f"### {part}", *_value(part, label[2].strip()))
        else:
            yield line.removeprefix("  ") if section else line


def _value(part: str, said: str) -> list[str]:
    """What stands behind a label, as the lines of its part: commands one by one, everything else as it is written."""
    bare = said.removeprefix("[").removesuffix("]").strip() if said.startswith("[") and said.endswith("]") else said
    if bare.casefold().rstrip(".") in EMPTY:
        return []
    if part == "Machine checks":
        return [f"- `{command}`" for command in _SPANS.findall(bare)] or [f"- {bare}"]
    return [f"> {bare}"] if part in PROSE else [f"- {bare}"]
