"""An iteration as charts need it: a few numbers, so that ten thousand of them are few, and the charts that are drawn of them."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from helmsman.records.checks import CheckReport
from helmsman.records.iteration import IterationRecord
from helmsman.records.judgement import Judgement, JudgementOutcome
from helmsman.records.modes import Rung
from helmsman.render.charts import Kind, Series, bars, line_chart, strip, timeline
from helmsman.render.markup import Markup

WIDTH = 440
"""Of a chart, so that two stand side by side, and one on a phone with letters that can be read."""
HIGH, LOW = 190, 160
"""Heights; those that tell less are low."""
RULES_SHOWN = 10
JUDGE = "Verdicts of the judge"
TITLES = tuple(rung.title for rung in Rung)


class Trace(NamedTuple):
    """What charts show of one attempt at one iteration."""

    iteration: int
    attempt: int
    counts: bool
    completion: float
    proportional: float
    integral: float
    derivative: float
    output: float
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
        proportional=control.proportional,
        integral=control.integral,
        derivative=control.derivative,
        output=control.output,
        rung=record.oversight.ladder.rung,
        cost_usd=record.usage.cost_usd,
        tokens=record.usage.tokens,
        context=use.peak / use.window if use.window else use.peak,
        window=use.window,
        checks=checks_kind(record.checks),
        claims=_claims_kind(record),
        judge=judge_kind(record.judgement),
        rules=tuple(signal.rule for signal in record.signals),
    )


def checks_kind(report: CheckReport | None) -> Kind:
    """Whether checks passed; warn: only after another try on the same tree."""
    if report is None or not report.results:
        return "neutral"
    if not report.passed:
        return "bad"
    return "warn" if any(result.flaky for result in report.results) else "good"


def judge_kind(judgement: Judgement | None) -> Kind:
    """What the judge said; neutral: it was not asked."""
    return _VERDICTS[judgement.outcome] if judgement else "neutral"


_VERDICTS: dict[JudgementOutcome, Kind] = {
    JudgementOutcome.APPROVED: "good",
    JudgementOutcome.REJECTED: "bad",
    JudgementOutcome.UNDECIDED: "warn",
}


def _claims_kind(record: IterationRecord) -> Kind:
    if record.contradictions:
        return "bad"
    return "good" if record.claims_checked else "neutral"


def figures_of(traces: Sequence[Trace]) -> Iterator[tuple[Markup, ...]]:
    """All charts of a loop, from its traces in the order of their time; two figures make a row."""
    counted = [trace for trace in traces if trace.counts]
    yield (_progress(counted),)
    yield (_control(counted),)
    yield (_cost(traces),)
    yield (_tokens(traces),)
    yield (_context(traces),)
    yield (timeline("Ladder of escalation", [(trace.iteration, trace.rung) for trace in counted], TITLES, width=WIDTH),)
    yield _strips(traces)
    noticed = Counter(rule for trace in traces for rule in trace.rules)
    yield (bars("What the overseer noticed, and how often", noticed.most_common(RULES_SHOWN), width=WIDTH),)


def _strips(traces: Sequence[Trace]) -> tuple[Markup, ...]:
    """One under the other, iteration under iteration. A judge that was never asked has none."""
    kinds = {
        "Checks": [(trace.label, trace.checks) for trace in traces],
        "Claims against evidence": [(trace.label, trace.claims) for trace in traces],
        JUDGE: [(trace.label, trace.judge) for trace in traces],
    }
    asked = any(trace.judge != "neutral" for trace in traces)
    return tuple(strip(title, cells, width=WIDTH) for title, cells in kinds.items() if asked or title != JUDGE)


def _progress(traces: Sequence[Trace]) -> Markup:
    series = Series("completion", [(trace.iteration, 100 * trace.completion) for trace in traces])
    return line_chart("Progress", [series], y_label="% complete by evidence", y_range=(0, 100), width=WIDTH, height=HIGH)


def _control(traces: Sequence[Trace]) -> Markup:
    terms: dict[str, Callable[[Trace], float]] = {
        "P": lambda trace: trace.proportional,
        "I": lambda trace: trace.integral,
        "D": lambda trace: trace.derivative,
        "urgency": lambda trace: trace.output,
    }
    series = [Series(name, [(trace.iteration, term(trace)) for trace in traces]) for name, term in terms.items()]
    return line_chart("Control", series, y_label="terms", y_range=(0, 1), width=WIDTH, height=HIGH)


def _cost(traces: Sequence[Trace]) -> Markup:
    sums = accumulate(trace.cost_usd for trace in traces)
    series = Series("cost so far", [(trace.iteration, spent) for trace, spent in zip(traces, sums, strict=True)])
    return line_chart("Cost", [series], y_label="US dollars in all", width=WIDTH, height=LOW)


def _tokens(traces: Sequence[Trace]) -> Markup:
    series = Series("tokens", [(trace.iteration, trace.tokens) for trace in traces])
    return line_chart("Tokens", [series], y_label="in and out, an iteration", width=WIDTH, height=LOW)


def _context(traces: Sequence[Trace]) -> Markup:
    """In percent where any window is known; else in tokens."""
    known = [trace for trace in traces if trace.window]
    if known:
        series = Series("context", [(trace.iteration, 100 * trace.context) for trace in known])
        return line_chart(
            "Context", [series], y_label="% of the window at its fullest", y_range=(0, 100), width=WIDTH, height=LOW
        )
    series = Series("context", [(trace.iteration, trace.context) for trace in traces])
    return line_chart("Context", [series], y_label="tokens at its fullest", width=WIDTH, height=LOW)
