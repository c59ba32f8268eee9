"""Read and write ALIGNMENT.md; what `render` writes, `read` returns with the same values.

People may edit the file. List items may be wrapped, a list may be prose, case and empty lines are ignored; but a missing or
unknown heading is an error, because the text below it would be lost. The alignment file of gulf-loop (`.claude/gulf-align.md`)
is translated into this format first.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, cast

from pydantic import ValidationError

from helmsman.plain import clean
from helmsman.records.alignment import ROUNDS, Alignment, AlignmentQuestion, Origin, one_line
from helmsman.texts import format_money

TITLE = "# Alignment"
AGREED_HEADING = "# Agreed before the start"
"""Heading of the agreed alignment within a loop's goal."""
NOTHING = "(none)"
LARGEST = 400_000  # maximum characters of a file
_PROOF, _ANSWER = "Proof", "Answer"
_HELP = """\
What is agreed before a loop starts. Change what is wrong. To answer a question, tick it and write the answer below it, as in

    - [x] Which colour?
      - Answer: blue

A tick without an answer leaves the decision to the agent. A loop does not start while a question is open."""


_Kind = Literal["prose", "lines", "commands", "stages", "questions", "answered"]  # format of the text under a heading
_Parts = Mapping[str, tuple[str, _Kind]]
_LAYOUT: Mapping[str, _Parts] = {
    "Specification": {
        "Goal": ("goal", "prose"),
        "Deliverables": ("deliverables", "lines"),
        "Out of scope": ("out_of_scope", "lines"),
    },
    "Process": {
        "Approach": ("approach", "prose"),
        "Sequence": ("sequence", "stages"),
        "Stack assumptions": ("assumptions", "lines"),
    },
    "Evaluation": {
        "Machine checks": ("machine_checks", "commands"),
        "Behavioural checks": ("behavioural_checks", "lines"),
        "Edge cases": ("edge_cases", "lines"),
    },
    "Gap check": {
        "Capability": ("capability", "lines"),
        "Instruction": ("instruction", "lines"),
        "Intentionality": ("intentionality", "lines"),
        "Blocking questions": ("questions", "questions"),
        "Answered questions": ("answered", "answered"),
    },
}  # fmt: skip
"""The file's sections, and for each heading the field and its format."""

_HEADING = re.compile(r"(#{2,3})[ \t]+(.*\S)")
_ITEM = re.compile(r"([ \t]*)(?:[-*+]|[0-9]{1,9}[.)])[ \t]+(.*)")
_BOX = re.compile(r"\[([ xX])\](?:[ \t]+(.*))?")
_MADE = re.compile(r"<!-- helmsman (\{.*\}) -->")
_INLINE_ANSWER = re.compile(r"(.*\?)[ \t]+(?!\()(.+)")
"""A question followed by an answer on the same line; text in brackets belongs to the question."""
_INNER = 2  # indentation from which an item belongs to the one above


# --- writing ------------------------------------------------------------------------------------------------------


def render(alignment: Alignment) -> str:
    """Return the file's text."""
    made, lines = alignment.made, [TITLE, "", _HELP]
    if made.by == "template":
        lines += ["", f"**No model wrote this**, so no model looked for gaps: {clean(made.reason) or 'no model was called'}"]
    elif made.by == "model":
        lines += ["", f"Round {made.round} of {ROUNDS} at most, by {clean(made.model)}, {format_money(made.cost_usd)} so far."]
    if made.by != "template" and made.reason:
        lines += ["", f"The last answers are not included yet: {clean(made.reason)}"]
    if made != Origin():
        noted = json.dumps(made.model_dump(mode="json", exclude_defaults=True))
        inert = noted.replace(">", "\\u003e").replace("<", "\\u003c")  # cannot end the comment
        lines += ["", f"<!-- helmsman {inert} -->"]
    for title, parts in _LAYOUT.items():
        lines += ["", f"## {title}"]
        for heading, (name, kind) in parts.items():
            written = list(_render_field(kind, getattr(alignment, name)))
            lines += ["", f"### {heading}", "", *(written or [NOTHING])]
    return "\n".join([*lines, "", *([alignment.more, ""] if alignment.more else [])])


def _render_field(kind: _Kind, value: Any) -> Iterator[str]:
    match kind:
        case "prose":  # as a block quote, so that no line becomes a heading
            yield from (f"> {line}".rstrip() for line in (value.split("\n") if value else ()))
        case "lines":
            yield from (f"- {line}" for line in value)
        case "commands":
            for command in value:  # as code, fenced by more backticks than its longest run
                ticks = "`" * (max((len(run) for run in re.findall(r"`+", command)), default=0) + 1)
                yield f"- {ticks} {command} {ticks}" if "`" in command else f"- `{command}`"
        case "stages":
            for number, stage in enumerate(value, 1):
                yield f"{number}. {stage.what}"
                yield from ([f"   - {_PROOF}: {stage.proof}"] if stage.proof else [])
        case "questions" | "answered":
            boxed = kind == "questions"
            for asked in cast("tuple[AlignmentQuestion, ...]", value):
                box = ("[ ] " if asked.open else "[x] ") if boxed else ""
                yield f"- {box}{asked.question}"
                # write an empty answer if the text after the question mark would be read as one
                if asked.answer or (boxed and asked.answer == "" and _INLINE_ANSWER.fullmatch(asked.question)):
                    yield f"  - {_ANSWER}: {asked.answer}".rstrip()


