"""Flags that people bring along from other loops: options of ours, or answered with what does the same."""

from pathlib import Path

import pytest

from deployments.cli import BORROWED
from tests.fakes.command_line import looking, make_repository

pytestmark = pytest.mark.feature("H4")


@pytest.mark.parametrize("flag", BORROWED)
def test_a_flag_of_another_loop_is_answered_with_what_does_the_same_here(flag: str, tmp_path: Path) -> None:
    helmsman = looking(tmp_path)
    make_repository(helmsman.repository)
    told = helmsman.run("run", "the goal", "--repo", helmsman.repository, f"{flag}=3")
    assert (told.exit_code, told.output) == (2, "")
    assert f"{flag} is not an option of helmsman" in told.errors
    assert BORROWED[flag] in told.errors


@pytest.mark.parametrize(
    ("option", "value", "key"),
    [
        ("--max-calls", "0", "limits.calls_per_hour"),
        ("--timeout", "0", "claude.timeout_minutes"),
        ("--milestone-every", "0", "gates.milestone_every"),
        ("--completion-promise", "x", "completion.promise"),
    ],
)
def test_the_common_ones_are_options_that_set_a_key(option: str, value: str, key: str, tmp_path: Path) -> None:
    helmsman = looking(tmp_path)
    make_repository(helmsman.repository)
    told = helmsman.run("run", "the goal", "--check", "true", "--repo", helmsman.repository, "--yes", option, value)
    assert told.exit_code == 2
    assert key in told.errors
    assert "command line" in told.errors
