"""Errors about a request, in the words of the form that it was filled in with."""

from typing import Any

import pytest

from helmsman.config.layers import COMMAND_LINE, Layer, resolve
from helmsman.errors import OperatorError
from helmsman.records.request import LoopRequest
from helmsman.render.gate import in_form_words

pytestmark = pytest.mark.feature("D1")


def refused(**fields: Any) -> list[str]:
    """What a form comes to that cannot be configured, line by line."""
    request = LoopRequest.model_construct(**{**LoopRequest(repository="/r", goal="g").model_dump(), **fields})
    with pytest.raises(OperatorError) as error:
        resolve([Layer(COMMAND_LINE, request.said)])
    return [line.strip() for line in in_form_words(str(error.value)).splitlines()[1:]]


def test_a_field_is_called_what_the_form_calls_it_and_a_key_under_settings_says_so() -> None:
    assert refused(max_iterations=-1) == ["Max iterations: expected at least 1, found -1"]
    assert refused(checks=("",))[0].startswith("Checks[0].command: expected ")
    assert refused(settings={"limits": {"tokens": 0}}) == ["Settings, limits.tokens: expected at least 1, found 0"]
    assert refused(settings={"gaol": "x"}) == ["Settings, gaol: unknown key; did you mean goal?"]


def test_what_is_missing_is_to_be_filled_in() -> None:
    assert refused(goal="") == ["Goal: missing; fill it in, or give it as goal or goal_file in helmsman.toml"]


def test_fields_of_the_form_are_configuration_and_win_over_settings() -> None:
    more = {"preset": "coverage", "model": "opus", "settings": {"limits": {"tokens": 4, "iterations": 9}}}
    filled_in = {"repository": "/r", "max_iterations": 3, "max_dollars": 2, "ask_before_start": True, **more}
    request = LoopRequest.model_validate(filled_in)
    assert request.said == request.changes
    assert request.changes == {
        "limits": {"tokens": 4, "iterations": 3, "cost_usd": 2},
        "preset": "coverage",
        "claude": {"model": "opus"},
        "gates": {"plan": True},
    }
