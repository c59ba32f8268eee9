"""A loop in a loop is refused beyond the depth that the outermost allows."""

import pytest

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from tasks.system.environment import DEPTH, inner_depth, refuse_nested

pytestmark = pytest.mark.feature("E12")


def allowing(nesting: int) -> LoopConfig:
    return LoopConfig.model_validate({"goal": "x", "limits": {"nesting": nesting}})


def test_outside_of_any_loop_nothing_is_refused() -> None:
    refuse_nested({})
    refuse_nested({DEPTH: "nonsense"})


def test_by_default_a_loop_inside_of_a_loop_is_refused_with_what_to_do() -> None:
    inside = inner_depth(LoopConfig(goal="x"), {})
    with pytest.raises(OperatorError, match="inside a loop") as caught:
        refuse_nested(inside)
    assert caught.value.found == "depth 1"


def test_the_outermost_loop_says_how_deep_it_may_go_whatever_an_inner_one_is_configured_to() -> None:
    once = inner_depth(allowing(1), {})
    refuse_nested(once)
    twice = inner_depth(allowing(9), once)
    assert twice == {DEPTH: "2/1"}
    with pytest.raises(OperatorError):
        refuse_nested(twice)
