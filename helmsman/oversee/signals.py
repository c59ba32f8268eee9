"""Alerts about a single iteration, one per row of a table, and validation before and after it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from helmsman.oversee.detector import Detection, Detector
from helmsman.oversee.drift import LEAST_UNRELATED, describe_drift, is_off_task
from helmsman.oversee.limits import NEARLY_USED_UP, describe_window, gauges_near, newly_nearly_used
from helmsman.records.agent import FAILURES_IN_ROW, AgentOutcome
from helmsman.records.control import EscalationLevel, GitChanges, Issue, Oversight, Progress
from helmsman.records.decision import Alert, Severity
from helmsman.records.iteration import Evidence
from helmsman.records.state import LoopState, Spending, is_killed_at_once, spend
from helmsman.texts import git_changes_text
from helmsman.verify.findings import join_some


@dataclass(frozen=True)
class IterationView:
    """One iteration as the detectors see it."""

    state: LoopState
    evidence: Evidence
    started_at: datetime
    now: datetime

    @property
    def spending(self) -> Spending:
        """Spending including this iteration."""
        return spend(self.state, self.evidence.usage, self.started_at, self.now, self.evidence.at_work)

    @property
    def iteration_count(self) -> int:
        """Iterations including this one; an iteration is repeated after a call that says nothing about the work."""
        execution = self.evidence.execution
        return self.state.iteration + (execution.needs_checks and not is_killed_at_once(self.state, execution))


def _limits(view: IterationView) -> Iterator[Detection]:
    """Limits that are near or reached, and limits whose usage the agent's program did not report."""
    limits, call = view.state.config.limits, view.evidence.execution.call
    yield from gauges_near(limits, view.spending, view.iteration_count)
    for name, reported, limit in (("tokens", "tokens", limits.tokens), ("cost_usd", "cost", limits.cost_usd)):
        if limit is not None and reported in call.untold:
            message = f"this call ({call.outcome}) did not report its usage, so it does not count towards limits.{name}"
            yield Detection(message, severity=Severity.WARN, rule=f"{name}.untold")


def _usage(view: IterationView) -> Iterator[Detection]:
    """A usage window that is nearly used up, once until it resets. If one is used up, the wait reports it."""
    call = view.evidence.execution.call
    if call.outcome is not AgentOutcome.USAGE_LIMIT:
        for window in newly_nearly_used(view.state.usage, call.rate_limit, view.now):
            yield Detection(f"{describe_window(window)}; smaller items come first until then", window.utilization, NEARLY_USED_UP)


def _contradicted_claims(view: IterationView) -> Iterator[Detection]:
    """A claim of completion that the evidence contradicts."""
    checks, claims, proof = view.evidence.checks, view.evidence.claims, view.evidence.proof
    if claims.wants_to_finish and checks and checks.results and not checks.passed:
        failing = ", ".join(result.name for result in checks.failures)
        yield Detection(f"the agent claimed completion ({claims.how}), but these checks fail: {failing}", rule="unproven")
    if proof.asked and proof.green and proof.denied:
        objections = "; ".join(denial.why for denial in proof.denied)
        message = f"the agent claimed completion ({proof.how}) with passing checks, but {objections}"
        yield Detection(message, len(proof.denied), 0, rule="denied")


def _judge_verdict(view: IterationView) -> Iterator[Detection]:
    judgement, allowed = view.evidence.judgement, view.state.config.judge.rejections
    if judgement is None or judgement.approved:
        return
    if not judgement.rejected:
        yield Detection(f"the judge cannot tell: {judgement.cause}", rule="cannot_tell")
        return
    in_row = view.state.judge.rejections + 1
    text = f"the judge rejected the work ({judgement.outcome}, {in_row} in a row of {allowed}): {judgement.cause}"
    yield Detection(text, in_row, allowed, rule="rejected")


def _checks(view: IterationView) -> Iterator[Detection]:
    report = view.evidence.checks
    flaky = [name for result in report.results for name in result.flaky] if report else []
    if flaky:
        text = f"{len(flaky)} flaky (failed, then passed on the same tree): {', '.join(flaky[:5])}"
        yield Detection(text, len(flaky), 0, rule="flaky")
    if leftover := report.left_behind if report else ():
        text = f"the checks changed {len(leftover)} files, which were restored: {', '.join(leftover[:5])}"
        yield Detection(text, len(leftover), 0, Severity.LOG, "left_behind")


def _reverted_files(view: IterationView) -> Iterator[Detection]:
    if paths := view.evidence.execution.put_back:
        kind = "files in a research iteration" if view.state.researching else "protected files"
        yield Detection(f"the agent changed {len(paths)} {kind}, which were restored: {', '.join(paths[:5])}", len(paths), 0)


