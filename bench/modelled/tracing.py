"""Print one loop, iteration by iteration."""

from typing import Any

from bench.modelled.kinds import BY_NAME
from bench.modelled.steered import ACTS, Seen, run


def trace(kind: str, seed: int, settings: dict[str, Any]) -> None:
    """Print what the agent did, the core's result, and the decision."""
    loop, seen = run(BY_NAME[kind], seed, settings=settings)
    print(f"\n{loop.of}")
    for one in seen:
        print(_line(one))


def _line(one: Seen) -> str:
    step, record = one.step, one.record
    moment, signals = record.moment, [signal for signal in record.signals if signal.severity in ACTS]
    did = "sick" if step.sick else "broken" if step.tree.broken else "asks" if step.asked else "works"
    told = ", ".join(f"{signal.rule}:{signal.severity}" for signal in signals)
    movement = f"{moment.movement} {moment.completion:.2f}" if moment else "-"
    state = f"E-{record.oversight.ladder.rung:d} {record.oversight.idle} idle"
    back = " rolled back" if record.failed else ""
    failing = f"{len(step.tree.failing):>3} of {step.tree.tests:<3} fail{'*' if step.unlucky else ' '}"
    return f"{record.iteration:>3} {did:<7}{failing} {movement:<14} {state:<13} {record.decision.rule:<20}{back} {told}"
