"""What the overseer notices over several iterations. Each detector is a small pure function in one tuple."""

from collections.abc import Callable, Sequence

from helmsman.config.oversight import DetectConfig
from helmsman.oversee.detectors.cycles import limit_cycle, recurring_trees, reverted
from helmsman.oversee.detectors.diagnosis import Recurring, Return, diagnose, recurring
from helmsman.oversee.detectors.motion import oscillating, plateau, regressing, stuck
from helmsman.oversee.detectors.sessions import denied, empty_sessions, off_objective, output_decline, resource_burn
from helmsman.oversee.detectors.work import growing_diff, only_tests, same_error, same_words
from helmsman.oversee.movement import at_work, is_base
from helmsman.records.moments import Moment
from helmsman.records.verdict import Signal

Detector = Callable[[Sequence[Moment], DetectConfig], Signal | None]

DETECTORS: tuple[tuple[str, Detector], ...] = (
    ("denied", denied),
    ("limit_cycle", limit_cycle),
    ("recurring_trees", recurring_trees),
    ("oscillating", oscillating),
    ("regressing", regressing),
    ("same_error", same_error),
    ("same_words", same_words),
    ("stuck", stuck),
    ("plateau", plateau),
    ("empty_sessions", empty_sessions),
    ("off_objective", off_objective),
    ("resource_burn", resource_burn),
    ("output_decline", output_decline),
    ("reverted", reverted),
    ("growing_diff", growing_diff),
    ("test_only", only_tests),
)
"""By the name of their signal, which is also the name in `detect.off`; the most telling first."""


def detect(
    history: Sequence[Moment], config: DetectConfig, detectors: Sequence[tuple[str, Detector]] = DETECTORS
) -> tuple[tuple[Signal, ...], tuple[str, ...]]:
    """Signals, and the detectors that broke, in words. An iteration that only waited is not judged."""
    signals, faults = list[Signal](), list[str]()
    if not history or not at_work(history[-1]):
        return (), ()
    work = [moment for moment in history if at_work(moment) or is_base(moment)]  # once for all
    for name, detector in detectors:
        if name in config.off:
            continue
        try:
            signal = detector(work, config)
        except Exception as broken:  # noqa: BLE001 - a detector that breaks must not end a loop
            faults.append(f"the detector {name} broke ({type(broken).__name__}) and said nothing")
            continue
        signals.extend([signal] if signal else [])
    return tuple(signals), tuple(faults)


__all__ = ["DETECTORS", "Detector", "Recurring", "Return", "detect", "diagnose", "recurring"]
