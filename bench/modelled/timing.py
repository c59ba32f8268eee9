"""How long the core takes for one iteration: oversee, decide, record, advance."""

import statistics

from bench.modelled.agents import Habit, groping
from bench.modelled.kinds import Kind
from bench.modelled.steered import run
from bench.modelled.worlds import Character, Told

MEASURED = 100
"""Iterations whose times count, at the end."""


def _for_ever(me: Character, told: Told) -> Habit:
    while True:
        told = yield groping(me, told)


ENDLESS = Kind("endless", _for_ever, healthy=False)
NO_LIMITS = {
    "limits": {"iterations": 100_000, "cost_usd": None, "wall_clock_hours": None, "calls_per_hour": 100_000},
    "ladder": {"act": False},
}


def milliseconds(history: int) -> tuple[float, float]:
    """Median and longest time of the last iterations of a loop that remembers so many. It is red all along, for many reasons."""
    settings = {**NO_LIMITS, "detect": {"remembered": history}}
    _, seen = run(ENDLESS, 1, settings=settings, ends=lambda loop: loop.state.iteration >= history + MEASURED)
    times = [one.seconds * 1000 for one in seen[-MEASURED:]]
    return statistics.median(times), max(times)


def report() -> None:
    for history in (50, 1000):
        median, longest = milliseconds(history)
        print(
            f"core, one iteration at a history of {history:>5,}: {median:.2f} ms median, {longest:.2f} ms longest of {MEASURED}"
        )
