"""The questions after an iteration, in order. The first one answered with yes decides.

Each returns the numbers behind its answer and, if the answer is yes, the decision.
"""

import json
import shlex
from collections.abc import Mapping
from datetime import datetime, timedelta

from helmsman.oversee.decide.situation import (
    MOST_DENIED_CLAIMS,
    TEXTS,
    Answer,
    Situation,
    next_attempt_at,
    proceed,
    question,
    stop,
    wait,
    yes_or_no,
)
from helmsman.oversee.diagnosis import describe_conflict
from helmsman.oversee.limits import describe_window, open_windows, used_up_windows
from helmsman.plain import clean, in_plain_words, shorten
from helmsman.records.agent import AgentOutcome
from helmsman.records.checks import JudgementOutcome, Weight
from helmsman.records.control import EscalationLevel
from helmsman.records.decision import Outcome
from helmsman.records.proof import WAIVABLE_RULES, describe_denials
from helmsman.records.state import CALLS_WINDOW, MOST_KILLED, failed_calls, is_killed_at_once, recent_calls
from helmsman.texts import allowed_text, plural
from helmsman.verify.completion import UNCHANGED
from helmsman.verify.verdict import grounds_of_loop

ASK_LIMIT = 5  # claims in a row denied despite green checks, after which the loop stops for a review
CONFLICTS_SHOWN = 2
COOL_DOWN_MINUTES = 30.0  # pause of the circuit breaker (S7): long enough for an outage, short enough for a crash
OPERATOR_FAULTS: Mapping[AgentOutcome, str] = {AgentOutcome(ending): why for ending, why in TEXTS["faults"].items()}
"""Outcomes that repeat until a person acts."""
PAUSES: Mapping[AgentOutcome, int] = {AgentOutcome.OVERLOADED: 48, AgentOutcome.RATE_LIMITED: 48, AgentOutcome.CRASHED: 1}
"""Consecutive pauses of the circuit breaker: 48 of 30 minutes cover an outage of a day; a program that still crashes
after a pause needs a person. Other outcomes have no pause."""