# --- reading ------------------------------------------------------------------------------------------------------


def own_goal(goal: str) -> str:
    """Return the goal as the operator wrote it, without the agreed alignment."""
    return goal.partition(f"\n{AGREED_HEADING}\n")[0].strip()


def is_same_goal(goal: str, other: str) -> bool:
    """Whether two goals are equal apart from line wrapping."""
    return one_line(goal) == one_line(other)


def is_alignment(text: str) -> bool:
    """Whether a text is meant as an alignment: it has the title, or the headings of gulf-loop."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    return first.strip().casefold() == TITLE.casefold() or _is_gulf(text)


def read(text: str) -> Alignment | str:
    """Parse a file's text; return the alignment, or a message with the line of the error. Never raises."""
    if len(text) > LARGEST:
        return f"it is longer than {LARGEST:,} characters"
    if _is_gulf(text):
        translated = "\n".join([TITLE, *_translate_gulf(text.splitlines())])
        return re.sub(r"^line \d+: ", "", result) if isinstance(result := read(translated), str) else result
    if not is_alignment(text):
        return f"its first line is not `{TITLE}`"
    try:
        return _parse_alignment(text.replace("\r\n", "\n").split("\n"))
    except ValidationError as error:  # report the first error, without the input
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = " ".join(str(part).replace("_", " ") for part in first["loc"] if isinstance(part, str))
        return f"{clean(place)[:100]}: {first['msg']}"
    except ValueError as error:
        return str(error)


def _parse_alignment(lines: Sequence[str]) -> Alignment:
    fields, sections, end = dict[str, Any](), list[str](), len(lines)
    headings = [(number, match) for number, line in enumerate(lines) if (match := _HEADING.fullmatch(line.rstrip()))]
    ends = [*(number for number, _ in headings), len(lines)][1:]
    for (number, heading), following in zip(headings, ends, strict=False):
        body = lines[number + 1 : following]
        if heading[1] == "###":
            parts: _Parts = _LAYOUT[sections[-1]] if sections else {}
            before = [title for title, (name, _) in parts.items() if name in fields]
            name, kind = parts[_require_new_heading(heading[2], parts, before, number)]  # raises for a heading without a section
            fields[name] = _parse_field(kind, body)
        elif len(sections) == len(_LAYOUT) and _find_heading(heading[2], _LAYOUT) is None:
            end = number
            break
        else:
            sections.append(_require_new_heading(heading[2], _LAYOUT, sections, number))
            for at, line in enumerate(body, number + 2):
                if line.strip():
                    raise ValueError(f"line {at}: {clean(line)[:60]!r} is directly below a section; move it below a heading")
    missing = ", ".join(f"## {title}" for title in _LAYOUT if title not in sections)
    if missing:
        raise ValueError(f"missing sections: {missing}")
    noted, made = next((match for line in lines[:end] if (match := _MADE.fullmatch(line.strip()))), None), Origin()
    with suppress(ValueError, RecursionError):  # a person who edits or removes our comment has written the file by hand
        made = Origin.model_validate(json.loads(noted[1])) if noted else made
    return Alignment.model_validate({**fields, "made": made, "more": "\n".join(lines[end:]).rstrip()})


def _find_heading(heading: str, known: Iterable[str]) -> str | None:
    return next((name for name in known if name.casefold() == heading.rstrip("# ").casefold()), None)


def _require_new_heading(heading: str, known: Iterable[str], before: Sequence[str], number: int) -> str:
    name = _find_heading(heading, known)
    if name is None:
        expected = ", ".join(known) or "a section before it"
        raise ValueError(f"line {number + 1}: unknown heading {clean(heading)[:60]!r}; expected: {expected}")
    if name in before:
        raise ValueError(f"line {number + 1}: the heading {name!r} appears twice")
    return name


def _parse_field(kind: _Kind, lines: Sequence[str]) -> Any:
    if kind == "prose":  # quoted or not
        written_lines = (line for line in lines if line.strip() != NOTHING)
        return "\n".join(line.lstrip()[1:].removeprefix(" ") if line.lstrip().startswith(">") else line for line in written_lines)
    items = _list_items(lines, paragraphs_apart=kind != "questions")
    match kind:
        case "stages":
            return tuple({"what": text, "proof": _strip_label(below, _PROOF)} for text, *below in items)
        case "questions":
            return tuple(_parse_question(text, below) for text, *below in items)
        case "answered":
            return tuple({"question": text, "answer": _strip_label(below, _ANSWER)} for text, *below in items)
        case _:
            return tuple(map(_strip_backticks if kind == "commands" else str, map(" ".join, items)))


