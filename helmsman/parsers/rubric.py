"""RUBRIC.md: what the work is to be like, the commands that prove it, and the criteria that a judge has to see met.

Every problem is told, each with its line.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice, pairwise
from typing import Any, Literal, cast, get_args

from helmsman.config import CheckConfig, CriterionConfig, LoopConfig
from helmsman.config.layers import LONGEST_VALUE, describe, display
from helmsman.errors import OperatorError
from helmsman.parsers.markdown_text import Block, blocks, unix_lines
from helmsman.parsers.rubric_items import MOST_PROBLEMS, Problem, RubricItem, read_checks, read_criteria
from helmsman.plain import did_you_mean, short_line

LONGEST_ENVISIONING = 20_000  # characters, as the configuration has it
_LONGEST_TITLE = 80
_NEAR, _LONGEST_WORD = 0.81, 40
"""Likeness from which one word was probably meant as the other: `cheks` is near `checks`, `checklist` just not."""


Section = Literal["Envisioning", "Checks", "Judge criteria"]
"""What Helmsman reads; other sections are for people."""


@dataclass(frozen=True)
class Rubric:
    """What a rubric says, as far as it can be read."""

    envisioning: str = ""
    checks: tuple[RubricItem[CheckConfig], ...] = ()
    criteria: tuple[RubricItem[CriterionConfig], ...] = ()
    problems: tuple[Problem, ...] = ()  # in the order of lines, 50 at most
    ours: bool = False
    """Whether one of our headings is there, or one that was meant to be; else it is a document of somebody's own."""


def read_rubric(text: str, first_line: int = 1) -> Rubric:
    """Read what follows the front matter; `first_line` is where in the file it begins. Never raises."""
    text = "\n" * (first_line - 1) + re.sub(r"(?m)^( {0,3}##)(?=[A-Za-z])", r"\1 ", unix_lines(text))
    lines, every = text.split("\n"), blocks(text)
    parts = _parts(every)
    envisioning = _envisioning(every, lines)
    of_checks, of_criteria = [*read_checks(parts["Checks"])], [*read_criteria(parts["Judge criteria"], lines)]
    checks = tuple(one for one in of_checks if isinstance(one, RubricItem))
    criteria = tuple(one for one in of_criteria if isinstance(one, RubricItem))
    found = [
        _unclosed(every, lines),
        _headings(every),
        _lacking(parts),
        (one for one in of_checks if isinstance(one, Problem)),
        (one for one in of_criteria if isinstance(one, Problem)),
        _repeated(((one.line, one.config.title) for one in checks), "a check is named {}", "- **OTHER**: `COMMAND`"),
        _repeated(((one.line, one.config.id) for one in criteria), "a criterion has the id {}", "[other-id]"),
    ]
    problems = [one for source in found for one in islice(source, MOST_PROBLEMS)]
    if len(envisioning) > LONGEST_ENVISIONING:
        cause = f"## Envisioning has {len(envisioning)} characters"
        line = parts["Envisioning"][0].line
        problems.append(Problem(line, cause, f"keep it to {LONGEST_ENVISIONING}: the judge reads all of it"))
    if not (parts["Checks"] or parts["Judge criteria"] or envisioning):
        remedy = "write ## Checks with commands, ## Judge criteria with criteria, or both"
        problems.append(Problem(first_line, "it has no section that Helmsman reads", remedy))
    problems.sort(key=lambda one: one.line)
    ours = any(_is_ours(block) and _meant(block) for block in every)
    return Rubric(envisioning, checks, criteria, tuple(problems[:MOST_PROBLEMS]), ours)


def settings(rubric: Rubric) -> dict[str, Any]:
    """What a rubric says, as configuration: `checks`, `judge.criteria`, `judge.envisioning`."""
    checks, criteria = ([one.config.model_dump(exclude_defaults=True) for one in of] for of in (rubric.checks, rubric.criteria))
    judge = {"criteria": criteria, "envisioning": rubric.envisioning}
    said = {"checks": checks, "judge": {key: value for key, value in judge.items() if value}}
    return {key: value for key, value in said.items() if value}


# --- sections -----------------------------------------------------------------------------------------------------

_TITLES: Mapping[str, Section] = {section.lower(): section for section in get_args(Section)}
_LEVEL = 2


def _title(heading: Block) -> str:
    """A heading's words in small letters, without number, sign, decoration, and what follows in brackets or behind a colon."""
    said = re.split("[(:]", heading.text[:_LONGEST_TITLE])[0]
    return " ".join(re.sub(r"[\W\d_]+", " ", said).lower().split())


def _section(block: Block) -> Section | None:
    return _TITLES.get(_title(block)) if _is_ours(block) else None


def _is_ours(block: Block) -> bool:
    """Whether it is a heading of the level of our sections."""
    return block.kind == "heading" and block.level == _LEVEL and not block.depth


def _meant(block: Block) -> Section | None:
    """The section that a heading was probably meant to begin."""
    near = get_close_matches(_title(block)[:_LONGEST_WORD], _TITLES, n=1, cutoff=_NEAR) if block.kind == "heading" else []
    return _TITLES[near[0]] if near else None


def _parts(every: Iterable[Block]) -> dict[Section, list[Block]]:
    """The blocks of each of our sections, its headings first; a section that comes twice is one."""
    parts: dict[Section, list[Block]] = {section: [] for section in get_args(Section)}
    current: Section | None = None
    for block in every:
        current = _section(block) if _is_ours(block) else current
        if current:
            parts[current].append(block)
    return parts


