"""Parser for RUBRIC.md: a picture of the finished work, the commands that prove it, and the judge's criteria.

Reports every problem with its line.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice, pairwise, takewhile
from typing import Any, Generic, Literal, TypeVar, cast, get_args

from pydantic import ValidationError

from helmsman.config import CheckConfig, CriterionConfig, LoopConfig
from helmsman.config.layers import LONGEST_VALUE, describe, display
from helmsman.errors import OperatorError
from helmsman.parsers.markdown_text import Block, blocks, unix_lines
from helmsman.plain import did_you_mean, one_line, short_line

MOST_PROBLEMS = 50  # maximum reported per file
MOST_ITEMS = 200  # maximum checks, or criteria; more are a mistake
_TOO_MANY = (f"there are more than {MOST_ITEMS} items", "split the work into several loops")
MOST_VOTES = 9  # as in the configuration
_LONGEST_SHOWN = 60
_Config = TypeVar("_Config", CheckConfig, CriterionConfig)


@dataclass(frozen=True)
class Problem:
    """An error in the file."""

    line: int  # counted from 1, in the file
    cause: str
    remedy: str  # what to do, as an instruction


@dataclass(frozen=True)
class RubricItem(Generic[_Config]):
    """One check command, or one criterion for the judge."""

    line: int
    config: _Config


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
    checks_read, criteria_read = [*read_checks(parts["Checks"])], [*read_criteria(parts["Judge criteria"], lines)]
    checks = tuple(item for item in checks_read if isinstance(item, RubricItem))
    criteria = tuple(item for item in criteria_read if isinstance(item, RubricItem))
    found = [
        _find_document_problems(every, lines),
        _find_section_problems(parts, envisioning, first_line),
        (item for item in (*checks_read, *criteria_read) if isinstance(item, Problem)),
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


_TICK_BOX = re.compile(r"\A\[[ xX]\](?:\s+|$)")  # ticks in the file have no meaning here


# --- checks -------------------------------------------------------------------------------------------------------

_LABEL = re.compile(r"[*_]*([^`:=$|&;<>*_][^`:=$|&;<>]{0,60}):[*_]*[ \t]+(`.*)", re.DOTALL)
"""`**Unit tests**: ` before a command in backticks; in a shell, a colon and a space never precede a backtick."""
_IN_BACKTICKS = re.compile(r"(`+)(?!`)(.*?)(?<!`)\1(?!`)(.*)", re.DOTALL)
_REMARK = re.compile(r"[(:,.;\u2013\u2014#]|- |$")
_LOGICAL_LINE = re.compile(r"(?:.*\\\n)*.*\n?")
_ONE_COMMAND = "write one command in backticks per item, and a dash before a remark after it"
_NO_COMMAND = "this item has no command"


def read_checks(section: Sequence[Block]) -> Iterator[RubricItem[CheckConfig] | Problem]:
    """Yield the commands of a section, and problems."""
    for number, (line, text, is_code) in enumerate(_list_commands(section)):
        if number == MOST_ITEMS:
            yield Problem(line, *_TOO_MANY)
            break
        label = None if is_code else _LABEL.fullmatch(text)
        command, cause = (text, "") if is_code else _parse_command(label[2] if label else text)
        if cause:
            yield Problem(line, cause, _ONE_COMMAND)
        else:
            yield RubricItem(line, CheckConfig(name=label[1].rstrip("*_ ") if label else "", command=command))


def _list_commands(section: Iterable[Block]) -> Iterator[tuple[int, str, bool]]:
    """Yield every list item at any depth and every command of a code block, with its line and whether it is code."""
    for block in section:
        if block.kind == "item":
            yield block.line, _TICK_BOX.sub("", _join_lines(block.text)), False
        elif block.kind == "fence" and block.closed:
            line = block.line + 1
            for match in _LOGICAL_LINE.finditer(block.text):
                command = _join_lines(match[0]).removeprefix("$ ")
                if command and not command.startswith("#"):
                    yield line, command, True
                line += match[0].count("\n")


def _join_lines(text: str) -> str:
    """Return a text on one line; a backslash continues a line as in a shell."""
    return " ".join(line.strip().removesuffix("\\").strip() for line in text.split("\n")).strip()


def _parse_command(item: str) -> tuple[str, str]:
    """Return the command of an item, and the error if it is invalid."""
    if not item.startswith("`"):
        return item, "" if item else _NO_COMMAND
    match = _IN_BACKTICKS.fullmatch(item)
    if match is None:
        return "", "the command has no closing backtick"
    command, rest = match[2].strip(), match[3].strip()
    if "`" in rest or not _REMARK.match(rest):
        return "", f"the command is followed by more than a remark: {short_line(rest, _LONGEST_SHOWN)}"
    return command, "" if command else _NO_COMMAND


# --- criteria -----------------------------------------------------------------------------------------------------

_ID = re.compile(r"\[([^\]\n]{1,80})\](?:[:\s]\s*|$)")
_VOTES = re.compile(r"\(([0-9]{1,3}) of ([0-9]{1,3})(?: votes)?\)[.:]?\s*$")
_WORDS = {
    "id": ("an id consists of letters, digits and . _ -, at most 60 characters", "write it like [api-errors]"),
    "text": ("a criterion has at most 4000 characters", "split it into several"),
}


def list_items(section: Iterable[Block], lines: Sequence[str]) -> list[tuple[int, str]]:
    """Return top-level items with their lines and everything that belongs to them, including code directly below."""
    items: list[tuple[int, list[str]]] = []
    is_open = False
    for block in section:
        text = _join_lines(block.text)
        if block.kind == "item" and block.depth == 1:
            items.append((block.line, [text]))
        elif items and block.kind == "fence" and (block.depth or is_open):
            items[-1][1].append("\n".join(lines[block.line - 1 : block.end]))
        elif items and block.depth and block.kind != "comment":
            items[-1][1].append(f"- {text}" if block.kind == "item" else text)
        is_open = block.depth > 0 or (is_open and block.kind == "fence")
    return [(line, "\n".join(parts)) for line, parts in items]


def read_criteria(section: Sequence[Block], lines: Sequence[str]) -> Iterator[RubricItem[CriterionConfig] | Problem]:
    """Yield the criteria of a section, and problems. Criteria without an id are called c1, c2 and so on by number."""
    for number, (line, text) in enumerate(list_items(section, lines), 1):
        if number > MOST_ITEMS:
            yield Problem(line, *_TOO_MANY)
            break
        rest = _TICK_BOX.sub("", text)
        label = _ID.match(rest)
        name, rest = (label[1].strip(), rest[label.end() :]) if label else (f"c{number}", rest)
        match = _VOTES.search(rest)
        sentence = (rest[: match.start()] if match else rest).strip()
        needed, votes = (int(match[1]), int(match[2])) if match else (1, 1)
        if not 1 <= needed <= votes <= MOST_VOTES:
            cause = f"({needed} of {votes} votes): expected K of N votes, K from 1 to N, N at most {MOST_VOTES}"
            yield Problem(line, cause, "correct the votes")
        elif not sentence:
            yield Problem(line, f"criterion {name} has no text", "write a sentence that can be answered with yes or no")
        else:
            try:
                yield RubricItem(line, CriterionConfig(needed=needed, votes=votes, id=name, text=sentence))
            except ValidationError as error:
                yield from (Problem(line, *_WORDS[str(fault["loc"][0])]) for fault in error.errors(include_url=False))


# --- acceptance criteria in a goal --------------------------------------------------------------------------------

_CRITERIA = re.compile(r"\W*(?:acceptance criteria|criteria(?: of acceptance)?|definition of done|done when)\W*", re.IGNORECASE)


def criteria_of(goal: str) -> tuple[str, ...]:
    """Return the list below a heading or a line such as `Acceptance criteria:`; empty if there is none."""
    text = unix_lines(goal)
    every = blocks(text)
    for place, block in enumerate(every, 1):
        if block.kind in {"heading", "text"} and not block.depth and _CRITERIA.fullmatch(block.text.rpartition("\n")[2]):
            listed = takewhile(lambda block: block.depth or block.kind == "comment", every[place:])
            return tuple(sentence for _, words in list_items(listed, text.split("\n")) if (sentence := one_line(words)))
    return ()


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
