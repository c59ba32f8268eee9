"""The systems that a viable system is made of, each with a sign and the numbers behind it; all texts are plain."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from statistics import median

from helmsman.oversee.cycles import worked
from helmsman.oversee.limits import Gauge, gauges, in_words, open_windows
from helmsman.oversee.progress import UNPROVEN, made_progress, still_told
from helmsman.oversee.variety import score
from helmsman.plain import LONGEST_LINE, shortened, spelled
from helmsman.records.control import Band
from helmsman.records.evidence import NEVER_AT_WORK, AgentOutcome
from helmsman.records.findings import Weight
from helmsman.records.gates import Answer
from helmsman.records.iteration import IterationRecord
from helmsman.records.modes import Rung
from helmsman.records.moments import Moment
from helmsman.records.oversight import Variety
from helmsman.records.state import LoopState
from helmsman.records.verdict import Outcome, Severity
from helmsman.render.facts import Part, check_facts, coded, control_facts, facts, finding_facts, green_text, untrue_facts
from helmsman.render.markdown_page import cell, facts_table
from helmsman.texts import SIGNS, counted, money

SHOWN = 5
"""Of commits, rules, signals: so many, and how many more there are."""
IN_ORDER = frozenset({AgentOutcome.FINISHED, AgentOutcome.ROTATED})
IN_PART = frozenset({AgentOutcome.MAX_TURNS, AgentOutcome.CALL_BUDGET, AgentOutcome.TIMED_OUT, AgentOutcome.CONTEXT_FULL})
EXPLAINED = {Severity.REDIRECT, Severity.PAUSE, Severity.ABORT}
LIMITS = {"wall_clock_hours": "time", "cost_usd": "cost"}
BETWEEN = frozenset({"guard", "stop", "refused"})
"""Facts of the agent's call that tell how it and others kept out of each other's way."""
MOST_ROWS = 40
"""Of a system."""
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


@dataclass(frozen=True)
class System:
    """One of the systems that a viable system is made of. Texts are plain; of rows, those that say something are shown."""

    number: str
    name: str
    sign: Sign
    short: str
    rows: tuple[Row, ...] = ()

    @property
    def title(self) -> str:
        return f"System {self.number} – {self.name}"

    def section(self) -> str:
        """All that it tells, under a heading."""
        rows = [row for row in self.rows if row[1]]
        rows = [*rows[:MOST_ROWS], *([("", f"and {len(rows) - MOST_ROWS} more")] if len(rows) > MOST_ROWS else ())]
        told = facts_table(rows, (self.sign.words, cell(self.short)), (26, 80), LONGEST_LINE) if rows else cell(self.short)
        return f"## {self.sign} {self.title}\n\n{told}"


def systems(state: LoopState, record: IterationRecord | None) -> tuple[System, ...]:
    """How each of them stands. `record` is the last iteration, None where none has ended since the loop was opened."""
    return (
        _operations(record), _coordination(state, record), _control(state, record),
        _audit(state, record), _ahead(state), _policy(state),
    )  # fmt: skip


def _worst(*signs: tuple[object, Sign], otherwise: Sign = Sign.GOOD) -> Sign:
    """The gravest of the signs that hold."""
    held = {sign for holds, sign in signs if holds}
    return next((sign for sign in (Sign.BAD, Sign.WATCH) if sign in held), otherwise)


def _listed(lines: Iterable[str], most: int = SHOWN) -> str:
    """One below the other in a cell; beyond a few only counted."""
    every = [line for line in lines if line]
    more = [f"and {len(every) - most} more"] if len(every) > most else []
    return "\n".join([*every[:most], *more])


# --- 1: the agent's work ------------------------------------------------------------------------------------------


def _operations(record: IterationRecord | None) -> System:
    """What the agent did in this iteration."""
    if record is None:
        return System("1", "operations", Sign.IDLE, "no iteration has ended since the loop was opened")
    call, change = record.execution.call, record.execution.change
    at_work = call.outcome in IN_ORDER | IN_PART and call.outcome not in NEVER_AT_WORK
    sign = _worst(
        (not at_work or call.pain, Sign.BAD),
        (call.outcome in IN_PART or (record.moment is not None and not made_progress(record.moment)), Sign.WATCH),
    )
    rows = (
        ("ended early", call.pain),
        *_told(record, "Agent", without=BETWEEN),
        *_told(record, "Work", "Plan"),
        ("movement", str(record.moment.movement) if record.moment else ""),
    )
    changed = f"{counted(change.files_changed, 'file')} changed in {counted(len(change.commits), 'commit')}"
    return System("1", "operations", sign, f"{spelled(call.outcome)}, {changed}", rows)


def _told(record: IterationRecord | None, *parts: Part, without: Collection[str] = ()) -> list[Row]:
    """What there is to tell of these parts of an iteration."""
    return [one[:2] for one in (facts(record) if record else ()) if one.part in parts and one.name not in without]


# --- 2: out of each other's way -----------------------------------------------------------------------------------


def _coordination(state: LoopState, record: IterationRecord | None) -> System:
    """What keeps agent, checks, drivers and orders from getting into each other's way."""
    call, conflicts, remote = record.execution.call if record else None, state.oversight.conflicts, state.config.remote
    denied = sum(one.denied for one in call.guarded) if call else 0
    put_back = record.execution.put_back if record else ()
    watched = denied or put_back or state.salvaged or (call and (call.permission_denials or call.unguarded))
    where = "the repository's own checkout" if state.config.workspace.in_place else "a worktree of its own"
    off = "" if state.config.steering.hooks else "off: nothing watches single tool calls (steering.hooks)"
    rows = (
        ("place", f"branch {coded(state.branch)} in {where}, one driver at a time by a lock"),
        ("remote", f"pushed to {coded(remote.name)} after every iteration" if remote.push else ""),
        ("attempt", f"{state.attempt}; work was salvaged {counted(len(state.salvaged), 'time')}" if state.attempt > 1 else ""),
        ("guard rails", off or (call.unguarded if call else "") or "on"),
        *(row for row in _told(record, "Agent") if row[0] in BETWEEN),
        ("conflicts", _listed(f"{shortened(c.first.text, 140)} × {shortened(c.second.text, 140)} ({c.kind})" for c in conflicts)),
        ("salvaged", _listed(coded(kept.ref) for kept in state.salvaged)),
    )
    short = f"{counted(denied, 'tool call')} denied, {counted(len(conflicts), 'conflict')} between orders"
    return System("2", "coordination", _worst((conflicts, Sign.BAD), (watched, Sign.WATCH)), short, rows)