def _list_items(lines: Sequence[str], *, paragraphs_apart: bool) -> list[list[str]]:
    """Return the items of a list, each with its sub-items, unwrapped.

    A paragraph is an item too, or belongs to the item above: no text is lost.
    """
    items, after_blank = list[list[list[str]]](), True
    for line in lines:
        stripped, item = line.strip(), _ITEM.fullmatch(line.rstrip())
        if item and (len(item[1].expandtabs(4)) < _INNER or not items):
            items.append([[item[2]]])
        elif item:
            items[-1].append([item[2]])
        elif stripped and stripped != NOTHING:
            if items and (line[:1].isspace() or not (after_blank and paragraphs_apart)):
                items[-1][-1].append(stripped)
            else:
                items.append([[stripped]])
        after_blank = not stripped
    joined = ([" ".join(words).strip() for words in item] for item in items)
    return [item for item in joined if item[0]]


def _strip_backticks(text: str) -> str:
    """Return a command without backticks, if they enclose all of it."""
    span = re.fullmatch(r"(`+)((?!`).*(?<!`))\1", text)
    if span is None or any(len(run) == len(span[1]) for run in re.findall(r"`+", span[2])):
        return text
    body = span[2]
    return body[1:-1] if body[:1] == body[-1:] == " " and body.strip() else body


def _parse_question(text: str, below: Sequence[str]) -> dict[str, str | None]:
    """Parse a question: open unless ticked or answered below it. A ticked question may have its answer on the same line."""
    box, answer = _BOX.fullmatch(text), _strip_label(below, _ANSWER)
    ticked, question = box is not None and box[1] != " ", (box[2] or "") if box else text
    if ticked and not below and (inline := _INLINE_ANSWER.fullmatch(question)):
        question, answer = inline[1], _strip_label([inline[2]], _ANSWER)
    return {"question": question, "answer": answer if ticked or answer else None}


def _strip_label(below: Sequence[str], label: str) -> str:
    """Return the text below an item, without its label in any spelling."""
    label_pattern = re.compile(rf"{label}[ \t]*:", re.IGNORECASE)
    return " ".join(label_pattern.sub("", line, count=1).strip() if label_pattern.match(line) else line for line in below).strip()


# --- the file of gulf-loop ----------------------------------------------------------------------------------------

_GULF_SECTIONS = {
    "specification alignment": "Specification",
    "process alignment": "Process",
    "evaluation alignment": "Evaluation",
    "gulf of envisioning — gap check": "Gap check",
    "gulf of envisioning - gap check": "Gap check",
}
_GULF_PARTS = {
    **{heading.casefold(): heading for parts in _LAYOUT.values() for heading in parts},
    "behavioral checks": "Behavioural checks",
    "capability gaps": "Capability",
    "instruction gaps": "Instruction",
    "intentionality gaps": "Intentionality",
}
"""Gulf-loop's headings and labels in lower case, and ours."""
_GULF_EMPTY = {"", "none", "(none)", "n/a", "-", "[]"}
_GULF_HEADING = re.compile(r"##[ \t]+(.*\S)[ \t]*")
_GULF_LABEL = re.compile(r"[-*][ \t]+\*\*([^*]+?):?\*\*[ \t]*:?[ \t]*(.*)")


def _is_gulf(text: str) -> bool:
    """Whether a text is a gulf-loop alignment: its first second-level heading is one of the four."""
    first = next((match for line in text.splitlines() if (match := _GULF_HEADING.fullmatch(line))), None)
    return first is not None and first[1].casefold() in _GULF_SECTIONS


def _translate_gulf(lines: Sequence[str]) -> Iterator[str]:
    """Translate gulf-loop's format into ours, one item per command. Text after the four sections stays unchanged."""
    section = ""
    for line in lines:
        heading, label = _GULF_HEADING.fullmatch(line), _GULF_LABEL.fullmatch(line.rstrip())
        if heading:
            section = _GULF_SECTIONS.get(heading[1].casefold(), "")
            yield f"## {section or heading[1]}"
        elif section and label:
            part, content = _GULF_PARTS.get(label[1].strip().casefold(), label[1].strip()), label[2].strip()
            bare = content[1:-1].strip() if content.startswith("[") and content.endswith("]") else content
            spans = re.findall(r"`([^`]+)`", bare) if part == "Machine checks" else []
            yield f"### {part}"
            if bare.casefold().rstrip(".") not in _GULF_EMPTY:
                yield from [f"- `{command}`" for command in spans] or [f"{'>' if part in {'Goal', 'Approach'} else '-'} {bare}"]
        else:
            yield line.removeprefix("  ") if section else line
