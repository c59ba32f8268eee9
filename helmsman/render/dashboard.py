"""The dashboard: a loop as a viable system, each of its systems with a sign and the numbers behind it. Markdown.

What belongs to a page of its own (questions and answers, checks and what they printed) is not told again here.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import combinations
from statistics import median
from typing import NamedTuple

from helmsman.oversee.cycles import worked
from helmsman.oversee.limits import WARN_AT, gauges, in_words, open_windows
from helmsman.oversee.pid import DEADBAND, WINDOW
from helmsman.oversee.progress import UNPROVEN, made_progress, still_told
from helmsman.oversee.variety import score
from helmsman.plain import LONGEST_LINE, shortened, spelled
from helmsman.records.agent import NEVER_AT_WORK, AgentOutcome
from helmsman.records.checks import Weight
from helmsman.records.control import Band, EscalationLevel, IterationSummary
from helmsman.records.decision import Outcome, Severity
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from helmsman.render.charts import as_data_uri, levels, line_chart, strip
from helmsman.render.facts import (
    Fact,
    Part,
    check_facts,
    coded,
    control_facts,
    cost_text,
    facts,
    finding_facts,
    green_text,
    untrue_facts,
)
from helmsman.render.markdown_page import cell, facts_table, prose, stacked, table
from helmsman.texts import SIGNS, plan_text, plural

DRAWN = 200
"""Iterations in a chart."""
TITLES = tuple(rung.title for rung in EscalationLevel)
SHOWN = 5
"""Of what is listed in a cell."""
MOST_ROWS = 40
"""Of a system."""
IN_PART = frozenset({AgentOutcome.MAX_TURNS, AgentOutcome.CALL_BUDGET, AgentOutcome.TIMED_OUT, AgentOutcome.CONTEXT_FULL})
AT_WORK = IN_PART | {AgentOutcome.FINISHED, AgentOutcome.ROTATED}
LIMITS = {"wall_clock_hours": "time", "cost_usd": "cost"}
BETWEEN = frozenset({"guard", "stop", "refused"})
"""Facts of the agent's call that tell how it and others kept out of each other's way."""
LEAST = 3
"""Iterations before any pace is told."""
SLOWEST = 0.002
"""Completion an iteration below which it does not get on."""
STEPS = 10
"""Of a gauge."""
TREND = 8
"""Iterations whose completion is told one by one."""
Row = tuple[str, str]


class Sign(StrEnum):
    """How a system stands."""

    GOOD = "✔"
    WATCH = "▲"
    BAD = "✘"
    IDLE = "–"

    @property
    def words(self) -> str:
        return {Sign.GOOD: "in order", Sign.WATCH: "to watch", Sign.BAD: "in trouble", Sign.IDLE: "nothing yet"}[self]


class System(NamedTuple):
    """One of the systems that a viable system is made of. Texts are plain; of rows, those that say something are shown."""

    title: str
    sign: Sign
    short: str
    rows: tuple[Row, ...] = ()

    def section(self) -> str:
        """All that it tells, under a heading."""
        rows = [row for row in self.rows if row[1]]
        rows = [*rows[:MOST_ROWS], *([("", f"and {len(rows) - MOST_ROWS} more")] if len(rows) > MOST_ROWS else ())]
        told = facts_table(rows, (self.sign.words, cell(self.short)), (26, 80), LONGEST_LINE) if rows else cell(self.short)
        return f"## {self.sign} {self.title}\n\n{told}"


def dashboard(state: LoopState, record: IterationRecord | None = None) -> str:
    """How the loop stands. `record` is its last iteration, None where none has ended since it was opened."""
    every = (
        _operations(record), _coordination(state, record), _control(state, record),
        _audit(state, record), _ahead(state), _policy(state),
    )  # fmt: skip
    overview = ((one.title, f"{one.sign} {one.sign.words}", cell(one.short)) for one in every)
    return stacked([
        f"# {state.loop}: {standing(state)}",
        prose(state.config.goal.strip().partition("\n")[0], 200),
        f"{cost_text(state)}, as of {state.updated_at:%Y-%m-%d %H:%M:%S} UTC  \n{_last(state, record)}",
        f"**plan**: {prose(plan_text(state), 200)}" if state.plan.total else "",
        table(("System", "Stands", "In short"), overview, (24, 14, 62)),
        *_charts(state),
        *(system.section() for system in every),
    ])  # fmt: skip


def standing(state: LoopState) -> str:
    """In two words."""
    if state.gate is not None:
        return "? a person is asked"
    return "▶ running" if state.outcome is None else SIGNS[state.outcome]


def _last(state: LoopState, record: IterationRecord | None) -> str:
    decision = state.ending or (record.decision if record else None)
    if decision is None:
        return ""
    hat = f" in the hat of a {prose(record.hat.name, 40)}" if record and record.hat else ""
    what = "ended" if state.ending or record is None else f"after #{record.iteration}{hat}: {decision.word}"
    return f"**{what}** by {prose(decision.rule, 80)}: {prose(decision.reason, 600)}"


def _charts(state: LoopState) -> Iterator[str]:
    """Progress, and which rung it was made on, once there is more than one iteration."""
    moments = state.history[-DRAWN:]
    if len(moments) < 2:  # noqa: PLR2004 - one point is no line
        return
    done = {"done": [(float(summary.iteration), summary.completion * 100) for summary in moments]}
    drawn = line_chart("Measured as done", done, y_label="%", reach=(0, 100))
    yield f"![how much is measured as done]({as_data_uri(drawn)})"
    if any(summary.rung for summary in moments):
        cells = [(str(summary.iteration), TITLES[min(summary.rung, EscalationLevel.EJECT)]) for summary in moments]
        yield f"![rungs of the ladder]({as_data_uri(strip('Rung of the ladder', cells, looks=levels(TITLES)))})"


# --- the systems --------------------------------------------------------------------------------------------------


def _worst(*signs: tuple[object, Sign], otherwise: Sign = Sign.GOOD) -> Sign:
    """The gravest of the signs that hold."""
    held = {sign for holds, sign in signs if holds}
    return next((sign for sign in (Sign.BAD, Sign.WATCH) if sign in held), otherwise)


def _listed(lines: Iterable[str]) -> str:
    """One below the other in a cell; beyond a few only counted."""
    every = [line for line in lines if line]
    return "\n".join([*every[:SHOWN], *([f"and {len(every) - SHOWN} more"] if len(every) > SHOWN else ())])


def _rows(every: Iterable[Fact]) -> list[Row]:
    return [fact[:2] for fact in every]


def _told(record: IterationRecord | None, *parts: Part, without: Collection[str] = ()) -> list[Row]:
    """What there is to tell of these parts of an iteration."""
    return _rows(one for one in (facts(record) if record else ()) if one.part in parts and one.name not in without)


def _operations(record: IterationRecord | None) -> System:
    """1: what the agent did in this iteration."""
    title = "System 1 – operations"
    if record is None:
        return System(title, Sign.IDLE, "no iteration has ended since the loop was opened")
    call, change = record.execution.call, record.execution.change
    sign = _worst(
        (call.outcome not in AT_WORK - NEVER_AT_WORK or call.pain, Sign.BAD),
        (call.outcome in IN_PART or (record.moment is not None and not made_progress(record.moment)), Sign.WATCH),
    )
    movement = ("movement", str(record.moment.movement) if record.moment else "")
    rows = (("ended early", call.pain), *_told(record, "Agent", without=BETWEEN), *_told(record, "Work", "Plan"), movement)
    changed = f"{plural(change.files_changed, 'file')} changed in {plural(len(change.commits), 'commit')}"
    return System(title, sign, f"{spelled(call.outcome)}, {changed}", rows)


def _coordination(state: LoopState, record: IterationRecord | None) -> System:
    """2: what keeps agent, checks, drivers and orders from getting into each other's way."""
    call, conflicts = record.execution.call if record else None, state.oversight.conflicts
    denied = sum(one.denied for one in call.guarded) if call else 0
    put_back = record.execution.put_back if record else ()
    watched = denied or put_back or state.salvaged or (call and (call.permission_denials or call.unguarded))
    off = "" if state.config.steering.hooks else "off: nothing watches single tool calls (steering.hooks)"
    rows = (
        ("attempt", f"{state.attempt}; work was salvaged {plural(len(state.salvaged), 'time')}" if state.attempt > 1 else ""),
        ("guard rails", off or (call.unguarded if call else "") or "on"),
        *(row for row in _told(record, "Agent") if row[0] in BETWEEN),
        ("conflicts", _listed(f"{shortened(c.first.text, 140)} × {shortened(c.second.text, 140)} ({c.kind})" for c in conflicts)),
        ("salvaged", _listed(coded(kept.ref) for kept in state.salvaged)),
    )
    short = f"{plural(denied, 'tool call')} denied, {plural(len(conflicts), 'conflict')} between orders"
    return System("System 2 – coordination", _worst((conflicts, Sign.BAD), (watched, Sign.WATCH)), short, rows)


