"""The items of a rubric's lists: commands, and criteria with their votes."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Generic, TypeVar

from pydantic import ValidationError

from helmsman.config import CheckConfig, CriterionConfig
from helmsman.parsers.markdown_text import Block, blocks, unix_lines
from helmsman.plain import one_line, short_line

MOST_PROBLEMS = 50  # that are told of one file
MOST_ITEMS = 200  # checks, or criteria; more are a mistake
_TOO_MANY = (f"there are more than {MOST_ITEMS} items", "cut the work into several loops")
MOST_VOTES = 9  # as the configuration has it
_LONGEST_SHOWN = 60
_Config = TypeVar("_Config", CheckConfig, CriterionConfig)


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong."""

    line: int  # counted from 1, in the file
    cause: str
    remedy: str  # what to do, as an instruction


@dataclass(frozen=True)
class RubricItem(Generic[_Config]):
    """One command, or one thing that the judge has to see."""

    line: int
    config: _Config


_TICK_BOX = re.compile(r"\A\[[ xX]\](?:\s+|$)")  # whoever ticks an item off in the file says nothing to us


# --- checks -------------------------------------------------------------------------------------------------------

_LABEL = re.compile(r"[*_]*([^`:=$|&;<>*_][^`:=$|&;<>]{0,60})(?::[*_]*|[*_]*[ \t]+[\u2013\u2014])[ \t]+(`.*)", re.DOTALL)
"""`**Unit tests**: ` before a command in backticks; in a shell, a space behind the colon never comes before one."""
_REMARK = re.compile(r"[(:,.;\u2013\u2014#]|- |$")
_ONE_COMMAND = "write one command in backticks an item, and set a remark behind it apart with a dash"


def read_checks(section: Sequence[Block]) -> Iterator[RubricItem[CheckConfig] | Problem]:
    """The commands of a section, and what is wrong with others."""
    for number, (line, whole, code) in enumerate(_commands(section)):
        if number == MOST_ITEMS:
            yield Problem(line, *_TOO_MANY)
            break
        bare = whole if code else _TICK_BOX.sub("", whole)
        label = None if code else _LABEL.fullmatch(bare)
        said = label[2] if label else bare
        command, cause = _command(said, code=code)
        if cause:
            yield Problem(line, cause, _ONE_COMMAND)
        else:
            yield RubricItem(line, CheckConfig(name=label[1].rstrip("*_ ") if label else "", command=command))


def _commands(section: Iterable[Block]) -> Iterator[tuple[int, str, bool]]:
    """Every list item at any depth, and every line of a fence, with its line and whether it stood in a fence."""
    for block in section:
        if block.kind == "item":
            yield block.line, _one_line(block.text.split("\n")), False
        elif block.kind == "fence" and block.closed:
            words = list[str]()
            for number, line in enumerate([*block.text.removesuffix("\n").split("\n"), ""], block.line + 1):
                words.append(line.strip())
                if line.rstrip().endswith("\\"):
                    continue
                command = _one_line(words).removeprefix("$ ")
                if command and not command.startswith("#"):
                    yield number - len(words) + 1, command, True
                words = []


def _one_line(words: Iterable[str]) -> str:
    return " ".join(word.strip().removesuffix("\\").strip() for word in words).strip()


def _command(said: str, *, code: bool) -> tuple[str, str]:
    """The command of an item, and why it is none."""
    if code or not said.startswith("`"):
        return said, "" if said else "this item has no command"
    ticks = len(said) - len(said.lstrip("`"))
    end = next((run.start() for run in re.finditer("`+", said[ticks:]) if len(run[0]) == ticks), None)
    if end is None:
        return "", "a backtick opens a command and none closes it"
    command, rest = said[ticks : ticks + end].strip(), said[ticks + end + ticks :].strip()
    if not command:
        return "", "this item has no command"
    more = "`" in rest or not _REMARK.match(rest)
    return command, f"more than a remark stands behind the command: {short_line(rest, _LONGEST_SHOWN)}" if more else ""


# --- criteria -----------------------------------------------------------------------------------------------------

