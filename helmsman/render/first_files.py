"""The first helmsman.toml and RUBRIC.md of a repository, as text. What is written here is read back as the same values."""

from collections.abc import Sequence

from helmsman.config import CheckConfig
from helmsman.parsers.rubric import read_rubric
from helmsman.plain import one_line
from helmsman.prompts import render
from helmsman.toml_of import toml_line, toml_string

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

    Of checks and of what is left out the reason stands beside it. `setup_needed`: a check failed without it.
    """

    def fields(check: CheckConfig) -> list[str]:
        name = [f"name = {toml_line(check.name)}"] if check.name else []
        timeout = [f"timeout_seconds = {check.timeout_seconds:g}"] if check.timeout_seconds != DEFAULT_TIMEOUT else []
        return [*name, f"command = {toml_line(check.command)}", *timeout]

    written = [(fields(check), why) for check, why in checks]
    said, ready = toml_string(goal) if goal else "", [toml_line(command) for command in setup]
    text = render("init_toml", goal=said, checks=written, left_out=left_out, setup=ready, setup_needed=setup_needed)
    return f"{text}\n"


def rubric_md(criteria: Sequence[str]) -> str:
    """The text of RUBRIC.md. Without criteria it says how to write them, and judges nothing."""
    lines = [f"- [c{number}] {one_line(text)}" for number, text in enumerate(criteria, 1)]
    # Brackets at the end that are meant as options stay options. Those that would be wrong ones belong to the sentence.
    wrong = [line.endswith((")", ").", "):")) and read_rubric(f"## Judge criteria\n{line}").problems for line in lines]
    written = [f"{line} ." if broken else line for line, broken in zip(lines, wrong, strict=True)]
    text = render("init_rubric", criteria=written)
    return f"{text}\n"
