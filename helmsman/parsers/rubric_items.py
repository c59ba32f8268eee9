"""The items of a rubric's lists: commands, and criteria with their votes."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from pydantic import ValidationError

from helmsman.config import CheckConfig, CriterionConfig
from helmsman.parsers.markdown_text import Block, Kind
from helmsman.parsers.problem import Problem
from helmsman.plain import short_line

MOST_ITEMS = 200
"""Checks, or criteria; more are a mistake."""
_TOO_MANY = (f"there are more than {MOST_ITEMS} items", "cut the work into several loops")
MOST_VOTES = 9
"""As the configuration has it."""
_LONGEST_BRACKETS = 2_000
"""Characters; more is prose, or a mistake."""
_LONGEST_KEY = 40
_LONGEST_SHOWN = 60


@dataclass(frozen=True)
class RubricCheck:
    """One command."""

    line: int
    config: CheckConfig


@dataclass(frozen=True)
class RubricCriterion:
    """One thing that the judge has to see."""

    line: int
    config: CriterionConfig


# --- checks -------------------------------------------------------------------------------------------------------

_ITEM = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]|$)")
_TICK_BOX = re.compile(r"\A\[[ xX]\](?:\s+|$)")
"""Whoever ticks an item off in the file says nothing to us."""
_LABEL = re.compile(r"[*_]*([^`:=$|&;<>*_][^`:=$|&;<>]{0,60})(?::[*_]*|[*_]*[ \t]+[\u2013\u2014])[ \t]+(`.*)", re.DOTALL)
"""`**Unit tests**: ` before a command in backticks; in a shell, a space behind the colon never comes before one."""
_REMARK = re.compile(r"[(:,.;\u2013\u2014#]|- |$")
_SHELL_S = re.compile(r"(?:[&|;!({\\]|(?:^|\s)(?:do|then|else|elif|if|while|until|time))$")
"""Behind these, brackets are the shell's own."""
_ONE_COMMAND = "write one command in backticks an item, and set a remark behind it apart with a dash"
_VALUE = r" *(?:[:=](?!:)|(?<= )(?=[0-9])|$)"
"""Behind a colon, or a number behind a space."""
_CHECK_OPTION = re.compile(rf"(?:name|timeout|parallel|report|environment|tolerate[ _-]flaky){_VALUE}", re.IGNORECASE)
_CRITERION_OPTION = re.compile(rf"(?:weight|tests?|checks?){_VALUE}", re.IGNORECASE)
_LIKE_OPTION = re.compile(r"(?:^|[,;])[\w\s-]{1,40}[:=]")
_CHECK_KEYS = (
    "write its name before the command, - **NAME**: `COMMAND`, and give timeout_seconds, parallel, report, environment or "
    "tolerate_flaky in the front matter or in helmsman.toml"
)
_CRITERION_KEYS = "take it out; weight, tests and checks of judge.criteria stand in the front matter or in helmsman.toml"


def read_checks(section: Sequence[Block], lines: Sequence[str]) -> Iterator[RubricCheck | Problem]:
    items = _commands(section)
    for line, said, code in islice(items, MOST_ITEMS):
        yield from _check(line, said, code=code)
    yield from (Problem(line, *_TOO_MANY) for line, *_ in islice(items, 1))
    yield from _strays(section, lines, in_list=True)


def _commands(section: Iterable[Block]) -> Iterator[tuple[int, str, bool]]:
    """Every list item at any depth, and every line of a fence, with its line and whether it stood in a fence."""
    for block in section:
        if block.kind is Kind.ITEM:
            yield block.line, _one_line(block.text.split("\n")), False
        elif block.kind is Kind.FENCE and block.closed:
            words = list[str]()
            for number, line in enumerate([*block.text.removesuffix("\n").split("\n"), ""], block.line + 1):
                words.append(line.strip())
                if line.rstrip().endswith("\\"):
                    continue
                command = _one_line(words).removeprefix("$ ")
                if command and not command.startswith("#"):
                    yield number - len(words) + 1, command, True
                words = []


