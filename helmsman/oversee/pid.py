"""The controller between iterations: how urgent it is, from how far the work is and how it moves.

output = kp·P + ki·I' - kd·D, clamped to 0 to 1. P is the gap, I' its past as a share of the largest that can pile up, D the
change of completion an iteration. Control theory writes + kd times the change of the error, which is the same: progress
lowers urgency, getting worse raises it. The gains are a profile by phase, approached step by step, damped where the work swings.

I enters as a share, so that its weight is ki. Entered as it is it would weigh twice ki, and a gap that is long past could ask
for a pivot by itself. Numbers are those that the oldest public control layer for agents settled on (S1).
"""

from collections.abc import Mapping, Sequence
from math import sqrt

from helmsman.oversee.cycles import worked
from helmsman.oversee.progress import clamped
from helmsman.records.control import Band, Control, Gains, IterationSummary, Movement, Phase

WINDOW = 5  # iterations over which the derivative is taken
DEADBAND = 0.05  # change of completion an iteration that counts as none
DECAY = 0.9  # what an earlier gap is worth of the one after it
INTEGRAL_LIMIT = 2.0  # the integral stays below this, so that a long gap is forgotten once work gets on
GAINS: Mapping[Phase, tuple[float, float, float]] = {
    "exploration": (0.3, 0.1, 0.2),
    "focused": (0.5, 0.2, 0.3),
    "aggressive": (0.7, 0.3, 0.4),
}
"""kp, ki, kd: while the work begins, while it gets on, and where it swings or most is undone."""
EXPLORING = 3  # iterations that count as the beginning
VOLATILE = 0.3  # spread of completion over the window above which gains are aggressive
FAR = 0.7  # gap above which they are
SMOOTHING = 0.3  # share of the way to new gains that one iteration goes
DAMPED_KP = 0.3
DAMPED_KD = 0.5  # while the work swings. Both of S1: less answer to where it stands just now, more to where it goes.
BANDS: tuple[tuple[float, Band], ...] = ((0.7, "pivot"), (0.5, "adjust"), (0.3, "watch"), (0.0, "continue"))
"""Outputs from which each band begins, the highest first."""


def steer(before: Control, history: Sequence[IterationSummary], *, swinging: bool) -> Control:
    """Run the controller after an iteration, the newest in `history`. One that only waited says nothing, and changes nothing."""
    recent = worked(history, WINDOW + 1)
    if not recent or history[-1].movement is Movement.WAITED:
        return before
    completions = [clamped(summary.completion) for summary in recent]
    gap, change = 1 - completions[-1], completions[-1] - completions[0]
    rate = change / max(1, recent[-1].iteration - recent[0].iteration)
    rate = 0.0 if abs(rate) < DEADBAND else rate
    # a standard deviation, 0 to 0.5: largest less smallest would call a steady climb of 8 % an iteration volatile
    mean = sum(completions) / len(completions)
    spread = sqrt(sum((one - mean) ** 2 for one in completions) / len(completions))
    phase: Phase = "aggressive" if spread > VOLATILE or gap > FAR else "focused"
    phase = "exploration" if recent[-1].iteration <= EXPLORING else phase
    share = SMOOTHING if len(recent) > 1 else 1.0  # the first has nothing to come from
    old = (before.gains.kp, before.gains.ki, before.gains.kd)
    kp, ki, kd = ((1 - share) * was + share * new for was, new in zip(old, GAINS[phase], strict=True))
    # damping waits for nothing; what follows it is smooth again
    gains = Gains(kp=DAMPED_KP, ki=ki, kd=DAMPED_KD) if swinging else Gains(kp=kp, ki=ki, kd=kd)
    total = min(INTEGRAL_LIMIT, max(0.0, before.integral) * DECAY + gap)
    output = clamped(gains.kp * gap + gains.ki * total / INTEGRAL_LIMIT - gains.kd * rate)
    terms = {"proportional": gap, "integral": total, "derivative": rate}
    return Control(**terms, gains=gains, phase=phase, output=output, band=band_of(output))


def band_of(output: float) -> Band:
    return next(band for bound, band in BANDS if output >= bound)