_ID = re.compile(r"\[([^\]\n]{1,80})\](?:[:\s]\s*|$)")
_VOTES = re.compile(
    r"(?<!\s)\s+(\((?:votes? *[:=]? *)?([0-9]{1,3})(?: *(?:out of|of|/) *([0-9]{1,3}))?(?: *votes?)?\))[.:]?\s*$", re.IGNORECASE
)
"""`(2 of 3 votes)`, `(2 of 3)`, `(votes: 3)`."""
_WORDS = {
    "id": ("an id has letters, digits and . _ - and at most 60 of them", "write it like [api-errors]"),
    "text": ("a criterion has at most 4000 characters", "cut it into several"),
}


def items(section: Iterable[Block], lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The items of the upper level, each with all that belongs to it, and their lines. Code right below one belongs to it."""
    line, end, words = 0, 0, list[str]()
    for block in section:
        said = " ".join(part.strip() for part in block.text.split("\n"))
        below = block.kind == "fence" and block.line == end + 1
        begins = block.kind == "item" and block.depth == 1
        if words and (begins or not (block.depth or below)):
            yield line, "\n".join(words)
            words = []
        if begins:
            line, words = block.line, [said]
        elif words and block.kind == "fence":
            words.append("\n".join(lines[block.line - 1 : block.end]))
        elif words and block.kind != "comment":
            words.append(f"- {said}" if block.kind == "item" else said)
        end = block.end
    if words:
        yield line, "\n".join(words)


def read_criteria(section: Sequence[Block], lines: Sequence[str]) -> Iterator[RubricItem[CriterionConfig] | Problem]:
    """The criteria of a section, and what is wrong with others. Without an id one is called c1, c2 and so on by its number."""
    for number, (line, said) in enumerate(items(section, lines), 1):
        if number > MOST_ITEMS:
            yield Problem(line, *_TOO_MANY)
            break
        rest = _TICK_BOX.sub("", said)
        named = _ID.match(rest)
        name, rest = (named[1].strip(), rest[named.end() :]) if named else (f"c{number}", rest)
        sentence, needed, votes = _votes(rest)
        if not 1 <= needed <= votes <= MOST_VOTES:
            told = f"({needed} of {votes} votes): expected K of N votes, K from 1 to N, N at most {MOST_VOTES}"
            yield Problem(line, told, "correct votes")
        elif not sentence:
            yield Problem(line, f"criterion {name} says nothing", "write a sentence that can be answered with yes or no")
        else:
            try:
                yield RubricItem(line, CriterionConfig(needed=needed, votes=votes, id=name, text=sentence))
            except ValidationError as error:
                yield from (Problem(line, *_WORDS[str(one["loc"][0])]) for one in error.errors(include_url=False))


def _votes(said: str) -> tuple[str, int, int]:
    """The sentence, and how many votes it needs of how many; of a number alone, all. They end the whole, or its first line."""
    first, newline, more = said.partition("\n")
    for whole, rest in ((f" {said}", ""), (f" {first}", newline + more)):
        found = _VOTES.search(whole)
        if found and (found[3] or "vote" in found[1].lower()):
            return (whole[: found.start()] + rest).strip(), int(found[2]), int(found[3] or found[2])
    return said.strip(), 1, 1


# --- acceptance criteria in a goal --------------------------------------------------------------------------------

_CRITERIA = re.compile(r"\W*(?:acceptance criteria|criteria(?: of acceptance)?|definition of done|done when)\W*", re.IGNORECASE)


def criteria_of(goal: str) -> tuple[str, ...]:
    """The list below a heading or a line such as `Acceptance criteria:`; none where there is no such list."""
    text = unix_lines(goal)
    every = blocks(text)
    for place, block in enumerate(every, 1):
        if block.kind in {"heading", "text"} and not block.depth and _CRITERIA.fullmatch(block.text.rpartition("\n")[2]):
            listed = takewhile(lambda block: block.depth or block.kind == "comment", every[place:])
            return tuple(said for _, words in items(listed, text.split("\n")) if (said := one_line(words)))
    return ()
