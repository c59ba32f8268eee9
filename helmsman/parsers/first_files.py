"""The first helmsman.toml and RUBRIC.md of a repository, as text. What is written here is read back as the same values."""

import re
from collections.abc import Sequence
from itertools import takewhile

from helmsman.config import CheckConfig
from helmsman.parsers.markdown_text import blocks, unix_lines
from helmsman.parsers.rubric import read_rubric
from helmsman.parsers.rubric_items import items
from helmsman.plain import clean, one_line
from helmsman.toml_of import toml_line, toml_string

DEFAULT_TIMEOUT: float = CheckConfig.model_fields["timeout_seconds"].default
Reasoned = Sequence[tuple[str, str]]  # commands that were found and are no checks, and why


# --- helmsman.toml ------------------------------------------------------------------------------------------------

_HEAD = """\
# What `helmsman run` does in this repository. Written by `helmsman init`; yours from now on.
# `helmsman config` shows every key, its meaning and where its value comes from."""


def helmsman_toml(
    goal: str,
    checks: Sequence[tuple[CheckConfig, str]],
    left_out: Reasoned = (),
    setup: Sequence[str] = (),
    *,
    setup_needed: bool = False,
) -> str:
    """The text of helmsman.toml. An empty goal is left to the command line.

    Of checks and of what is left out the reason stands beside it. `setup_needed`: a check failed without it.
    """
    said = f"goal = {toml_string(goal)}" if goal else '# goal = "…"   # none yet: helmsman run GOAL'
    lines = [_HEAD, "", "# What shall be true at the end.", said, ""]
    lines += ["# The commands that prove it. Each is run by `sh` in the root of a fresh worktree and has to exit with 0."]
    lines += ["checks = [" if checks else '# checks = ["…"]   # none yet: helmsman run --check COMMAND']
    for check, why in checks:
        parts = [
            f"name = {toml_line(check.name)}" if check.name else "",
            f"command = {toml_line(check.command)}",
            f"timeout_seconds = {check.timeout_seconds:g}" if check.timeout_seconds != DEFAULT_TIMEOUT else "",
        ]
        lines += [f"    # {clean(why)}", f"    {{ {', '.join(filter(None, parts))} }},"]
    lines += ["]"] if checks else []
    lines += ["# Found as well and left out:"] if left_out else []
    lines += [f"#   {clean(command)}   ({clean(why)})" for command, why in left_out]
    if setup:
        off = "" if setup_needed else "# "
        lines += ["", "# Makes a fresh checkout ready: checks run in one, and it has nothing that git ignores."]
        lines += [f"{off}[workspace]", f"{off}setup = [{', '.join(map(toml_line, setup))}]"]
    return "\n".join([*lines, ""])


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


def rubric_md(criteria: Sequence[str]) -> str:
    """The text of RUBRIC.md. Without criteria it says how to write them, and judges nothing."""
    if not criteria:
        return f"{_FRONT}\n{_WITHOUT}"
    written = list[str]()
    for number, text in enumerate(criteria, 1):
        line = f"- [c{number}] {one_line(text)}"
        # Brackets at the end that are meant as options stay options. Those that would be wrong ones belong to the sentence.
        wrong = line.endswith((")", ").", "):")) and read_rubric(f"## Judge criteria\n{line}").problems
        written.append(f"{line} ." if wrong else line)
    return "\n".join([_FRONT, f"{_WITH}\n## Judge criteria\n", *written, ""])


# --- acceptance criteria in a goal --------------------------------------------------------------------------------

_LABEL = re.compile(r"\W*(?:acceptance criteria|criteria(?: of acceptance)?|definition of done|done when)\W*", re.IGNORECASE)


def criteria_of(goal: str) -> tuple[str, ...]:
    """The list below a heading or a line such as `Acceptance criteria:`; none where there is no such list."""
    text = unix_lines(goal)
    every = blocks(text)
    for place, block in enumerate(every, 1):
        if block.kind in {"heading", "text"} and not block.depth and _LABEL.fullmatch(block.text.rpartition("\n")[2]):
            listed = takewhile(lambda block: block.depth or block.kind == "comment", every[place:])
            return tuple(said for _, words in items(listed, text.split("\n")) if (said := one_line(words)))
    return ()
