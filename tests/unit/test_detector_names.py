"""The names in `detect.off`: those of the detectors, and no others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from helmsman.config import DetectConfig
from helmsman.config.layers import Layer, resolve
from helmsman.config.oversight import DETECTOR_NAMES
from helmsman.errors import OperatorError
from helmsman.oversee.detectors import DETECTORS

pytestmark = pytest.mark.feature("S4")


def refusal(*off: object) -> str:
    with pytest.raises(OperatorError) as caught:
        resolve([Layer("helmsman.toml", {"goal": "g", "detect": {"off": list(off)}})])
    return str(caught.value)


def test_the_configuration_knows_the_detectors_that_there_are_in_their_order() -> None:
    assert tuple(one.rule for one in DETECTORS) == DETECTOR_NAMES


def test_each_of_them_can_be_switched_off() -> None:
    assert DetectConfig(off=DETECTOR_NAMES).off == DETECTOR_NAMES


@pytest.mark.parametrize(("wrong", "meant"), [("stuk", "stuck"), ("Stuck", "stuck"), ("limit-cycle", "limit_cycle")])
def test_an_unknown_name_is_refused_with_its_place_the_valid_ones_and_the_one_that_was_meant(wrong: str, meant: str) -> None:
    said = refusal("stuck", wrong)
    assert "detect.off[1] (helmsman.toml): expected one of denied, limit_cycle, " in said
    assert f"test_only; did you mean {meant}?, found '{wrong}'" in said


@pytest.mark.parametrize("wrong", ["amnesiac", "x", "", "x" * 100_000, "{names}", "\x1b[2J"])
def test_a_name_that_is_like_none_is_refused_without_a_guess(wrong: str) -> None:
    said = refusal(wrong)
    assert "test_only, found " in said
    assert len(said) < 600
    assert "\x1b" not in said


def test_what_is_no_name_at_all_is_refused_too() -> None:
    assert "detect.off[0] (helmsman.toml): expected text, found 3" in refusal(3)


@given(st.text(max_size=30).filter(lambda name: name not in DETECTOR_NAMES))
def test_nothing_else_is_a_detector(name: str) -> None:
    with pytest.raises(ValidationError):
        DetectConfig(off=(name,))