def _strays(section: Iterable[Block], lines: Sequence[str], *, in_list: bool) -> Iterator[Problem]:
    """Lines that read like one more item, and that Markdown takes for a part of the paragraph above."""
    for block in section:
        for number in range(block.line + 1, block.end + 1) if block.kind in {Kind.ITEM, Kind.TEXT} else ():
            line = lines[number - 1]
            if _ITEM.match(line) or (in_list and block.depth and line[:1].strip()):
                remedy = "begin it with `- `, or indent it, or leave an empty line before it"
                yield Problem(number, "this line is neither an item of its own nor indented like a part of the one above", remedy)
                break


def _check(line: int, said: str, *, code: bool) -> Iterator[RubricCheck | Problem]:
    """The check, or what is wrong with it."""
    said = said if code else _TICK_BOX.sub("", said)
    label = None if code else _LABEL.fullmatch(said)
    said = label[2] if label else said
    quoted = said.startswith("`") and not code
    command, rest, cause = _quoted_command(said) if quoted else _bare_command(said, code=code)
    if cause:
        yield Problem(line, cause, _ONE_COMMAND)
        return
    if any(map(_CHECK_OPTION.match, _parts(rest))):
        yield Problem(line, f"({short_line(rest, _LONGEST_SHOWN)}) is not read: options of a check are keys", _CHECK_KEYS)
    elif rest and (not quoted or _LIKE_OPTION.search(rest)):
        yield Problem(line, f"({short_line(rest, _LONGEST_SHOWN)}) is no part of a command", _ONE_COMMAND)
    else:
        name = {"name": label[1].rstrip("*_ ")} if label else {}
        yield RubricCheck(line, CheckConfig.model_validate({**name, "command": command}))


def _quoted_command(said: str) -> tuple[str, str, str]:
    """Of a command in backticks: itself, what stands in brackets behind it, or why it is none."""
    ticks = len(said) - len(said.lstrip("`"))
    end = next((run.start() for run in re.finditer("`+", said[ticks:]) if len(run[0]) == ticks), None)
    if end is None:
        return "", "", "a backtick opens a command and none closes it"
    command, rest = said[ticks : ticks + end].strip(), said[ticks + end + ticks :].strip()
    if not command:
        return "", "", "this item has no command"
    remark, brackets = _split_brackets(f" {rest}")
    if "`" in remark or not _REMARK.match(rest):
        return "", "", f"more than a remark stands behind the command: {short_line(rest, _LONGEST_SHOWN)}"
    return command, brackets, ""


def _bare_command(said: str, *, code: bool) -> tuple[str, str, str]:
    """Of a command without backticks, likewise. In a shell, brackets that follow a word would be an error of syntax."""
    if not said:
        return "", "", "this item has no command"
    if said.endswith(":") and not code:
        return "", "", f"no command follows {short_line(said, _LONGEST_SHOWN)}"
    command, brackets = _split_brackets(said)
    if not command or _SHELL_S.search(command[-_LONGEST_KEY:]) or said.endswith("\\)"):
        return said, "", ""
    return (command, brackets, "") if brackets.strip() else (said, "", "")


def _parts(brackets: str) -> list[str]:
    return [part.strip() for part in re.split("[,;]", brackets) if part.strip()]


def _split_brackets(text: str) -> tuple[str, str]:
    """Take brackets at the end off, with what is in them; empty where there are none that a space sets apart."""
    ended = text.rstrip()
    ended = ended[:-1] if ended.endswith((").", "):")) else ended
    depth = 0
    for place in range(len(ended) - 1, max(len(ended) - _LONGEST_BRACKETS - 2, 0) - 1, -1) if ended.endswith(")") else ():
        depth += {")": 1, "(": -1}.get(ended[place], 0)
        if depth == 0:
            apart = not place or ended[place - 1].isspace()
            return (ended[:place].rstrip(), ended[place + 1 : -1]) if apart else (text, "")
    return text, ""


def _one_line(words: Iterable[str]) -> str:
    return " ".join(word.strip().removesuffix("\\").strip() for word in words).strip()


# --- criteria -----------------------------------------------------------------------------------------------------

