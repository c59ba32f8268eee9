"""Text of the first helmsman.toml and RUBRIC.md of a repository. Parsing it returns the same values."""

from collections.abc import Sequence

from helmsman.config import CheckConfig
from helmsman.parsers.rubric import read_rubric
from helmsman.plain import one_line
from helmsman.prompts import render
from helmsman.toml_text import toml_line, toml_string

DEFAULT_TIMEOUT: float = CheckConfig.model_fields["timeout_seconds"].default


def helmsman_toml(
    goal: str,
    checks: Sequence[tuple[CheckConfig, str]],
    left_out: Sequence[tuple[str, str]] = (),
    setup: Sequence[str] = (),
    *,
    setup_needed: bool = False,
) -> str:
    """The text of helmsman.toml. An empty goal is left to the command line.

    Checks and omitted commands have the reason next to them. `setup_needed`: a check failed without setup.
    """

    def fields(check: CheckConfig) -> list[str]:
        name = [f"name = {toml_line(check.name)}"] if check.name else []
        timeout = [f"timeout_seconds = {check.timeout_seconds:g}"] if check.timeout_seconds != DEFAULT_TIMEOUT else []
        return [*name, f"command = {toml_line(check.command)}", *timeout]

    check_rows = [(fields(check), why) for check, why in checks]
    goal_string, setup_lines = toml_string(goal) if goal else "", [toml_line(command) for command in setup]
    text = render(
        "init_toml", goal=goal_string, checks=check_rows, left_out=left_out, setup=setup_lines, setup_needed=setup_needed
    )
    return f"{text}\n"


def rubric_md(criteria: Sequence[str]) -> str:
    """The text of RUBRIC.md. Without criteria it only explains how to write them."""
    lines = [f"- [c{number}] {one_line(text)}" for number, text in enumerate(criteria, 1)]
    # what would be read as options or as a tick alone is made part of the sentence
    criteria_lines = [f"{line} ." if read_rubric(f"## Judge criteria\n{line}").problems else line for line in lines]
    text = render("init_rubric", criteria=criteria_lines)
    return f"{text}\n"
