"""Estimates from similar ended loops of a project."""

import math
from collections.abc import Callable, Iterable, Sequence

from helmsman.records.agents import Capability
from helmsman.records.decision import Outcome
from helmsman.records.lessons import Estimate, Range, Subject, Summary
from helmsman.texts import format_money

FEWEST = 3  # completed loops that an estimate needs
NEWEST = 30  # newest loops of an estimate: older ones may be outdated
HOURS_FROM = 120  # minutes from which hours are shown


def estimate(summaries: Iterable[Summary], subject: Subject) -> Estimate | None:
    """Estimate for a subject from similar loops of its project; None if too few have completed."""
    # a waiting loop has not ended, and one without an iteration did no work
    ended = (loop for loop in summaries if loop.outcome is not Outcome.WAITING and loop.iterations > 0)
    work = subject.project, subject.task_type
    similar = [loop for loop in ended if (loop.subject.project, loop.subject.task_type) == work]
    newest = sorted(similar, key=lambda loop: (loop.ended_at, loop.uid), reverse=True)[:NEWEST]
    done = [loop for loop in newest if loop.outcome is Outcome.COMPLETED]
    if len(done) < FEWEST:
        return None
    priced = [loop for loop in done if Capability.COST not in loop.untold]
    return Estimate(
        task_type=subject.task_type,
        project=subject.project,
        loops=len(done),
        completed=len(done) / len(newest),
        iterations=_range(done, lambda loop: loop.iterations),
        minutes=_range(done, lambda loop: loop.seconds / 60),
        dollars=_range(priced, lambda loop: loop.cost_usd) if priced else None,
    )


def format_estimate(estimate: Estimate) -> str:
    """Text for people at the start of a loop."""
    low, high = estimate.minutes.low, estimate.minutes.high
    time_text = _span_text(low, high, "minute") if high < HOURS_FROM else _span_text(low / 60, high / 60, "hour", 1)
    prices = (estimate.dollars.low, estimate.dollars.high) if estimate.dollars else ()
    dollars = " to ".join(dict.fromkeys(map(format_money, prices)))
    loops = round(estimate.loops / estimate.completed)
    completed = f"{estimate.loops} of {loops} such loops completed ({estimate.task_type} in this project)"
    count = estimate.iterations
    iterations = f"{_span_text(count.low, count.high, 'iteration')} (median {count.median:.0f})"
    return f"similar work took {', '.join(filter(None, (iterations, time_text, dollars)))}; {completed}"


def _span_text(low: float, high: float, noun: str, digits: int = 0) -> str:
    span = " to ".join(dict.fromkeys(f"{value:.{digits}f}" for value in (low, high)))
    return f"{span} {noun if span == '1' else f'{noun}s'}"


def _range(done: Sequence[Summary], measure: Callable[[Summary], float]) -> Range:
    """Quartiles; each is the value of an actual loop."""
    figures = sorted(map(measure, done))
    low, median, high = (figures[math.ceil(share * len(figures)) - 1] for share in (0.25, 0.5, 0.75))
    return Range(low=low, median=median, high=high)
