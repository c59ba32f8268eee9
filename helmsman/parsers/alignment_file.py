"""ALIGNMENT.md: an alignment as Markdown, and back. What is written here is read back as the same values.

A person may edit the file. Lines of a list may be wrapped, a list may be prose, case and empty lines do not matter; but a heading
that is missing or unknown is told, because what stands under it would be lost. The alignment that users of gulf-loop bring along
(`.claude/gulf-align.md`) is put into this form first.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, cast

from pydantic import ValidationError

from helmsman.plain import clean
from helmsman.records.alignment import ROUNDS, Alignment, Asked, Made, one_line
from helmsman.texts import money

TITLE = "# Alignment"
AGREED = "# Agreed before the start"
"""The heading below which a loop's goal says what was agreed."""
NOTHING = "(none)"
LARGEST = 400_000  # characters of a file that are read
_PROOF, _ANSWER = "Proof", "Answer"
_HELP = """\
What is agreed on before a loop starts. It is yours: change what is wrong. To answer a question, tick it and write below it, as in

    - [x] Which colour?
      - Answer: blue

A tick alone leaves it to whoever does the work. A loop does not start while a question is open."""


_Kind = Literal["prose", "lines", "commands", "stages", "questions", "answered"]  # what stands under a heading
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
"""The file's sections, and below each its headings with the field and what stands there."""

_HEADING = re.compile(r"(#{2,3})[ \t]+(.*\S)")
_ITEM = re.compile(r"([ \t]*)(?:[-*+]|[0-9]{1,9}[.)])[ \t]+(.*)")
_BOX = re.compile(r"\[([ xX])\](?:[ \t]+(.*))?")
_MADE = re.compile(r"<!-- helmsman (\{.*\}) -->")
_ON_ITS_LINE = re.compile(r"(.*\?)[ \t]+(?!\()(.+)")
"""A question, and what somebody wrote behind it; what stands in brackets there belongs to the question."""
_INNER = 2  # columns from which an item belongs to the one above


# --- writing ------------------------------------------------------------------------------------------------------


def render(alignment: Alignment) -> str:
    """The file's text."""
    made, lines = alignment.made, [TITLE, "", _HELP]
    if made.by == "template":
        lines += ["", f"**No model wrote this**, so no model looked for gaps: {clean(made.reason) or 'none was asked'}"]
    elif made.by == "model":
        lines += ["", f"Round {made.round} of {ROUNDS} at most, by {clean(made.model)}, {money(made.cost_usd)} so far."]
    if made.by != "template" and made.reason:
        lines += ["", f"The last answers are not worked in: {clean(made.reason)}"]
    if made != Made():
        noted = json.dumps(made.model_dump(mode="json", exclude_defaults=True))
        inert = noted.replace(">", "\\u003e").replace("<", "\\u003c")  # nothing in it ends the comment
        lines += ["", f"<!-- helmsman {inert} -->"]
    for title, parts in _LAYOUT.items():
        lines += ["", f"## {title}"]
        for heading, (name, kind) in parts.items():
            written = list(_written(kind, getattr(alignment, name)))
            lines += ["", f"### {heading}", "", *(written or [NOTHING])]
    return "\n".join([*lines, "", *([alignment.more, ""] if alignment.more else [])])


def _written(kind: _Kind, value: Any) -> Iterator[str]:
    match kind:
        case "prose":  # as a quotation, so that no line of it is a heading
            yield from (f"> {line}".rstrip() for line in (value.split("\n") if value else ()))
        case "lines":
            yield from (f"- {line}" for line in value)
        case "commands":
            for command in value:  # as code, between more backticks than it holds in a row
                ticks = "`" * (max((len(run) for run in re.findall(r"`+", command)), default=0) + 1)
                yield f"- {ticks} {command} {ticks}" if "`" in command else f"- `{command}`"
        case "stages":
            for number, stage in enumerate(value, 1):
                yield f"{number}. {stage.what}"
                yield from ([f"   - {_PROOF}: {stage.proof}"] if stage.proof else [])
        case "questions" | "answered":
            boxed = kind == "questions"
            for one in cast("tuple[Asked, ...]", value):
                box = ("[ ] " if one.open else "[x] ") if boxed else ""
                yield f"- {box}{one.question}"
                # an empty one, where what stands behind the question mark would else be read as the answer
                if one.answer or (boxed and one.answer == "" and _ON_ITS_LINE.fullmatch(one.question)):
                    yield f"  - {_ANSWER}: {one.answer}".rstrip()


