"""Time of the core for one iteration: oversee, decide, record, advance."""

import statistics

from bench.simulation.healthy_agents import Behaviour, flat_step
from bench.simulation.kinds import Kind
from bench.simulation.model import AgentProfile, Feedback
from bench.simulation.simulated_loop import run
from helmsman.records.control import REMEMBERED

SAMPLES = 100
"""Last iterations, whose times count."""


def _endless(profile: AgentProfile, feedback: Feedback) -> Behaviour:
    while True:
        feedback = yield flat_step(profile, feedback)


ENDLESS = Kind("endless", _endless, healthy=False)
NO_LIMITS = {
    "limits": {"iterations": 100_000, "cost_usd": None, "wall_clock_hours": None, "calls_per_hour": 100_000},
    "ladder": {"act": False},
}


def milliseconds() -> tuple[float, float]:
    """Median and longest time of the last iterations of a loop with a full history of varied failures."""
    _, results = run(ENDLESS, 1, settings=NO_LIMITS, should_end=lambda loop: loop.state.iteration >= REMEMBERED + SAMPLES)
    times = [result.seconds * 1000 for result in results[-SAMPLES:]]
    return statistics.median(times), max(times)


def report() -> None:
    median, longest = milliseconds()
    print(f"core, one iteration at a history of {REMEMBERED}: {median:.2f} ms median, {longest:.2f} ms longest of {SAMPLES}")
