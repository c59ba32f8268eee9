"""RUBRIC.md: what the work is to be like, the commands that prove it, and the criteria that a judge has to see met.

Every flaw is told, each with its line. Nothing that could be a check or a criterion is left out in silence.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import Any

from helmsman.verify.diff import shown
from helmsman.verify.rubric.items import Item, command_items, criterion_items
from helmsman.verify.rubric.lines import RubricCheck, RubricCriterion, read_check, read_criterion
from helmsman.verify.rubric.options import near
from helmsman.verify.rubric.pieces import Flaw, Kind, Piece, pieces

MOST_ITEMS = 200
"""Checks, or criteria; more are a mistake."""
MOST_FLAWS = 50
LONGEST_ENVISIONING = 20_000
"""Characters, as the configuration has it."""
LONGEST_TITLE = 80


class Section(StrEnum):
    """What Helmsman reads; other sections are for people."""

    ENVISIONING = "Envisioning"
    CHECKS = "Checks"
    CRITERIA = "Judge criteria"


@dataclass(frozen=True)
class Rubric:
    """What a rubric says, as far as it can be read."""

    envisioning: str = ""
    checks: tuple[RubricCheck, ...] = ()
    criteria: tuple[RubricCriterion, ...] = ()
    flaws: tuple[Flaw, ...] = ()
    """In the order of lines, 50 at most."""


def is_rubric(text: str) -> bool:
    """Whether one of our headings is there, or one that was meant to be; else it is a document of somebody's own."""
    headings = (piece for piece in pieces(text) if piece.kind is Kind.HEADING)
    return any(_section(heading) or _meant(heading) for heading in headings)


def read_rubric(text: str, first_line: int = 1) -> Rubric:
    """Read what follows the front matter; `first_line` is where in the file it begins. Never raises."""
    every = list(pieces(text, first_line))
    parts = _parts(every)
    checks, criteria = list(_checks(parts[Section.CHECKS])), list(_criteria(parts[Section.CRITERIA]))
    read = Rubric(
        _prose(parts[Section.ENVISIONING]),
        tuple(item for item in checks if isinstance(item, RubricCheck)),
        tuple(item for item in criteria if isinstance(item, RubricCriterion)),
    )
    of_items = [item for item in (*checks, *criteria) if isinstance(item, Flaw)]
    found = (_unreadable(every), _headings(every), _empty(parts, first_line), of_items, _of_the_whole(read, parts))
    flaws = sorted((flaw for source in found for flaw in islice(source, MOST_FLAWS)), key=lambda flaw: flaw.line)
    return replace(read, flaws=tuple(flaws[:MOST_FLAWS]))


def settings(rubric: Rubric) -> dict[str, Any]:
    """What a rubric says, as configuration: `checks`, `judge.criteria`, `judge.envisioning`."""
    checks = [check.config.model_dump(exclude_defaults=True) for check in rubric.checks]
    criteria = [{**one.config.model_dump(exclude_defaults=True), **_checked_by(one)} for one in rubric.criteria]
    judge = {"criteria": criteria, "envisioning": rubric.envisioning}
    said = {"checks": checks, "judge": {key: value for key, value in judge.items() if value}}
    return {key: value for key, value in said.items() if value}


def _checked_by(criterion: RubricCriterion) -> dict[str, tuple[str, ...]]:
    return {"checks": criterion.checks} if criterion.checks else {}


# --- sections -----------------------------------------------------------------------------------------------------

_TITLES = {
    "envisioning": Section.ENVISIONING,
    "checks": Section.CHECKS,
    "judge criteria": Section.CRITERIA,
    "judge's criteria": Section.CRITERIA,
    "judging criteria": Section.CRITERIA,
}
_LIKELY = {
    "criteria": Section.CRITERIA,
    "acceptance criteria": Section.CRITERIA,
    "judge": Section.CRITERIA,
    "commands": Section.CHECKS,
}
"""Titles that in a rubric were probably meant as ours, and elsewhere were not."""
_LEVEL = 2
_ASIDE = re.compile(r"[(:\u2013\u2014]")
_DECORATION = re.compile(r"^[\W\d_]+|[\W_]+$")


def _title(heading: Piece) -> str:
    """A heading's words in small letters: without number, sign, decoration, or what follows in brackets or behind a colon."""
    words = _DECORATION.sub("", _ASIDE.split(heading.text[:LONGEST_TITLE].strip("*_` "))[0]).replace("\u2019", "'")
    return " ".join(re.split(r"[\s_-]+", words.lower()))


def _section(piece: Piece) -> Section | None:
    if piece.kind is not Kind.HEADING or piece.depth != _LEVEL:
        return None
    return _TITLES.get(_title(piece))


def _meant(heading: Piece) -> str:
    """The title that was probably meant by a heading of our level."""
    return near(_title(heading), _TITLES) if heading.depth == _LEVEL else ""


def _parts(every: Iterable[Piece]) -> dict[Section, list[Piece]]:
    """The pieces of each of our sections, its headings first; a section that comes twice is one."""
    parts: dict[Section, list[Piece]] = {section: [] for section in Section}
    current: Section | None = None
    for piece in every:
        if piece.kind is Kind.HEADING and piece.depth == _LEVEL:
            current = _section(piece)
        if current:
            parts[current].append(piece)
    return parts


