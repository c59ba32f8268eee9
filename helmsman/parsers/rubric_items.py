"""Parser for the list items of a rubric: commands, and criteria with their votes."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Generic, TypeVar

from pydantic import ValidationError

from helmsman.config import CheckConfig, CriterionConfig
from helmsman.parsers.markdown_text import Block, blocks, unix_lines
from helmsman.plain import one_line, short_line

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
