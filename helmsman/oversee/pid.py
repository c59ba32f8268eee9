"""PID controller between iterations: urgency from the gap to completion and its trend.

output = kp·P + ki·I' - kd·D, clamped to 0 to 1. P is the gap, I' the integral as a share of its maximum, D the change of
completion per iteration. Control theory writes + kd times the change of the error, which is equivalent: progress lowers
urgency, regression raises it. Gains depend on the phase, change step by step, and are damped during oscillation.

I enters as a share, so that its weight is ki. Unscaled it would weigh twice ki, and a gap long past could request a pivot on
its own. Numbers come from the oldest public control layer for agents (S1).
"""

from collections.abc import Mapping, Sequence
from math import sqrt

from helmsman.oversee.cycles import last_iterations
from helmsman.oversee.progress import clamp
from helmsman.records.control import Band, Control, Gains, IterationSummary, Movement, Phase

WINDOW = 5  # iterations over which the derivative is taken
DEADBAND = 0.05  # change of completion per iteration that counts as none
DECAY = 0.9  # weight of a gap relative to the next one
INTEGRAL_LIMIT = 2.0  # upper bound of the integral, so that a long gap is forgotten once there is progress
GAINS: Mapping[Phase, tuple[float, float, float]] = {
    "exploration": (0.3, 0.1, 0.2),
    "focused": (0.5, 0.2, 0.3),
    "aggressive": (0.7, 0.3, 0.4),
}
"""kp, ki and kd: at the start, during progress, and where completion oscillates or is mostly missing."""
EXPLORING = 3  # iterations that count as the exploration phase
VOLATILE = 0.3  # standard deviation of completion over the window above which gains are aggressive
FAR = 0.7  # gap above which gains are aggressive
SMOOTHING = 0.3  # share of the change to new gains applied per iteration
DAMPED_KP = 0.3
DAMPED_KD = 0.5  # during oscillation. Both from S1: react less to the current value and more to the trend.
BANDS: tuple[tuple[float, Band], ...] = ((0.7, "pivot"), (0.5, "adjust"), (0.3, "watch"), (0.0, "continue"))
"""Lower bound of each band, highest first."""


def steer(before: Control, history: Sequence[IterationSummary], *, swinging: bool) -> Control:
    """Run the controller after the newest iteration in `history`. An iteration that only waited changes nothing."""
    recent = last_iterations(history, WINDOW + 1)
    if not recent or history[-1].movement is Movement.WAITED:
        return before
    completions = [clamp(summary.completion) for summary in recent]
    gap, change = 1 - completions[-1], completions[-1] - completions[0]
    rate = change / max(1, recent[-1].iteration - recent[0].iteration)
    rate = 0.0 if abs(rate) < DEADBAND else rate
    # standard deviation, 0 to 0.5: maximum minus minimum would call a steady climb of 8 % per iteration volatile
    mean = sum(completions) / len(completions)
    spread = sqrt(sum((completion - mean) ** 2 for completion in completions) / len(completions))
    phase: Phase = "aggressive" if spread > VOLATILE or gap > FAR else "focused"
    phase = "exploration" if recent[-1].iteration <= EXPLORING else phase
    share = SMOOTHING if len(recent) > 1 else 1.0  # the first iteration has no previous gains
    old_gains = (before.gains.kp, before.gains.ki, before.gains.kd)
    kp, ki, kd = ((1 - share) * old_gain + share * new_gain for old_gain, new_gain in zip(old_gains, GAINS[phase], strict=True))
    # damping applies at once; leaving it is smooth
    gains = Gains(kp=DAMPED_KP, ki=ki, kd=DAMPED_KD) if swinging else Gains(kp=kp, ki=ki, kd=kd)
    total = min(INTEGRAL_LIMIT, max(0.0, before.integral) * DECAY + gap)
    output = clamp(gains.kp * gap + gains.ki * total / INTEGRAL_LIMIT - gains.kd * rate)
    terms = {"proportional": gap, "integral": total, "derivative": rate}
    return Control(**terms, gains=gains, phase=phase, output=output, band=band_of(output))


def band_of(output: float) -> Band:
    return next(band for bound, band in BANDS if output >= bound)