def _checks(section: Sequence[Piece]) -> Iterator[RubricCheck | Flaw]:
    for item in islice(command_items(section), MOST_ITEMS):
        yield from [item] if isinstance(item, Flaw) else read_check(item)
    yield from _too_many(islice(command_items(section), MOST_ITEMS, None))


def _criteria(section: Sequence[Piece]) -> Iterator[RubricCriterion | Flaw]:
    for number, item in enumerate(islice(criterion_items(section), MOST_ITEMS), 1):
        yield from read_criterion(item, number)
    yield from _too_many(islice(criterion_items(section), MOST_ITEMS, None))


def _too_many(beyond: Iterator[Item | Flaw]) -> Iterator[Flaw]:
    yield from (
        Flaw(item.line, f"there are more than {MOST_ITEMS} items", "cut the work into several loops")
        for item in islice(beyond, 1)
    )


def _prose(section: Sequence[Piece]) -> str:
    kept = [piece.raw for piece in section if piece.kind is not Kind.COMMENT and _section(piece) is None]
    return "\n".join(kept).strip()


# --- flaws of the document ----------------------------------------------------------------------------------------


def _unreadable(every: Iterable[Piece]) -> Iterator[Flaw]:
    """What is never closed, and what no program can be given."""
    ends = {Kind.FENCE: "the same mark on a line of its own", Kind.COMMENT: "-->"}
    for piece in every:
        if not piece.closed:
            yield Flaw(piece.line, f"this {piece.kind} is opened and never closed", f"close it with {ends[piece.kind]}")
        if "\0" in piece.raw:
            yield Flaw(piece.line, "there is a NUL character", "remove it; no program can be given one")


def _headings(every: Iterable[Piece]) -> Iterator[Flaw]:
    """Headings that are nearly ours: misspelt, or of another level."""
    inside: Section | None = None
    for piece in every:
        if piece.kind is not Kind.HEADING:
            continue
        title = _title(piece)
        exact, likely = _TITLES.get(title), _LIKELY.get(title) or _TITLES.get(_meant(piece))
        if piece.depth == _LEVEL:
            inside = exact
            if likely and not exact:
                yield Flaw(piece.line, f"unknown section {shown(piece.raw, LONGEST_TITLE)}", f"did you mean ## {likely}?")
        elif exact and not (piece.depth == 1 and inside is Section.CHECKS):  # there it is a comment
            yield Flaw(piece.line, f"{exact} is a heading of level {piece.depth}", f"write ## {exact}")


_LACKING = {
    Section.CHECKS: ("## Checks has no command", "list commands as `- npm test`, or put them into a fence, one a line"),
    Section.CRITERIA: ("## Judge criteria has no criterion", "list criteria as `- Every endpoint answers errors in JSON.`"),
}
_NOTHING = "nothing in it tells Helmsman anything"


def _empty(parts: Mapping[Section, list[Piece]], first_line: int) -> Iterator[Flaw]:
    for section, (cause, remedy) in _LACKING.items():
        inside = parts[section]
        if inside and not any(piece.kind in {Kind.ITEM, Kind.FENCE} for piece in inside):
            yield Flaw(inside[0].line, cause, remedy)
    if not (parts[Section.CHECKS] or parts[Section.CRITERIA] or _prose(parts[Section.ENVISIONING])):
        yield Flaw(first_line, _NOTHING, "write ## Checks with commands, ## Judge criteria with criteria, or both")


def _of_the_whole(rubric: Rubric, parts: Mapping[Section, list[Piece]]) -> Iterator[Flaw]:
    """What no line is wrong with by itself."""
    yield from _repeated(((check.line, check.config.title) for check in rubric.checks), "a check is named {}", "(name: OTHER)")
    ids = ((criterion.line, criterion.config.id) for criterion in rubric.criteria)
    yield from _repeated(ids, "a criterion has the id {}", "[other-id]")
    yield from _unknown_checks(rubric)
    if len(rubric.envisioning) > LONGEST_ENVISIONING:
        cause = f"## Envisioning has {len(rubric.envisioning)} characters"
        yield Flaw(parts[Section.ENVISIONING][0].line, cause, f"keep it to {LONGEST_ENVISIONING}: the judge reads all of it")


def _repeated(named: Iterable[tuple[int, str]], cause: str, example: str) -> Iterator[Flaw]:
    first: dict[str, int] = {}
    for line, name in named:
        if name in first:
            said = cause.format(name[:LONGEST_TITLE])
            yield Flaw(line, f"{said}, as on line {first[name]} already", f"give one of them another: {example}")
        first.setdefault(name, line)


def _unknown_checks(rubric: Rubric) -> Iterator[Flaw]:
    """Where the rubric has checks, those that criteria name must be among them; else they stand in another file."""
    titles = dict.fromkeys(check.config.title for check in rubric.checks)
    for criterion in rubric.criteria if titles else ():
        for name in criterion.checks:
            if name not in titles:
                meant = near(name, titles)
                remedy = f"did you mean {meant}?" if meant else f"checks are {', '.join(titles)[:300]}"
                yield Flaw(
                    criterion.line, f"criterion {criterion.config.id} names an unknown check {name[:LONGEST_TITLE]}", remedy
                )
