"""ALIGNMENT.md: an alignment as Markdown, and back. What is written here is read back as the same values.

A person may edit the file. Lines of a list may be wrapped, a list may be prose, case and empty lines do not matter; but a heading
that is missing or unknown is told, because what stands under it would be lost.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from helmsman.orient.alignment_gulf import is_gulf, translated
from helmsman.plain import clean
from helmsman.records.alignment import ROUNDS, Alignment, Asked, Made, Stage
from helmsman.texts import money

TITLE = "# Alignment"
NOTHING = "(none)"
LARGEST = 400_000
"""Characters of a file that are read."""
_PROOF, _ANSWER = "Proof", "Answer"
_HELP = """\
What is agreed on before a loop starts. It is yours: change what is wrong. To answer a question, tick it and write below it, as in

    - [x] Which colour?
      - Answer: blue

A tick alone leaves it to whoever does the work. A loop does not start while a question is open."""

_HEADING = re.compile(r"(#{2,3})[ \t]+(.*\S)")
_ITEM = re.compile(r"([ \t]*)(?:[-*+]|[0-9]{1,9}[.)])[ \t]+(.*)")
_BOX = re.compile(r"\[([ xX])\](?:[ \t]+(.*))?")
_MADE = re.compile(r"<!-- helmsman (\{.*\}) -->")
_ON_ITS_LINE = re.compile(r"(.*\?)[ \t]+(?!\()(.+)")
"""A question, and what somebody wrote behind it; what stands in brackets there belongs to the question."""
_INNER = 2
"""Columns from which an item belongs to the one above."""


@dataclass
class _Item:
    """An entry of a list, whatever number of lines it takes."""

    words: list[str]
    inner: list[list[str]] = field(default_factory=list[list[str]])
    """The words of the entries below it."""

    @property
    def text(self) -> str:
        return " ".join(self.words).strip()

    @property
    def below(self) -> list[str]:
        return [" ".join(words).strip() for words in self.inner]

    def go_on(self, line: str) -> None:
        (self.inner[-1] if self.inner else self.words).append(line)


@dataclass(frozen=True)
class _Part:
    """How one third-level heading is written and read."""

    name: str
    write: Callable[[Any], Iterable[str]]
    read: Callable[[Sequence[str]], Any]


class _Flaw(Exception):  # noqa: N818 - it never leaves this file
    """Why a text is no alignment."""


# --- writing ------------------------------------------------------------------------------------------------------


def render(alignment: Alignment) -> str:
    """The file's text."""
    lines = [TITLE, "", *_intro(alignment.made)]
    for title, (section, parts) in _LAYOUT.items():
        lines += ["", f"## {title}"]
        for heading, part in parts.items():
            written = list(part.write(getattr(getattr(alignment, section), part.name)))
            lines += ["", f"### {heading}", "", *(written or [NOTHING])]
    return "\n".join([*lines, "", *([alignment.more, ""] if alignment.more else [])])


def _intro(made: Made) -> Iterator[str]:
    yield _HELP
    if made.by == "template":
        yield f"\n**No model wrote this**, so nobody has looked for gaps: {clean(made.reason) or 'none was asked'}"
    elif made.by == "model":
        yield f"\nRound {made.round} of {ROUNDS} at most, by {clean(made.model)}, {money(made.cost_usd)} so far."
    if made.by != "template" and made.reason:
        yield f"\nThe last answers are not worked in: {clean(made.reason)}"
    if made != Made():
        yield f"\n<!-- helmsman {_json(made)} -->"


def _json(made: Made) -> str:
    """In one comment: nothing in it can end that."""
    return json.dumps(made.model_dump(mode="json", exclude_defaults=True)).replace(">", "\\u003e").replace("<", "\\u003c")


def _write_prose(text: str) -> list[str]:
    """As a quotation, so that no line of it is a heading."""
    return [f"> {line}".rstrip() for line in text.split("\n")] if text else []


def _write_lines(lines: Sequence[str]) -> list[str]:
    return [f"- {line}" for line in lines]


def _write_commands(commands: Sequence[str]) -> list[str]:
    return [f"- {_span(command)}" for command in commands]


def _span(text: str) -> str:
    """As code, between more backticks than it holds in a row."""
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    return f"{ticks} {text} {ticks}" if "`" in text else f"`{text}`"


def _write_stages(stages: Sequence[Stage]) -> Iterator[str]:
    for number, stage in enumerate(stages, 1):
        yield f"{number}. {stage.what}"
        yield from ([f"   - {_PROOF}: {stage.proof}"] if stage.proof else [])