def _envisioning(every: Sequence[Block], lines: Sequence[str]) -> str:
    """What stands below our headings of that name, as it was written, without comments."""
    hidden = {number for one in every if one.kind == "comment" for number in range(one.line, one.end + 1)}
    headings = [(one.line, _section(one)) for one in every if _is_ours(one)]
    bodies = pairwise([*headings, (len(lines) + 1, None)])
    wanted = (range(line + 1, end) for (line, section), (end, _) in bodies if section == "Envisioning")
    return "\n".join(lines[number - 1] for numbers in wanted for number in numbers if number not in hidden).strip()


# --- problems of the document ---------------------------------------------------------------------------------------

_ENDS = {"fence": "the same mark on a line of its own", "comment": "-->"}
_LACKING: Mapping[Section, tuple[str, str]] = {
    "Checks": ("## Checks has no command", "list commands as `- npm test`, or put them into a fence, one a line"),
    "Judge criteria": ("## Judge criteria has no criterion", "list criteria as `- Every endpoint answers errors in JSON.`"),
}


def _unclosed(every: Iterable[Block], lines: Sequence[str]) -> Iterator[Problem]:
    """What is never closed, and what no program can be given."""
    for block in every:
        if not block.closed:
            yield Problem(block.line, f"this {block.kind} is opened and never closed", f"close it with {_ENDS[block.kind]}")
    for number, line in enumerate(lines, 1):
        if "\0" in line:
            yield Problem(number, "there is a NUL character", "remove it; no program can be given one")


def _headings(every: Iterable[Block]) -> Iterator[Problem]:
    """Headings that are nearly ours: misspelt, or of another level."""
    for block in every:
        if not _section(block) and (meant := _meant(block)):
            title = short_line(block.text, _LONGEST_TITLE)
            yield Problem(block.line, f"unknown section {'#' * block.level} {title}", f"did you mean ## {meant}?")


def _lacking(parts: Mapping[Section, list[Block]]) -> Iterator[Problem]:
    for section, (cause, remedy) in _LACKING.items():
        inside = parts[section]
        if inside and not any(block.kind in {"item", "fence"} for block in inside):
            yield Problem(inside[0].line, cause, remedy)


def _repeated(named: Iterable[tuple[int, str]], cause: str, example: str) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for line, name in named:
        if name in first:
            said = cause.format(name[:_LONGEST_TITLE])
            yield Problem(line, f"{said}, as on line {first[name]} already", f"give one of them another: {example}")
        first.setdefault(name, line)


# --- front matter: its short keys and those of the configuration, as configuration ----------------------------------------

SHORT = {
    "model": "judge.model",
    "hitl_threshold": "judge.rejections",
    "force_max": "completion.force_max",
    "max_iterations": "limits.iterations",
    "milestone_every": "gates.milestone_every",
    "structured_memory": "memory.wiki",
}
"""Keys that rubrics have, and where the configuration has them."""
OTHERS = frozenset({"base_branch", "mode", "autonomous"})
"""Keys that rubrics of other loops have; here the command line says where a loop works and what becomes of its work."""
ABOUT = frozenset({"title", "name", "description", "version", "author", "date", "tags"})  # what documents say of themselves
_OWN = frozenset({*LoopConfig.model_fields, "goal_file"})


def from_front_matter(said: Mapping[Any, Any], lines: Sequence[str]) -> tuple[dict[str, Any], list[Problem]]:
    """What front matter says, as configuration, and its problems. `lines` are those of the file, to say where a key stands."""
    values: dict[str, Any] = {key: value for key, value in said.items() if key in _OWN}
    unknown = [key for key in said if key not in _OWN | SHORT.keys() | OTHERS | ABOUT][:MOST_PROBLEMS]
    # YAML has other keys than text, and Python refuses to write the longest numbers out.
    problems = [_unknown(key if isinstance(key, str) else display(key), lines) for key in unknown]
    for short in (short for short in SHORT if short in said):
        section, key = SHORT[short].split(".")
        table: Any = values.get(section, {})
        if not isinstance(table, Mapping):
            continue  # whoever merges the configuration says that it must be a table
        if key in table:
            problems.append(Problem(_line(short, lines), f"{short} and {SHORT[short]} say the same thing", "keep one of the two"))
        values[section] = {**cast("Mapping[str, Any]", table), key: said[short]}
    return values, problems


def said_twice(front: Mapping[str, Any], body: Mapping[str, Any], lines: Sequence[str]) -> Iterator[Problem]:
    """What stands in the front matter and in a section as well."""
    if "checks" in front and "checks" in body:
        yield Problem(_line("checks", lines), "checks stand in the front matter and in ## Checks", "keep one of the two")
    judged = [cast("Mapping[str, Any]", one) for said in (front, body) if isinstance(one := said.get("judge"), Mapping)]
    for key in sorted({*judged[0]} & {*judged[-1]}) if len(judged) > 1 else ():
        yield Problem(_line("judge", lines), f"judge.{key} stands in the front matter and in a section", "keep one of the two")


def _unknown(key: str, lines: Sequence[str]) -> Problem:
    line, cause = _line(key, lines), f"unknown key {display(key)}"
    if meant := did_you_mean(key, [*SHORT, *_OWN]):
        return Problem(line, cause, meant.removeprefix("; "))
    try:
        describe(key[:LONGEST_VALUE])
    except OperatorError as error:  # it knows the keys of every section
        return Problem(line, error.problem, "correct it or take it out; `helmsman config` shows every key")
    return Problem(line, cause, "write the sections as tables, not with dots")


def _line(key: str, lines: Sequence[str]) -> int:
    """Where a key begins a line, counted from 1; the line of the opening mark where it is not found."""
    whole = re.compile(rf"[\"']?{re.escape(key)}[\"']?\s*:")
    return next((number for number, line in enumerate(lines, 1) if whole.match(line)), 1)
