"""Systems 1, 2 and 3: the agent's work, what keeps it out of others' way, and what steers it."""

from collections.abc import Iterable, Iterator, Sequence

from helmsman.oversee.limits import Gauge, gauges
from helmsman.oversee.movement import got_on
from helmsman.oversee.usage import in_words, open_windows
from helmsman.plain import spelled
from helmsman.records.control import Band
from helmsman.records.evidence import NEVER_AT_WORK, AgentCall, AgentOutcome, Change
from helmsman.records.iteration import IterationRecord
from helmsman.records.modes import Rung
from helmsman.records.oversight import Diagnosis, Learnt
from helmsman.records.state import LoopState
from helmsman.records.verdict import Severity, Signal
from helmsman.render.cells import BREAK, code, prose
from helmsman.render.system import Row, Sign, System, worst
from helmsman.texts import context_text, counted, dollars_told, duration, stop_text, tokens_told

SHOWN = 5
"""Of commits, rules, signals: so many, and how many more there are."""
IN_ORDER = frozenset({AgentOutcome.FINISHED, AgentOutcome.ROTATED})
IN_PART = frozenset({AgentOutcome.MAX_TURNS, AgentOutcome.CALL_BUDGET, AgentOutcome.TIMED_OUT, AgentOutcome.CONTEXT_FULL})
EXPLAINED = {Severity.REDIRECT, Severity.PAUSE, Severity.ABORT}
LIMITS = {"wall_clock_hours": "time", "cost_usd": "cost"}
STEPS = 10
"""Of a gauge."""


def listed(told: Iterable[str], most: int = SHOWN) -> str:
    """One below the other in a cell; beyond a few only counted."""
    lines = [line for line in told if line]
    more = [f"and {len(lines) - most} more"] if len(lines) > most else []
    return BREAK.join([*lines[:most], *more])


# --- 1: the agent's work --------------------------------------------------------------------------------------------


def operations(_state: LoopState, record: IterationRecord | None) -> System:
    """What the agent did in this iteration."""
    if record is None:
        return System("1", "operations", Sign.IDLE, "no iteration has ended since the loop was opened", ())
    call, change = record.execution.call, record.execution.change
    sign = worst((
        (call.outcome in NEVER_AT_WORK or call.outcome not in IN_ORDER | IN_PART or bool(call.pain), Sign.BAD),
        (call.outcome in IN_PART or (record.moment is not None and not got_on(record.moment)), Sign.WATCH),
    ))  # fmt: skip
    changed = f"{counted(change.files_changed, 'file')} changed in {counted(len(change.commits), 'commit')}"
    short = f"{spelled(call.outcome)}, {changed}"
    return System("1", "operations", sign, short, tuple(_operations(record)))


def _operations(record: IterationRecord) -> Iterator[Row]:
    call, change = record.execution.call, record.execution.change
    yield "agent", f"{spelled(call.outcome)} after {duration(call.seconds)}{f', {code(call.model, 80)}' if call.model else ''}"
    yield "its words", prose(call.error)
    yield "ended early", prose(call.pain or call.rotated)
    yield "tree", _change(change)
    yield "commits", listed(f"{code(commit.id[:10])} {prose(commit.subject, 120)}" for commit in change.commits)
    yield "tests", _tests(record)
    yield "tool calls", _tools(call)
    used = dollars_told(record.usage.cost_usd, call.untold), tokens_told(record.usage.tokens, call.untold)
    yield "used", f"{', '.join(used)}, {duration(record.seconds)}"
    yield "context", context_text(call.context) if call.context.peak else ""
    yield "movement", str(record.moment.movement) if record.moment else ""


def _change(change: Change) -> str:
    if not change.files_changed:
        return f"unchanged, at {code(change.commit[:10])}"
    lines = f"+{change.insertions} −{change.deletions}"
    return f"{counted(change.files_changed, 'file')}, {lines}, now at {code(change.commit[:10])}"


def _tests(record: IterationRecord) -> str:
    counts = [result.counts for result in record.checks.results if result.counts] if record.checks else []
    if not counts:
        return ""
    passed, failed, skipped = (sum(getattr(one, name) for one in counts) for name in ("passed", "failed", "skipped"))
    return f"{passed:,} passed, {failed:,} failed, {skipped:,} skipped"


def _tools(call: AgentCall) -> str:
    most_used = ", ".join(f"{prose(name, 40)} {times}" for name, times in call.tools[:SHOWN])
    return f"{call.tool_calls:,}{f' ({most_used})' if most_used else ''} in {counted(call.turns, 'turn')}"


# --- 2: out of each other's way -------------------------------------------------------------------------------------


