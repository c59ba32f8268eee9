"""What the overseer notices after an iteration. Each detector is a small function in one table."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from helmsman.orient.research import researching
from helmsman.oversee.detector import Detector, Found
from helmsman.oversee.drift import LEAST_STRANGERS, flagged, sentence
from helmsman.oversee.limits import gauges_near, in_words, newly_near
from helmsman.records.evidence import AgentOutcome
from helmsman.records.iteration import Evidence
from helmsman.records.state import LoopState, Spending, killed_at_once, spend
from helmsman.records.verdict import Severity


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

    @property
    def counted(self) -> int:
        """Iterations with it; the same one is due again after a call that says nothing of the work."""
        execution = self.evidence.execution
        return self.state.iteration + (execution.worth_checking and not killed_at_once(self.state, execution))


def _limits(sight: Sight) -> Iterator[Found]:
    return gauges_near(sight.state.config.limits, sight.spending, sight.counted)


def _usage(sight: Sight) -> Iterator[Found]:
    """A window of the subscription that is nearly used up, once until it is reset. Where one is used up the wait says it."""
    config, call = sight.state.config.usage_limit, sight.evidence.execution.call
    if call.outcome is not AgentOutcome.USAGE_LIMIT:
        for window in newly_near(config, sight.state.usage, call.rate_limit, sight.now):
            yield Found(f"{in_words(window)}; small work comes first until then", window.utilization, config.warn_at)


def _untold(sight: Sight) -> Iterator[Found]:
    """A budget that holds only as far as the agent's program tells what a call took."""
    limits, call = sight.state.config.limits, sight.evidence.execution.call
    for name, told, limit in (("tokens", "tokens", limits.tokens), ("cost_usd", "cost", limits.cost_usd)):
        if limit is not None and told in call.untold:
            message = f"this call ({call.outcome}) did not tell what it used, so it does not count towards limits.{name}"
            yield Found(message, rule=f"{name}.untold")


def _unguarded(sight: Sight) -> Iterator[Found]:
    """Hooks fell silent. That is no failure of the work: what the work is worth, the checks say."""
    if message := sight.evidence.execution.call.unguarded:
        yield Found(message)


def _unproven_request(sight: Sight) -> Iterator[Found]:
    checks, claims = sight.evidence.checks, sight.evidence.claims
    if claims.wants_to_finish and checks and checks.results and not checks.passed:
        failing = ", ".join(result.name for result in checks.failures)
        yield Found(f"the agent asked to be done ({claims.how}), but these checks fail: {failing}")


def _denied_request(sight: Sight) -> Iterator[Found]:
    proof = sight.evidence.proof
    if proof.asked and proof.green and proof.denied:
        message = f"the agent asked to be done ({proof.how}) under green checks, but {proof.objections}"
        yield Found(message, len(proof.denied), 0)


def _rejected(sight: Sight) -> Iterator[Found]:
    judgement, allowed = sight.evidence.judgement, sight.state.config.judge.rejections
    if judgement and judgement.rejected and not judgement.approved:
        in_row = sight.state.judge.rejections + 1
        told = f"the judge rejected the work ({judgement.outcome}, {in_row} in a row of {allowed}): {judgement.cause}"
        yield Found(told, in_row, allowed)


def _undecided(sight: Sight) -> Iterator[Found]:
    judgement = sight.evidence.judgement
    if judgement and not judgement.approved and not judgement.rejected:
        yield Found(f"the judge cannot tell: {judgement.cause}")


def _flaky_checks(sight: Sight) -> Iterator[Found]:
    flaky = [name for result in sight.evidence.checks.results for name in result.flaky] if sight.evidence.checks else []
    if flaky:
        yield Found(f"{len(flaky)} flaky: failed and then passed on the same tree: {', '.join(flaky[:5])}", len(flaky), 0)


def _dirty_checks(sight: Sight) -> Iterator[Found]:
    if left := sight.evidence.checks.left_behind if sight.evidence.checks else ():
        yield Found(f"the checks changed {len(left)} files, which were put back: {', '.join(left[:5])}", len(left), 0)


def _put_back(sight: Sight) -> Iterator[Found]:
    if paths := sight.evidence.execution.put_back:
        what = "files in an iteration of research" if researching(sight.state) else "protected files"
        yield Found(f"the agent changed {len(paths)} {what}, which were put back: {', '.join(paths[:5])}", len(paths), 0)


def _only_documents(sight: Sight) -> Iterator[Found]:
    drift = sight.evidence.drift
    if drift.documents:
        yield Found(sentence(drift), len(drift.documents))


def _strangers(sight: Sight) -> Iterator[Found]:
    drift = sight.evidence.drift
    if flagged(drift) and not drift.documents:
        yield Found(sentence(drift), len(drift.strangers), LEAST_STRANGERS)


def _kept_failing(sight: Sight) -> Iterator[Found]:
    """The outer loop's view of a session: one class of failure that came back and back."""
    call, limit = sight.evidence.execution.call, sight.state.config.steering.failures_in_row
    if call.failures_in_row >= limit:
        kinds = ", ".join(dict.fromkeys(error.kind for error in call.errors[::-1]))
        told = f"{call.failures_in_row} tool calls failed one after the other in this session; classes of failure: {kinds}"
        yield Found(told, call.failures_in_row, limit)


def _rotated(sight: Sight) -> Iterator[Found]:
    if why := sight.evidence.execution.call.rotated:
        yield Found(f"the session was ended in good order, the next one begins with an empty context: {why}")


def _unwritten(sight: Sight) -> Iterator[Found]:
    for why in sight.evidence.unwritten:
        yield Found(f"no model wrote for the prompt: {why}; templates served")


SOURCES: tuple[Detector[Sight], ...] = (
    Detector("limits.", Severity.ABORT, _limits),
    Detector("usage_limit.near", Severity.WARN, _usage),
    Detector("limits.", Severity.WARN, _untold),
    Detector("steering.silent", Severity.WARN, _unguarded),
    Detector("completion.unproven", Severity.WARN, _unproven_request),
    Detector("completion.denied", Severity.WARN, _denied_request),
    Detector("judge.cannot_tell", Severity.WARN, _undecided),
    Detector("judge.rejected", Severity.WARN, _rejected),
    Detector("checks.flaky", Severity.WARN, _flaky_checks),
    Detector("checks.left_behind", Severity.LOG, _dirty_checks),
    Detector("invariants.put_back", Severity.WARN, _put_back),
    Detector("session.failures", Severity.LOG, _kept_failing),
    Detector("session.rotated", Severity.LOG, _rotated),
    Detector("drift.documents", Severity.LOG, _only_documents),
    Detector("drift.strangers", Severity.LOG, _strangers),
    Detector("prompt.unwritten", Severity.WARN, _unwritten),
)
"""By what is looked at, budgets first."""
