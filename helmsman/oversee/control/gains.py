"""Which gains the controller works with: a profile by phase, approached step by step, damped where the work swings."""

from collections.abc import Sequence
from math import sqrt

from helmsman.config.oversight import ControlConfig, Gain
from helmsman.records.control import Gains, Phase

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
