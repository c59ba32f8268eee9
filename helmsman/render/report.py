"""A loop on one page of HTML, for a person who was asleep while it ran: how it ended and why, the numbers, the course, each step.

The page holds all that it needs: no script, no address, no font. A Content-Security-Policy says so to the browser as well, and
allows no style but the one whose digest it names; a text that broke out, against all escaping, could still do nothing.
"""

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import accumulate
from typing import NamedTuple

from markupsafe import Markup

from helmsman.agents.fitting import in_short
from helmsman.plain import shortened
from helmsman.records.control import EscalationLevel
from helmsman.records.decision import Decision, DecisionKind, Outcome
from helmsman.records.gates import GATES
from helmsman.records.iteration import IterationRecord
from helmsman.records.result import result_of
from helmsman.records.state import LoopState
from helmsman.render.artifacts import PLAN_HEAD, left_out, plan_rows
from helmsman.render.charts import Point, levels, line_chart, strip
from helmsman.render.facts import PARTS, VERDICTS, Fact, Kind, checks_kind, coded, facts, front_facts
from helmsman.render.lines import next_steps
from helmsman.render.templating import render_html
from helmsman.render.verification import outcome_text
from helmsman.texts import SIGNS, plan_text, plural

MOST_DETAILED = 500
"""Iterations that are shown one by one."""
MOST_OUTPUTS = 50
"""Iterations that are shown with the outputs of checks and the agent's last words."""
MOST_DOUBTS = 5
"""Findings that are named on the front of the page; all of them stand in the iterations."""
TITLE_SHOWN, REASON_SHOWN, RULES_SHOWN = 160, 160, 10
WIDTH, HIGH, LOW = 440, 190, 160
"""Of a chart: two stand side by side, and one on a phone has letters that can be read. Those that tell less are low."""
TITLES = tuple(rung.title for rung in EscalationLevel)
ENDINGS: Mapping[Outcome | None, str] = {
    Outcome.COMPLETED: "good",
    Outcome.CANCELLED: "neutral",
    Outcome.FAILED: "bad",
    Outcome.EJECTED: "bad",
    None: "calm",
}
"""How outcomes look, those that are not here like a warning; None: it goes on."""


def style() -> str:
    """All of it is in the page; nothing is loaded."""
    return (files("helmsman.render") / "templates" / "report.css").read_text(encoding="utf-8")


class Trace(NamedTuple):
    """What charts show of one attempt at one iteration: a few numbers, so that ten thousand of them are few."""

    iteration: int
    attempt: int
    counts: bool
    completion: float
    terms: tuple[float, float, float, float]
    """Of control: P, I, D, and what they come to."""
    rung: int
    cost_usd: float
    tokens: int
    context: float
    """The fullest that the window was: a share, or tokens where the window is unknown."""
    window: int
    checks: Kind
    claims: Kind
    judge: Kind
    rules: tuple[str, ...]
    """Of the signals."""

    @property
    def label(self) -> str:
        return str(self.iteration) if self.attempt == 1 else f"{self.iteration}.{self.attempt}"


def trace_of(record: IterationRecord) -> Trace:
    """The same record always leaves the same trace."""
    control, use = record.oversight.control, record.execution.call.context
    return Trace(
        iteration=record.iteration,
        attempt=record.attempt,
        counts=record.counts,
        completion=record.oversight.progress.completion,
        terms=(control.proportional, control.integral, control.derivative, control.output),
        rung=record.oversight.ladder.rung,
        cost_usd=record.usage.cost_usd,
        tokens=record.usage.tokens,
        context=use.peak / use.window if use.window else use.peak,
        window=use.window,
        checks=checks_kind(record.checks),
        claims="bad" if record.contradictions else "good" if record.claims_checked else "neutral",
        judge=VERDICTS[record.judgement.outcome] if record.judgement else "neutral",
        rules=tuple(signal.rule for signal in record.signals),
    )


def html_report(
    state: LoopState, records: Sequence[IterationRecord], state_ref: str, earlier: Sequence[Trace] = (), unverified: str = ""
) -> str:
    """The whole page. Records in the order of their time; of those before them only the traces, for the charts.

    `unverified`: what was found in the place of a state that Helmsman signed; empty: it did.
    """
    shown = records[-MOST_DETAILED:]
    traces = [*earlier, *(trace_of(record) for record in records)]
    css, (title, _, rest) = style(), state.config.goal.strip().partition("\n")
    entries = list(_entries(shown, state, outputs_from=len(shown) - MOST_OUTPUTS, cut=len(traces) > len(shown)))[::-1]
    page = render_html(
        "report.html",
        state=state,
        unverified=unverified,
        style=Markup(css),  # noqa: S704 - a file of ours
        digest=base64.b64encode(hashlib.sha256(css.encode()).digest()).decode(),
        sign=SIGNS[state.outcome],
        looks=ENDINGS.get(state.outcome, "warn"),
        title=shortened(title, TITLE_SHOWN + 1),
        is_long=bool(rest.strip()) or len(title) > TITLE_SHOWN,
        agent=in_short(state.agent.kind) if state.agent else "",
        rule=result_of(state, state_ref).rule,
        front=list(_front(state, state_ref)),
        figures=list(_figures(traces)),
        noticed=Counter(rule for trace in traces for rule in trace.rules).most_common(RULES_SHOWN),
        climbs=state.oversight.ladder.climbs,
        plan=plan_text(state) if state.plan.total else "",
        plan_head=PLAN_HEAD,
        plan_rows=list(plan_rows(state)),
        plan_left_out=left_out(state),
        state_ref=state_ref,
        gates=GATES,
        verdicts=VERDICTS,
        entries=entries,
        before=plural(len(traces) - len(shown), "earlier attempt") if len(traces) > len(shown) else "",
    )
    return f"{page}\n"


