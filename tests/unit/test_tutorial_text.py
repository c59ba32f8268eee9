"""The tutorial as a text: what of it is typed, what is shown, and what would not be believed."""

import re
import shlex
from typing import Any

import pytest
import typer

from deployments.cli import app
from tests.fakes.terminal import screen
from tests.fakes.tutorial import TUTORIAL
from tests.fakes.tutorial_text import Step, agree, corrected, steps

TEXT = TUTORIAL.read_text(encoding="utf-8")
SMALL = "Type:\n\n```sh\necho one\n```\n\n```text\none\n```\n\nand\n\n```sh\ntrue\n```\n"


def shown(step: Step) -> str | None:
    return step.shown.text if step.shown else None


def test_a_block_is_typed_or_was_printed_by_the_one_before() -> None:
    assert [(step.command, shown(step)) for step in steps(SMALL)] == [("echo one\n", "one\n"), ("true\n", None)]


@pytest.mark.parametrize("text", ["```text\none\n```\n", SMALL.replace("\nand\n", "```text\ntwo\n```\n")])
def test_a_block_that_nothing_could_have_printed_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="nothing is typed"):
        steps(text)


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


def test_what_is_said_to_print_nothing_prints_nothing() -> None:
    _, silent = steps(SMALL)
    assert (silent.is_true(""), silent.is_true("a warning\n")) == (True, False)


@pytest.mark.parametrize(
    ("printed", "told"),
    [("a\nb\nc\nd\n", True), ("a\nd\n", True), ("a\nb\n", False), ("b\nd\n", False), ("a\nb\nd\ne\n", False), ("a\nbd\n", False)],
)
def test_any_lines_may_be_left_out_and_those_around_them_stay(printed: str, told: bool) -> None:
    assert agree("a\n…\nd\n", printed) == told


def test_hashes_durations_dates_money_and_columns_may_differ_and_nothing_else() -> None:
    one = "#1  took 1.2 s, $0.10, 960 tokens, at 72f55d7 on 2026-11-23   yes"
    other = "#1  took 0:01:05, $3, 1,960 tokens, at 1c51048aa1c5 on 2027-01-02 yes"
    assert agree(one, other.replace(" yes", "  yes"))
    assert not agree(one, one.replace("#1", "#2"))
    assert not agree("    indented", "  indented")


def test_what_is_no_longer_printed_is_replaced_and_all_else_stays() -> None:
    assert corrected(SMALL, lambda step: {"echo one\n": "two \n"}.get(step.command, "")) == SMALL.replace("\none\n", "\ntwo\n")
    assert corrected(SMALL, lambda step: shown(step) or "") == SMALL


def test_answers_stand_behind_the_prompts() -> None:
    (step,) = steps("```sh\nx\n```\n```text\n1. Which?\n> a tab\nStart? [Y/n] y\n```\n")
    assert step.answers == ["a tab", "y"]


def test_a_screen_shows_what_was_not_erased() -> None:
    assert screen("one\r\n● working\r\n  detail\r\x1b[2K\x1b[1A\x1b[2Ktwo\x1b[1m!\x1b[0m\r\nthree") == ["one", "two!", "three"]


@pytest.mark.parametrize("name", re.findall(r"\]\(([^)#]+)", TEXT))
def test_a_link_leads_somewhere(name: str) -> None:
    assert (TUTORIAL.parent / name).is_file()


@pytest.mark.parametrize("command", dict.fromkeys(re.findall(r"`helmsman ([^`]+)`", TEXT)))
def test_a_command_in_passing_has_the_arguments_that_it_is_shown_with(command: str) -> None:
    parser: Any = typer.main.get_command(app)
    words = shlex.split(command)
    while hasattr(parser, "commands"):
        parser = parser.commands[words.pop(0)]
    assert parser.make_context("helmsman", words).command is parser


def test_a_command_that_is_not_ours_would_be_noticed() -> None:
    with pytest.raises(Exception, match="--no-such-option"):
        test_a_command_in_passing_has_the_arguments_that_it_is_shown_with("run --no-such-option")