def _control(state: LoopState, record: IterationRecord | None) -> System:
    """3: what steers the agent from one iteration to the next."""
    oversight, limits = state.oversight, state.config.limits
    steered, ladder = oversight.control, oversight.ladder
    strong = {signal.severity for signal in (record.signals if record else ())} - {Severity.LOG, Severity.WARN}
    used = gauges(limits, state.spending, state.iteration)
    nearest = max((gauge.share for gauge in used), default=0.0)
    sign = _worst(
        (ladder.rung >= EscalationLevel.HUMAN or nearest >= 1 or strong - {Severity.REDIRECT}, Sign.BAD),
        (ladder.rung > EscalationLevel.PATCH or strong or nearest >= WARN_AT, Sign.WATCH),
        (steered.band in {Band.ADJUST, Band.PIVOT} or state.waiting, Sign.WATCH),
    )
    full = [(gauge, max(0, min(STEPS, round(gauge.share * STEPS)))) for gauge in used]
    bars = [(one, f"{'█' * filled}{'░' * (STEPS - filled)} {one.told} ({one.share:.0%})") for one, filled in full]
    waiting = f"until {state.waiting.until:%Y-%m-%d %H:%M} UTC: {state.waiting.reason}" if state.waiting else ""
    rows = (
        *((LIMITS.get(gauge.name, gauge.unit), bar) for gauge, bar in bars),
        ("calls in an hour", f"{len(state.recent_calls)} of {limits.calls_per_hour}"),
        ("usage windows", _listed(in_words(window) for window in open_windows(state.usage, state.updated_at))),
        ("waits", waiting),
        *_rows(control_facts(oversight)),
        *_told(record, "Signals"),
    )
    return System("System 3 – control", sign, f"urgency {steered.output:.2f} ({steered.band}), {ladder.rung.title}", rows)