def _write_questions(questions: Sequence[Asked]) -> Iterator[str]:
    for one in questions:
        yield f"- [{' ' if one.open else 'x'}] {one.question}"
        if one.answer:
            yield f"  - {_ANSWER}: {one.answer}"
        elif one.answer == "" and _ON_ITS_LINE.fullmatch(one.question):
            yield f"  - {_ANSWER}:"  # else what stands behind the question mark would be read as the answer


def _write_answered(questions: Sequence[Asked]) -> Iterator[str]:
    for one in questions:
        yield f"- {one.question}"
        yield from ([f"  - {_ANSWER}: {one.answer}"] if one.answer else [])


# --- reading ------------------------------------------------------------------------------------------------------


def is_alignment(text: str) -> bool:
    """Whether a text is meant to be one: its first line says so, or it has the headings of gulf-loop."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    return first.strip().casefold() == TITLE.casefold() or is_gulf(text)


def read(text: str) -> Alignment | str:
    """The alignment in a file's text, or why it is none, with the line. Never raises."""
    if len(text) > LARGEST:
        return f"it is longer than {LARGEST:,} characters"
    if is_gulf(text):
        return re.sub(r"^line \d+: ", "", found) if isinstance(found := read(translated(text)), str) else found
    if not is_alignment(text):
        return f"its first line is not `{TITLE}`"
    try:
        return _alignment(text.replace("\r\n", "\n").split("\n"))
    except _Flaw as flaw:
        return str(flaw)
    except ValidationError as error:
        return _in_words(error)


def _alignment(lines: Sequence[str]) -> Alignment:
    found: dict[str, dict[str, Any]] = {}
    end, bodies = _bodies(lines)
    for (title, heading), body in bodies.items():
        section, parts = _LAYOUT[title]
        part = parts[heading]
        found.setdefault(section, {})[part.name] = part.read(body)
    return Alignment.model_validate({**found, "made": _made(lines[:end]), "more": "\n".join(lines[end:]).rstrip()})


def _bodies(lines: Sequence[str]) -> tuple[int, dict[tuple[str, str], list[str]]]:
    """Where the four sections end, and the lines under each of their headings."""
    bodies, sections = dict[tuple[str, str], list[str]](), list[str]()
    body: list[str] | None = None
    end = len(lines)
    for number, line in enumerate(lines):
        heading = _HEADING.fullmatch(line.rstrip())
        if heading is None:
            _take(body, line, number, begun=bool(sections))
        elif heading[1] == "###":
            parts: Mapping[str, _Part] = _LAYOUT[sections[-1]][1] if sections else {}
            before = [part for section, part in bodies if section == sections[-1]] if sections else []
            name = _new(heading[2], parts, before, number)  # which refuses a heading without a section before it
            body = bodies[sections[-1], name] = []
        elif len(sections) == len(_LAYOUT) and _known(heading[2], _LAYOUT) is None:
            end = number
            break
        else:
            sections.append(_new(heading[2], _LAYOUT, sections, number))
            body = None
    missing = [title for title in _LAYOUT if title not in sections]
    if missing:
        raise _Flaw(f"a section is missing: {', '.join(f'## {title}' for title in missing)}")
    return end, bodies


def _take(body: list[str] | None, line: str, number: int, *, begun: bool) -> None:
    """What stands before the first section is ours; what stands in one belongs to a heading of it."""
    if body is not None:
        body.append(line)
    elif begun and line.strip():
        raise _Flaw(f"line {number + 1}: {clean(line)[:60]!r} stands right under a section; write it under one of its headings")


def _known(said: str, known: Iterable[str]) -> str | None:
    return next((name for name in known if name.casefold() == said.rstrip("# ").casefold()), None)


def _new(said: str, known: Iterable[str], before: Sequence[str], number: int) -> str:
    name = _known(said, known)
    if name is None:
        expected = ", ".join(known) or "a section before it"
        raise _Flaw(f"line {number + 1}: the heading {clean(said)[:60]!r} is not known here; expected: {expected}")
    if name in before:
        raise _Flaw(f"line {number + 1}: the heading {name!r} stands there twice")
    return name


def _made(lines: Sequence[str]) -> dict[str, Any]:
    """What we noted ourselves; whoever takes it out has written the file by hand."""
    found = next((match for line in lines if (match := _MADE.fullmatch(line.strip()))), None)
    try:
        return Made.model_validate(json.loads(found[1])).model_dump() if found else {}
    except (ValueError, RecursionError):  # pydantic's own error is a ValueError
        return {}


def _read_prose(lines: Sequence[str]) -> str:
    """Quoted or not."""
    return "\n".join(_unquoted(line) for line in lines if line.strip() != NOTHING)


