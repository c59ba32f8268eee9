"""The names in `detect.off`: those of the detectors, and no others."""

from typing import get_args

import pytest

from helmsman.config.layers import Layer, resolve
from helmsman.config.oversight import DetectorName
from helmsman.errors import OperatorError
from helmsman.oversee.detectors import DETECTORS

pytestmark = pytest.mark.feature("S4")


def test_the_configuration_knows_the_detectors_that_there_are_in_their_order() -> None:
    assert tuple(one.rule for one in DETECTORS) == get_args(DetectorName)


@pytest.mark.parametrize("wrong", ["stuk", "amnesiac", "", "x" * 100_000, "{names}", "\x1b[2J", 3])
def test_what_is_no_detector_is_refused_with_its_place_and_the_names_that_there_are(wrong: object) -> None:
    with pytest.raises(OperatorError) as caught:
        resolve([Layer("helmsman.toml", {"goal": "g", "detect": {"off": ["stuck", wrong]}})])
    said = str(caught.value)
    assert "detect.off[1] (helmsman.toml): expected 'denied', 'limit_cycle', " in said
    assert "or 'test_only', found " in said
    assert len(said) < 600
    assert "\x1b" not in said
