"""The dashboard: a loop as a viable system, each of its systems with a sign and the numbers behind it. Markdown.

What has a page of its own (checks, verdicts, questions and answers, the course) is not told again here.
"""

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import NamedTuple

from helmsman.oversee.cycles import worked
from helmsman.oversee.limits import WARN_AT, gauges, in_words, open_windows
from helmsman.oversee.progress import made_progress
from helmsman.oversee.variety import score
from helmsman.plain import LONGEST_LINE, shortened, spelled
from helmsman.records.agent import NEVER_AT_WORK, AgentOutcome
from helmsman.records.checks import Weight
from helmsman.records.control import EscalationLevel, Movement
from helmsman.records.decision import Outcome, Severity
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from helmsman.render.facts import Fact, Part, coded, control_facts, cost_text, facts, green_text
from helmsman.render.markdown_page import cell, facts_table, prose, stacked, table
from helmsman.texts import SIGNS, plan_text, plural

SHOWN = 5
"""Of what is listed in a cell."""
MOST_ROWS = 40
"""Of a system."""
IN_PART = frozenset({AgentOutcome.MAX_TURNS, AgentOutcome.CALL_BUDGET, AgentOutcome.TIMED_OUT, AgentOutcome.CONTEXT_FULL})
AT_WORK = IN_PART | {AgentOutcome.FINISHED, AgentOutcome.ROTATED}
LIMITS = {"wall_clock_hours": "time", "cost_usd": "cost"}
BETWEEN = frozenset({"guard", "stop", "refused"})
"""Facts of the agent's call that tell how it and others kept out of each other's way."""
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
        (steered.band in {"adjust", "pivot"} or state.waiting, Sign.WATCH),
    )
    waiting = f"until {state.waiting.until:%Y-%m-%d %H:%M} UTC: {state.waiting.reason}" if state.waiting else ""
    rows = (
        *((LIMITS.get(one.name, one.unit), f"{one.told} ({one.share:.0%})") for one in used),
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
    rows = (
        ("claims", held if trust.checked else "none could be compared yet"),
        ("purpose", f"{drift.related} of {plural(drift.deeds, 'file')} had to do with the task" if drift.deeds else ""),
        ("rejections in a row", f"{judge.rejections} of {state.config.judge.rejections}" if judge.rejections else ""),
    )
    passing = green_text(report) if report else "nothing was checked yet"
    untrue = f"{plural(len(state.contradictions), 'claim')} did not hold"
    return System("System 3* – audit", sign, f"{passing}, {plural(len(blocking), 'blocking finding')}, {untrue}", rows)


def _ahead(state: LoopState) -> System:
    """4: where the work is going, and what is planned."""
    oversight, best, measured, last = state.oversight, state.oversight.best, state.oversight.progress, state.worked[-1:]
    sign = _worst(
        (any(one.movement is Movement.BACK for one in last), Sign.BAD),
        (oversight.idle, Sign.WATCH),
        otherwise=Sign.GOOD if last else Sign.IDLE,
    )
    shares = (("tests", measured.tests), ("checks", measured.checks), ("criteria", measured.criteria), ("plan", measured.items))
    rows = (
        ("progress", ", ".join(f"{name} {share:.0%}" for name, share in shares if share is not None)),
        ("trend", " → ".join(f"{summary.completion:.0%}" for summary in worked(state.history, TREND))),
        ("first of all", _listed(oversight.strategy.priorities)),
        ("gap, as the agent sees it", state.memory.remaining_gap),
        ("best so far", f"{best.completion:.0%} after iteration {best.iteration}, at {coded(best.commit[:10])}" if best else ""),
        ("ways left open", _variety(state)),
    )
    left = plural(max(0, state.config.limits.iterations - state.iteration), "iteration")
    return System("System 4 – outlook", sign, f"{measured.completion:.0%} measured as done, the limit leaves {left}", rows)


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
    rows = (
        ("goal", config.goal.replace("\n", " ")),
        ("rubric", _listed(f"{coded(one.id)} {shortened(one.text, 160)}" for one in config.judge.criteria)),
        ("told to the next iteration", _listed(state.guidance)),
    )
    short = f"goal, {plural(len(config.checks), 'check')} and limits stand; nobody is asked"
    short = f"{SIGNS[ended.outcome]}: {ended.rule}" if ended else short
    return System("System 5 – policy", sign, f"a person is asked: {gate.question}" if gate else short, rows)
