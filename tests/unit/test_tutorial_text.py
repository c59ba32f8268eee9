"""The tutorial as a text: what of it is typed, what is shown, and what would not be believed."""

import re
import shlex
from typing import Any

import pytest
import typer

from deployments.cli import app
from tests.fakes.tutorial import PAGES, Step, agree

TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def shown(step: Step) -> str | None:
    return step.shown.text if step.shown else None


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("one\ntwo\n", True),
        ("\none \ntwo\n\n", True),
        ("one\n", False),
        ("two\none\n", False),
        ("one\ntwo\nthree\n", False),
        ("one\nTwo\n", False),
        ("", False),
    ],
)
def test_what_is_shown_is_the_whole_of_what_is_printed(printed: str, told: bool) -> None:
    assert agree("one\ntwo\n", printed) == told


def test_hashes_durations_dates_money_and_columns_may_differ_and_nothing_else() -> None:
    one = "#1  took 1.2 s, $0.10, 960 tokens, at 72f55d7 on 2026-11-23   yes"
    other = "#1  took 0:01:05, $3, 1,960 tokens, at 1c51048aa1c5 on 2027-01-02 yes"
    assert agree(one, other.replace(" yes", "  yes"))
    assert not agree(one, one.replace("#1", "#2"))
    assert not agree("    indented", "  indented")


def test_a_link_leads_somewhere() -> None:
    for name in re.findall(r"\]\(([^)#]+)", TEXT):
        assert (PAGES[0].parent / name).is_file()


def test_a_command_in_passing_has_the_arguments_that_it_is_shown_with() -> None:
    for command in dict.fromkeys(re.findall(r"`helmsman ([^`]+)`", TEXT)):
        parser: Any = typer.main.get_command(app)
        words = shlex.split(command)
        while hasattr(parser, "commands"):
            parser = parser.commands[words.pop(0)]
        assert parser.make_context("helmsman", words).command is parser
