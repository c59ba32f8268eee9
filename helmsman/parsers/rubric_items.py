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

_LABEL = re.compile(r"[*_]*([^`:=$|&;<>*_][^`:=$|&;<>]{0,60})(?::[*_]*|[*_]*[ \t]+[\u2013\u2014])[ \t]+(`.*)", re.DOTALL)
"""`**Unit tests**: ` before a command in backticks; in a shell, a colon and a space never precede a backtick."""
_REMARK = re.compile(r"[(:,.;\u2013\u2014#]|- |$")
_ONE_COMMAND = "write one command in backticks per item, and a dash before a remark after it"


def read_checks(section: Sequence[Block]) -> Iterator[RubricItem[CheckConfig] | Problem]:
    """Yield the commands of a section, and problems."""
    for number, (line, source, code) in enumerate(_list_commands(section)):
        if number == MOST_ITEMS:
            yield Problem(line, *_TOO_MANY)
            break
        text = source if code else _TICK_BOX.sub("", source)
        label = None if code else _LABEL.fullmatch(text)
        source_command = label[2] if label else text
        command, cause = _parse_command(source_command, code=code)
        if cause:
            yield Problem(line, cause, _ONE_COMMAND)
        else:
            yield RubricItem(line, CheckConfig(name=label[1].rstrip("*_ ") if label else "", command=command))


def _list_commands(section: Iterable[Block]) -> Iterator[tuple[int, str, bool]]:
    """Yield every list item at any depth and every line of a fence, with line number and whether it is in a fence."""
    for block in section:
        if block.kind == "item":
            yield block.line, _join_lines(block.text.split("\n")), False
        elif block.kind == "fence" and block.closed:
            words = list[str]()
            for number, line in enumerate([*block.text.removesuffix("\n").split("\n"), ""], block.line + 1):
                words.append(line.strip())
                if line.rstrip().endswith("\\"):
                    continue
                command = _join_lines(words).removeprefix("$ ")
                if command and not command.startswith("#"):
                    yield number - len(words) + 1, command, True
                words = []


def _join_lines(words: Iterable[str]) -> str:
    return " ".join(word.strip().removesuffix("\\").strip() for word in words).strip()


def _parse_command(item: str, *, code: bool) -> tuple[str, str]:
    """Return the command of an item, and the error if it is invalid."""
    if code or not item.startswith("`"):
        return item, "" if item else "this item has no command"
    ticks = len(item) - len(item.lstrip("`"))
    end = next((run.start() for run in re.finditer("`+", item[ticks:]) if len(run[0]) == ticks), None)
    if end is None:
        return "", "the command has no closing backtick"
    command, rest = item[ticks : ticks + end].strip(), item[ticks + end + ticks :].strip()
    if not command:
        return "", "this item has no command"
    has_more = "`" in rest or not _REMARK.match(rest)
    return command, f"the command is followed by more than a remark: {short_line(rest, _LONGEST_SHOWN)}" if has_more else ""


# --- criteria -----------------------------------------------------------------------------------------------------

_ID = re.compile(r"\[([^\]\n]{1,80})\](?:[:\s]\s*|$)")
_VOTES = re.compile(
    r"(?<!\s)\s+(\((?:votes? *[:=]? *)?([0-9]{1,3})(?: *(?:out of|of|/) *([0-9]{1,3}))?(?: *votes?)?\))[.:]?\s*$", re.IGNORECASE
)
"""`(2 of 3 votes)`, `(2 of 3)`, `(votes: 3)`."""
_WORDS = {
    "id": ("an id consists of letters, digits and . _ -, at most 60 characters", "write it like [api-errors]"),
    "text": ("a criterion has at most 4000 characters", "split it into several"),
}


def list_items(section: Iterable[Block], lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield top-level items with their lines and everything that belongs to them, including code directly below."""
    line, end, words = 0, 0, list[str]()
    for block in section:
        text = " ".join(part.strip() for part in block.text.split("\n"))
        is_attached = block.kind == "fence" and block.line == end + 1
        is_new_item = block.kind == "item" and block.depth == 1
        if words and (is_new_item or not (block.depth or is_attached)):
            yield line, "\n".join(words)
            words = []
        if is_new_item:
            line, words = block.line, [text]
        elif words and block.kind == "fence":
            words.append("\n".join(lines[block.line - 1 : block.end]))
        elif words and block.kind != "comment":
            words.append(f"- {text}" if block.kind == "item" else text)
        end = block.end
    if words:
        yield line, "\n".join(words)


def read_criteria(section: Sequence[Block], lines: Sequence[str]) -> Iterator[RubricItem[CriterionConfig] | Problem]:
    """Yield the criteria of a section, and problems. Criteria without an id are called c1, c2 and so on by number."""
    for number, (line, text) in enumerate(list_items(section, lines), 1):
        if number > MOST_ITEMS:
            yield Problem(line, *_TOO_MANY)
            break
        rest = _TICK_BOX.sub("", text)
        label = _ID.match(rest)
        name, rest = (label[1].strip(), rest[label.end() :]) if label else (f"c{number}", rest)
        sentence, needed, votes = _parse_votes(rest)
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


def _parse_votes(text: str) -> tuple[str, int, int]:
    """Return the sentence, the needed and the total votes; a single number means both. Votes end the text, or its first line."""
    first, newline, more = text.partition("\n")
    for candidate, rest in ((f" {text}", ""), (f" {first}", newline + more)):
        match = _VOTES.search(candidate)
        if match and (match[3] or "vote" in match[1].lower()):
            return (candidate[: match.start()] + rest).strip(), int(match[2]), int(match[3] or match[2])
    return text.strip(), 1, 1


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
