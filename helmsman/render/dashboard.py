"""The dashboard: a loop as a viable system, each of its systems with a sign and its numbers, as Markdown.

Content with its own page (checks, verdicts, questions and answers, iterations) is not repeated.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from helmsman.oversee.limits import WARN_AT, gauges
from helmsman.oversee.progress import made_progress
from helmsman.plain import LONGEST_LINE, in_plain_words, shorten
from helmsman.records.agent import NO_WORK_OUTCOMES, AgentOutcome
from helmsman.records.checks import Weight
from helmsman.records.control import EscalationLevel, Movement
from helmsman.records.decision import Outcome, Severity
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from helmsman.render.facts import Part, as_code, control_facts, cost_text, facts, first_lines, passing_text
from helmsman.render.markdown_page import cell, facts_table, join_blocks, prose, table
from helmsman.texts import SIGNS, plan_text, plural

SHOWN = 5  # entries of a list in a cell
IN_PART = frozenset({AgentOutcome.MAX_TURNS, AgentOutcome.CALL_BUDGET, AgentOutcome.TIMED_OUT, AgentOutcome.CONTEXT_FULL})
AT_WORK = IN_PART | {AgentOutcome.FINISHED, AgentOutcome.ROTATED}
BETWEEN = frozenset({"guard", "stop", "refused"})
"""Facts of the agent's call about its coordination with others."""
Row = tuple[str, str]


class Sign(StrEnum):
    """Status of a system."""

    GOOD = "✔"
    WATCH = "▲"
    BAD = "✘"


STANDS = {Sign.GOOD: "ok", Sign.WATCH: "watch", Sign.BAD: "problem"}


class System(NamedTuple):
    """One of the systems of a viable system. Texts are plain; rows without a value are omitted."""

    title: str
    short: str
    rows: tuple[Row, ...] = ()
    bad: object = False
    watch: object = False

    @property
    def sign(self) -> Sign:
        return Sign.BAD if self.bad else Sign.WATCH if self.watch else Sign.GOOD

    def section(self) -> str:
        """Markdown section with all rows."""
        rows = [row for row in self.rows if row[1]]
        body = facts_table(rows, (STANDS[self.sign], cell(self.short)), (26, 80), LONGEST_LINE) if rows else cell(self.short)
        return f"## {self.sign} {self.title}\n\n{body}"


def dashboard(state: LoopState, record: IterationRecord | None = None) -> str:
    """Status of the loop. `record`: its last iteration; None if none has ended since the loop was opened."""
    systems = (
        _operations(record), _coordination(state, record), _control(state, record),
        _audit(state, record), _outlook(state), _policy(state),
    )  # fmt: skip
    overview = ((system.title, f"{system.sign} {STANDS[system.sign]}", cell(system.short)) for system in systems)
    last_decision = ""
    if decision := state.ending or (record.decision if record else None):
        hat = f" in the hat of a {prose(record.hat.name, 40)}" if record and record.hat else ""
        event = "ended" if state.ending or record is None else f"after #{record.iteration}{hat}: {decision.title}"
        last_decision = f"**{event}** by {prose(decision.rule, 80)}: {prose(decision.reason, 600)}"
    return join_blocks([
        f"# {state.loop}: {status_text(state)}",
        prose(state.config.goal.strip().partition("\n")[0], 200),
        f"{cost_text(state)}, as of {state.updated_at:%Y-%m-%d %H:%M:%S} UTC  \n{last_decision}",
        f"**plan**: {prose(plan_text(state), 200)}" if state.plan.total else "",
        table(("System", "Status", "Summary"), overview, (24, 14, 62)),
        *(system.section() for system in systems),
    ])  # fmt: skip


def status_text(state: LoopState) -> str:
    if state.gate is not None:
        return "? waiting for a person"
    return "▶ running" if state.outcome is None else SIGNS[state.outcome]


def _cell_lines(lines: Iterable[str]) -> str:
    """Format the first lines for a cell, and the number of the others."""
    return "\n".join(first_lines(filter(None, lines), SHOWN))


def _fact_rows(record: IterationRecord | None, *parts: Part) -> Iterator[Row]:
    """Facts of the given parts of an iteration as rows."""
    return (fact[:2] for fact in (facts(record) if record else ()) if fact.part in parts)


def _operations(record: IterationRecord | None) -> System:
    title = "System 1 – operations"
    if record is None:
        return System(title, "no iteration has ended since the loop was started", watch=True)
    call, change, moment = record.execution.call, record.execution.change, record.moment
    changed = f"{plural(change.files_changed, 'file')} changed in {plural(len(change.commits), 'commit')}"
    return System(
        title,
        f"{in_plain_words(call.outcome)}, {changed}",
        (("ended early", call.pain), *(row for row in _fact_rows(record, "Agent", "Work", "Plan") if row[0] not in BETWEEN)),
        bad=call.outcome not in AT_WORK - NO_WORK_OUTCOMES or call.pain,
        watch=call.outcome in IN_PART or (moment and not made_progress(moment)),
    )


