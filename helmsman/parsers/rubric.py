"""Parser for RUBRIC.md: a picture of the finished work, the commands that prove it, and the judge's criteria.

Reports every problem with its line.
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

LONGEST_ENVISIONING = 20_000  # characters, as in the configuration
_LONGEST_TITLE = 80
_NEAR, _LONGEST_WORD = 0.81, 40
"""Similarity from which a word is a probable misspelling: `cheks` of `checks`, but just not `checklist`."""


Section = Literal["Envisioning", "Checks", "Judge criteria"]
"""Sections that Helmsman reads; others are for people."""


@dataclass(frozen=True)
class Rubric:
    """A parsed rubric, as far as it is valid."""

    envisioning: str = ""
    checks: tuple[RubricItem[CheckConfig], ...] = ()
    criteria: tuple[RubricItem[CriterionConfig], ...] = ()
    problems: tuple[Problem, ...] = ()  # by line, 50 at most
    ours: bool = False
    """Whether it has one of our headings, possibly misspelt; otherwise it is an unrelated document."""


def read_rubric(text: str, first_line: int = 1) -> Rubric:
    """Parse the text after the front matter; `first_line` is its first line in the file. Never raises."""
    text = "\n" * (first_line - 1) + re.sub(r"(?m)^( {0,3}##)(?=[A-Za-z])", r"\1 ", unix_lines(text))
    lines, every = text.split("\n"), blocks(text)
    parts = _blocks_by_section(every)
    envisioning = _read_envisioning(every, lines)
    read = [*read_checks(parts["Checks"]), *read_criteria(parts["Judge criteria"], lines)]
    checks = tuple(item for item in read if isinstance(item, RubricItem) and isinstance(item.config, CheckConfig))
    criteria = tuple(item for item in read if isinstance(item, RubricItem) and isinstance(item.config, CriterionConfig))
    found = [
        _find_document_problems(every, lines),
        _find_section_problems(parts, envisioning, first_line),
        (item for item in read if isinstance(item, Problem)),
        _find_duplicates(((item.line, item.config.title) for item in checks), "the name {} is taken", "- **OTHER**: `COMMAND`"),
        _find_duplicates(((item.line, item.config.id) for item in criteria), "the id {} is taken", "[other-id]"),
    ]
    problems = [problem for source in found for problem in islice(source, MOST_PROBLEMS)]
    problems.sort(key=lambda problem: problem.line)
    ours = any(_is_section_heading(block) and _nearest_section(block) for block in every)
    return Rubric(envisioning, checks, criteria, tuple(problems[:MOST_PROBLEMS]), ours)


def settings(rubric: Rubric) -> dict[str, Any]:
    """Return a rubric as configuration: `checks`, `judge.criteria`, `judge.envisioning`."""
    checks, criteria = (
        [item.config.model_dump(exclude_defaults=True) for item in items] for items in (rubric.checks, rubric.criteria)
    )
    judge = {key: value for key, value in (("criteria", criteria), ("envisioning", rubric.envisioning)) if value}
    return {key: value for key, value in (("checks", checks), ("judge", judge)) if value}


# --- sections -----------------------------------------------------------------------------------------------------

_TITLES: Mapping[str, Section] = {section.lower(): section for section in get_args(Section)}
_LEVEL = 2


def _normalized_title(heading: Block) -> str:
    """Return a heading in lower case, without numbers, punctuation, and text in brackets or after a colon."""
    title = re.split("[(:]", heading.text[:_LONGEST_TITLE])[0]
    return " ".join(re.sub(r"[\W\d_]+", " ", title).lower().split())


def _section_of(block: Block) -> Section | None:
    return _TITLES.get(_normalized_title(block)) if _is_section_heading(block) else None


def _is_section_heading(block: Block) -> bool:
    """Whether a block is a heading on the level of our sections."""
    return block.kind == "heading" and block.level == _LEVEL and not block.depth


def _nearest_section(block: Block) -> Section | None:
    """Return the section that a heading probably stands for."""
    near = (
        get_close_matches(_normalized_title(block)[:_LONGEST_WORD], _TITLES, n=1, cutoff=_NEAR) if block.kind == "heading" else []
    )
    return _TITLES[near[0]] if near else None


def _blocks_by_section(every: Iterable[Block]) -> dict[Section, list[Block]]:
    """Return the blocks of each of our sections, headings included; a repeated section is merged."""
    parts: dict[Section, list[Block]] = {section: [] for section in get_args(Section)}
    current: Section | None = None
    for block in every:
        current = _section_of(block) if _is_section_heading(block) else current
        if current:
            parts[current].append(block)
    return parts


def _read_envisioning(every: Sequence[Block], lines: Sequence[str]) -> str:
    """Return the text below our headings of that name, unchanged except for removed comments."""
    hidden = {number for block in every if block.kind == "comment" for number in range(block.line, block.end + 1)}
    headings = [(block.line, _section_of(block)) for block in every if _is_section_heading(block)]
    bodies = pairwise([*headings, (len(lines) + 1, None)])
    ranges = (range(line + 1, end) for (line, section), (end, _) in bodies if section == "Envisioning")
    return "\n".join(lines[number - 1] for numbers in ranges for number in numbers if number not in hidden).strip()


# --- problems of the document ---------------------------------------------------------------------------------------

_CLOSING_MARK = {"fence": "the same mark on a line of its own", "comment": "-->"}
_EMPTY_SECTION: Mapping[Section, tuple[str, str]] = {
    "Checks": ("## Checks has no command", "list commands as `- npm test`, or put them into a code block, one per line"),
    "Judge criteria": ("## Judge criteria has no criterion", "list criteria as `- Every endpoint returns errors as JSON.`"),
}


def _find_document_problems(every: Iterable[Block], lines: Sequence[str]) -> Iterator[Problem]:
    """Yield problems for unclosed blocks, NUL characters, and headings that are nearly ours: misspelt, or on another level."""
    for block in every:
        if not block.closed:
            yield Problem(block.line, f"this {block.kind} is never closed", f"close it with {_CLOSING_MARK[block.kind]}")
        if not _section_of(block) and (meant := _nearest_section(block)):
            title = short_line(block.text, _LONGEST_TITLE)
            yield Problem(block.line, f"unknown section {'#' * block.level} {title}", f"did you mean ## {meant}?")
    for number, line in enumerate(lines, 1):
        if "\0" in line:
            yield Problem(number, "there is a NUL character", "remove it; no command can contain one")


def _find_section_problems(parts: Mapping[Section, list[Block]], envisioning: str, first_line: int) -> Iterator[Problem]:
    for section, (cause, remedy) in _EMPTY_SECTION.items():
        if parts[section] and not any(block.kind in {"item", "fence"} for block in parts[section]):
            yield Problem(parts[section][0].line, cause, remedy)
    if len(envisioning) > LONGEST_ENVISIONING:
        cause = f"## Envisioning has {len(envisioning)} characters"
        remedy = f"keep it to {LONGEST_ENVISIONING}: the judge reads all of it"
        yield Problem(parts["Envisioning"][0].line, cause, remedy)
    if not (parts["Checks"] or parts["Judge criteria"] or envisioning):
        remedy = "write ## Checks with commands, ## Judge criteria with criteria, or both"
        yield Problem(first_line, "it has no section that Helmsman reads", remedy)


def _find_duplicates(named: Iterable[tuple[int, str]], cause: str, example: str) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for line, name in named:
        if name in first:
            message = cause.format(name[:_LONGEST_TITLE])
            yield Problem(line, f"{message} by line {first[name]}", f"rename one of them: {example}")
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
"""Short keys of rubrics, and their configuration keys."""
_IGNORED = frozenset({"base_branch", "mode", "autonomous", "title", "name", "description", "version", "author", "date", "tags"})
"""Keys of other loops, which the command line sets here, and metadata of documents."""
_OWN = frozenset({*LoopConfig.model_fields, "goal_file"})


def parse_front_matter(front_matter: Mapping[Any, Any], lines: Sequence[str]) -> tuple[dict[str, Any], list[Problem]]:
    """Return front matter as configuration, and its problems. `lines`: the file's lines, to locate keys."""
    values: dict[str, Any] = {key: value for key, value in front_matter.items() if key in _OWN}
    unknown = [key for key in front_matter if key not in _OWN | SHORT.keys() | _IGNORED][:MOST_PROBLEMS]
    # YAML keys need not be strings, and Python refuses to print very long numbers.
    problems = [_unknown_key(key if isinstance(key, str) else display(key), lines) for key in unknown]
    for short in (short for short in SHORT if short in front_matter):
        section, key = SHORT[short].split(".")
        table: Any = values.get(section, {})
        if not isinstance(table, Mapping):
            continue  # merging the configuration reports that it must be a table
        if key in table:
            problems.append(
                Problem(_line_of_key(short, lines), f"{short} and {SHORT[short]} set the same value", "keep one of the two")
            )
        values[section] = {**cast("Mapping[str, Any]", table), key: front_matter[short]}
    return values, problems


