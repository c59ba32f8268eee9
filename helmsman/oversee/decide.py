"""The only place that chooses. One table, in order; the first rule that has something to say decides.

What a rule knows is a `Situation`; what it returns is a Decision whose reason holds the numbers, or None.
"""

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from helmsman.records.evidence import AgentCall, AgentOutcome
from helmsman.records.findings import Weight
from helmsman.records.iteration import Evidence
from helmsman.records.state import CALLS_WINDOW, LoopState, failed_calls, recent_calls
from helmsman.records.verdict import Decision, DecisionKind, Outcome, Severity, Signal


@dataclass(frozen=True)
class Situation:
    """All that a decision may depend on."""

    state: LoopState
    """As it was before this iteration."""
    evidence: Evidence
    signals: tuple[Signal, ...]
    now: datetime

    @property
    def call(self) -> AgentCall:
        return self.evidence.execution.call

    @property
    def aborts(self) -> list[Signal]:
        return [signal for signal in self.signals if signal.severity is Severity.ABORT]


Rule = Callable[[Situation], Decision | None]

OPERATORS_FAULT: Mapping[AgentOutcome, str] = {
    AgentOutcome.AUTHENTICATION: (
        "the agent's credentials are missing or refused; log in with `claude /login` or set ANTHROPIC_API_KEY"
    ),
    AgentOutcome.BILLING: "the agent's account has no credit or is on hold; mend it with the provider",
    AgentOutcome.BAD_MODEL: "the model does not exist or may not be used; set claude.model",
    AgentOutcome.REFUSED_START: "the agent's program refused to start",
    AgentOutcome.BLOCKED_BY_HOOK: "a hook of the repository or the user stops the agent; look at claude.setting_sources",
}
"""Outcomes that will be the same next time until a person acts."""


def decide(situation: Situation) -> Decision:
    """Choose what follows an iteration."""
    return next(decision for decision in (rule(situation) for rule in RULES) if decision is not None)


def _operator_must_act(s: Situation) -> Decision | None:
    why = OPERATORS_FAULT.get(s.call.outcome)
    if why is None:
        return None
    words = f": {s.call.error}" if s.call.error else ""
    return _stop(s, f"agent.{s.call.outcome}", f"{why}{words}", Outcome.FAILED, fault="operator", repeat=True)


def _usage_limit(s: Situation) -> Decision | None:
    if s.call.outcome is not AgentOutcome.USAGE_LIMIT:
        return None
    limit = s.call.rate_limit
    until = min(_reset(s), s.now + timedelta(hours=s.state.config.usage_limit.longest_wait_hours))
    window = f" ({limit.window})" if limit and limit.window else ""
    told = "" if limit and limit.resets_at else ", no reset was announced"
    reason = f"usage limit{window} reached{told}; waiting until {until:%Y-%m-%d %H:%M:%S} UTC, which costs no iteration"
    return _wait(s, "agent.usage_limit", reason, until, repeat=True)


def _reset(s: Situation) -> datetime:
    """The announced reset, or now where that has just passed. One that has passed and was waited for tells nothing."""
    config, known = s.state.config.usage_limit, s.call.rate_limit.resets_at if s.call.rate_limit else None
    if known is None or (known <= s.now and s.state.attempt > 1):
        return s.now + timedelta(minutes=config.unknown_wait_minutes)
    return max(known, s.now) + timedelta(seconds=config.margin_seconds)


def _completed(s: Situation) -> Decision | None:
    if not s.evidence.proven or (s.state.config.completion.force_max and not s.aborts):
        return None
    return _stop(s, f"completion.{_proof_word(s)}", f"{_why_done(s)} on {_short(s)}", Outcome.COMPLETED)


def _completed_before(s: Situation) -> Decision | None:
    """With force_max the last iteration need not ask again, where an earlier one was proven and this one is as green."""
    proof, judged = s.evidence.proof, bool(s.state.config.judge.criteria)
    if not (s.state.config.completion.force_max and s.aborts and s.state.verified and proof.green and not proof.denied) or judged:
        return None
    reason = f"it was proven first on {s.state.verified[:10]}, and at the end of all iterations {_checked(s)} on {_short(s)}"
    return _stop(s, "completion.force_max", reason, Outcome.COMPLETED)


def _proof_word(s: Situation) -> str:
    return "verified" if s.state.config.checks else "unverified"


def _why_done(s: Situation) -> str:
    judgement = s.evidence.judgement
    judged = f", and the judge agrees on {len(judgement.criteria)} criteria" if judgement else ""
    return f"the agent asked to be done ({s.evidence.proof.how}) and {_checked(s)}{judged}"


def _checked(s: Situation) -> str:
    report = s.evidence.checks
    if not s.state.config.checks or report is None:
        return "NOTHING WAS VERIFIED, because no check is configured"
    return f"every check passes ({len(report.results)} of {len(report.results)})"


def _limit_reached(s: Situation) -> Decision | None:
    if not s.aborts:
        return None
    reason = "; ".join(signal.message for signal in s.aborts)
    proven = f"; the last proven commit is {s.state.verified[:10]}" if s.state.verified else ""
    repeat = s.call.outcome is AgentOutcome.USAGE_LIMIT  # it stops instead of waiting, and counts as little
    return _stop(s, s.aborts[0].rule, f"{reason}; at the end {_standing(s)}{proven}", Outcome.STOPPED, repeat=repeat)


