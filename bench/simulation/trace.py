"""Print one loop, iteration by iteration."""

from typing import Any

from bench.simulation.kinds import BY_NAME
from bench.simulation.model import Step
from bench.simulation.simulated_loop import INTERVENING, IterationResult, run


def trace(kind: str, seed: int, settings: dict[str, Any]) -> None:
    """Print what the agent did, the core's result, and the decision."""
    loop, results = run(BY_NAME[kind], seed, settings=settings)
    print(f"\n{loop.profile}")
    for result in results:
        print(_line(result))


def _line(result: IterationResult) -> str:
    step, record = result.step, result.record
    moment, signals = record.moment, [signal for signal in record.signals if signal.severity in INTERVENING]
    activity = _activity(step)
    alerts = ", ".join(f"{signal.rule}:{signal.severity}" for signal in signals)
    movement = f"{moment.movement} {moment.completion:.2f}" if moment else "-"
    state = f"E-{record.oversight.ladder.rung:d} {record.oversight.idle} idle"
    rollback = " rolled back" if record.failed else ""
    failing = f"{len(step.tree.failing):>3} of {step.tree.tests:<3} fail{'*' if step.chance_failures else ' '}"
    return (
        f"{record.iteration:>3} {activity:<7}{failing} {movement:<14} {state:<13} {record.decision.rule:<20}{rollback} {alerts}"
    )


def _activity(step: Step) -> str:
    if step.is_faulty:
        return "faulty"
    if step.tree.broken_module:
        return "broken"
    return "claims" if step.claims_completion else "works"
