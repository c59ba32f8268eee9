"""Flags that people bring along from other loops: options of ours, or answered with what does the same."""

import pytest

from deployments.cli import BORROWED
from tests.fakes.command_line import CommandLine

pytestmark = pytest.mark.feature("H4")


def test_a_flag_of_another_loop_is_answered_with_what_does_the_same_here(helmsman: CommandLine) -> None:
    for flag, ours in BORROWED.items():
        told = helmsman.run("run", "the goal", "--repo", helmsman.repository, f"{flag}=3")
        assert (told.exit_code, told.output) == (2, "")
        assert f"{flag} is not an option of helmsman" in told.errors
        assert ours in told.errors


def test_the_common_ones_are_options_that_set_a_key(helmsman: CommandLine) -> None:
    wrong = ("--max-calls", "0", "--timeout", "0", "--milestone-every", "0", "--completion-promise", "x")
    told = helmsman.run("run", "the goal", "--check", "true", "--repo", helmsman.repository, "--yes", *wrong)
    assert told.exit_code == 2
    for key in ("limits.calls_per_hour", "claude.timeout_minutes", "gates.milestone_every", "completion.promise"):
        assert f"{key} (command line)" in told.errors