def _agent_keeps_failing(s: Situation) -> Decision | None:
    failed, allowed = failed_calls(s.state, s.evidence.execution), s.state.config.limits.agent_failures
    if failed < allowed:
        return None
    words = f": {s.call.error}" if s.call.error else ""
    reason = f"{failed} agent calls in a row came to nothing ({allowed} are allowed), the last one {s.call.outcome}{words}"
    return _stop(s, "limits.agent_failures", reason, Outcome.FAILED, fault="agent")


def _calls_per_hour(s: Situation) -> Decision | None:
    calls, allowed = recent_calls(s.state, s.now), s.state.config.limits.calls_per_hour
    if len(calls) < allowed:
        return None
    until = min(calls[0], s.now) + CALLS_WINDOW
    reason = f"{len(calls)} agent calls in the last hour ({allowed} are allowed); waiting until {until:%H:%M:%S} UTC"
    return _wait(s, "limits.calls_per_hour", reason, until)


def _judge_keeps_rejecting(s: Situation) -> Decision | None:
    judgement, config = s.evidence.judgement, s.state.config.judge
    in_row = s.state.judge.rejections + 1
    if judgement is None or judgement.approved or config.reset_strategy or in_row < config.rejections:
        return None
    unmet = ", ".join(verdict.criterion for verdict in judgement.criteria if not verdict.met)
    about = f" (not met: {unmet})" if unmet else ""
    reason = f"the judge has rejected the work {in_row} times in a row, {config.rejections} are allowed: {judgement.cause}{about}"
    return _stop(s, "judge.rejections", f"{reason}; a person has to look at the criteria or at the work", Outcome.WAITING)


def _keeps_asking(s: Situation) -> Decision | None:
    limit, proof = s.state.config.completion.ask_limit, s.evidence.proof
    in_row = s.state.done.asked_in_row + 1
    if limit is None or not (proof.asked and proof.green and proof.denied) or in_row < limit:
        return None
    reason = f"the agent asked to be done {in_row} times in a row under green checks, and this stands against it: "
    return _stop(s, "completion.denied", f"{reason}{proof.objections}{_remedy(s)}", Outcome.STOPPED)


def _remedy(s: Situation) -> str:
    """What a person may do who has looked and finds the work honest."""
    paths = {finding.path for finding in s.evidence.findings if finding.weight is Weight.BLOCK}
    allowed = shlex.quote(
        f"invariants.allow={json.dumps([*s.state.config.invariants.allow, *sorted(paths)[:3]], ensure_ascii=False)}"
    )
    return f"; if you have looked and it is honest work: helmsman resume {s.state.loop} --set {allowed}" if paths else ""


def _acknowledged(s: Situation) -> Decision | None:
    if not s.evidence.proven:
        return None
    reason = f"{_why_done(s)} on {_short(s)}; force_max goes on improving it until the iterations are used up"
    return Decision(kind=DecisionKind.CONTINUE, rule="completion.acknowledged", reason=reason, at=s.now)


def _continue(s: Situation) -> Decision:
    return Decision(kind=DecisionKind.CONTINUE, rule="continue", reason=_standing(s), at=s.now)


RULES: tuple[Rule, ...] = (
    _operator_must_act,
    _completed,
    _completed_before,
    _limit_reached,
    _usage_limit,
    _agent_keeps_failing,
    _judge_keeps_rejecting,
    _keeps_asking,
    _calls_per_hour,
    _acknowledged,
    _continue,
)


def _standing(s: Situation) -> str:
    """How far the work is, in a clause."""
    report, asked = s.evidence.checks, s.evidence.claims.wants_to_finish
    if report is None:
        return f"the agent's call ended as {s.call.outcome}, so nothing was checked"
    if report.results and not report.passed:
        all_the_same = "; the agent asked to be done all the same" if asked else ""
        return f"{len(report.failures)} of {len(report.results)} checks fail{all_the_same}"
    if not asked:
        return f"{'all checks pass, but' if report.results else 'nothing is checked and'} the agent has not asked to be done"
    return f"the agent asked to be done, but {_objections(s)}"


def _objections(s: Situation) -> str:
    judgement = s.evidence.judgement
    rejected = f"the judge did not approve: {judgement.cause}" if judgement and not judgement.approved else ""
    return s.evidence.proof.objections or rejected or "force_max goes on"


def _short(s: Situation) -> str:
    return s.evidence.execution.change.commit[:10]


def _stop(s: Situation, rule: str, reason: str, outcome: Outcome, *, fault: str = "", repeat: bool = False) -> Decision:
    return Decision(kind=DecisionKind.STOP, rule=rule, reason=reason, at=s.now, outcome=outcome, fault=fault, repeat=repeat)


def _wait(s: Situation, rule: str, reason: str, until: datetime, *, repeat: bool = False) -> Decision:
    return Decision(kind=DecisionKind.WAIT, rule=rule, reason=reason, at=s.now, until=until, repeat=repeat)
