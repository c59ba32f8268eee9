"""The controller between iterations: how urgent it is, from how far the work is and how it moves.

output = kp·P + ki·I' - kd·D, clamped to 0 to 1. P is the gap, I' its past as a share of the largest that can pile up, D the
change of completion an iteration. Control theory writes + kd times the change of the error, which is the same: progress
lowers urgency, getting worse raises it. The gains are a profile by phase, approached step by step, damped where the work swings.

I enters as a share, so that its weight is ki whatever the limit of the sum is. Entered as it is it would weigh twice ki with
the default limit of 2 and any multiple with a larger one, and a gap that is long past could ask for a pivot by itself.
"""

from collections.abc import Sequence
from math import sqrt

from helmsman.config.oversight import ControlConfig
from helmsman.oversee.cycles import worked
from helmsman.oversee.progress import clamped
from helmsman.records.control import Band, Control, Gains, IterationSummary, Movement, Phase

DAMPED_KP = 0.3
DAMPED_KD = 0.5
"""While the work swings. Both of S1: less answer to where it stands just now, more to where it goes."""
BANDS: tuple[tuple[float, Band], ...] = ((0.7, Band.PIVOT), (0.5, Band.ADJUST), (0.3, Band.WATCH), (0.0, Band.CONTINUE))
"""Outputs from which each band begins, the highest first."""


def steer(before: Control, history: Sequence[IterationSummary], config: ControlConfig, *, swinging: bool) -> Control:
    """Run the controller after an iteration, the newest in `history`. One that only waited says nothing, and changes nothing."""
    recent = worked(history, config.window + 1)
    if not recent or history[-1].movement is Movement.WAITED:
        return before
    completions = [clamped(summary.completion) for summary in recent]
    gap, change = 1 - completions[-1], completions[-1] - completions[0]
    rate = change / max(1, recent[-1].iteration - recent[0].iteration)
    rate = 0.0 if abs(rate) < config.deadband else rate
    phase = _phase(recent[-1].iteration, completions, config)
    share = config.smoothing if len(recent) > 1 else 1.0  # the first has nothing to come from
    gains = _gains(before.gains, phase, share, config, swinging=swinging)
    total = min(config.integral_limit, max(0.0, before.integral) * config.decay + gap)
    # the limit, or what a gap of 1 adds up to if it never closes, where that is less
    largest = min(config.integral_limit, 1 / (1 - config.decay))
    output = clamped(gains.kp * gap + gains.ki * min(1.0, total / largest) - gains.kd * rate)
    if gains.ki > 0:
        # anti-windup: no more of the sum than makes the output 1, where that is not less than there was; the output is the same
        needed = (1 - gains.kp * gap + gains.kd * rate) * largest / gains.ki
        total = min(total, max(needed, before.integral))
    band = next(band for bound, band in BANDS if output >= bound)
    return Control(proportional=gap, integral=total, derivative=rate, gains=gains, phase=phase, output=output, band=band)


def _phase(iteration: int, completions: Sequence[float], config: ControlConfig) -> Phase:
    """`iteration` is counted from 1. The spread is a standard deviation, 0 to 0.5: largest less smallest would call a steady
    climb of 8 % an iteration volatile.
    """
    if iteration <= config.exploring:
        return "exploration"
    mean = sum(completions) / len(completions)
    spread = sqrt(sum((one - mean) ** 2 for one in completions) / len(completions))
    return "aggressive" if spread > config.volatility or 1 - completions[-1] > config.error else "focused"


def _gains(before: Gains, phase: Phase, share: float, config: ControlConfig, *, swinging: bool) -> Gains:
    """Go `share` of the way to the phase's profile. Damping waits for nothing; what follows it is smooth again."""
    profiles = {"exploration": config.exploration, "focused": config.focused, "aggressive": config.aggressive}
    # between the two, whatever the rounding
    kp, ki, kd = (
        min(max(old, new), max(min(old, new), (1 - share) * old + share * new))
        for old, new in zip((before.kp, before.ki, before.kd), profiles[phase], strict=True)
    )
    return Gains(kp=DAMPED_KP, ki=ki, kd=DAMPED_KD) if swinging else Gains(kp=kp, ki=ki, kd=kd)
