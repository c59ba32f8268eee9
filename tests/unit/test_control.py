"""The laws of the controller between iterations."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.oversee.pid import DAMPED_KD, DAMPED_KP, INTEGRAL_LIMIT, band_of, steer
from helmsman.records.agent import AgentOutcome
from helmsman.records.control import Control, IterationSummary, Movement
from tests.unit.builders import NOW

SHARES = st.floats(0, 1)
NOISE = 1e-9
"""Of sums of floating-point numbers."""
RUNS = st.lists(st.tuples(SHARES, st.booleans()), min_size=1, max_size=15)


def summaries(completions: Sequence[float], **fields: Any) -> list[IterationSummary]:
    usual = {"at": NOW, "outcome": AgentOutcome.FINISHED, "movement": Movement.SIDEWAYS, **fields}
    return [
        IterationSummary.model_validate({**usual, "iteration": number, "completion": share})
        for number, share in enumerate(completions, 1)
    ]


def controls(completions: Sequence[float], swings: Sequence[bool] = ()) -> list[Control]:
    """The controller after each iteration."""
    history, made, control = summaries(completions), list[Control](), Control()
    for end in range(1, len(history) + 1):
        swinging = swings[end - 1] if swings else False
        control = steer(control, history[:end], swinging=swinging)
        made.append(control)
    return made


@pytest.mark.feature("S1")
def test_the_terms_are_what_their_documents_say() -> None:
    found = controls([0.2, 0.5, 0.6])
    assert [round(one.proportional, 6) for one in found] == [0.8, 0.5, 0.4]
    assert [round(one.integral, 6) for one in found] == [0.8, 1.22, 1.498]
    assert [round(one.derivative, 6) for one in found] == [0, 0.3, 0.2]


@pytest.mark.feature("S1")
def test_the_integral_stays_below_its_limit_and_forgets() -> None:
    found = controls([0.0] * 10 + [1.0] * 7)
    assert max(one.integral for one in found) == INTEGRAL_LIMIT
    assert found[-1].integral < INTEGRAL_LIMIT / 2


@pytest.mark.feature("S1")
def test_the_change_is_taken_over_the_window_and_small_ones_count_as_none() -> None:
    assert controls([0.0, 0.1, 0.2])[-1].derivative == pytest.approx(0.1)
    assert controls([0.5, 0.4])[-1].derivative == pytest.approx(-0.1)
    assert controls([0.0, 0.02, 0.04])[-1].derivative == 0
    assert controls([0.9, 0.0, *[0.5] * 5])[-1].derivative == pytest.approx(0.1)
    assert controls([0.9, 0.0, *[0.5] * 6])[-1].derivative == 0


@pytest.mark.feature("S1")
def test_an_iteration_that_waited_changes_nothing() -> None:
    worked = summaries([0.3, 0.4])
    (waited,) = summaries([0.4], movement=Movement.WAITED)
    before = steer(Control(), worked, swinging=False)
    assert steer(before, [*worked, waited], swinging=True) == before
    (after,) = (one.model_copy(update={"iteration": 3}) for one in summaries([0.7]))
    with_wait = steer(before, [*worked, waited, after], swinging=False)
    assert with_wait == steer(before, [*worked, after], swinging=False)


@pytest.mark.feature("S2")
@pytest.mark.parametrize(
    ("output", "band"),
    [(0, "continue"), (0.29, "continue"), (0.3, "watch"), (0.5, "adjust"), (0.69, "adjust"), (0.7, "pivot"), (1, "pivot")],
)
def test_an_output_falls_into_one_band(output: float, band: str) -> None:
    assert band_of(output) == band


@pytest.mark.feature("S2")
@given(run=RUNS)
def test_output_and_terms_are_numbers_in_their_bounds(run: list[tuple[float, bool]]) -> None:
    for one in controls([share for share, _ in run], [swings for _, swings in run]):
        assert 0 <= one.output <= 1
        assert 0 <= one.proportional <= 1
        assert 0 <= one.integral <= INTEGRAL_LIMIT
        assert -1 <= one.derivative <= 1
        assert all(map(math.isfinite, (one.gains.kp, one.gains.ki, one.gains.kd)))


@pytest.mark.feature("S2")
def test_a_step_of_completion_makes_it_less_urgent_and_a_step_back_more() -> None:
    before, gained, fell = (controls([*[0.6] * 40, share])[-1].output for share in (0.6, 0.7, 0.5))
    assert gained < before < fell


@pytest.mark.feature("S3")
def test_the_phase_is_by_iteration_spread_and_gap() -> None:
    cases = {
        "at first": ([0.0], "exploration"),
        "a swing at first": ([0.1, 0.9, 0.1], "exploration"),
        "a gap of 0.7": ([0.3] * 4, "focused"),
        "a larger gap": ([0.29] * 4, "aggressive"),
        "a swing": ([0.1, 0.9, 0.1, 0.9], "aggressive"),
        "a steady climb": ([0.3, 0.4, 0.5, 0.6, 0.7, 0.8], "focused"),
    }
    for case, (completions, phase) in cases.items():
        assert controls(completions)[-1].phase == phase, case


@pytest.mark.feature("S3")
def test_gains_go_three_tenths_of_the_way_an_iteration() -> None:
    kps = [one.gains.kp for one in controls([0.5] * 5)]
    assert kps == pytest.approx([0.3, 0.3, 0.3, 0.36, 0.402])


@pytest.mark.feature("S3")
def test_oscillation_damps_at_once_and_leaving_it_is_smooth() -> None:
    swings = [False] * 8 + [True, True, False]
    gains = [one.gains for one in controls([0.5] * 11, swings)]
    assert [(one.kp, one.kd) for one in gains[8:10]] == [(DAMPED_KP, DAMPED_KD)] * 2
    assert (gains[10].kp, gains[10].kd) == (pytest.approx(0.36), pytest.approx(0.44))
