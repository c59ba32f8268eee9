"""The controller between iterations: how urgent it is, from how far the work is and how it moves.

output = kp·P + ki·I' - kd·D, clamped to 0 to 1. P is the gap, I' its past as a share of the largest that can pile up, D the
change of completion an iteration. Control theory writes + kd times the change of the error, which is the same: progress
lowers urgency, getting worse raises it. The gains are a profile by phase, approached step by step, damped where the work swings.

I enters as a share, so that its weight is ki whatever the limit of the sum is. Entered as it is it would weigh twice ki with
the default limit of 2 and any multiple with a larger one, and a gap that is long past could ask for a pivot by itself.
"""

from collections.abc import Sequence
from math import sqrt

from helmsman.config.oversight import ControlConfig, Gain
from helmsman.oversee.cycles import worked
from helmsman.records.control import Band, Control, Gains, Moment, Movement, Phase

DAMPED_KP = 0.3
DAMPED_KD = 0.5
"""While the work swings. Both of S1: less answer to where it stands just now, more to where it goes."""


def profiles(config: ControlConfig) -> dict[Phase, Gain]:
    """kp, ki, kd by phase."""
    return {"exploration": config.exploration, "focused": config.focused, "aggressive": config.aggressive}


def phase_of(iteration: int, gap: float, spread: float, config: ControlConfig) -> Phase:
    """`iteration` is counted from 1; `gap` and `spread` are shares of completion."""
    if iteration <= config.exploring:
        return "exploration"
    return "aggressive" if spread > config.volatility or gap > config.error else "focused"


def volatility(completions: Sequence[float]) -> float:
    """Standard deviation, 0 to 0.5. Largest less smallest would call a steady climb of 8 % an iteration volatile."""
    if not completions:
        return 0.0
    mean = sum(completions) / len(completions)
    return sqrt(sum((one - mean) ** 2 for one in completions) / len(completions))


def scheduled(before: Gains, profile: Gain, share: float, *, swinging: bool) -> Gains:
    """Go `share` of the way to a profile, 0 to 1. Damping waits for nothing; what follows it is smooth again."""
    kp, ki, kd = (_toward(old, new, share) for old, new in zip((before.kp, before.ki, before.kd), profile, strict=True))
    return Gains(kp=DAMPED_KP, ki=ki, kd=DAMPED_KD) if swinging else Gains(kp=kp, ki=ki, kd=kd)


def _toward(old: float, new: float, share: float) -> float:
    """Between the two, whatever the rounding."""
    mixed = (1 - share) * old + share * new
    return min(max(old, new), max(min(old, new), mixed))


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
