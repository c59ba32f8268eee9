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
_WHERE = 120


def before(state: LoopState, oversight: Oversight, history: Sequence[IterationSummary]) -> tuple[Issue, ...]:
    """What is wrong before the iteration that is due."""
    return (*_settings(state), *_strategy(oversight), *_blockers(state, history))[:MOST]


def after(evidence: Evidence, progress: Progress) -> tuple[Issue, ...]:
    """What is odd about the iteration that has just ended. Nothing of it is critical: the gates themselves decide."""
    checks, asked, errors = (
        evidence.checks,
        evidence.claims.wants_to_finish or evidence.proof.asked,
        evidence.execution.call.errors,
    )
    found, done = list[Issue](), progress.completion
    if checks is not None and checks.passed and done >= NEAR and not asked:
        found.append(_issue("no_request", f"{done:.0%} done and all checks pass, but the agent did not ask to be done"))
    if (times := sum(error.times for error in errors)) > ERRORS:
        kinds = ", ".join(sorted({str(error.kind) for error in errors}))
        found.append(_issue("errors", f"{times} tool calls failed in the session (more than {ERRORS}); classes: {kinds}"))
    return tuple(found)


def _settings(state: LoopState) -> Iterator[Issue]:
    config = state.config
    if not config.checks and not config.allow_no_checks:
        yield _issue("no_channel", "0 checks are configured and none may be left out: nothing can be verified", critical=True)
    if not config.checks and config.allow_no_checks:
        yield _issue("unverified", "0 checks are configured, as allow_no_checks permits: nothing is verified")
    if not config.steering.hooks:
        yield _issue("no_hooks", "steering.hooks is off: guard rails and checks inside the session do not act")


def _strategy(oversight: Oversight) -> Iterator[Issue]:
    strategy, rung = oversight.strategy, oversight.ladder.rung
    if strategy.stance != "persist" and not strategy.reasoning.strip():
        yield _issue("strategy", f"the strategy is to {strategy.stance}, without a reason")
    if strategy.stance == "persist" and rung >= EscalationLevel.REDESIGN:
        yield _issue("strategy", f"the strategy is to persist, while the ladder stands at {rung.title}")


def _blockers(state: LoopState, history: Sequence[IterationSummary]) -> Iterator[Issue]:
    """The same failure in the last iterations, none of which got further; nothing of work that was taken off the branch."""
    worked, green = worked_in(history, UNADDRESSED), state.checks is not None and not state.checks.failures
    if len(worked) < UNADDRESSED or state.failed or green or any(one.movement is Movement.FORWARD for one in worked):
        return
    seen = [{(error.kind, error.where) for error in summary.errors} for summary in worked]
    for error in worked[-1].errors:
        if all((error.kind, error.where) in failures for failures in seen):
            place = f" at {clean(error.where[:_WHERE])}" if error.where else ""
            yield _issue("blocker", f"the same {error.kind} failure{place} after {UNADDRESSED} iterations that got no further")


def _issue(rule: str, message: str, *, critical: bool = False) -> Issue:
    return Issue(rule=f"validation.{rule}", critical=critical, message=message)