def find_conflicts(front: Mapping[str, Any], body: Mapping[str, Any], lines: Sequence[str]) -> Iterator[Problem]:
    """Yield problems for settings in both the front matter and a section."""
    if "checks" in front and "checks" in body:
        yield Problem(_line_of_key("checks", lines), "checks are in both the front matter and ## Checks", "keep one of the two")
    judge_tables = [
        cast("Mapping[str, Any]", judge) for table in (front, body) if isinstance(judge := table.get("judge"), Mapping)
    ]
    for key in sorted({*judge_tables[0]} & {*judge_tables[-1]}) if len(judge_tables) > 1 else ():
        yield Problem(
            _line_of_key("judge", lines), f"judge.{key} is in both the front matter and a section", "keep one of the two"
        )


def _unknown_key(key: str, lines: Sequence[str]) -> Problem:
    line, cause = _line_of_key(key, lines), f"unknown key {display(key)}"
    if meant := did_you_mean(key, [*SHORT, *_OWN]):
        return Problem(line, cause, meant.removeprefix("; "))
    try:
        describe(key[:LONGEST_VALUE])
    except OperatorError as error:  # its message knows the keys of every section
        return Problem(line, error.problem, "correct or remove it; `helmsman config` lists every key")
    return Problem(line, cause, "write sections as nested tables, not with dots")


def _line_of_key(key: str, lines: Sequence[str]) -> int:
    """Return the line that begins with a key, counted from 1; the line of the opening mark if not found."""
    pattern = re.compile(rf"[\"']?{re.escape(key)}[\"']?\s*:")
    return next((number for number, line in enumerate(lines, 1) if pattern.match(line)), 1)