# --- 3: steering --------------------------------------------------------------------------------------------------


def _control(state: LoopState, record: IterationRecord | None) -> System:
    """What steers the agent from one iteration to the next."""
    oversight, limits = state.oversight, state.config.limits
    steered, ladder = oversight.control, oversight.ladder
    strong = [signal for signal in (record.signals if record else ()) if signal.severity in EXPLAINED]
    used = gauges(limits, state.spending, state.iteration)
    nearest = max((gauge.share for gauge in used), default=0.0)
    sign = _worst(
        (ladder.rung >= Rung.HUMAN or nearest >= 1, Sign.BAD),
        (any(signal.severity is not Severity.REDIRECT for signal in strong), Sign.BAD),
        (ladder.rung > Rung.PATCH or strong or nearest >= limits.warn_at, Sign.WATCH),
        (steered.band in {Band.ADJUST, Band.PIVOT} or state.waiting, Sign.WATCH),
    )
    waiting = f"until {state.waiting.until:%Y-%m-%d %H:%M} UTC: {state.waiting.reason}" if state.waiting else ""
    rows = (
        *((LIMITS.get(gauge.name, gauge.unit), _gauge(gauge)) for gauge in used),
        ("calls in an hour", f"{len(state.recent_calls)} of {limits.calls_per_hour}"),
        ("usage windows", _listed(in_words(window) for window in open_windows(state.usage, state.updated_at))),
        ("waits", waiting),
        *(fact[:2] for fact in control_facts(oversight)),
        *_told(record, "Signals"),
    )
    return System("3", "control", sign, f"urgency {steered.output:.2f} ({steered.band}), {ladder.rung.title}", rows)


def _gauge(gauge: Gauge) -> str:
    full = max(0, min(STEPS, round(gauge.share * STEPS)))
    return f"{'█' * full}{'░' * (STEPS - full)} {gauge.told} ({gauge.share:.0%})"


# --- 3*: audit ----------------------------------------------------------------------------------------------------


