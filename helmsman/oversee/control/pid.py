"""The terms of the controller and their sum.

output = kp·P + ki·I' - kd·D, clamped to 0 to 1. P is the gap, I' its past as a share of the largest that can pile up, D the
change of completion an iteration. Control theory writes + kd times the change of the error, which is the same: getting on
lowers urgency, getting worse raises it.

I enters as a share, so that its weight is ki whatever the limit of the sum is. Entered as it is it would weigh twice ki with
the default limit of 2 and any multiple with a larger one, and a gap that is long past could ask for a pivot by itself.
"""

from collections.abc import Sequence

from helmsman.config.oversight import ControlConfig
from helmsman.oversee.control.gains import phase_of, profiles, scheduled, volatility
from helmsman.oversee.detectors.windows import worked
from helmsman.records.control import Band, Control, Gains
from helmsman.records.moments import Moment, Movement

BANDS: tuple[tuple[float, Band], ...] = ((0.7, Band.PIVOT), (0.5, Band.ADJUST), (0.3, Band.WATCH), (0.0, Band.CONTINUE))
"""Outputs from which each band begins, the highest first."""


def steer(before: Control, history: Sequence[Moment], dt: float, config: ControlConfig, *, swinging: bool) -> Control:
    """Run the controller after an iteration, the newest in `history`; `dt`: iterations since it ran last.

    An iteration that only waited says nothing, and changes nothing.
    """
    recent = worked(history, config.window + 1)
    if not recent or history[-1].movement is Movement.WAITED:
        return before
    steps, completions = max(0.0, dt), [_clamped(moment.completion) for moment in recent]
    gap, rate = 1 - completions[-1], derivative(recent, config.deadband)
    phase = phase_of(recent[-1].iteration, gap, volatility(completions), config)
    share = 1 - (1 - config.smoothing) ** steps if len(recent) > 1 else 1.0  # the first has nothing to come from
    gains = scheduled(before.gains, profiles(config)[phase], share, swinging=swinging)
    grown = integral(before.integral, gap, steps, config)
    output = urgency(gap, grown, rate, gains, config)
    kept = unwound(grown, before.integral, gap, rate, gains, config)
    return Control(
        proportional=gap, integral=kept, derivative=rate, gains=gains, phase=phase, output=output, band=band_of(output)
    )


def derivative(recent: Sequence[Moment], deadband: float) -> float:
    """Change of completion an iteration, from the first of these to the last; 0 below the deadband."""
    change = _clamped(recent[-1].completion) - _clamped(recent[0].completion)
    rate = change / max(1, recent[-1].iteration - recent[0].iteration)
    return 0.0 if abs(rate) < deadband else rate


def integral(before: float, gap: float, steps: float, config: ControlConfig) -> float:
    """The sum with `gap` in it; as it was where no iteration has passed."""
    grown = max(0.0, before) * config.decay**steps + gap if steps > 0 else max(0.0, before)
    return min(config.integral_limit, grown)


def urgency(gap: float, total: float, rate: float, gains: Gains, config: ControlConfig) -> float:
    """The output, 0 to 1."""
    share = min(1.0, total / _largest(config))
    return _clamped(gains.kp * gap + gains.ki * share - gains.kd * rate)


def unwound(grown: float, before: float, gap: float, rate: float, gains: Gains, config: ControlConfig) -> float:
    """Anti-windup: no more of the sum than makes the output 1, where that is not less than there was. The output is the same."""
    if gains.ki <= 0:
        return grown
    needed = (1 - gains.kp * gap + gains.kd * rate) * _largest(config) / gains.ki
    return min(grown, max(needed, before))


def band_of(output: float) -> Band:
    """What an output of 0 to 1 asks for."""
    return next((band for bound, band in BANDS if output >= bound), Band.CONTINUE)


def _largest(config: ControlConfig) -> float:
    """The limit, or what a gap of 1 adds up to if it never closes, where that is less."""
    return min(config.integral_limit, 1 / (1 - config.decay))


def _clamped(share: float) -> float:
    return min(1.0, max(0.0, share))
