"""One item of a rubric's list: a command with its options, or a criterion with its own."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from helmsman.config import CheckConfig, CriterionConfig
from helmsman.verify.diff import shown
from helmsman.verify.rubric.items import Item
from helmsman.verify.rubric.options import (
    LONGEST_SHOWN,
    VOTES,
    Option,
    positive,
    read_options,
    seconds,
    speaks,
    split_brackets,
    text,
    truth,
    votes,
)
from helmsman.verify.rubric.pieces import Flaw


@dataclass(frozen=True)
class RubricCheck:
    """One command."""

    line: int
    config: CheckConfig


@dataclass(frozen=True)
class RubricCriterion:
    """One thing that the judge has to see, and what else proves it."""

    line: int
    config: CriterionConfig
    checks: tuple[str, ...] = ()
    """Names of checks that prove it, beside the tests that its configuration names."""


CHECK_OPTIONS: Mapping[str, Option] = {
    "name": Option("name", text),
    "timeout": Option("timeout_seconds", seconds),
    "parallel": Option("parallel", truth, flag=True),
    "report": Option("report", text),
    "environment": Option("environment", text, many=True),
    "tolerate flaky": Option("tolerate_flaky", truth, flag=True),
}
CRITERION_OPTIONS: Mapping[str, Option] = {
    "weight": Option("weight", positive),
    VOTES: Option("votes", votes),
    "tests": Option("tests", text, many=True),
    "test": Option("tests", text, many=True),
    "checks": Option("checks", text, many=True),
    "check": Option("checks", text, many=True),
}
_TICK_BOX = re.compile(r"\[[ xX]\](?:\s+|$)")
_ONE_COMMAND = "write one command in backticks an item, and set a remark behind it apart with a dash"


def _without_tick_box(said: str) -> str:
    """Whoever ticks an item off in the file says nothing to us."""
    box = _TICK_BOX.match(said)
    return said[box.end() :] if box else said


# --- checks -------------------------------------------------------------------------------------------------------

_LABEL = re.compile(r"[*_]*([^`:=$|&;<>*_][^`:=$|&;<>]{0,60})(?::[*_]*|[*_]*[ \t]+[\u2013\u2014])[ \t]+(`.*)", re.DOTALL)
"""`**Unit tests**: ` before a command in backticks; in a shell, a space behind the colon never comes before one."""
_REMARK = re.compile(r"[(:,.;\u2013\u2014#]|- |$")
_OPERATORS = ("&&", "||", ";", "|", "&", "!", "(", "{", "\\")
_KEYWORDS = frozenset({"do", "then", "else", "elif", "if", "while", "until", "time"})
"""Behind these, brackets are the shell's own."""


def read_check(item: Item) -> Iterator[RubricCheck | Flaw]:
    """The check, or what is wrong with it."""
    whole = item.text if item.code else _without_tick_box(item.text)
    label = None if item.code else _LABEL.fullmatch(whole)
    said = label[2] if label else whole
    in_backticks = said.startswith("`") and not item.code
    command, brackets, cause = _span(said) if in_backticks else _bare(said, code=item.code)
    if cause:
        yield Flaw(item.line, cause, _ONE_COMMAND)
        return
    values, mistakes = read_options(brackets, CHECK_OPTIONS)
    yield from (Flaw(item.line, mistake.cause, mistake.remedy) for mistake in mistakes)
    name = {"name": label[1].rstrip("*_ ")} if label else {}
    yield from _validated_check(item.line, {**name, **values, "command": command})


def _span(said: str) -> tuple[str, str, str]:
    """Of a command in backticks: itself, its options, or why it is none."""
    ticks = len(said) - len(said.lstrip("`"))
    end = next((run.start() for run in re.finditer("`+", said[ticks:]) if len(run[0]) == ticks), None)
    if end is None:
        return "", "", "a backtick opens a command and none closes it"
    command, rest = said[ticks : ticks + end].strip(), said[ticks + end + ticks :].strip()
    if not command:
        return "", "", "this item has no command"
    remark, brackets = split_brackets(f" {rest}")
    if "`" in remark or not _REMARK.match(rest):
        return "", "", f"more than a remark stands behind the command: {shown(rest, LONGEST_SHOWN)}"
    return command, brackets or "", ""


def _bare(said: str, *, code: bool) -> tuple[str, str, str]:
    """Of a command without backticks, likewise. In a shell, brackets that follow a word would be an error of syntax."""
    command, brackets = split_brackets(said)
    if (
        brackets is None
        or not command
        or command.endswith(_OPERATORS)
        or command.split()[-1] in _KEYWORDS
        or said.endswith("\\)")
    ):
        command, brackets = said, ""
    if not command:
        return "", "", "this item has no command"
    if command.endswith(":") and not code:
        return "", "", f"no command follows {shown(command, LONGEST_SHOWN)}"
    return command, brackets, ""


def _validated_check(line: int, values: dict[str, Any]) -> Iterator[RubricCheck | Flaw]:
    try:
        yield RubricCheck(line, CheckConfig.model_validate(values))
    except ValidationError as error:
        yield from _complaints(line, error)


# --- criteria -----------------------------------------------------------------------------------------------------

_ID = re.compile(r"\[([^\]\n]{1,80})\](?:[:\s]\s*|$)")


def read_criterion(item: Item, number: int) -> Iterator[RubricCriterion | Flaw]:
    """The criterion, or what is wrong with it. Without an id it is called c1, c2 and so on by its number."""
    rest = _without_tick_box(item.text)
    named = _ID.match(rest)
    sentence, brackets = _options(rest[named.end() :] if named else rest)
    values, mistakes = read_options(brackets, CRITERION_OPTIONS)
    yield from (Flaw(item.line, mistake.cause, mistake.remedy) for mistake in mistakes)
    needed = dict(zip(("needed", "votes"), values.pop("votes", ()), strict=False))
    checks = values.pop("checks", ())
    name = named[1].strip() if named else f"c{number}"
    if not sentence:
        yield Flaw(item.line, f"criterion {name} says nothing", "write a sentence that can be answered with yes or no")
        return
    try:
        config = CriterionConfig.model_validate({**values, **needed, "id": name, "text": sentence})
        yield RubricCriterion(item.line, config, checks)
    except ValidationError as error:
        yield from _complaints(item.line, error)


def _options(said: str) -> tuple[str, str]:
    """The sentence and its options, which end the item or its first paragraph. Other brackets belong to the sentence."""
    first, newline, more = said.partition("\n")
    for part, rest in ((said, ""), (first, newline + more)):
        sentence, brackets = split_brackets(part)
        if brackets is not None and speaks(brackets, CRITERION_OPTIONS):
            return (sentence + rest).strip(), brackets
    return said.strip(), ""


# --- what pydantic says -------------------------------------------------------------------------------------------

_WORDS = {
    "id": ("an id has letters, digits and . _ - and at most 60 of them", "write it like [api-errors]"),
    "text": ("a criterion has at most 4000 characters", "cut it into several"),
    "timeout_seconds": ("a timeout is above 0 and at most 86400 seconds", "write it like (timeout: 120) or (timeout: 2 min)"),
}


def _complaints(line: int, error: ValidationError) -> Iterator[Flaw]:
    for detail in error.errors(include_url=False, include_input=False):
        place = ".".join(map(str, detail["loc"]))
        cause, remedy = _WORDS.get(place, (f"{place}: {detail['msg']}", "correct it"))
        yield Flaw(line, cause, remedy)