def _audit(state: LoopState, record: IterationRecord | None) -> System:
    """What is true, whatever is said."""
    report, trust, judge, drift = state.checks, state.trust, state.judge, state.last_call.drift
    blocking = [finding for finding in state.findings if finding.weight is Weight.BLOCK]
    rejected = bool(record and record.judgement and record.judgement.rejected)
    sign = _worst(
        (blocking or state.contradictions or rejected, Sign.BAD),
        (report is not None and not report.passed, Sign.WATCH),
        (state.findings or judge.rejections, Sign.WATCH),
        otherwise=Sign.GOOD if report else Sign.IDLE,
    )
    held = f"{trust.checked - trust.contradicted} of {counted(trust.checked, 'claim')} held so far"
    waiting = counted(len(state.config.judge.criteria), "criterion waits", "criteria wait")
    unasked = f"was not asked in this iteration; {waiting} for it" if state.config.judge.criteria else "no criteria"
    rows = (
        *(fact[:2] for fact in check_facts(report)),
        *(fact[:2] for fact in finding_facts(state.findings)),
        ("claims", held if trust.checked else "none could be compared yet"),
        *(_told(record, "Claims") or [fact[:2] for fact in untrue_facts(state.contradictions)]),
        ("purpose", f"{drift.related} of {counted(drift.deeds, 'file')} had to do with the task" if drift.deeds else ""),
        *(_told(record, "Judge") or [("judge", unasked)]),
        ("rejections in a row", f"{judge.rejections} of {state.config.judge.rejections}" if judge.rejections else ""),
    )
    passing = green_text(report) if report else "nothing was checked yet"
    untrue = f"{counted(len(state.contradictions), 'claim')} did not hold"
    return System("3*", "audit", sign, f"{passing}, {counted(len(blocking), 'blocking finding')}, {untrue}", rows)


# --- 4: what lies ahead -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outlook:
    """The pace of the last iterations, in completion an iteration: an estimate and no promise."""

    seen: int
    """Iterations that the pace is read from."""
    completion: float = 0.0
    pace: float = 0.0
    """The median, because one leap or one fall says little."""

    @property
    def known(self) -> bool:
        return self.seen >= LEAST

    @property
    def reached(self) -> bool:
        """Whether all that is measured is green; what is missing then is that it is proven."""
        return self.completion >= UNPROVEN - 1e-9

    @property
    def left(self) -> int | None:
        """Iterations until everything is green at this pace; None where it never will be."""
        if self.reached:
            return 0
        return math.ceil((UNPROVEN - self.completion) / self.pace - 1e-9) if self.pace >= SLOWEST else None


def outlook(history: Sequence[Moment], window: int) -> Outlook:
    """Read from the last iterations whose work was checked and is still there."""
    last = [moment for moment in history if still_told(moment)][-max(window, LEAST) :]
    if len(last) < LEAST:
        return Outlook(seen=len(last), completion=last[-1].completion if last else 0.0)
    return Outlook(len(last), last[-1].completion, median(_pace(first, second) for first, second in combinations(last, 2)))


def _pace(first: Moment, second: Moment) -> float:
    return (second.completion - first.completion) / max(1, second.iteration - first.iteration)


def _ahead(state: LoopState) -> System:
    """Where the work is going, how fast, and what is planned."""
    deadband, seen = state.config.control.deadband, outlook(state.history, state.config.control.window)
    oversight, best, strategy, measured = (
        state.oversight, state.oversight.best, state.oversight.strategy, state.oversight.progress
    )  # fmt: skip
    sign = _worst(
        (seen.known and seen.pace <= -deadband, Sign.BAD),
        (seen.known and not seen.reached and seen.pace < deadband, Sign.WATCH),
        otherwise=Sign.GOOD if seen.known or seen.reached else Sign.IDLE,
    )
    shares = (("tests", measured.tests), ("checks", measured.checks), ("criteria", measured.criteria), ("plan", measured.items))
    sure = state.memory.confidence
    rows = (
        ("progress", ", ".join(f"{name} {share:.0%}" for name, share in shares if share is not None)),
        ("trend", " → ".join(f"{moment.completion:.0%}" for moment in worked(state.history, TREND))),
        ("iterations left", _estimate(state, seen)),
        ("first of all", _listed(strategy.priorities)),
        ("gap, as the agent sees it", state.memory.remaining_gap),
        ("agent's confidence", f"{sure} % by its own word" if sure is not None else ""),
        ("best so far", f"{best.completion:.0%} after iteration {best.iteration}, at {coded(best.commit[:10])}" if best else ""),
        ("ways left open", _variety(oversight.variety)),
    )
    return System("4", "outlook", sign, f"{measured.completion:.0%} measured as done, {_left(seen)}", rows)


