"""The goal on standard input, where nothing has to be quoted."""

import io
import sys
from pathlib import Path

import pytest

from deployments.settings import goal_settings
from deployments.start_directory import STANDARD_STREAM
from helmsman.errors import OperatorError

GOAL = 'It\'s $(done) when `x` holds:\n\n"yes"\n'


def piped(goal: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(goal)))


@pytest.mark.parametrize("piped_as", ["utf-8", "utf-8-sig"])
def test_a_goal_is_read_from_standard_input_as_it_stands_there(piped_as: str, monkeypatch: pytest.MonkeyPatch) -> None:
    piped(GOAL.replace("\n", "\r\n").encode(piped_as), monkeypatch)
    assert goal_settings(None, STANDARD_STREAM) == {"goal": GOAL.strip()}


@pytest.mark.parametrize(
    ("goal", "found"), [(b" \n", "nothing"), (b"\xff", "no UTF-8"), (b"x" * (2**20 + 1), "more than 1048576")]
)
def test_standard_input_that_is_no_goal_is_refused_with_what_it_is(
    goal: bytes, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(goal, monkeypatch)
    with pytest.raises(OperatorError, match="standard input") as caught:
        goal_settings(None, STANDARD_STREAM)
    assert caught.value.found.startswith(found)


def test_a_goal_beside_standard_input_is_left_to_be_refused_as_one_too_many() -> None:
    assert goal_settings("another", STANDARD_STREAM) == {"goal": "another", "goal_file": "-"}
    assert goal_settings("a goal", None) == {"goal": "a goal"}
    assert goal_settings(None, Path("GOAL.md")) == {"goal_file": "GOAL.md"}
    assert goal_settings(None, None) == {}
