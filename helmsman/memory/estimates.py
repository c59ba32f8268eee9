"""Estimates from similar ended loops: of this project if it has enough of them, else of all projects."""

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
    """Estimate for a subject; None if too few similar loops have completed."""
    # a waiting loop has not ended, and one without an iteration did no work
    ended = (one for one in summaries if one.outcome is not Outcome.WAITING and one.iterations > 0)
    similar = [one for one in ended if one.subject.task_type is subject.task_type]
    of_project = _newest([one for one in similar if one.subject.project == subject.project])
    return _estimate_from(of_project, subject.project) or _estimate_from(_newest(similar), "")


def format_estimate(of: Estimate) -> str:
    """Text for people at the start of a loop."""
    low, high = of.minutes.low, of.minutes.high
    time_text = _span_text(low, high, "minute") if high < HOURS_FROM else _span_text(low / 60, high / 60, "hour", 1)
    dollars = " to ".join(dict.fromkeys(map(format_money, (of.dollars.low, of.dollars.high)))) if of.dollars else ""
    where = "in this project" if of.project else "in all projects"
    completed = f"{of.loops} of {round(of.loops / of.completed)} such loops completed ({of.task_type} {where})"
    iterations = f"{_span_text(of.iterations.low, of.iterations.high, 'iteration')} (median {of.iterations.median:.0f})"
    return f"similar work took {', '.join(filter(None, (iterations, time_text, dollars)))}; {completed}"


def _span_text(low: float, high: float, noun: str, digits: int = 0) -> str:
    span = " to ".join(dict.fromkeys(f"{one:.{digits}f}" for one in (low, high)))
    return f"{span} {noun if span == '1' else f'{noun}s'}"


def _newest(summaries: Sequence[Summary]) -> list[Summary]:
    return sorted(summaries, key=lambda one: (one.ended_at, one.uid), reverse=True)[:NEWEST]


def _estimate_from(ended: Sequence[Summary], project: str) -> Estimate | None:
    done = [one for one in ended if one.outcome is Outcome.COMPLETED]
    if len(done) < FEWEST:
        return None
    priced = [one for one in done if Capability.COST not in one.untold]
    return Estimate(
        task_type=done[0].subject.task_type,
        project=project,
        loops=len(done),
        completed=len(done) / len(ended),
        iterations=_range(done, lambda one: one.iterations),
        minutes=_range(done, lambda one: one.seconds / 60),
        dollars=_range(priced, lambda one: one.cost_usd) if priced else None,
    )


def _range(done: Sequence[Summary], measure: Callable[[Summary], float]) -> Range:
    """Quartiles; each is the value of an actual loop."""
    figures = sorted(map(measure, done))
    low, median, high = (figures[math.ceil(share * len(figures)) - 1] for share in (0.25, 0.5, 0.75))
    return Range(low=low, median=median, high=high)