def _left(seen: Outlook) -> str:
    if seen.reached:
        return "proven" if seen.completion >= 1 else "what is missing is the proof"
    if not seen.known:
        return "too early to tell how far it is"
    return "no end in sight at this pace" if seen.left is None else f"about {counted(seen.left, 'more iteration')} at this pace"


def _estimate(state: LoopState, seen: Outlook) -> str:
    granted = f"the limit leaves {max(0, state.config.limits.iterations - state.iteration)}"
    if seen.completion >= 1:
        return f"none: it is proven ({granted})"
    if seen.reached:
        return f"everything that is measured is green; what is missing is that it is asked for and proven ({granted})"
    if not seen.known:
        return f"too early to tell: {seen.seen} of {LEAST} iterations to read a pace from ({granted})"
    left = "none can be told" if seen.left is None else f"about {seen.left}"
    pace = f"{seen.pace * 100:+.1f} points an iteration (median of the last {seen.seen})"
    return f"{left}: {seen.completion:.0%} done at {pace}; {granted}"


def _variety(trend: tuple[Variety, ...]) -> str:
    if not trend or not trend[-1].lines:
        return ""
    last, change = trend[-1], score(trend[-1]) - score(trend[0])
    over = f", {change:+.2f} over {counted(len(trend), 'iteration')}" if len(trend) > 1 else ""
    counts = ", ".join(f"{getattr(last, name)} {name}" for name in ("tests", "suppressions", "skips", "casts", "dead"))
    return f"{score(last):+.2f} (higher is better){over}: {last.lines:,} lines, {counts}"


# --- 5: what it is for --------------------------------------------------------------------------------------------


def _policy(state: LoopState) -> System:
    """Goal, rules and people."""
    config, gate, ended = state.config, state.gate, state.ending
    limits, gates = config.limits, config.gates
    sign = _worst(
        (ended and ended.outcome not in {Outcome.COMPLETED, Outcome.WAITING}, Sign.BAD),
        (gate or (ended and ended.outcome is Outcome.WAITING), Sign.WATCH),
    )
    short = f"goal, {counted(len(config.checks), 'check')} and limits stand; nobody is asked"
    short = f"{SIGNS[ended.outcome]}: {ended.rule}" if ended else short
    amounts = (
        f"{limits.iterations} iterations",
        f"{limits.wall_clock_hours:g} h" if limits.wall_clock_hours else "any time",
        money(limits.cost_usd) if limits.cost_usd else "any cost",
        f"{limits.tokens:,} tokens" if limits.tokens else "any number of tokens",
        f"{limits.calls_per_hour} calls an hour",
    )
    when = (
        ("before the start", gates.plan),
        (f"every {gates.milestone_every} iterations", gates.milestone_every is not None),
        ("where a limit is reached", gates.budget),
        ("before merging", gates.merge),
        ("where it does not get on", True),
    )
    how = f"and waits {gates.timeout_hours:g} h" if gates.ask else "by ending as waiting"
    rows = (
        ("goal", config.goal.replace("\n", " ")),
        ("checks", _listed((coded(check.title) for check in config.checks), 10)),
        ("rubric", _listed((f"{coded(one.id)} {shortened(one.text, 160)}" for one in config.judge.criteria), 10)),
        ("limits", ", ".join(amounts)),
        ("asks a person", f"{', '.join(name for name, on in when if on)}; {how}"),
        ("open question", f"{gate.question} ({coded(gate.key)})" if gate else ""),
        ("asked of", gate.asked_of if gate else ""),
        ("answers", _listed((_answer(answer) for answer in state.answers[::-1]), 3)),
        ("told to the next iteration", _listed(state.guidance)),
        ("ended", f"{ended.rule}: {ended.reason}" if ended else ""),
    )
    return System("5", "policy", sign, f"a person is asked: {gate.question}" if gate else short, rows)


def _answer(answer: Answer) -> str:
    said = f": {shortened(answer.guidance, 160)}" if answer.guidance else ""
    return f"{coded(answer.gate)} {answer.choice} by {answer.by or 'somebody'} ({answer.via}){said}"