def _audit(state: LoopState, record: IterationRecord | None) -> System:
    """3*: what is true, whatever is said."""
    report, trust, judge, drift = state.checks, state.trust, state.judge, state.last_call.drift
    blocking = [finding for finding in state.findings if finding.weight is Weight.BLOCK]
    sign = _worst(
        (blocking or state.contradictions or (record and record.judgement and record.judgement.rejected), Sign.BAD),
        ((report is not None and not report.passed) or state.findings or judge.rejections, Sign.WATCH),
        otherwise=Sign.GOOD if report else Sign.IDLE,
    )
    held = f"{trust.checked - trust.contradicted} of {plural(trust.checked, 'claim')} held so far"
    waiting = plural(len(state.config.judge.criteria), "criterion waits", "criteria wait")
    unasked = f"was not asked in this iteration; {waiting} for it" if state.config.judge.criteria else "no criteria"
    rows = (
        *_rows(check_facts(report)),
        *_rows(finding_facts(state.findings)),
        ("claims", held if trust.checked else "none could be compared yet"),
        *(_told(record, "Claims") or _rows(untrue_facts(state.contradictions))),
        ("purpose", f"{drift.related} of {plural(drift.deeds, 'file')} had to do with the task" if drift.deeds else ""),
        *(_told(record, "Judge") or [("judge", unasked)]),
        ("rejections in a row", f"{judge.rejections} of {state.config.judge.rejections}" if judge.rejections else ""),
    )
    passing = green_text(report) if report else "nothing was checked yet"
    untrue = f"{plural(len(state.contradictions), 'claim')} did not hold"
    return System("System 3* – audit", sign, f"{passing}, {plural(len(blocking), 'blocking finding')}, {untrue}", rows)