def _unquoted(line: str) -> str:
    return line.lstrip()[1:].removeprefix(" ") if line.lstrip().startswith(">") else line


def _items(lines: Sequence[str], *, paragraphs_apart: bool = True) -> list[_Item]:
    """The entries of a list. A paragraph is an entry too, or belongs to the entry above: nothing that is written is lost."""
    items, apart = list[_Item](), True
    for line in lines:
        found = _ITEM.fullmatch(line.rstrip())
        if found and (len(found[1].expandtabs(4)) < _INNER or not items):
            items.append(_Item([found[2]]))
        elif found:
            items[-1].inner.append([found[2]])
        elif line.strip() and line.strip() != NOTHING:
            if items and (line[:1].isspace() or not (apart and paragraphs_apart)):
                items[-1].go_on(line.strip())
            else:
                items.append(_Item([line.strip()]))
        apart = not line.strip()
    return [item for item in items if item.text]


def _read_lines(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(" ".join([item.text, *item.below]) for item in _items(lines))


def _read_commands(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(_unspanned(line) for line in _read_lines(lines))


def _unspanned(text: str) -> str:
    """A command without the backticks around it, where they are around all of it."""
    ticks = len(text) - len(text.lstrip("`"))
    body = text[ticks : len(text) - ticks]
    closed = ticks > 0 and body.strip("`") == body and text.endswith("`" * ticks)
    if not closed or any(len(run) == ticks for run in re.findall(r"`+", body)):
        return text
    return body[1:-1] if body[:1] == body[-1:] == " " and body.strip() else body


def _read_stages(lines: Sequence[str]) -> tuple[dict[str, str], ...]:
    return tuple({"what": item.text, "proof": _labelled(item.below, _PROOF)} for item in _items(lines))


def _read_questions(lines: Sequence[str]) -> tuple[dict[str, str | None], ...]:
    return tuple(_asked(item) for item in _items(lines, paragraphs_apart=False))


def _asked(item: _Item) -> dict[str, str | None]:
    """Open unless it is ticked or something is written below it. Behind a ticked question stands its answer as well."""
    box, answer = _BOX.fullmatch(item.text), _labelled(item.below, _ANSWER)
    ticked = box is not None and box[1] != " "
    question = (box[2] or "") if box else item.text
    if ticked and not item.inner and (found := _ON_ITS_LINE.fullmatch(question)):
        question, answer = found[1], _labelled([found[2]], _ANSWER)
    return {"question": question, "answer": answer if ticked or answer else None}


def _read_answered(lines: Sequence[str]) -> tuple[dict[str, str], ...]:
    return tuple({"question": item.text, "answer": _labelled(item.below, _ANSWER)} for item in _items(lines))


def _labelled(below: Sequence[str], label: str) -> str:
    """What is written below an entry, without its label, however somebody wrote that."""
    own = re.compile(rf"{label}[ \t]*:", re.IGNORECASE)
    return " ".join(own.sub("", line, count=1).strip() if own.match(line) else line for line in below).strip()


def _in_words(error: ValidationError) -> str:
    """The first thing that is wrong, without its words."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = " ".join(str(part).replace("_", " ") for part in first["loc"] if isinstance(part, str))
    return f"{clean(place)[:100]}: {first['msg']}"


_LAYOUT: Mapping[str, tuple[str, Mapping[str, _Part]]] = {
    "Specification": (
        "specification",
        {
            "Goal": _Part("goal", _write_prose, _read_prose),
            "Deliverables": _Part("deliverables", _write_lines, _read_lines),
            "Out of scope": _Part("out_of_scope", _write_lines, _read_lines),
        },
    ),
    "Process": (
        "process",
        {
            "Approach": _Part("approach", _write_prose, _read_prose),
            "Sequence": _Part("sequence", _write_stages, _read_stages),
            "Stack assumptions": _Part("assumptions", _write_lines, _read_lines),
        },
    ),
    "Evaluation": (
        "evaluation",
        {
            "Machine checks": _Part("machine_checks", _write_commands, _read_commands),
            "Behavioural checks": _Part("behavioural_checks", _write_lines, _read_lines),
            "Edge cases": _Part("edge_cases", _write_lines, _read_lines),
        },
    ),
    "Gap check": (
        "gaps",
        {
            "Capability": _Part("capability", _write_lines, _read_lines),
            "Instruction": _Part("instruction", _write_lines, _read_lines),
            "Intentionality": _Part("intentionality", _write_lines, _read_lines),
            "Blocking questions": _Part("questions", _write_questions, _read_questions),
            "Answered questions": _Part("answered", _write_answered, _read_answered),
        },
    ),
}
"""The file's headings: section, its field, and for each part its field and how it is written and read."""
