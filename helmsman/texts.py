"""Texts of records for people, the same in the live view, in plain output and in the log."""

from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta

from helmsman.plain import clean, short_line
from helmsman.records.agent import ContextUse, Guarded, StopAttempt
from helmsman.records.checks import CheckResult
from helmsman.records.decision import Alert, Outcome, Severity
from helmsman.records.result import LoopResult
from helmsman.records.state import LoopState
from helmsman.records.tracking import Merged

SAID_SHOWN = 300
"""Characters of the agent's last words."""
SIGNS = {
    Outcome.COMPLETED: "✔ completed",
    Outcome.STOPPED: "■ stopped",
    Outcome.FAILED: "✘ failed",
    Outcome.WAITING: "… waiting",
    Outcome.EJECTED: "⏏ ejected",
    Outcome.UNPROVEN: "? unproven",
    Outcome.NOTHING_CHANGED: "○ nothing changed",
    Outcome.BLOCKED: "⊘ blocked",
    Outcome.CANCELLED: "■ cancelled",
    None: "▶ unfinished",
}


def format_duration(seconds: float) -> str:
    whole = timedelta(seconds=round(seconds))
    return f"{seconds:.1f} s" if seconds < 60 else str(whole)  # noqa: PLR2004 - a minute


def format_money(dollars: float) -> str:
    return f"${dollars:.2f}" if dollars >= 0.01 or dollars == 0 else f"${dollars:.4f}"  # noqa: PLR2004 - a cent


def format_dollars(dollars: float, untold: Collection[str]) -> str:
    """Format a cost; zero means unknown if the agent does not report it."""
    return "cost unknown" if "cost" in untold and not dollars else format_money(dollars)


def format_cost(dollars: float, limit: float | None, untold: Collection[str] = ()) -> str:
    """Format a cost and its limit: `$1.20 of $50.00`."""
    text = format_dollars(dollars, untold)
    return text if limit is None else f"{text} of {format_money(limit)}"