def _at(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


@question("pain")
def pain(s: Situation) -> Answer:
    """Critical events end the loop regardless of everything else; the work stays on a ref."""
    if not s.critical_events:
        return "none", None
    back, reason = s.last_good, "; ".join(signal.message for signal in s.critical_events)
    note = f"; the branch is reset to {back[:10]}, and the work kept on a ref" if back else ""
    message = f"{reason}{note}; review it, then: helmsman resume {s.state.loop}"
    return reason, stop(s, s.critical_events[0].rule, message, Outcome.EJECTED, back_to=back)


@question("agent.operator", lambda _: f"an outcome other than {', '.join(sorted(OPERATOR_FAULTS))}")
def operator(s: Situation) -> Answer:
    ended, kind = s.call.outcome, s.state.agent.kind if s.state.agent else None
    if ended not in OPERATOR_FAULTS:
        return s.call_ending, None
    why = OPERATOR_FAULTS[ended]
    if kind and ended in TEXTS["faults_of_others"]:
        remedy = f"; {kind.remedy}" if kind.remedy else ""  # what its own file says about logging in
        why = TEXTS["faults_of_others"][ended].format(name=kind.name, remedy=remedy)
    return s.call_ending, stop(s, f"agent.{ended}", f"{why}{s.error_suffix}", Outcome.FAILED, fault="operator", repeat=True)


@question("completion")
def completed(s: Situation) -> Answer:
    # force_max ends at a limit, or when the loop cannot improve anything further by itself
    no_better = bool(s.limits) or (s.acts and s.oversight.ladder.rung >= EscalationLevel.HUMAN)
    if not s.evidence.proven or (s.state.config.completion.force_max and not no_better):
        return s.gate_states, None
    rule = f"completion.{'verified' if s.state.config.checks else 'unverified'}"
    grounds = grounds_of_loop(s.evidence, s.state.config)
    return s.gate_states, stop(s, rule, s.completion_reason, Outcome.COMPLETED, grounds=grounds)


@question("completion.force_max")
def completed_before(s: Situation) -> Answer:
    """With force_max the last iteration need not claim completion again if an earlier one was proven and this one is as green."""
    proof, judged, before = s.evidence.proof, bool(s.state.config.judge.criteria), s.state.verified
    because = f"proven before: {before[:10] or 'no'}, a limit is reached: {yes_or_no(bool(s.limits))}"
    if not (s.state.config.completion.force_max and s.limits and before and proof.green and not proof.denied) or judged:
        return because, None
    reason = f"it was proven on {before[:10]}, and after the last iteration {s.checks_text} on {s.short_commit}"
    return because, stop(s, "completion.force_max", reason, Outcome.COMPLETED)


@question("completion.nothing_changed")
def nothing_changed(s: Situation) -> Answer:
    because = s.denied_claims
    if "unchanged" not in s.evidence.proof.refusing_rules or s.state.done.unchanged + 1 < MOST_DENIED_CLAIMS:
        return because, None
    reason = (
        f"the agent claimed completion {MOST_DENIED_CLAIMS} times ({s.evidence.proof.how}), and {UNCHANGED}: {s.short_commit}"
    )
    return because, stop(s, "completion.nothing_changed", reason, Outcome.NOTHING_CHANGED)


@question("completion.no_proof")
def unproven_work(s: Situation) -> Answer:
    because, refused = s.denied_claims, s.evidence.proof.refusing_rules
    needs_person = bool(refused) and refused <= WAIVABLE_RULES | {"plan"}  # nobody is asked to accept work with a finding
    if not needs_person or s.state.done.unproven + 1 < MOST_DENIED_CLAIMS:
        return because, None
    why = describe_denials([denial for denial in s.evidence.proof.denied if denial.rule in WAIVABLE_RULES])
    claimed = f"the agent claimed completion {MOST_DENIED_CLAIMS} times ({s.evidence.proof.how}), and {why}"
    next_steps = "accept the work yourself, or add a test, check or criterion that proves it and resume"
    return because, stop(s, "completion.no_proof", f"{claimed}; {next_steps}", Outcome.UNPROVEN)


@question("agent.blocked")
def blocked(s: Situation) -> Answer:
    reason, judged, again = s.evidence.claims.blocked, s.evidence.block_judged, s.state.done.blocked
    if not reason:
        return "the agent does not say so", None
    by_judge = f", the judge: {judged.criteria[0].given.replace('_', ' ')}" if judged else ""
    because = f"the agent says so, {again + 1} in a row{by_judge}; two in a row, or the judge's agreement, end the loop"
    if not again and not (judged and judged.approved):
        return because, None
    confirmed_by = "a fresh session confirms it" if again else "the judge confirms it"
    said, kept = f"the agent says that it is blocked, and {confirmed_by}: {reason}", f"the work is kept on {s.state.branch}"
    guide = f"say how to continue: helmsman approve {s.state.loop} --guidance TEXT"
    proof = s.evidence.proof
    # nobody is asked to accept unchanged files, or work with a finding
    if proof.green and s.state.config.checks and not judged and {denial.rule for denial in proof.denied} <= WAIVABLE_RULES:
        message = (
            f"every check passes, but the agent says twice that it is blocked: {reason}; {kept}; accept it as done, or {guide}"
        )
        return because, stop(s, "agent.blocked", message, Outcome.UNPROVEN)
    return because, stop(s, "agent.blocked", f"{said}; {kept}; remove the obstacle, or {guide}", Outcome.BLOCKED)


@question("limits")
def limit(s: Situation) -> Answer:
    if not s.limits:
        return "no limit is reached", None
    reason = "; ".join(signal.message for signal in s.limits)
    proven = f"; the last proven commit is {s.state.verified[:10]}" if s.state.verified else ""
    repeat = s.call.outcome is AgentOutcome.USAGE_LIMIT  # it stops instead of waiting, and does not count either
    message = f"{reason}; at the end {s.status_and_evidence}{proven}"
    return reason, stop(s, s.limits[0].rule, message, Outcome.STOPPED, repeat=repeat)


@question("agent.usage_limit")
def usage_limit(s: Situation) -> Answer:
    if s.call.outcome is not AgentOutcome.USAGE_LIMIT:
        return s.call_ending, None
    limit = s.call.rate_limit
    reset = limit.resets_at if limit else None
    # the announced reset, or now if it has just passed; a reset that has already been awaited is ignored
    until = next_attempt_at(s, None if reset is None or (reset <= s.now and s.state.attempt > 1) else max(reset, s.now))
    window = f" ({limit.window})" if limit and limit.window else ""
    no_reset = "" if reset else ", no reset was announced"
    reason = f"usage limit{window} reached{no_reset}; waiting until {_at(until)}, which does not count as an iteration"
    return s.call_ending, wait(s, "agent.usage_limit", reason, until, repeat=True)


@question("agent.killed", lambda _: f"a call that does something, or more than {MOST_KILLED} killed attempts")
def killed(s: Situation) -> Answer:
    """Says nothing about the work or the approach, like a call broken by the network."""
    because = f"{s.call_ending} after {s.call.tool_calls} tool calls, in attempt {s.state.attempt}"
    if not is_killed_at_once(s.state, s.evidence.execution):
        return because, None
    until = s.now + timedelta(seconds=s.state.config.retry.first_delay_seconds)
    killed = f"the agent was killed (exit status {s.call.exit_code}) before it did anything"
    reason = f"{killed}; it is called again, which does not count as an iteration"
    return because, wait(s, "agent.killed", reason, until, repeat=True)


@question("limits.agent_failures")
def failing_agent(s: Situation) -> Answer:
    failed, allowed = failed_calls(s.state, s.evidence.execution), s.state.config.limits.agent_failures
    because = f"{failed} of {allowed} in a row did nothing"
    if failed < allowed:
        return because, None
    last = f"the last ended as {in_plain_words(s.call.outcome)}{s.error_suffix}"
    reason = f"{failed} agent calls in a row did nothing ({allowed_text(allowed)}), {last}"
    if s.state.attempt > PAUSES.get(s.call.outcome, 0):
        return because, stop(s, "limits.agent_failures", reason, Outcome.FAILED, fault="agent")
    # the circuit breaker opens: the attempt is repeated after the pause, and a successful one closes it
    until = s.now + timedelta(minutes=COOL_DOWN_MINUTES)
    message = f"{reason}; retrying at {_at(until)}, which does not count as an iteration"
    return because, wait(s, "breaker.open", message, until, repeat=True)


@question("validation")
def critical(s: Situation) -> Answer:
    critical = [issue for issue in s.oversight.issues if issue.critical]
    because = f"{len(critical)} critical of {len(s.oversight.issues)} issues"
    if not critical or not s.acts:
        return because, None
    reason = "; ".join(issue.message for issue in critical)
    return because, stop(s, critical[0].rule, f"{reason}; at the end {s.status_and_evidence}", Outcome.STOPPED)


@question("judge.rejections")
def rejected(s: Situation) -> Answer:
    judgement, allowed = s.evidence.judgement, s.state.config.judge.rejections
    if judgement is None:
        return "no judge was asked", None
    in_row = 0 if judgement.approved else s.state.judge.rejections + judgement.rejected
    because = f"{plural(in_row, 'rejection')} in a row, {allowed_text(allowed)}"
    if not judgement.rejected or s.state.config.resets_strategy or s.state.judge.rejections + 1 < allowed:
        return because, None
    unmet = ", ".join(verdict.criterion for verdict in judgement.criteria if verdict.unmet)
    about = f" (not met: {unmet})" if unmet else ""
    times = f"{s.state.judge.rejections + 1} times in a row, {allowed_text(allowed)}"
    reason = f"the judge rejected the work {times}: {judgement.cause}{about}"
    message = f"{reason}; a person has to review the criteria or the work"
    return because, stop(s, "judge.rejections", message, Outcome.WAITING)


@question("judge.cannot_tell")
def cannot_tell(s: Situation) -> Answer:
    """An undecided plan item has a question of its own."""
    judgement, is_item_question = s.evidence.judgement, s.evidence.item is not None and s.evidence.item.needs_word
    if judgement is None:
        return "no judge was asked", None
    undecided = [verdict for verdict in judgement.criteria if verdict.cannot_tell]
    because = f"{plural(len(undecided), 'criterion', 'criteria')} undecided"
    if judgement.outcome is not JudgementOutcome.UNDECIDED or is_item_question:
        return because, None
    reasons = "; ".join(f"{verdict.criterion}: {shorten(clean(verdict.reason), 300)}" for verdict in undecided)
    reason = f"the judge cannot tell whether the work is done, so a person has to decide: {reasons}"
    return because, stop(s, "judge.cannot_tell", reason, Outcome.WAITING)


@question("plan.person")
def person_for_item(s: Situation) -> Answer:
    proof, (_, because) = s.evidence.item, s.item_status
    if proof is None or not proof.needs_word:
        return because, None
    no_judge = "" if s.evidence.judgement else "there is no judge, so "
    reason = f"the plan's item {proof.item} ({clean(proof.title)[:100]}): {proof.why}; {no_judge}a person has to say whether"
    return because, stop(s, "plan.person", f"{reason} it is done", Outcome.WAITING)


@question("plan.tries")
def tries(s: Situation) -> Answer:
    """Do not retry what failed this often. Parallel items wait as well: they are proven one after the other."""
    proof, plan, (tries, because) = s.evidence.item, s.state.config.plan, s.item_status
    if proof is None or proof.proven or not proof.tried or tries < plan.tries:
        return because, None
    item, spent = f"{proof.item} ({clean(proof.title)[:100]})", plural(tries, "iteration")
    last = f"{spent} did not prove the plan's item {item}, {allowed_text(plan.tries)}; missing: {proof.why}"
    choices = (
        f"a person is needed: fix the item or its check in {plan.file} on {s.state.branch}, or tell the agent"
        f" how; then `helmsman approve {s.state.loop}` allows {plan.tries} more iterations"
    )
    return because, stop(s, "plan.tries", f"{last}; {choices}", Outcome.WAITING)


@question("completion.denied", lambda s: s.evidence.proof.objections or "no blocking finding")
def denied(s: Situation) -> Answer:
    proof = s.evidence.proof
    asked, in_row = proof.asked and proof.green, s.state.done.asked_in_row + 1
    because = f"{in_row if asked and proof.denied else 0} in a row, {allowed_text(ASK_LIMIT)}"
    others = any(denial.rule != "plan" for denial in proof.denied)  # which counts its own tries
    if not (asked and others) or in_row < ASK_LIMIT:
        return because, None
    paths = {finding.path for finding in s.evidence.findings if finding.weight is Weight.BLOCK}
    allow = json.dumps([*s.state.config.invariants.allow, *sorted(paths)[:3]], ensure_ascii=False)
    command = f"helmsman resume {s.state.loop} --set {shlex.quote(f'invariants.allow={allow}')}"
    remedy = f"; if you reviewed the findings and the work is honest: {command}" if paths else ""
    reason = f"the agent claimed completion {in_row} times in a row with passing checks, but it was denied: "
    return because, stop(s, "completion.denied", f"{reason}{proof.objections}{remedy}", Outcome.STOPPED)


@question("ladder.human")
def person(s: Situation) -> Answer:
    ladder = s.oversight.ladder
    reason = f"{ladder.rung.title}: {ladder.reason}" if ladder.reason else ladder.rung.title
    because = f"the level is {reason}{'' if s.acts else '; ladder.act is off, so it has no effect'}"
    if ladder.rung < EscalationLevel.HUMAN or not s.acts:
        return because, None
    facts = "; ".join(map(describe_conflict, s.oversight.conflicts[:CONFLICTS_SHOWN]))
    objection = (
        f"two instructions contradict each other: {facts}; at the end {s.status_and_evidence}" if facts else s.status_and_evidence
    )
    choices = (
        f"a person has to choose: change the goal, the checks or a contradictory instruction, then continue with"
        f" `helmsman approve {s.state.loop}` (it starts with a redesign); or take over the branch by hand; or leave it"
    )
    message = f"{objection}; {ladder.rung.title}: {ladder.reason}; {choices}"
    return because, stop(s, "ladder.human", message, Outcome.WAITING)


def _allowed(s: Situation) -> str:
    share = s.state.config.usage_limit.pause_at
    return f"less than {f'{share:.0%}' if share else 'any share'} of a window used (usage_limit.pause_at)"


@question("usage_limit.pause_at", _allowed)
def share_used(s: Situation) -> Answer:
    because = "; ".join(map(describe_window, open_windows(s.call.rate_limit, s.now))) or "the CLI reported no usage window"
    full = used_up_windows(s.state.config.usage_limit, s.call.rate_limit, s.now)
    if not full:
        return because, None
    until = next_attempt_at(s, max((window.resets_at for window in full if window.resets_at), default=None))
    text = f"{'; '.join(map(describe_window, full))}; the loop leaves the rest to people (usage_limit.pause_at)"
    return because, wait(s, "usage_limit.pause_at", f"{text}; waiting until {_at(until)}", until)


@question("limits.calls_per_hour")
def full_hour(s: Situation) -> Answer:
    calls, allowed = recent_calls(s.state, s.now), s.state.config.limits.calls_per_hour
    because = f"{len(calls)} of {allowed}"
    if len(calls) < allowed:
        return because, None
    until = min(calls[0], s.now) + CALLS_WINDOW
    reason = f"{plural(len(calls), 'agent call')} in the last hour ({allowed_text(allowed)})"
    return because, wait(s, "limits.calls_per_hour", f"{reason}; waiting until {_at(until)}", until)


@question("completion.acknowledged")
def acknowledged(s: Situation) -> Answer:
    if not s.evidence.proven:
        return s.gate_states, None
    reason = f"{s.completion_reason}; force_max continues improving it until no iterations are left"
    return s.gate_states, proceed(s, "completion.acknowledged", reason)


@question("continue")
def carry_on(s: Situation) -> Answer:
    ladder = s.oversight.ladder
    escalation = f"; {ladder.rung.title}: {ladder.reason}" if ladder.rung > EscalationLevel.PATCH and s.acts else ""
    return s.status, proceed(s, "continue", f"{s.status}{escalation}")