# --- reading ------------------------------------------------------------------------------------------------------


def own_goal(goal: str) -> str:
    """The goal in the words of whoever gave it, without what was agreed on."""
    return goal.partition(f"\n{AGREED}\n")[0].strip()


def same_goal(one: str, other: str) -> bool:
    """However it is wrapped."""
    return one_line(one) == one_line(other)


def is_alignment(text: str) -> bool:
    """Whether a text is meant to be one: its first line says so, or it has the headings of gulf-loop."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    return first.strip().casefold() == TITLE.casefold() or _is_gulf(text)


def read(text: str) -> Alignment | str:
    """The alignment in a file's text, or why it is none, with the line. Never raises."""
    if len(text) > LARGEST:
        return f"it is longer than {LARGEST:,} characters"
    if _is_gulf(text):
        ours = "\n".join([TITLE, *_translated(text.splitlines())])
        return re.sub(r"^line \d+: ", "", found) if isinstance(found := read(ours), str) else found
    if not is_alignment(text):
        return f"its first line is not `{TITLE}`"
    try:
        return _alignment(text.replace("\r\n", "\n").split("\n"))
    except ValidationError as error:  # the first thing that is wrong, without its words
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = " ".join(str(part).replace("_", " ") for part in first["loc"] if isinstance(part, str))
        return f"{clean(place)[:100]}: {first['msg']}"
    except ValueError as error:
        return str(error)


def _alignment(lines: Sequence[str]) -> Alignment:
    found, sections, end = dict[str, Any](), list[str](), len(lines)
    headings = [(number, match) for number, line in enumerate(lines) if (match := _HEADING.fullmatch(line.rstrip()))]
    ends = [*(number for number, _ in headings), len(lines)][1:]
    for (number, heading), following in zip(headings, ends, strict=False):
        body = lines[number + 1 : following]
        if heading[1] == "###":
            parts: _Parts = _LAYOUT[sections[-1]] if sections else {}
            before = [title for title, (name, _) in parts.items() if name in found]
            name, kind = parts[_new(heading[2], parts, before, number)]  # which refuses one without a section before it
            found[name] = _read(kind, body)
        elif len(sections) == len(_LAYOUT) and _known(heading[2], _LAYOUT) is None:
            end = number
            break
        else:
            sections.append(_new(heading[2], _LAYOUT, sections, number))
            for at, line in enumerate(body, number + 2):
                if line.strip():
                    raise ValueError(f"line {at}: {clean(line)[:60]!r} stands right under a section; write it under a heading")
    missing = ", ".join(f"## {title}" for title in _LAYOUT if title not in sections)
    if missing:
        raise ValueError(f"a section is missing: {missing}")
    noted, made = next((match for line in lines[:end] if (match := _MADE.fullmatch(line.strip()))), None), Made()
    with suppress(ValueError, RecursionError):  # whoever changes what we noted, or takes it out, has written the file by hand
        made = Made.model_validate(json.loads(noted[1])) if noted else made
    return Alignment.model_validate({**found, "made": made, "more": "\n".join(lines[end:]).rstrip()})


def _known(said: str, known: Iterable[str]) -> str | None:
    return next((name for name in known if name.casefold() == said.rstrip("# ").casefold()), None)


def _new(said: str, known: Iterable[str], before: Sequence[str], number: int) -> str:
    name = _known(said, known)
    if name is None:
        expected = ", ".join(known) or "a section before it"
        raise ValueError(f"line {number + 1}: the heading {clean(said)[:60]!r} is not known here; expected: {expected}")
    if name in before:
        raise ValueError(f"line {number + 1}: the heading {name!r} appears twice")
    return name


def _read(kind: _Kind, lines: Sequence[str]) -> Any:
    if kind == "prose":  # quoted or not
        said = (line for line in lines if line.strip() != NOTHING)
        return "\n".join(line.lstrip()[1:].removeprefix(" ") if line.lstrip().startswith(">") else line for line in said)
    items = _items(lines, paragraphs_apart=kind != "questions")
    match kind:
        case "stages":
            return tuple({"what": text, "proof": _labelled(below, _PROOF)} for text, *below in items)
        case "questions":
            return tuple(_asked(text, below) for text, *below in items)
        case "answered":
            return tuple({"question": text, "answer": _labelled(below, _ANSWER)} for text, *below in items)
        case _:
            return tuple(map(_unspanned if kind == "commands" else str, map(" ".join, items)))