def coordination(state: LoopState, record: IterationRecord | None) -> System:
    """What keeps agent, checks, drivers and orders from getting into each other's way."""
    guarded = record.execution.call.guarded if record else ()
    denied, conflicts = sum(one.denied for one in guarded), state.oversight.conflicts
    put_back = record.execution.put_back if record else ()
    left_behind = record.checks.left_behind if record and record.checks else ()
    refused = record.execution.call.permission_denials if record else ()
    watched = denied or put_back or state.salvaged or refused or (record and record.execution.call.unguarded)
    sign = worst(((bool(conflicts), Sign.BAD), (bool(watched), Sign.WATCH)))
    short = f"{counted(denied, 'tool call')} denied, {counted(len(conflicts), 'conflict')} between orders"
    rows = (
        *_place(state),
        ("attempt", f"{state.attempt}; work was salvaged {counted(len(state.salvaged), 'time')}" if state.attempt > 1 else ""),
        ("guard rails", _guard_rails(state, record)),
        ("refused by the CLI", listed(prose(name, 60) for name in refused)),
        ("wish to stop", listed(prose(stop_text(stop), 200) for stop in (record.execution.call.stops if record else ()))),
        ("put back", listed(code(path) for path in put_back)),
        ("left by checks", listed(code(path) for path in left_behind)),
        ("conflicts", listed(f"{prose(c.first.text, 140)} × {prose(c.second.text, 140)} ({c.kind})" for c in conflicts)),
        ("salvaged", listed(code(kept.ref) for kept in state.salvaged)),
        ("taken off", f"{code(state.failed.ref)}: {prose(state.failed.why)}" if state.failed else ""),
    )
    return System("2", "coordination", sign, short, rows)


def _place(state: LoopState) -> Iterator[Row]:
    where = "the repository's own checkout" if state.config.workspace.in_place else "a worktree of its own"
    yield "place", f"branch {code(state.branch)} in {where}, one driver at a time by a lock"
    pushed = f"pushed to {code(state.config.remote.name, 80)} after every iteration" if state.config.remote.push else ""
    yield "remote", pushed


def _guard_rails(state: LoopState, record: IterationRecord | None) -> str:
    if not state.config.steering.hooks:
        return "off: nothing watches single tool calls (steering.hooks)"
    guarded = record.execution.call.guarded if record else ()
    if record and record.execution.call.unguarded:
        return prose(record.execution.call.unguarded)
    told = (f"{'denied' if one.denied else 'advised'} by {prose(one.rule, 60)}: {code(one.detail, 120)}" for one in guarded)
    return listed(told) or "on; nothing was denied or advised on"


# --- 3: steering ----------------------------------------------------------------------------------------------------


def control(state: LoopState, record: IterationRecord | None) -> System:
    """What steers the agent from one iteration to the next."""
    steered, rung = state.oversight.control, state.oversight.ladder.rung
    strong = [signal for signal in (record.signals if record else ()) if signal.severity in EXPLAINED]
    used = gauges(state.config.limits, state.spending, state.iteration)
    sign = worst((
        (rung >= Rung.HUMAN, Sign.BAD),
        (any(signal.severity is not Severity.REDIRECT for signal in strong), Sign.BAD),
        (any(gauge.share >= 1 for gauge in used), Sign.BAD),
        (rung > Rung.PATCH or bool(strong), Sign.WATCH),
        (steered.band in {Band.ADJUST, Band.PIVOT} or bool(state.waiting), Sign.WATCH),
        (any(gauge.share >= state.config.limits.warn_at for gauge in used), Sign.WATCH),
    ))  # fmt: skip
    short = f"urgency {steered.output:.2f} ({steered.band}), {rung.title}"
    return System("3", "control", sign, short, tuple(_control(state, record, used)))


def _control(state: LoopState, record: IterationRecord | None, used: Sequence[Gauge]) -> Iterator[Row]:
    oversight, limits = state.oversight, state.config.limits
    yield "controller", _terms(state)
    yield from ((LIMITS.get(gauge.name, gauge.unit), _gauge(gauge)) for gauge in used)
    yield "calls in an hour", f"{len(state.recent_calls)} of {limits.calls_per_hour}"
    yield "usage windows", listed(in_words(window) for window in open_windows(state.usage, state.updated_at))
    yield "ladder", f"{oversight.ladder.rung.title}{_because(oversight.ladder.reason)}"
    yield "without progress", f"{counted(oversight.idle, 'iteration')} in a row" if oversight.idle else ""
    yield "waits", f"until {state.waiting.until:%Y-%m-%d %H:%M} UTC: {prose(state.waiting.reason)}" if state.waiting else ""
    yield "feedback", str(oversight.feedback)
    yield "diagnosis", spelled(oversight.diagnosis) if oversight.diagnosis is not Diagnosis.NONE else ""
    yield "failures that return", listed(_learnt(one) for one in oversight.learning if one.in_row)
    yield "signals", listed(_signal(signal) for signal in (record.signals if record else ()))
    yield "faults of the overseer", listed(f"{prose(fault)}; its default was used" for fault in oversight.faults)


def _terms(state: LoopState) -> str:
    steered = state.oversight.control
    gains = steered.gains
    terms = (
        f"P {steered.proportional:.2f} × {gains.kp:.2f}, I {steered.integral:.2f} × {gains.ki:.2f}, "
        f"D {steered.derivative:+.3f} × {gains.kd:.2f} ({steered.phase})"
    )
    return f"{terms} → **{steered.output:.2f}: {steered.band}**"


def _gauge(gauge: Gauge) -> str:
    full = max(0, min(STEPS, round(gauge.share * STEPS)))
    return f"{'█' * full}{'░' * (STEPS - full)} {gauge.told} ({gauge.share:.0%})"


def _because(reason: str) -> str:
    return f": {prose(reason)}" if reason else ""


def _learnt(one: Learnt) -> str:
    helped = {True: ", what was done helped", False: ", what was done did not help", None: ""}[one.helped]
    return f"{spelled(one.kind)}: {one.in_row} in a row, {one.seen} in all, level {one.level}{helped}"


def _signal(signal: Signal) -> str:
    return f"**{signal.severity.lower()}** {prose(signal.rule, 60)}: {prose(signal.message)}"
