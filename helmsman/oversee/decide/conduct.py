"""Questions about how the loop behaves and what the world or a budget forces: pain, a person, limits, an agent that fails."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from helmsman.oversee.best import all_ours
from helmsman.oversee.decide.situation import BLOWN, Situation, against, go_on, question, standing, stop, wait
from helmsman.oversee.diagnosis import sentence
from helmsman.oversee.limits import in_words, open_windows, used_up
from helmsman.records.agents import AgentKind
from helmsman.records.evidence import AgentOutcome
from helmsman.records.modes import Ladder, Rung
from helmsman.records.oversight import Diagnosis
from helmsman.records.state import CALLS_WINDOW, MOST_KILLED, failed_calls, killed_at_once, recent_calls
from helmsman.records.verdict import Decision, DecisionKind, Outcome
from helmsman.texts import are_allowed, counted

CONFLICTS_TOLD = 2
LEAST_LOSS = 0.01
"""Of completion; below it two tests of 500 that fail by chance would take work back."""
OPERATORS_FAULT: Mapping[AgentOutcome, str] = {
    AgentOutcome.AUTHENTICATION: (
        "the agent's credentials are missing or refused; log in with `claude /login` or set ANTHROPIC_API_KEY"
    ),
    AgentOutcome.BILLING: "the agent's account has no credit or is on hold; fix it with the provider",
    AgentOutcome.BAD_MODEL: "the model does not exist or may not be used; set claude.model",
    AgentOutcome.REFUSED_START: "the agent's program refused to start",
    AgentOutcome.BLOCKED_BY_HOOK: "a hook of the repository or the user stops the agent; look at claude.setting_sources",
}
"""Outcomes that will be the same next time until a person acts."""
PAUSES: Mapping[AgentOutcome, int] = {AgentOutcome.OVERLOADED: 48, AgentOutcome.RATE_LIMITED: 48, AgentOutcome.CRASHED: 1}
"""Pauses of the circuit breaker that may follow one another: 48 of the usual 30 minutes are an outage of a day; a program that
crashes after a pause too needs a person. Other outcomes have no pause."""


def _last_good(s: Situation) -> str:
    """The best commit, else the one that the loop began with; empty where the branch is there.

    What an iteration made that hurts is never the best one; a blown budget says nothing against the work.
    """
    harmless = all(signal.rule == BLOWN for signal in s.critical_events)
    best = (s.oversight if harmless else s.state.oversight).best
    good = best.commit if best else s.state.base_commit
    back = good if _all_ours(s, good) else s.evidence.execution.change.start
    return "" if back == s.commit else back


def _because_of(ladder: Ladder) -> str:
    return f"{ladder.rung.title}: {ladder.reason}" if ladder.reason else ladder.rung.title


def _watched(s: Situation) -> str:
    return "" if s.steers else "; ladder.act is off, so nothing follows"


def on_better_tree(s: Situation, decision: Decision) -> Decision:
    """The same decision, on a better tree where the work got worse and the loop goes on. One that ends is left at its best."""
    back = _better_tree(s)
    if not back or decision.repeat or decision.kind is DecisionKind.STOP:
        return decision
    told = f"{decision.reason}; the work got worse, so the branch goes back to {back[:10]} and the work stays on a ref"
    return decision.model_copy(update={"back_to": back, "reason": told})


def _better_tree(s: Situation) -> str:
    """The best commit, where the work got worse in too many iterations in a row; empty where the branch stays."""
    best, regressing = s.oversight.best, any(signal.rule == "regressing" for signal in s.signals)
    rolls = regressing and s.steers and s.state.config.ladder.rollback and not s.state.config.completion.force_max
    lost = best.completion - s.oversight.progress.completion if best else 0.0
    goes = rolls and best is not None and best.commit != s.commit and lost >= LEAST_LOSS
    return best.commit if goes and best and _all_ours(s, best.commit) else ""


def _all_ours(s: Situation, back: str) -> bool:
    return s.commit == back or all_ours(s.state.history, back, s.evidence.execution.change.start)


def _others_fault(s: Situation, kind: AgentKind) -> str:
    """The same of an agent other than Claude Code, with what its own file says of logging in."""
    remedy = f"; {kind.remedy}" if kind.remedy else ""
    told = {
        AgentOutcome.AUTHENTICATION: f"the credentials of {kind.name} are missing or refused{remedy}",
        AgentOutcome.BILLING: f"the account of {kind.name} has no credit or is on hold; fix it with the provider",
        AgentOutcome.BAD_MODEL: "the model does not exist or may not be used; set agent.model",
        AgentOutcome.REFUSED_START: f"the program of {kind.name} refused to start",
    }
    return told.get(s.call.outcome, OPERATORS_FAULT[s.call.outcome])


def _reset(s: Situation) -> datetime | None:
    """The announced reset, or now where that has just passed. One that has passed and was waited for tells nothing."""
    known = s.call.rate_limit.resets_at if s.call.rate_limit else None
    return None if known is None or (known <= s.now and s.state.attempt > 1) else max(known, s.now)


def _in_time(s: Situation, reset: datetime | None) -> datetime:
    """When to try again, where the provider resets what is used up then, or never said when."""
    config = s.state.config.usage_limit
    margin, unknown = timedelta(seconds=config.margin_seconds), timedelta(minutes=config.unknown_wait_minutes)
    return min(reset + margin if reset else s.now + unknown, s.now + timedelta(hours=config.longest_wait_hours))


def _shares(s: Situation) -> str:
    windows = open_windows(s.call.rate_limit, s.now)
    return "; ".join(map(in_words, windows)) or "the CLI told no share of a window"


def _paused(s: Situation, reason: str) -> Decision:
    """The circuit breaker opens. The attempt is made again after the pause, and one that comes to something closes it."""
    until = s.now + timedelta(minutes=s.state.config.breaker.cool_down_minutes)
    told = f"{reason}; trying again at {until:%Y-%m-%d %H:%M:%S} UTC, which costs no iteration"
    return wait(s, "breaker.open", told, until, repeat=True)


def _failures(s: Situation) -> str:
    return f"{failed_calls(s.state, s.evidence.execution)} of {s.state.config.limits.agent_failures} in a row brought nothing"


def _allowed(s: Situation) -> str:
    config = s.state.config.usage_limit
    shares = ("of the 5-hour window", config.pause_at), ("of a weekly window", config.pause_at_weekly)
    return ", ".join(f"{share:.0%} {name}" if share else f"any share {name}" for name, share in shares)


def _outcome(s: Situation) -> str:
    return f"it ended as {s.call.outcome}"


# --- the questions ----------------------------------------------------------------------------------------------------


@question(
    "pain",
    "Is there pain that ends a loop at once?",
    lambda s: "; ".join(signal.message for signal in s.critical_events) or "none",
    "the cause gone; a person may switch a source of pain off under pain.*",
)
def pain(s: Situation) -> Decision | None:
    """Whatever else is going on; the work stays on a ref."""
    if not s.critical_events:
        return None
    back = _last_good(s)
    told = f"; the branch goes back to {back[:10]}, the work stays on a ref" if back else ""
    reason = "; ".join(signal.message for signal in s.critical_events)
    ejected = stop(
        s, s.critical_events[0].rule, f"{reason}{told}; look at it, then: helmsman resume {s.state.loop}", Outcome.EJECTED
    )
    return ejected.model_copy(update={"back_to": back})


@question(
    "validation",
    "Did validation find something that makes going on pointless?",
    lambda s: f"{sum(issue.critical for issue in s.oversight.issues)} critical of {len(s.oversight.issues)} issues",
    "no critical issue",
)
def critical(s: Situation) -> Decision | None:
    critical = [issue for issue in s.oversight.issues if issue.critical]
    if not critical or not s.steers:
        return None
    reason = "; ".join(issue.message for issue in critical)
    return stop(s, critical[0].rule, f"{reason}; at the end {against(s)}", Outcome.STOPPED)


@question(
    "ladder.human",
    "Has the ladder come to a person?",
    lambda s: f"the rung is {_because_of(s.oversight.ladder)}{_watched(s)}",
    lambda s: f"progress, or more iterations for a rung than {s.state.config.ladder.patience} (ladder.patience)",
)
def person(s: Situation) -> Decision | None:
    ladder = s.oversight.ladder
    if ladder.rung < Rung.HUMAN or not s.steers:
        return None
    sure = [one for one in s.oversight.conflicts if one.by == "rules" or s.oversight.diagnosis is Diagnosis.DOUBLE_BIND]
    facts = "; ".join(map(sentence, sure[:CONFLICTS_TOLD]))
    objection = f"two orders contradict each other: {facts}; at the end {against(s)}" if facts else against(s)
    reason = f"{objection}; {ladder.rung.title}: {ladder.reason}"
    choices = (
        f"a person has to choose: change the goal, the checks or an order that contradicts another, and go on with"
        f" `helmsman approve {s.state.loop}` (it begins with a redesign); or take the branch over by hand; or leave it"
    )
    return stop(s, "ladder.human", f"{reason}; {choices}", Outcome.WAITING)


@question("continue", "Is there nothing that speaks against going on?", standing, "any yes above")
def carry_on(s: Situation) -> Decision:
    rung = s.oversight.ladder.rung
    climbed = f"; {rung.title}: {s.oversight.ladder.reason}" if rung > Rung.PATCH and s.steers else ""
    return go_on(s, "continue", f"{standing(s)}{climbed}")


@question(
    "agent.operator",
    "Did the agent's call end in a way that only the operator can fix?",
    _outcome,
    f"an ending other than {', '.join(sorted(OPERATORS_FAULT))}",
)
def operator(s: Situation) -> Decision | None:
    if s.call.outcome not in OPERATORS_FAULT:
        return None
    why = _others_fault(s, s.state.agent.kind) if s.state.agent else OPERATORS_FAULT[s.call.outcome]
    words = f": {s.call.error}" if s.call.error else ""
    return stop(s, f"agent.{s.call.outcome}", f"{why}{words}", Outcome.FAILED, fault="operator", repeat=True)


@question(
    "limits",
    "Is a limit reached?",
    lambda s: "; ".join(signal.message for signal in s.limits) or "every limit has room",
    "a higher limit, or less spent: helmsman resume LOOP --set limits.NAME=VALUE",
)
def limit(s: Situation) -> Decision | None:
    if not s.limits:
        return None
    reason = "; ".join(signal.message for signal in s.limits)
    proven = f"; the last proven commit is {s.state.verified[:10]}" if s.state.verified else ""
    repeat = s.call.outcome is AgentOutcome.USAGE_LIMIT  # it stops instead of waiting, and counts as little
    return stop(s, s.limits[0].rule, f"{reason}; at the end {against(s)}{proven}", Outcome.STOPPED, repeat=repeat)


@question(
    "agent.usage_limit",
    "Did the provider's usage limit cut the call off?",
    _outcome,
    "a window of the subscription with room in it",
)
def usage_limit(s: Situation) -> Decision | None:
    if s.call.outcome is not AgentOutcome.USAGE_LIMIT:
        return None
    limit = s.call.rate_limit
    until = _in_time(s, _reset(s))
    window = f" ({limit.window})" if limit and limit.window else ""
    told = "" if limit and limit.resets_at else ", no reset was announced"
    reason = f"usage limit{window} reached{told}; waiting until {until:%Y-%m-%d %H:%M:%S} UTC, which costs no iteration"
    return wait(s, "agent.usage_limit", reason, until, repeat=True)


@question(
    "usage_limit.pause_at",
    "Has the loop used the share of a window that it may?",
    _shares,
    lambda s: f"less than {_allowed(s)} used (usage_limit.pause_at, pause_at_weekly)",
)
def share_used(s: Situation) -> Decision | None:
    full = used_up(s.state.config.usage_limit, s.call.rate_limit, s.now)
    if not full:
        return None
    until = _in_time(s, max((window.resets_at for window in full if window.resets_at), default=None))
    told = "; ".join(map(in_words, full))
    reason = f"{told}, and the loop leaves the rest to people (usage_limit.pause_at); waiting until {until:%Y-%m-%d %H:%M:%S} UTC"
    return wait(s, "usage_limit.pause_at", reason, until)


@question(
    "limits.agent_failures",
    "Did too many agent calls in a row come to nothing?",
    _failures,
    "one call that ends its turn or changes a file",
)
def failing_agent(s: Situation) -> Decision | None:
    failed, allowed = failed_calls(s.state, s.evidence.execution), s.state.config.limits.agent_failures
    if failed < allowed:
        return None
    words = f": {s.call.error}" if s.call.error else ""
    reason = f"{failed} agent calls in a row brought nothing ({are_allowed(allowed)}), the last one {s.call.outcome}{words}"
    if s.state.attempt <= PAUSES.get(s.call.outcome, 0):
        return _paused(s, reason)
    return stop(s, "limits.agent_failures", reason, Outcome.FAILED, fault="agent")


@question(
    "agent.killed",
    "Was the agent killed before it did anything?",
    lambda s: f"{_outcome(s)} after {s.call.tool_calls} tool calls, in attempt {s.state.attempt}",
    f"a call that does something, or more than {MOST_KILLED} attempts that were killed",
)
def killed(s: Situation) -> Decision | None:
    """It says nothing of the work or the approach, as a call that the network broke."""
    if not killed_at_once(s.state, s.evidence.execution):
        return None
    until = s.now + timedelta(seconds=s.state.config.retry.first_delay_seconds)
    killed = f"the agent was killed (exit status {s.call.exit_code}) before it did anything"
    reason = f"{killed}; it is called again, which costs no iteration"
    return wait(s, "agent.killed", reason, until, repeat=True)


@question(
    "limits.calls_per_hour",
    "Were as many calls made in this hour as may be?",
    lambda s: f"{len(recent_calls(s.state, s.now))} of {s.state.config.limits.calls_per_hour}",
    "a higher limits.calls_per_hour, or slower iterations",
)
def full_hour(s: Situation) -> Decision | None:
    calls, allowed = recent_calls(s.state, s.now), s.state.config.limits.calls_per_hour
    if len(calls) < allowed:
        return None
    until = min(calls[0], s.now) + CALLS_WINDOW
    made = f"{counted(len(calls), 'agent call')} in the last hour ({are_allowed(allowed)})"
    reason = f"{made}; waiting until {until:%Y-%m-%d %H:%M:%S} UTC"
    return wait(s, "limits.calls_per_hour", reason, until)