def _items(lines: Sequence[str], *, paragraphs_apart: bool) -> list[list[str]]:
    """The entries of a list, each with those below it, whatever number of lines they take.

    A paragraph is an entry too, or belongs to the entry above: nothing that is written is lost.
    """
    items, apart = list[list[list[str]]](), True
    for line in lines:
        said, found = line.strip(), _ITEM.fullmatch(line.rstrip())
        if found and (len(found[1].expandtabs(4)) < _INNER or not items):
            items.append([[found[2]]])
        elif found:
            items[-1].append([found[2]])
        elif said and said != NOTHING:
            if items and (line[:1].isspace() or not (apart and paragraphs_apart)):
                items[-1][-1].append(said)
            else:
                items.append([[said]])
        apart = not said
    joined = ([" ".join(words).strip() for words in item] for item in items)
    return [item for item in joined if item[0]]


def _unspanned(text: str) -> str:
    """A command without the backticks around it, where they are around all of it."""
    whole = re.fullmatch(r"(`+)((?!`).*(?<!`))\1", text)
    if whole is None or any(len(run) == len(whole[1]) for run in re.findall(r"`+", whole[2])):
        return text
    body = whole[2]
    return body[1:-1] if body[:1] == body[-1:] == " " and body.strip() else body


def _asked(text: str, below: Sequence[str]) -> dict[str, str | None]:
    """Open unless it is ticked or something is written below it. Behind a ticked question stands its answer as well."""
    box, answer = _BOX.fullmatch(text), _labelled(below, _ANSWER)
    ticked, question = box is not None and box[1] != " ", (box[2] or "") if box else text
    if ticked and not below and (found := _ON_ITS_LINE.fullmatch(question)):
        question, answer = found[1], _labelled([found[2]], _ANSWER)
    return {"question": question, "answer": answer if ticked or answer else None}


def _labelled(below: Sequence[str], label: str) -> str:
    """What is written below an entry, without its label, however somebody wrote that."""
    own = re.compile(rf"{label}[ \t]*:", re.IGNORECASE)
    return " ".join(own.sub("", line, count=1).strip() if own.match(line) else line for line in below).strip()


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
"""Its headings and labels in lower case, and ours."""
_GULF_EMPTY = {"", "none", "(none)", "n/a", "-", "[]"}
_GULF_HEADING = re.compile(r"##[ \t]+(.*\S)[ \t]*")
_GULF_LABEL = re.compile(r"[-*][ \t]+\*\*([^*]+?):?\*\*[ \t]*:?[ \t]*(.*)")


def _is_gulf(text: str) -> bool:
    """Whether a text has this form: its first heading of the second level is one of the four."""
    first = next((found for line in text.splitlines() if (found := _GULF_HEADING.fullmatch(line))), None)
    return first is not None and first[1].casefold() in _GULF_SECTIONS


def _translated(lines: Sequence[str]) -> Iterator[str]:
    """The same in our form, commands one by one. Whatever follows the four sections stays as it is."""
    section = ""
    for line in lines:
        heading, label = _GULF_HEADING.fullmatch(line), _GULF_LABEL.fullmatch(line.rstrip())
        if heading:
            section = _GULF_SECTIONS.get(heading[1].casefold(), "")
            yield f"## {section or heading[1]}"
        elif section and label:
            part, said = _GULF_PARTS.get(label[1].strip().casefold(), label[1].strip()), label[2].strip()
            bare = said[1:-1].strip() if said.startswith("[") and said.endswith("]") else said
            spans = re.findall(r"`([^`]+)`", bare) if part == "Machine checks" else []
            yield f"### {part}"
            if bare.casefold().rstrip(".") not in _GULF_EMPTY:
                yield from [f"- `{command}`" for command in spans] or [f"{'>' if part in {'Goal', 'Approach'} else '-'} {bare}"]
        else:
            yield line.removeprefix("  ") if section else line