def _ahead(state: LoopState) -> System:
    """4: where the work is going, how fast, and what is planned."""
    seen = outlook(state.history)
    oversight, best, measured = state.oversight, state.oversight.best, state.oversight.progress
    pace = seen.pace if seen.pace is not None else math.inf
    sign = _worst(
        (pace <= -DEADBAND, Sign.BAD),
        (pace < DEADBAND, Sign.WATCH),
        otherwise=Sign.IDLE if seen.left is None and seen.pace is None else Sign.GOOD,
    )
    shares = (("tests", measured.tests), ("checks", measured.checks), ("criteria", measured.criteria), ("plan", measured.items))
    granted = f"the limit leaves {max(0, state.config.limits.iterations - state.iteration)}"
    rows = (
        ("progress", ", ".join(f"{name} {share:.0%}" for name, share in shares if share is not None)),
        ("trend", " → ".join(f"{summary.completion:.0%}" for summary in worked(state.history, TREND))),
        ("iterations left", f"{seen.words}: {seen.by}{granted}"),
        ("first of all", _listed(oversight.strategy.priorities)),
        ("gap, as the agent sees it", state.memory.remaining_gap),
        ("best so far", f"{best.completion:.0%} after iteration {best.iteration}, at {coded(best.commit[:10])}" if best else ""),
        ("ways left open", _variety(state)),
    )
    return System("System 4 – outlook", sign, f"{measured.completion:.0%} measured as done, {seen.words}", rows)


def _variety(state: LoopState) -> str:
    trend = state.oversight.variety
    if not trend or not trend[-1].lines:
        return ""
    last, change = trend[-1], score(trend[-1]) - score(trend[0])
    over = f", {change:+.2f} over {plural(len(trend), 'iteration')}" if len(trend) > 1 else ""
    counts = ", ".join(f"{getattr(last, name)} {name}" for name in ("tests", "suppressions", "skips", "casts", "dead"))
    return f"{score(last):+.2f} (higher is better){over}: {last.lines:,} lines, {counts}"


def _policy(state: LoopState) -> System:
    """5: goal, rules and people."""
    config, gate, ended = state.config, state.gate, state.ending
    sign = _worst(
        (ended and ended.outcome not in {Outcome.COMPLETED, Outcome.WAITING}, Sign.BAD),
        (gate or (ended and ended.outcome is Outcome.WAITING), Sign.WATCH),
    )
    asks = (
        ("before the start", config.gates.plan),
        (f"every {config.gates.milestone_every} iterations", config.gates.milestone_every is not None),
        ("where a limit is reached", config.gates.budget),
        ("before merging", config.gates.merge),
        ("where it does not get on", True),
    )
    how = f"and waits {config.gates.timeout_hours:g} h" if config.gates.ask else "by ending as waiting"
    rows = (
        ("goal", config.goal.replace("\n", " ")),
        ("rubric", _listed(f"{coded(one.id)} {shortened(one.text, 160)}" for one in config.judge.criteria)),
        ("asks a person", f"{', '.join(name for name, on in asks if on)}; {how}"),
        ("told to the next iteration", _listed(state.guidance)),
    )
    short = f"goal, {plural(len(config.checks), 'check')} and limits stand; nobody is asked"
    short = f"{SIGNS[ended.outcome]}: {ended.rule}" if ended else short
    return System("System 5 – policy", sign, f"a person is asked: {gate.question}" if gate else short, rows)


# --- how long it may take -----------------------------------------------------------------------------------------


class Outlook(NamedTuple):
    """How far it is, read from the pace of the last iterations: an estimate and no promise."""

    words: str
    left: int | None = None
    """Iterations until everything is green at this pace; None where it never will be, or where it is too early to tell."""
    pace: float | None = None
    """In completion an iteration; the median, because one leap or one fall says little. None where nothing hangs on it."""
    by: str = ""
    """The numbers behind it."""


def outlook(history: Sequence[IterationSummary]) -> Outlook:
    """Read from the last iterations whose work was checked and is still there."""
    last = [summary for summary in history if still_told(summary)][-WINDOW:]
    done = last[-1].completion if last else 0.0
    if done >= UNPROVEN - 1e-9:  # all that is measured is green
        return Outlook("proven" if done >= 1 else "what is missing is the proof", 0)
    if len(last) < LEAST:
        return Outlook(f"too early to tell how far it is ({len(last)} of {LEAST} iterations to read a pace from)")
    pairs = combinations(last, 2)
    pace = median((later.completion - one.completion) / max(1, later.iteration - one.iteration) for one, later in pairs)
    by = f"{done:.0%} done at {pace * 100:+.1f} points an iteration (median of the last {len(last)}); "
    if pace < SLOWEST:
        return Outlook("no end in sight at this pace", None, pace, by)
    left = math.ceil((UNPROVEN - done) / pace - 1e-9)
    return Outlook(f"about {plural(left, 'more iteration')} at this pace", left, pace, by)
