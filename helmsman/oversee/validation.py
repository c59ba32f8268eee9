"""Sanity before and after an iteration: what is incoherent, missing or odd. What is critical stops the loop.

Budgets that are nearly used up and early requests to be done are signals (`signals`).
"""

from collections.abc import Iterator, Sequence

from helmsman.oversee.cycles import worked as worked_in
from helmsman.plain import clean
from helmsman.records.control import EscalationLevel, Issue, IterationSummary, Movement, Oversight, Progress
from helmsman.records.iteration import Evidence
from helmsman.records.state import LoopState

NEAR = 0.95  # completion from which an agent is expected to ask to be done
ERRORS = 5  # failed tool calls of a session above which it is told
UNADDRESSED = 2  # iterations in a row that got no further with the same failure. One may be research.
MOST = 10
CRITICAL = "no_channel"
REDESIGN = EscalationLevel.REDESIGN
_WHERE = 120


def before(state: LoopState, oversight: Oversight, history: Sequence[IterationSummary]) -> tuple[Issue, ...]:
    """What is wrong before the iteration that is due."""
    config, strategy, rung = state.config, oversight.strategy, oversight.ladder.rung
    persists, unchecked, allowed = strategy.stance == "persist", not config.checks, config.allow_no_checks
    rows = (
        (unchecked and not allowed, CRITICAL, "0 checks are configured and none may be left out: nothing can be verified"),
        (unchecked and allowed, "unverified", "0 checks are configured, as allow_no_checks permits: nothing is verified"),
        (not config.steering.hooks, "no_hooks", "steering.hooks is off: guard rails and checks inside the session do not act"),
        (not persists and not strategy.reasoning.strip(), "strategy", f"the strategy is to {strategy.stance}, without a reason"),
        (persists and rung >= REDESIGN, "strategy", f"the strategy is to persist, while the ladder stands at {rung.title}"),
        *((True, "blocker", message) for message in _blockers(state, history)),
    )
    return tuple(_issue(rule, message) for holds, rule, message in rows if holds)[:MOST]


def after(evidence: Evidence, progress: Progress) -> tuple[Issue, ...]:
    """What is odd about the iteration that has just ended. Nothing of it is critical: the gates themselves decide."""
    checks, errors, done = evidence.checks, evidence.execution.call.errors, progress.completion
    asked, times = evidence.claims.wants_to_finish or evidence.proof.asked, sum(error.times for error in errors)
    kinds = ", ".join(sorted({str(error.kind) for error in errors}))
    unasked = checks is not None and checks.passed and done >= NEAR and not asked
    rows = (
        (unasked, "no_request", f"{done:.0%} done and all checks pass, but the agent did not ask to be done"),
        (times > ERRORS, "errors", f"{times} tool calls failed in the session: {kinds}"),
    )
    return tuple(_issue(rule, message) for holds, rule, message in rows if holds)


def _blockers(state: LoopState, history: Sequence[IterationSummary]) -> Iterator[str]:
    """The same failure in the last iterations, none of which got further; nothing of work that was taken off the branch."""
    worked, green = worked_in(history, UNADDRESSED), state.checks is not None and not state.checks.failures
    if len(worked) < UNADDRESSED or state.failed or green or any(one.movement is Movement.FORWARD for one in worked):
        return
    seen = [{(error.kind, error.where) for error in summary.errors} for summary in worked]
    for error in worked[-1].errors:
        if all((error.kind, error.where) in failures for failures in seen):
            place = f" at {clean(error.where[:_WHERE])}" if error.where else ""
            yield f"the same {error.kind} failure{place} after {UNADDRESSED} iterations that got no further"


def _issue(rule: str, message: str) -> Issue:
    return Issue(rule=f"validation.{rule}", critical=rule == CRITICAL, message=message)