# --- how it stands ------------------------------------------------------------------------------------------------


def _front(state: LoopState, state_ref: str) -> Iterator[Fact]:
    """Whether it is done, what proves it, what it cost, what to look at."""
    commands = dict(next_steps(result_of(state, state_ref), state.gate))
    yield from front_facts(state)
    yield Fact("Look at", "\n".join([*([coded(commands["look"])] if "look" in commands else ()), *_doubts(state)]))
    yield Fact("Next", coded(commands.get("next", "")))


def _doubts(state: LoopState) -> Iterator[str]:
    """What a person should see with their own eyes: findings in the change, and what the agent said that was not so."""
    yield from (f"{one.where}: {one.message} {coded(one.rule)}" for one in state.findings[:MOST_DOUBTS])
    if len(state.findings) > MOST_DOUBTS:
        yield f"… and {plural(len(state.findings) - MOST_DOUBTS, 'more finding')}"
    if state.trust.contradicted:
        yield f"{state.trust.contradicted} of {plural(state.trust.checked, 'claim')} of the agent did not hold"


# --- the course ---------------------------------------------------------------------------------------------------


def _figures(traces: Sequence[Trace]) -> Iterator[tuple[Markup, ...]]:
    """All charts of a loop, from its traces in the order of their time; two figures make a row."""
    counted_ones = [trace for trace in traces if trace.counts]

    def drawn(title: str, label: str, height: int, chosen: Sequence[Trace], **values: Callable[[Trace], float]) -> Markup:
        series: dict[str, list[Point]] = {
            name: [(trace.iteration, value(trace)) for trace in chosen] for name, value in values.items()
        }
        reach = (0, 100) if label.startswith("%") else (0, 1) if len(values) > 1 else ()
        return line_chart(title, series, y_label=label, reach=reach, width=WIDTH, height=height)

    sums = dict(zip(map(id, traces), accumulate(trace.cost_usd for trace in traces), strict=True))
    terms: dict[str, Callable[[Trace], float]] = {
        name: lambda trace, at=at: trace.terms[at] for at, name in enumerate(("P", "I", "D", "urgency"))
    }
    known = [trace for trace in traces if trace.window]
    yield (drawn("Progress", "% complete by evidence", HIGH, counted_ones, completion=lambda trace: 100 * trace.completion),)
    yield (drawn("Control", "terms", HIGH, counted_ones, **terms),)
    yield (drawn("Cost", "US dollars in all", LOW, traces, cost=lambda trace: sums[id(trace)]),)
    yield (drawn("Tokens", "in and out, an iteration", LOW, traces, tokens=lambda trace: trace.tokens),)
    if known:
        yield (drawn("Context", "% of the window at its fullest", LOW, known, context=lambda trace: 100 * trace.context),)
    else:
        yield (drawn("Context", "tokens at its fullest", LOW, traces, context=lambda trace: trace.context),)
    rungs = [(str(trace.iteration), TITLES[min(trace.rung, EscalationLevel.EJECT)]) for trace in counted_ones]
    yield (strip("Ladder of escalation", rungs, looks=levels(TITLES), width=WIDTH),)
    yield tuple(_strips(traces))


def _strips(traces: Sequence[Trace]) -> Iterator[Markup]:
    """One under the other, iteration under iteration. A judge that was never asked has none."""
    yield strip("Checks", [(trace.label, trace.checks) for trace in traces], width=WIDTH)
    yield strip("Claims against evidence", [(trace.label, trace.claims) for trace in traces], width=WIDTH)
    if any(trace.judge != "neutral" for trace in traces):
        yield strip("Verdicts of the judge", [(trace.label, trace.judge) for trace in traces], width=WIDTH)


# --- each iteration -----------------------------------------------------------------------------------------------


def _entries(
    records: Sequence[IterationRecord], state: LoopState, *, outputs_from: int, cut: bool
) -> Iterator[Mapping[str, object]]:
    """In the order of time, each with the answers that came since the one before it."""
    since = records[0].started_at if cut else state.created_at  # a plan is answered before the first one starts
    for number, record in enumerate(records):
        told = list(facts(record))
        yield {
            "record": record,
            "opened": number + 1 == len(records),
            "has_outputs": number >= outputs_from,
            "answers": [answer for answer in state.answers if since < answer.at <= record.ended_at],
            "decision": decision_mark(record.decision),
            "reason": shortened(record.decision.reason, REASON_SHOWN),
            "parts": [(part, found) for part in PARTS if (found := [fact for fact in told if fact.part == part])],
            "outcomes": outcome_text(record),
        }
        since = record.ended_at


def decision_mark(decision: Decision) -> tuple[str, str]:
    """Words and look."""
    if decision.kind is DecisionKind.STOP:
        return f"stop: {decision.outcome or 'ended'}", ENDINGS.get(decision.outcome, "warn")
    return decision.kind, "warn" if decision.kind is DecisionKind.WAIT else "calm"
