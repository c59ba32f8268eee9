"""What the overseer notices after an iteration. Each detector is a small function in one table."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from helmsman.oversee.detector import Detector, Found
from helmsman.oversee.drift import LEAST_STRANGERS, flagged, sentence
from helmsman.oversee.limits import NEARLY_USED_UP, gauges_near, in_words, newly_near
from helmsman.records.agent import FAILURES_IN_ROW, AgentOutcome
from helmsman.records.decision import Severity
from helmsman.records.iteration import Evidence
from helmsman.records.state import LoopState, Spending, killed_at_once, spend


@dataclass(frozen=True)
class IterationView:
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


def _limits(view: IterationView) -> Iterator[Found]:
    """Budgets that are near, and one that holds only as far as the agent's program tells what a call took."""
    limits, call = view.state.config.limits, view.evidence.execution.call
    yield from gauges_near(limits, view.spending, view.counted)
    for name, told, limit in (("tokens", "tokens", limits.tokens), ("cost_usd", "cost", limits.cost_usd)):
        if limit is not None and told in call.untold:
            message = f"this call ({call.outcome}) did not tell what it used, so it does not count towards limits.{name}"
            yield Found(message, severity=Severity.WARN, rule=f"{name}.untold")


def _usage(view: IterationView) -> Iterator[Found]:
    """A window of the subscription that is nearly used up, once until it is reset. Where one is used up the wait says it."""
    call = view.evidence.execution.call
    if call.outcome is not AgentOutcome.USAGE_LIMIT:
        for window in newly_near(view.state.usage, call.rate_limit, view.now):
            yield Found(f"{in_words(window)}; small work comes first until then", window.utilization, NEARLY_USED_UP)


def _requests(view: IterationView) -> Iterator[Found]:
    """A request to be done that something speaks against."""
    checks, claims, proof = view.evidence.checks, view.evidence.claims, view.evidence.proof
    if claims.wants_to_finish and checks and checks.results and not checks.passed:
        failing = ", ".join(result.name for result in checks.failures)
        yield Found(f"the agent asked to be done ({claims.how}), but these checks fail: {failing}", rule="unproven")
    if proof.asked and proof.green and proof.denied:
        message = f"the agent asked to be done ({proof.how}) under green checks, but {proof.objections}"
        yield Found(message, len(proof.denied), 0, rule="denied")


def _verdict(view: IterationView) -> Iterator[Found]:
    judgement, allowed = view.evidence.judgement, view.state.config.judge.rejections
    if judgement is None or judgement.approved:
        return
    if not judgement.rejected:
        yield Found(f"the judge cannot tell: {judgement.cause}", rule="cannot_tell")
        return
    in_row = view.state.judge.rejections + 1
    told = f"the judge rejected the work ({judgement.outcome}, {in_row} in a row of {allowed}): {judgement.cause}"
    yield Found(told, in_row, allowed, rule="rejected")


def _checks(view: IterationView) -> Iterator[Found]:
    report = view.evidence.checks
    flaky = [name for result in report.results for name in result.flaky] if report else []
    if flaky:
        told = f"{len(flaky)} flaky: failed and then passed on the same tree: {', '.join(flaky[:5])}"
        yield Found(told, len(flaky), 0, rule="flaky")
    if left := report.left_behind if report else ():
        told = f"the checks changed {len(left)} files, which were put back: {', '.join(left[:5])}"
        yield Found(told, len(left), 0, Severity.LOG, "left_behind")


def _put_back(view: IterationView) -> Iterator[Found]:
    if paths := view.evidence.execution.put_back:
        what = "files in an iteration of research" if view.state.researching else "protected files"
        yield Found(f"the agent changed {len(paths)} {what}, which were put back: {', '.join(paths[:5])}", len(paths), 0)


def _session(view: IterationView) -> Iterator[Found]:
    """The outer loop's view of a session: one class of failure that came back and back, and why it was ended."""
    call = view.evidence.execution.call
    if call.failures_in_row >= FAILURES_IN_ROW:
        kinds = ", ".join(dict.fromkeys(error.kind for error in call.errors[::-1]))
        told = f"{call.failures_in_row} tool calls failed one after the other in this session; classes of failure: {kinds}"
        yield Found(told, call.failures_in_row, FAILURES_IN_ROW, rule="failures")
    if why := call.rotated:
        told = f"the session was ended in good order, the next one begins with an empty context: {why}"
        yield Found(told, rule="rotated")


def _off_task(view: IterationView) -> Iterator[Found]:
    drift = view.evidence.drift
    if flagged(drift):
        yield Found(sentence(drift), len(drift.strangers), LEAST_STRANGERS, rule="strangers")


SOURCES: tuple[Detector[IterationView], ...] = (
    Detector("limits.", Severity.ABORT, _limits),
    Detector("usage_limit.near", Severity.WARN, _usage),
    # hooks fell silent: no failure of the work, and what the work is worth, the checks say
    Detector("steering.silent", Severity.WARN, lambda view: map(Found, filter(None, [view.evidence.execution.call.unguarded]))),
    Detector("completion.", Severity.WARN, _requests),
    Detector("judge.", Severity.WARN, _verdict),
    Detector("checks.", Severity.WARN, _checks),
    Detector("invariants.put_back", Severity.WARN, _put_back),
    Detector("session.", Severity.LOG, _session),
    Detector("drift.", Severity.LOG, _off_task),
    Detector(
        "prompt.unwritten",
        Severity.WARN,
        lambda view: (Found(f"no model wrote for the prompt: {why}; templates served") for why in view.evidence.unwritten),
    ),
)
"""By what is looked at, budgets first. A rule that ends with a point is completed by what is found."""
