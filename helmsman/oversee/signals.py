"""What the overseer notices after an iteration. Each source is a small function in one tuple."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from helmsman.orient.research import researching
from helmsman.oversee.drift import LEAST_STRANGERS, flagged, sentence
from helmsman.oversee.limits import limit_signals
from helmsman.oversee.usage import in_words, newly_near
from helmsman.records.evidence import AgentOutcome
from helmsman.records.iteration import Evidence
from helmsman.records.state import LoopState, Spending, killed_at_once, spend
from helmsman.records.verdict import Severity, Signal


@dataclass(frozen=True)
class Sight:
    """What there is to see of one iteration."""

    state: LoopState
    evidence: Evidence
    started_at: datetime
    now: datetime

    @property
    def spending(self) -> Spending:
        """What the loop has used up with it."""
        return spend(self.state, self.evidence.usage, self.started_at, self.now, self.evidence.at_work)


def _limits(sight: Sight) -> tuple[Signal, ...]:
    execution = sight.evidence.execution  # the same iteration is due again after a call that says nothing of the work
    counted = execution.worth_checking and not killed_at_once(sight.state, execution)
    return limit_signals(sight.state.config.limits, sight.spending, sight.state.iteration + counted)


def _usage(sight: Sight) -> tuple[Signal, ...]:
    """A window of the subscription that is nearly used up, once until it is reset."""
    config, heard = sight.state.config.usage_limit, sight.evidence.execution.call.rate_limit
    if sight.evidence.execution.call.outcome is AgentOutcome.USAGE_LIMIT:
        return ()  # the wait says it
    follows = "small work comes first until then"
    return tuple(
        Signal(
            rule="usage_limit.near",
            severity=Severity.WARN,
            message=f"{in_words(window)}; {follows}",
            value=window.utilization,
            threshold=config.warn_at,
        )
        for window in newly_near(config, sight.state.usage, heard, sight.now)
    )


def _untold(sight: Sight) -> tuple[Signal, ...]:
    """A budget that holds only as far as the agent's program tells what a call took."""
    limits, call = sight.state.config.limits, sight.evidence.execution.call
    budgets = ("tokens", "tokens", limits.tokens), ("cost_usd", "cost", limits.cost_usd)
    return tuple(
        Signal(
            rule=f"limits.{name}.untold",
            severity=Severity.WARN,
            message=f"this call ({call.outcome}) did not tell what it used, so it does not count towards limits.{name}",
        )
        for name, told, limit in budgets
        if limit is not None and told in call.untold
    )


def _unguarded(sight: Sight) -> tuple[Signal, ...]:
    """Hooks fell silent. That is no failure of the work: what the work is worth, the checks say."""
    message = sight.evidence.execution.call.unguarded
    return (Signal(rule="steering.silent", severity=Severity.WARN, message=message),) if message else ()


def _unproven_request(sight: Sight) -> tuple[Signal, ...]:
    checks, claims = sight.evidence.checks, sight.evidence.claims
    if not claims.wants_to_finish or checks is None or checks.passed or not checks.results:
        return ()
    failing = ", ".join(result.name for result in checks.failures)
    message = f"the agent asked to be done ({claims.how}), but these checks fail: {failing}"
    return (Signal(rule="completion.unproven", severity=Severity.WARN, message=message),)


def _denied_request(sight: Sight) -> tuple[Signal, ...]:
    proof = sight.evidence.proof
    if not (proof.asked and proof.green and proof.denied):
        return ()
    message = f"the agent asked to be done ({proof.how}) under green checks, but {proof.objections}"
    return (Signal(rule="completion.denied", severity=Severity.WARN, message=message, value=len(proof.denied), threshold=0),)


def _rejected_request(sight: Sight) -> tuple[Signal, ...]:
    judgement, config = sight.evidence.judgement, sight.state.config.judge
    if judgement is None or judgement.approved:
        return ()
    if not judgement.rejected:
        return (Signal(rule="judge.cannot_tell", severity=Severity.WARN, message=f"the judge cannot tell: {judgement.cause}"),)
    in_row = sight.state.judge.rejections + 1
    message = f"the judge rejected the work ({judgement.outcome}, {in_row} in a row of {config.rejections}): {judgement.cause}"
    return (Signal(rule="judge.rejected", severity=Severity.WARN, message=message, value=in_row, threshold=config.rejections),)


def _flaky_checks(sight: Sight) -> tuple[Signal, ...]:
    flaky = [name for result in sight.evidence.checks.results for name in result.flaky] if sight.evidence.checks else []
    if not flaky:
        return ()
    message = f"{len(flaky)} flaky: failed and then passed on the same tree: {', '.join(flaky[:5])}"
    return (Signal(rule="checks.flaky", severity=Severity.WARN, message=message, value=len(flaky), threshold=0),)


def _dirty_checks(sight: Sight) -> tuple[Signal, ...]:
    left = sight.evidence.checks.left_behind if sight.evidence.checks else ()
    if not left:
        return ()
    message = f"the checks changed {len(left)} files, which were put back: {', '.join(left[:5])}"
    return (Signal(rule="checks.left_behind", severity=Severity.LOG, message=message, value=len(left), threshold=0),)


def _put_back(sight: Sight) -> tuple[Signal, ...]:
    paths = sight.evidence.execution.put_back
    if not paths:
        return ()
    what = "files in an iteration of research" if researching(sight.state) else "protected files"
    message = f"the agent changed {len(paths)} {what}, which were put back: {', '.join(paths[:5])}"
    return (Signal(rule="invariants.put_back", severity=Severity.WARN, message=message, value=len(paths), threshold=0),)


def _drifting(sight: Sight) -> tuple[Signal, ...]:
    drift = sight.evidence.drift
    if not flagged(drift):
        return ()
    if drift.documents:
        return (Signal(rule="drift.documents", severity=Severity.LOG, message=sentence(drift), value=len(drift.documents)),)
    value = len(drift.strangers)
    return (
        Signal(rule="drift.strangers", severity=Severity.LOG, message=sentence(drift), value=value, threshold=LEAST_STRANGERS),
    )


def _kept_failing(sight: Sight) -> tuple[Signal, ...]:
    """The outer loop's view of a session: one class of failure that came back and back."""
    call, limit = sight.evidence.execution.call, sight.state.config.steering.failures_in_row
    if call.failures_in_row < limit:
        return ()
    kinds = ", ".join(dict.fromkeys(error.kind for error in call.errors[::-1]))
    message = f"{call.failures_in_row} tool calls failed one after the other in this session; classes of failure: {kinds}"
    return (Signal(rule="session.failures", severity=Severity.LOG, message=message, value=call.failures_in_row, threshold=limit),)


def _rotated(sight: Sight) -> tuple[Signal, ...]:
    why = sight.evidence.execution.call.rotated
    message = f"the session was ended in good order, the next one begins with an empty context: {why}"
    return (Signal(rule="session.rotated", severity=Severity.LOG, message=message),) if why else ()


def _unwritten(sight: Sight) -> tuple[Signal, ...]:
    return tuple(
        Signal(rule="prompt.unwritten", severity=Severity.WARN, message=f"no model wrote for the prompt: {why}; templates served")
        for why in sight.evidence.unwritten
    )


SOURCES: tuple[Callable[[Sight], tuple[Signal, ...]], ...] = (
    _limits,
    _usage,
    _untold,
    _unguarded,
    _unproven_request,
    _denied_request,
    _rejected_request,
    _flaky_checks,
    _dirty_checks,
    _put_back,
    _kept_failing,
    _rotated,
    _drifting,
    _unwritten,
)
