"""The first helmsman.toml and RUBRIC.md of a repository, as text. What is written here is read back as the same values."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from helmsman.config import CheckConfig
from helmsman.parsers.markdown_text import Block, Kind, blocks, unix_lines
from helmsman.parsers.problem import Problem
from helmsman.parsers.rubric import read_rubric
from helmsman.parsers.rubric_items import items
from helmsman.plain import clean, one_line
from helmsman.toml_of import toml_line, toml_string

DEFAULT_TIMEOUT: float = CheckConfig.model_fields["timeout_seconds"].default


@dataclass(frozen=True)
class FirstCheck:
    """A check, and why it is one."""

    config: CheckConfig
    why: str


@dataclass(frozen=True)
class Aside:
    """A command that was found and is no check, and why."""

    command: str
    why: str


# --- helmsman.toml ------------------------------------------------------------------------------------------------

_HEAD = """\
# What `helmsman run` does in this repository. Written by `helmsman init`; yours from now on.
# `helmsman config` shows every key, its meaning and where its value comes from."""


@dataclass(frozen=True)
class FirstSetUp:
    """What installs the packages that the lock files name."""

    commands: tuple[str, ...]
    needed: bool
    """Whether a check failed without it."""


def helmsman_toml(goal: str, checks: Sequence[FirstCheck], asides: Sequence[Aside] = (), setup: FirstSetUp | None = None) -> str:
    """The text of helmsman.toml. An empty goal is left to the command line."""
    said = f"goal = {toml_string(goal)}" if goal else '# goal = "…"   # none yet: helmsman run GOAL'
    lines = [_HEAD, "", "# What shall be true at the end.", said, "", *_check_lines(checks, asides)]
    if setup and setup.commands:
        off = "" if setup.needed else "# "
        lines += ["", "# Makes a fresh checkout ready: checks run in one, and it has nothing that git ignores."]
        lines += [f"{off}[workspace]", f"{off}setup = [{', '.join(map(toml_line, setup.commands))}]"]
    return "\n".join([*lines, ""])


def _check_lines(checks: Sequence[FirstCheck], asides: Sequence[Aside]) -> Iterator[str]:
    yield "# The commands that prove it. Each is run by `sh` in the root of a fresh worktree and has to exit with 0."
    if checks:
        yield "checks = ["
        for check in checks:
            yield f"    # {clean(check.why)}"
            yield f"    {_check_table(check.config)},"
        yield "]"
    else:
        yield '# checks = ["…"]   # none yet: helmsman run --check COMMAND'
    if asides:
        yield "# Found as well and left out:"
        yield from (f"#   {clean(aside.command)}   ({clean(aside.why)})" for aside in asides)


def _check_table(check: CheckConfig) -> str:
    parts = [
        f"name = {toml_line(check.name)}" if check.name else "",
        f"command = {toml_line(check.command)}",
        f"timeout_seconds = {check.timeout_seconds:g}" if check.timeout_seconds != DEFAULT_TIMEOUT else "",
    ]
    return f"{{ {', '.join(filter(None, parts))} }}"


# --- RUBRIC.md ----------------------------------------------------------------------------------------------------

_FRONT = """\
---
title: What the work in this repository is judged by
---
"""
_WITH = """\
<!-- An independent model that never saw the agent's reasoning answers each criterion with yes or no, once the checks pass.
     An item may end with the votes that it needs: (2 of 3 votes). The commands stand in helmsman.toml.
     `helmsman rubric check` shows what is understood. -->
"""
_WITHOUT = """\
<!-- Nothing is judged yet: the commands in helmsman.toml are all that has to pass. To have an independent model look as well,
     write what it has to see behind this comment, each a sentence that can be answered with yes or no:

     ## Judge criteria

     - [api-errors] Every endpoint answers a wrong request with a JSON body that names the field. (2 of 3 votes)

     `helmsman rubric check` shows what is understood. -->
"""
_END_OF_SENTENCE = " ."


def rubric_md(criteria: Sequence[str]) -> str:
    """The text of RUBRIC.md. Without criteria it says how to write them, and judges nothing."""
    if not criteria:
        return f"{_FRONT}\n{_WITHOUT}"
    items = "\n".join(_criterion_line(text, number) for number, text in enumerate(criteria, 1))
    return f"{_FRONT}\n{_WITH}\n## Judge criteria\n\n{items}\n"


def criterion_problems(text: str) -> tuple[Problem, ...]:
    """What is wrong with a criterion as it was written, such as votes that cannot be."""
    return read_rubric(f"## Judge criteria\n- [c1] {one_line(text)}").problems


def _criterion_line(text: str, number: int) -> str:
    """Brackets at the end that are meant as options stay options. Those that would be wrong ones belong to the sentence."""
    line = f"- [c{number}] {one_line(text)}"
    return line + _END_OF_SENTENCE if line.endswith((")", ").", "):")) and criterion_problems(text) else line


# --- acceptance criteria in a goal --------------------------------------------------------------------------------

_LABEL = re.compile(r"\W*(?:acceptance criteria|criteria(?: of acceptance)?|definition of done|done when)\W*", re.IGNORECASE)


def criteria_of(goal: str) -> tuple[str, ...]:
    """The list below a heading or a line such as `Acceptance criteria:`; none where there is no such list."""
    text = unix_lines(goal)
    every = blocks(text)
    start = next((place for place, block in enumerate(every, 1) if _labels(block)), None)
    if start is None:
        return ()
    listed = takewhile(lambda block: block.depth or block.kind is Kind.COMMENT, every[start:])
    return tuple(said for _, words in items(listed, text.split("\n")) if (said := one_line(words)))


def _labels(block: Block) -> bool:
    last = block.text.rpartition("\n")[2]
    return block.kind in {Kind.HEADING, Kind.TEXT} and not block.depth and _LABEL.fullmatch(last) is not None