_ID = re.compile(r"\[([^\]\n]{1,80})\](?:[:\s]\s*|$)")
_VOTES = re.compile(r"(?:votes? *[:=]? *)?([0-9]{1,3})(?: *(?:out of|of|/) *([0-9]{1,3}))?(?: *votes?)?", re.IGNORECASE)
"""`2 of 3 votes`, `2 of 3`, `votes: 3`."""
_WORDS = {
    "id": ("an id has letters, digits and . _ - and at most 60 of them", "write it like [api-errors]"),
    "text": ("a criterion has at most 4000 characters", "cut it into several"),
}


def items(section: Iterable[Block], lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The items of the upper level, each with all that belongs to it, and their lines. Code right below one belongs to it."""
    line, end, words = 0, 0, list[str]()
    for block in section:
        said = " ".join(part.strip() for part in block.text.split("\n"))
        below = block.kind is Kind.FENCE and block.line == end + 1
        begins = block.kind is Kind.ITEM and block.depth == 1
        if words and (begins or not (block.depth or below)):
            yield line, "\n".join(words)
            words = []
        if begins:
            line, words = block.line, [said]
        elif words and block.kind is Kind.FENCE:
            words.append("\n".join(lines[block.line - 1 : block.end]))
        elif words and block.kind is not Kind.COMMENT:
            words.append(f"- {said}" if block.kind is Kind.ITEM else said)
        end = block.end
    if words:
        yield line, "\n".join(words)


def read_criteria(section: Sequence[Block], lines: Sequence[str]) -> Iterator[RubricCriterion | Problem]:
    every = items(section, lines)
    for number, (line, said) in enumerate(islice(every, MOST_ITEMS), 1):
        yield from _criterion(line, said, number)
    yield from (Problem(line, *_TOO_MANY) for line, _ in islice(every, 1))
    yield from _strays(section, lines, in_list=False)


def _criterion(line: int, said: str, number: int) -> Iterator[RubricCriterion | Problem]:
    """The criterion, or what is wrong with it. Without an id it is called c1, c2 and so on by its number."""
    rest = _TICK_BOX.sub("", said)
    named = _ID.match(rest)
    name, rest = (named[1].strip(), rest[named.end() :]) if named else (f"c{number}", rest)
    sentence, parts = _options(rest)
    problems = list(_wrong_options(parts))
    yield from (Problem(line, *problem) for problem in problems)
    if not sentence:
        yield Problem(line, f"criterion {name} says nothing", "write a sentence that can be answered with yes or no")
    elif not problems:
        try:
            needed, votes = next(filter(None, map(_votes, parts)), (1, 1))
            said_of = {"needed": needed, "votes": votes, "id": name, "text": sentence}
            yield RubricCriterion(line, CriterionConfig.model_validate(said_of))
        except ValidationError as error:
            yield from (Problem(line, *_WORDS[str(one["loc"][0])]) for one in error.errors(include_url=False))


def _options(said: str) -> tuple[str, list[str]]:
    """The sentence, and what ends it or its first line in brackets. Brackets without an option belong to the sentence."""
    first, newline, more = said.partition("\n")
    for whole, rest in ((said, ""), (first, newline + more)):
        sentence, brackets = _split_brackets(whole)
        parts = _parts(brackets)
        if any(_votes(part) or _CRITERION_OPTION.match(part) for part in parts):
            return (sentence + rest).strip(), parts
    return said.strip(), []


def _votes(part: str) -> tuple[int, int] | None:
    """How many votes are needed of how many, as in `2 of 3 votes`; of a number alone, all."""
    found = _VOTES.fullmatch(part)
    if not found or not (found[2] or "vote" in part.lower()):
        return None
    return int(found[1]), int(found[2] or found[1])


def _wrong_options(parts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Cause and remedy of each option that cannot be used."""
    given = False
    for part in parts:
        said, votes = f"({short_line(part, _LONGEST_SHOWN)})", _votes(part)
        if votes is None:
            yield f"{said} is not read here: of options only votes stand in brackets", _CRITERION_KEYS
        elif not 1 <= votes[0] <= votes[1] <= MOST_VOTES:
            yield f"{said}: expected K of N votes, K from 1 to N, N at most {MOST_VOTES}", "correct votes"
        elif given:
            yield f"{said}: votes are given twice", "keep one of the two"
        given = given or votes is not None
