"""Sanity before and after an iteration: what is incoherent, missing or odd. What is critical stops the loop."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from helmsman.oversee.cycles import checked
from helmsman.oversee.cycles import worked as worked_in
from helmsman.oversee.limits import ALARM_AT, gauges
from helmsman.plain import clean
from helmsman.records.agent import ErrorVector, FailureClass
from helmsman.records.checks import CheckReport, checks_fail
from helmsman.records.control import EscalationLevel, Issue, IterationSummary, Movement, Oversight, Progress, Stance, Strategy
from helmsman.records.iteration import Evidence
from helmsman.records.state import LoopState

NEAR = 0.95
"""Completion from which an agent is expected to ask to be done."""
ERRORS = 5
"""Failed tool calls of a session above which it is told."""
UNADDRESSED = 2
"""Iterations in a row that got no further with the same failure. One may be research."""
MOST = 10
_WHERE = 120

Failure = tuple[FailureClass, str]
"""Its class and where it was: what tells one failure from another."""


def before(state: LoopState, oversight: Oversight, history: Sequence[IterationSummary]) -> tuple[Issue, ...]:
    """What is wrong before the iteration that is due."""
    return (
        *_channels(state),
        *_strategy(oversight.strategy, oversight.ladder.rung),
        *_blockers(history, state.checks),
        *_budgets(state),
    )[:MOST]


def after(evidence: Evidence, progress: Progress) -> tuple[Issue, ...]:
    """What is odd about the iteration that has just ended. Nothing of it is critical: the gates themselves decide."""
    return tuple(_after(evidence, progress))[:MOST]


def _after(evidence: Evidence, progress: Progress) -> Iterator[Issue]:
    checks, wants, done = evidence.checks, evidence.claims.wants_to_finish, progress.completion
    if checks is not None and checks.passed and done >= NEAR and not evidence.proof.asked and not wants:
        yield _issue("no_request", f"{done:.0%} done and all checks pass, but the agent did not ask to be done")
    if wants and checks is not None and checks.failures:
        failing = checks_fail(len(checks.failures), len(checks.results))
        yield _issue("asked_early", f"the agent asked to be done while {failing}")
    errors = evidence.execution.call.errors
    times, kinds = sum(error.times for error in errors), sorted({str(error.kind) for error in errors})
    if times > ERRORS:
        yield _issue("errors", f"{times} tool calls failed in the session (more than {ERRORS}); classes: {', '.join(kinds)}")


def remaining(history: Sequence[IterationSummary], checks: CheckReport | None = None) -> Collection[Failure]:
    """Failures that are still there: those of the tree that the newest report is of, which after a rollback is an earlier one."""
    if checks is not None and not checks.failures:
        return ()
    newest = checked(history, 1)
    if not newest:
        return ()
    # the newest iteration that left the tree of the report and was checked
    left = (
        summary for summary in reversed(history) if checks and checks.tree and summary.tree == checks.tree and summary.checked
    )
    measured = next((summary for summary in left if summary.movement is not Movement.WAITED), None)
    there = failures_of(measured or newest[0])
    if checks is None or measured:
        return there
    names = (name for result in checks.failures if result.counts for name in result.counts.failing)
    texts = (text for one in checks.failures for text in (one.name, one.command, one.error, one.head, one.tail))
    said = "\n".join((*names, *texts))
    return [failure for failure in there if failure[1].rstrip("0123456789").rstrip(":") in said]  # the line stands apart there


def failures_of(summary: IterationSummary) -> Mapping[Failure, ErrorVector]:
    """What its failing checks say, by failure."""
    return {(error.kind, error.where): error for error in summary.errors}


def _channels(state: LoopState) -> Iterator[Issue]:
    config = state.config
    if not config.checks and not config.allow_no_checks:
        yield _issue("no_channel", "0 checks are configured and none may be left out: nothing can be verified", critical=True)
    if not config.checks and config.allow_no_checks:
        yield _issue("unverified", "0 checks are configured, as allow_no_checks permits: nothing is verified")
    if not config.steering.hooks:
        yield _issue("no_hooks", "steering.hooks is off: guard rails and checks inside the session do not act")


def _strategy(strategy: Strategy, rung: EscalationLevel) -> Iterator[Issue]:
    if strategy.stance is not Stance.PERSIST and not strategy.reasoning.strip():
        yield _issue("strategy", f"the strategy is to {strategy.stance}, without a reason")
    if strategy.stance is Stance.PERSIST and rung >= EscalationLevel.REDESIGN:
        yield _issue("strategy", f"the strategy is to persist, while the ladder stands at {rung.title}")


def _blockers(history: Sequence[IterationSummary], checks: CheckReport | None) -> Iterator[Issue]:
    """The same failure, where it stood before as well and nothing got further in between; none that the newest report lacks."""
    worked = worked_in(history, UNADDRESSED)
    if len(worked) < UNADDRESSED or any(summary.movement is Movement.FORWARD for summary in worked):
        return
    earlier = [*map(failures_of, worked), remaining(history, checks)]
    for error in worked[-1].errors:
        if all((error.kind, error.where) in seen for seen in earlier):
            place = f" at {clean(error.where[:_WHERE])}" if error.where else ""
            yield _issue("blocker", f"the same {error.kind} failure{place} after {UNADDRESSED} iterations that got no further")


def _budgets(state: LoopState) -> Iterator[Issue]:
    for gauge in gauges(state.config.limits, state.spending, state.iteration):
        if gauge.share > ALARM_AT:
            used = f"{gauge.told} are used"
            yield _issue("budget", f"{used} ({gauge.share:.0%}, more than {ALARM_AT:.0%})")


def _issue(rule: str, message: str, *, critical: bool = False) -> Issue:
    return Issue(rule=f"validation.{rule}", critical=critical, message=message)
