"""What the overseer notices after an iteration. Each source is a small function in one tuple."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from helmsman.oversee.limits import limit_signals
from helmsman.records.checks import CheckReport
from helmsman.records.evidence import AgentOutcome, Claims, Execution
from helmsman.records.state import LoopState, spend
from helmsman.records.verdict import Severity, Signal


@dataclass(frozen=True)
class Sight:
    """What there is to see of one iteration."""

    state: LoopState
    execution: Execution
    checks: CheckReport | None
    claims: Claims
    started_at: datetime
    now: datetime


def signals(sight: Sight) -> tuple[Signal, ...]:
    """Everything worth noticing."""
    return tuple(signal for source in SOURCES for signal in source(sight))


def _limits(sight: Sight) -> tuple[Signal, ...]:
    spending = spend(sight.state, sight.execution.call.usage, sight.started_at, sight.now)
    counted = sight.execution.call.outcome is not AgentOutcome.USAGE_LIMIT
    return limit_signals(sight.state.config.limits, spending, sight.state.iteration + counted)


def _unproven_request(sight: Sight) -> tuple[Signal, ...]:
    if not sight.claims.wants_to_finish or sight.checks is None or sight.checks.passed or not sight.checks.results:
        return ()
    failing = ", ".join(result.name for result in sight.checks.failures)
    message = f"the agent asked to be done ({sight.claims.how}), but these checks fail: {failing}"
    return (Signal(rule="completion.unproven", severity=Severity.WARN, message=message),)


def _dirty_checks(sight: Sight) -> tuple[Signal, ...]:
    left = sight.checks.left_behind if sight.checks else ()
    if not left:
        return ()
    message = f"the checks changed {len(left)} files, which were put back: {', '.join(left[:5])}"
    return (Signal(rule="checks.left_behind", severity=Severity.LOG, message=message, value=len(left), threshold=0),)


SOURCES: tuple[Callable[[Sight], tuple[Signal, ...]], ...] = (_limits, _unproven_request, _dirty_checks)