def short_number(value: float) -> str:
    """Format a number with three digits: 0.25, 3, 12.5k, 1.2M."""
    # least number, unit and its letter; 1,200 is as readable as 1.2k
    for least, size, unit in ((1e12, 1e12, "T"), (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if abs(value) >= least:
            return f"{value / size:.3g}{unit}"
    return f"{value:,.0f}" if value == round(value) else f"{value:.3g}"


def format_tokens(tokens: int, untold: Collection[str]) -> str:
    return "tokens unknown" if "tokens" in untold and not tokens else f"{tokens:,} tokens"


def format_tool_calls(calls: int, untold: Collection[str]) -> str:
    return "tool calls unknown" if "tools" in untold else plural(calls, "tool call")


def plural(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {plural or f'{noun}s'}"


def allowed_text(number: int) -> str:
    return f"{number} {'is' if number == 1 else 'are'} allowed"


def alert_word(signal: Alert) -> str:
    """Severity of an alert in lower case; `limit` for a reached limit."""
    return "limit" if signal.severity is Severity.ABORT and signal.rule.startswith("limits.") else signal.severity.lower()


def git_changes_text(changes: Sequence[str]) -> str:
    """What a person's git would run or follow, and what to do about it."""
    changed = f"git's own files changed since the loop began: {', '.join(changes)}"
    return f"{changed}; your git runs or follows them: first read them in an editor, and remove what you did not add"


def guard_text(guarded: Guarded) -> str:
    """Answer of a guard rail to a tool call."""
    verb = "denied" if guarded.denied else "advised"
    return f"{verb} ({guarded.rule}): {clean(guarded.tool)} {clean(guarded.detail)}"


def stop_text(attempt: StopAttempt) -> str:
    """Answer of the checks to the agent's attempt to stop."""
    return f"{'blocked' if attempt.blocked else 'allowed'}: {clean(attempt.why)}"


def context_text(use: ContextUse) -> str:
    """Peak of the context, and the share of noise in tool output."""
    full = f"{use.peak / use.window:.0%} of {use.window:,} tokens at its peak" if use.window else f"{use.peak:,} tokens"
    return full + (f", {use.noise_share:.0%} of tool output is noise" if use.heard else "")


def check_text(result: CheckResult) -> str:
    sign = "✔" if result.passed else "✘"
    counts = result.counts
    numbers = f": {counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped" if counts else ""
    failure = "" if result.passed else f" ({_how_failed(result)})"
    failing = f" – {', '.join(_case_text(name) for name in counts.failing[:3])}" if counts and counts.failing else ""
    flaky = f"; flaky, passed on rerun: {', '.join(clean(name) for name in result.flaky[:3])}" if result.flaky else ""
    remark = f"; {clean(result.remark)}" if result.remark else ""
    remark = f"; no test ran{remark}" if result.ran_no_test else remark
    return f"{sign} {clean(result.name)}{numbers}{failure}{failing}{flaky}{remark}"


def _case_text(name: str) -> str:
    """Name of a test; unittest repeats it, `test_a (module.Case.test_a)`."""
    short, _, where = clean(name).partition(" (")
    return short if where.removesuffix(")").endswith(f".{short}") else clean(name)


def merged_text(merged: Merged) -> str:
    """Branch and commit of the merged work."""
    pushed = f", pushed to {clean(merged.remote)}" if merged.remote else ""
    if merged.commit == merged.base:
        return f"{clean(merged.into)} already contains the work, at {merged.commit[:12]}"
    return f"into {clean(merged.into)} as {merged.commit[:12]}{pushed}"


def plan_text(state: LoopState) -> str:
    """Progress of the plan, and its current item."""
    plan, config = state.plan, state.config.plan
    if not plan.now or (state.ending and state.ending.rule != "plan.tries"):
        return f"{plan.done} of {plan.total}" + (f", {clean(plan.now)} was current" if plan.now else "")
    tried = min(plan.tried + (state.ending is None), config.tries)
    item_only = "only " if config.item else ""
    return f"{plan.done} of {plan.total}, {item_only}now {clean(plan.now)} (attempt {tried} of {config.tries})"


def standing_lines(state: LoopState) -> Iterator[str]:
    """Status lines on the merge, the plan and the agent."""
    config, merging, plan, trust, call = state.config.merge, state.merging, state.plan, state.trust, state.last_call
    if config.into and not state.merged:
        trouble = f": {clean(merging.trouble.why)}" if merging.trouble else ""
        yield f"merge      into {clean(config.into)}, {plural(merging.failed, 'attempt')} failed{trouble}"
    if plan.total:
        yield f"plan       {plan_text(state)}"
    if plan.missing and plan.tried:
        yield f"    missing    {clean(plan.missing)[:300]}"
    if trust.checked:
        true_claims = trust.checked - trust.contradicted
        yield f"trust      {true_claims} of {plural(trust.checked, 'claim')} correct ({(trust.score or 0):.0%})"
    if call.context.peak:
        yield f"context    {context_text(call.context)}"
    if call.words:
        yield f"{'blocked' if call.blocked else 'said':<10} {short_line(call.words, SAID_SHOWN)}"
    if call.unguarded:
        yield f"guards     {clean(call.unguarded)}"


def result_lines(result: LoopResult, *, driver: str = "", interrupted: str = "") -> Iterator[str]:
    """Status of a loop for a person who returns to it. `interrupted`: where, if its driver died."""
    yield f"loop       {result.loop}"
    if result.unverified:
        yield f"unverified {clean(result.unverified)}: do not trust it"
    if result.git_changes:
        yield f"WARNING    {clean(git_changes_text(result.git_changes))}"
    sign = "▶ running" if driver and result.outcome is None else SIGNS[result.outcome]
    sign = f"✘ interrupted {interrupted}" if interrupted else sign
    yield f"outcome    {sign}" + (f" – driven by {driver}" if driver else "")
    if result.rule:
        yield f"why        {result.rule}: {clean(result.reason)}"
    calls = f"{plural(result.iterations, 'iteration')}, {plural(result.agent_calls, 'agent call')}"
    effort = f"{format_dollars(result.cost_usd, result.untold)}, {format_tokens(result.tokens, result.untold)}"
    yield f"spent      {calls}, {effort}, {format_duration(result.seconds)}"
    for check in result.checks:
        yield f"check      {'✔' if check.passed else '✘'} {clean(check.command)}"
    moved = f"rebased onto {clean(result.merged.into)}" if result.merged else "followed by Helmsman's own commits"
    proven = f" (proven as {result.proven[:10]}, {moved})" if result.proven else ""
    yield f"branch     {clean(result.branch)} at {result.commit[:12]}{proven}"
    if result.later:
        yield f"later      git diff {result.commit[:12]} {result.later}; git branch {result.loop}-later {result.later}"
    if result.merged:
        yield f"merged     {merged_text(result.merged)}"
    if link := result.issue:  # the issue that it was started for, and its pull request
        where = f"no pull request: {clean(link.problem)}" if link.problem else clean(link.pull_request)
        yield f"issue      #{link.number} of {clean(link.repository)}{f': {where}' if where else ''}"
    yield f"state      {result.state_ref}"


def _how_failed(result: CheckResult) -> str:
    if result.error:
        return clean(result.error)
    return "timed out" if result.timed_out else f"exit {result.exit_code}"
