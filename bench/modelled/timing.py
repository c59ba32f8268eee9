"""Time of the core for one iteration: oversee, decide, record, advance."""

import statistics

from bench.modelled.agents import Habit, groping
from bench.modelled.kinds import Kind
from bench.modelled.steered import run
from bench.modelled.worlds import Character, Told
from helmsman.records.control import REMEMBERED

MEASURED = 100
"""Last iterations, whose times count."""


def _for_ever(me: Character, told: Told) -> Habit:
    while True:
        told = yield groping(me, told)


ENDLESS = Kind("endless", _for_ever, healthy=False)
NO_LIMITS = {
    "limits": {"iterations": 100_000, "cost_usd": None, "wall_clock_hours": None, "calls_per_hour": 100_000},
    "ladder": {"act": False},
}


def milliseconds() -> tuple[float, float]:
    """Median and longest time of the last iterations of a loop with a full history of varied failures."""
    _, seen = run(ENDLESS, 1, settings=NO_LIMITS, ends=lambda loop: loop.state.iteration >= REMEMBERED + MEASURED)
    times = [one.seconds * 1000 for one in seen[-MEASURED:]]
    return statistics.median(times), max(times)


def report() -> None:
    median, longest = milliseconds()
    print(f"core, one iteration at a history of {REMEMBERED}: {median:.2f} ms median, {longest:.2f} ms longest of {MEASURED}")
