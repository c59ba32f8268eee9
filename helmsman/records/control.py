"""The controller between iterations: its terms, its gains, its output."""

from enum import StrEnum
from typing import Literal

from helmsman.records.base import Record

Phase = Literal["exploration", "focused", "aggressive"]


class Gains(Record):
    """Weights of the three terms."""

    kp: float = 0.3
    ki: float = 0.1
    kd: float = 0.2


class Band(StrEnum):
    """What the output asks for; bounds at 0.3, 0.5 and 0.7."""

    CONTINUE = "continue"
    WATCH = "watch"
    ADJUST = "adjust"
    PIVOT = "pivot"


class Control(Record):
    """State and output of the controller after an iteration."""

    proportional: float = 1.0
    """P = 1 - completion."""
    integral: float = 0.0
    """I: sum of P, each earlier one worth 0.9 of the one after it, clamped."""
    derivative: float = 0.0
    """D: change of completion an iteration, positive where it grows."""
    gains: Gains = Gains()
    """As smoothed."""
    phase: Phase = "exploration"
    output: float = 0.0
    """Urgency, 0 to 1."""
    band: Band = Band.CONTINUE