def _coordination(state: LoopState, record: IterationRecord | None) -> System:
    """System 2: coordination of agent, checks, drivers and instructions."""
    call, conflicts = record.execution.call if record else None, state.oversight.conflicts
    denied = sum(guarded.denied for guarded in call.guarded) if call else 0
    guard_problem = "" if state.config.steering.hooks else "off: tool calls are not watched (steering.hooks)"
    return System(
        "System 2 – coordination",
        f"{plural(denied, 'tool call')} denied, {plural(len(conflicts), 'conflict')} between instructions",
        (
            ("attempt", f"{state.attempt}; work was salvaged {plural(len(state.salvaged), 'time')}" * (state.attempt > 1)),
            ("guard rails", guard_problem or (call.unguarded if call else "") or "on"),
            *(row for row in _fact_rows(record, "Agent") if row[0] in BETWEEN),
            ("conflicts", _cell_lines(f"{shorten(c.first.text, 140)} × {shorten(c.second.text, 140)}" for c in conflicts)),
        ),
        bad=conflicts,
        watch=denied or state.salvaged or (record and record.execution.put_back) or (call and call.permission_denials),
    )


def _control(state: LoopState, record: IterationRecord | None) -> System:
    """System 3: what steers the agent from one iteration to the next."""
    steered, rung = state.oversight.control, state.oversight.ladder.rung
    severities = {signal.severity for signal in (record.signals if record else ())} - {Severity.LOG, Severity.WARN}
    limit_gauges = gauges(state.config.limits, state.spending, state.iteration)
    nearest = max((gauge.share for gauge in limit_gauges), default=0.0)
    names = {"wall_clock_hours": "time", "cost_usd": "cost"}
    return System(
        "System 3 – control",
        f"urgency {steered.output:.2f} ({steered.band}), {rung.title}",
        (
            *((names.get(gauge.name, gauge.unit), f"{gauge.text} ({gauge.share:.0%})") for gauge in limit_gauges),
            *(fact[:2] for fact in control_facts(state.oversight)),
            *_fact_rows(record, "Signals"),
        ),
        bad=rung >= EscalationLevel.HUMAN or nearest >= 1 or severities - {Severity.REDIRECT},
        watch=rung > EscalationLevel.PATCH or severities or nearest >= WARN_AT or steered.band in {"adjust", "pivot"}
        or state.waiting,
    )  # fmt: skip


def _audit(state: LoopState, record: IterationRecord | None) -> System:
    """System 3*: what the evidence says, independent of claims."""
    report, trust, rejections, drift = state.checks, state.trust, state.judge.rejections, state.last_call.drift
    blocking = [finding for finding in state.findings if finding.weight is Weight.BLOCK]
    held_text = f"{trust.checked - trust.contradicted} of {plural(trust.checked, 'claim')} held so far"
    checks_text = passing_text(report) if report else "nothing was checked yet"
    claims_text = f"{plural(len(state.contradictions), 'claim')} did not hold"
    return System(
        "System 3* – audit",
        f"{checks_text}, {plural(len(blocking), 'blocking finding')}, {claims_text}",
        (
            ("claims", held_text if trust.checked else "none could be compared yet"),
            ("purpose", f"{drift.related} of {plural(drift.deeds, 'file')} were related to the task" if drift.deeds else ""),
            ("rejections in a row", f"{rejections} of {state.config.judge.rejections}" if rejections else ""),
        ),
        bad=blocking or state.contradictions or (record and record.judgement and record.judgement.rejected),
        watch=report is None or not report.passed or state.findings or rejections,
    )


def _outlook(state: LoopState) -> System:
    """System 4: direction of the work, and plans."""
    oversight, best, measured, latest = (
        state.oversight,
        state.oversight.best,
        state.oversight.progress,
        state.past_iterations[-1:],
    )
    iterations_left = plural(max(0, state.config.limits.iterations - state.iteration), "iteration")
    return System(
        "System 4 – outlook",
        f"{measured.completion:.0%} measured as done, the limit leaves {iterations_left}",
        (
            ("priorities", _cell_lines(oversight.strategy.priorities)),
            (
                "best so far",
                f"{best.completion:.0%} after iteration {best.iteration}, at {as_code(best.commit[:10])}" if best else "",
            ),
        ),
        bad=any(moment.movement is Movement.BACK for moment in latest),
        watch=oversight.idle,
    )


def _policy(state: LoopState) -> System:
    """System 5: goal, rules and people."""
    gate, ending, is_waiting = state.gate, state.ending, state.ending and state.ending.outcome is Outcome.WAITING
    short = f"goal, {plural(len(state.config.checks), 'check')} and limits unchanged; no question is open"
    short = f"{SIGNS[ending.outcome]}: {ending.rule}" if ending else short
    return System(
        "System 5 – policy",
        f"waiting for a person: {gate.question}" if gate else short,
        (("for the next iteration", _cell_lines(state.guidance)),),
        bad=ending and ending.outcome is not Outcome.COMPLETED and not is_waiting,
        watch=gate or is_waiting,
    )