def _session(view: IterationView) -> Iterator[Detection]:
    """What happened in the session: repeated failures of tools, and why it was ended."""
    call = view.evidence.execution.call
    if call.failures_in_row >= FAILURES_IN_ROW:
        kinds = ", ".join(dict.fromkeys(error.kind for error in call.errors[::-1]))
        text = f"{call.failures_in_row} tool calls in a row failed in this session; classes of failure: {kinds}"
        yield Detection(text, call.failures_in_row, FAILURES_IN_ROW, rule="failures")
    if why := call.rotated:
        text = f"the session was ended regularly, the next one starts with an empty context: {why}"
        yield Detection(text, rule="rotated")


def _off_task(view: IterationView) -> Iterator[Detection]:
    drift = view.evidence.drift
    if is_off_task(drift):
        yield Detection(describe_drift(drift), len(drift.strangers), LEAST_UNRELATED, rule="strangers")


ITERATION_DETECTORS: tuple[Detector[IterationView], ...] = (
    Detector("limits.", Severity.ABORT, _limits),
    Detector("usage_limit.near", Severity.WARN, _usage),
    # silent hooks are no failure of the work; the checks decide about that
    Detector(
        "steering.silent", Severity.WARN, lambda view: map(Detection, filter(None, [view.evidence.execution.call.unguarded]))
    ),
    Detector("completion.", Severity.WARN, _contradicted_claims),
    Detector("judge.", Severity.WARN, _judge_verdict),
    Detector("checks.", Severity.WARN, _checks),
    Detector("invariants.put_back", Severity.WARN, _reverted_files),
    Detector("session.", Severity.LOG, _session),
    Detector("drift.", Severity.LOG, _off_task),
    Detector(
        "prompt.unwritten",
        Severity.WARN,
        lambda view: (Detection(f"no model wrote the prompt ({why}); the template was used") for why in view.evidence.unwritten),
    ),
)
"""Detectors by subject, limits first. A rule that ends with a dot is completed by the finding."""


def git_alerts(now: GitChanges, earlier: GitChanges) -> Iterator[Alert]:
    """What an agent without a sandbox could have left for a person's git, as long as it is there; each moved reference once."""
    if now.followed:
        yield Alert(rule="git.changed", severity=Severity.WARN, message=git_changes_text(now.followed))
    if fresh := [ref for ref in now.moved if ref not in earlier.moved]:
        message = f"moved since the loop began: {join_some(fresh, most=MOST)}; move back what no person or other loop moved"
        yield Alert(rule="git.moved", severity=Severity.LOG, message=message)


# --- validation before and after an iteration: critical issues stop the loop ------------------------------------------

NEAR = 0.95  # completion from which an agent is expected to claim completion
ERRORS = 5  # failed tool calls of a session above which they are reported
UNADDRESSED = 2  # iterations in a row without progress on the same class of failure; one may be research
MOST = 10
CRITICAL = "no_channel"
REDESIGN = EscalationLevel.REDESIGN


def issues_before(state: LoopState, oversight: Oversight) -> tuple[Issue, ...]:
    """Problems before the due iteration."""
    config, strategy, level = state.config, oversight.strategy, oversight.ladder.rung
    persists, unchecked, allowed = strategy.stance == "persist", not config.checks, config.allow_no_checks
    # not if the work was reverted
    recurring = [item for item in oversight.learning if item.in_row >= UNADDRESSED and not state.failed]
    blockers = (f"{item.kind} failures in {item.in_row} iterations in a row without progress" for item in recurring)
    rows = (
        (unchecked and not allowed, CRITICAL, "no check is configured and allow_no_checks is off: nothing can be verified"),
        (unchecked and allowed, "unverified", "no check is configured, as allow_no_checks permits: nothing is verified"),
        (not config.steering.hooks, "no_hooks", "steering.hooks is off: guardrails and checks inside the session are inactive"),
        (persists and level >= REDESIGN, "strategy", f"the strategy is to persist, while the ladder is at {level.title}"),
        *((True, "blocker", message) for message in blockers),
    )
    return tuple(_issue(rule, message) for applies, rule, message in rows if applies)[:MOST]


def issues_after(evidence: Evidence, progress: Progress) -> tuple[Issue, ...]:
    """Oddities of the iteration that just ended. None is critical: the gates decide."""
    checks, errors, done = evidence.checks, evidence.execution.call.errors, progress.completion
    has_claimed, times = evidence.claims.wants_to_finish or evidence.proof.asked, sum(error.times for error in errors)
    kinds = ", ".join(sorted({str(error.kind) for error in errors}))
    is_unclaimed = checks is not None and checks.passed and done >= NEAR and not has_claimed
    rows = (
        (is_unclaimed, "no_request", f"{done:.0%} done and all checks pass, but the agent did not claim completion"),
        (times > ERRORS, "errors", f"{times} tool calls failed in the session: {kinds}"),
    )
    return tuple(_issue(rule, message) for applies, rule, message in rows if applies)


def _issue(rule: str, message: str) -> Issue:
    return Issue(rule=f"validation.{rule}", critical=rule == CRITICAL, message=message)
