"""The only place that chooses. One table, in order; the first rule that has something to say decides.

What a rule knows is a `Situation`; what it returns is a Decision whose reason holds the numbers, or None.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from helmsman.records.checks import CheckReport
from helmsman.records.evidence import AgentCall, AgentOutcome, Claims, Execution
from helmsman.records.state import CALLS_WINDOW, LoopState, failed_calls, recent_calls
from helmsman.records.verdict import Decision, DecisionKind, Outcome, Severity, Signal


@dataclass(frozen=True)
class Situation:
    """All that a decision may depend on."""

    state: LoopState
    """As it was before this iteration."""
    execution: Execution
    checks: CheckReport | None
    claims: Claims
    signals: tuple[Signal, ...]
    now: datetime

    @property
    def call(self) -> AgentCall:
        return self.execution.call


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
    return _stop(s, f"agent.{s.call.outcome}", f"{why}{words}", Outcome.FAILED, fault="operator")


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
    if not s.claims.wants_to_finish:
        return None
    if s.checks is not None and s.checks.passed:
        passed = f"every check passes ({len(s.checks.results)} of {len(s.checks.results)}) on {_short(s)}"
        reason = f"the agent asked to be done ({s.claims.how}) and {passed}"
        return _stop(s, "completion.verified", reason, Outcome.COMPLETED)
    if not s.state.config.checks:
        reason = f"the agent asked to be done ({s.claims.how}); NOTHING WAS VERIFIED, because no check is configured"
        return _stop(s, "completion.unverified", reason, Outcome.COMPLETED)
    return None


def _limit_reached(s: Situation) -> Decision | None:
    aborts = [signal for signal in s.signals if signal.severity is Severity.ABORT]
    if not aborts:
        return None
    reason = "; ".join(signal.message for signal in aborts)
    repeat = s.call.outcome is AgentOutcome.USAGE_LIMIT  # it stops instead of waiting, and counts as little
    return _stop(s, aborts[0].rule, f"{reason}; at the end {_standing(s)}", Outcome.STOPPED, repeat=repeat)


def _agent_keeps_failing(s: Situation) -> Decision | None:
    failed, allowed = failed_calls(s.state, s.execution), s.state.config.limits.agent_failures
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


def _continue(s: Situation) -> Decision:
    return Decision(kind=DecisionKind.CONTINUE, rule="continue", reason=_standing(s), at=s.now)


RULES: tuple[Rule, ...] = (
    _operator_must_act,
    _completed,
    _limit_reached,
    _usage_limit,
    _agent_keeps_failing,
    _calls_per_hour,
    _continue,
)


def _standing(s: Situation) -> str:
    """How far the work is, in a clause."""
    if s.checks is None:
        return f"the agent's call ended as {s.call.outcome}, so nothing was checked"
    if not s.checks.results:
        return "nothing is checked and the agent has not asked to be done"
    if s.checks.passed:
        return "all checks pass, but the agent has not asked to be done"
    asked = "; the agent asked to be done all the same" if s.claims.wants_to_finish else ""
    return f"{len(s.checks.failures)} of {len(s.checks.results)} checks fail{asked}"


def _short(s: Situation) -> str:
    return s.execution.change.commit[:10]


def _stop(s: Situation, rule: str, reason: str, outcome: Outcome, *, fault: str = "", repeat: bool = False) -> Decision:
    return Decision(kind=DecisionKind.STOP, rule=rule, reason=reason, at=s.now, outcome=outcome, fault=fault, repeat=repeat)


def _wait(s: Situation, rule: str, reason: str, until: datetime, *, repeat: bool = False) -> Decision:
    return Decision(kind=DecisionKind.WAIT, rule=rule, reason=reason, at=s.now, until=until, repeat=repeat)
