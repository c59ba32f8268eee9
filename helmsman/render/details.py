"""One iteration on the page: a line that is read at a glance, and all that is known of it where that line is opened."""

import json
from collections.abc import Iterator, Sequence
from typing import Literal

from helmsman.plain import shortened, spelled
from helmsman.records.checks import CheckResult
from helmsman.records.gates import GATES, Answer
from helmsman.records.iteration import IterationRecord
from helmsman.records.judgement import Judgement
from helmsman.records.modes import short_rung
from helmsman.records.verdict import Decision, DecisionKind, Outcome, Severity, Signal
from helmsman.render.charts import Kind
from helmsman.render.explain import numbers
from helmsman.render.markup import NOTHING, Markup, element, escaped, joined
from helmsman.render.pieces import bullets, code, facts, folded, mark, output, paragraph, part, span, table
from helmsman.render.traces import checks_kind, judge_kind
from helmsman.render.verification import grounds_lines, table_lines
from helmsman.texts import check_text, counted, dollars_told, duration, guard_text, money, session_lines, tools_told

HEADS = ("#", "ended", "agent", "work", "checks", "completion", "rung", "cost")
SEVERITIES: dict[Severity, Kind] = {
    Severity.LOG: "neutral",
    Severity.WARN: "warn",
    Severity.REDIRECT: "warn",
    Severity.PAUSE: "bad",
    Severity.ABORT: "bad",
}
MINUS = "\N{MINUS SIGN}"
ENDINGS: dict[Outcome | None, Kind | Literal["calm"]] = {
    Outcome.COMPLETED: "good",
    Outcome.WAITING: "warn",
    Outcome.STOPPED: "warn",
    Outcome.UNPROVEN: "warn",
    Outcome.NOTHING_CHANGED: "warn",
    Outcome.BLOCKED: "warn",
    Outcome.CANCELLED: "neutral",
    Outcome.FAILED: "bad",
    Outcome.EJECTED: "bad",
    None: "calm",
}
"""How each outcome looks; None: it goes on."""
FILES_SHOWN = 40
REASON_SHOWN = 160
KEY_WIDTH = 11
"""Of the names before the lines that `explanation` writes."""


def iteration(record: IterationRecord, *, answers: Sequence[Answer] = (), outputs: bool = True, opened: bool = False) -> Markup:
    """The line and what is behind it. Without `outputs` the texts of checks and agent are left out, which are most of it."""
    line = element("summary", *_cells(record), class_="row")
    inside = element("div", *_parts(record, answers, outputs=outputs), class_="inside")
    return element("details", line, inside, **({"open": "open"} if opened else {}))


# --- the line -----------------------------------------------------------------------------------------------------


def _cells(record: IterationRecord) -> Iterator[Markup]:
    call, moment = record.execution.call, record.moment
    attempt = f".{record.attempt}" if record.attempt > 1 else ""
    yield span(f"{record.iteration}{attempt}", "number")
    yield element("span", element("time", escaped(f"{record.ended_at:%d %b %H:%M}"), datetime=record.ended_at.isoformat()))
    yield span(f"{spelled(call.outcome)}, {tools_told(call.tool_calls, call.untold)}")
    yield span(_work(record))
    yield element("span", _checks_mark(record))
    yield element("span", _share(record.oversight.progress.completion))
    yield span(f"{short_rung(record.oversight.ladder.rung)}{f' {moment.movement}' if moment else ''}")
    yield span(dollars_told(record.usage.cost_usd, call.untold))
    yield element("span", *_line(record), class_="line")


def _line(record: IterationRecord) -> Iterator[Markup]:
    yield decision_mark(record.decision)
    yield escaped(f" {shortened(record.decision.reason, REASON_SHOWN)} ")
    if record.contradictions:
        yield mark(counted(len(record.contradictions), "untrue claim"), "bad")
    if record.findings:
        yield mark(counted(len(record.findings), "finding"), "bad")
    if record.judgement:
        yield mark(f"judge: {record.judgement.outcome}", judge_kind(record.judgement))
    if record.item:
        yield mark(f"{record.item.item} {'ticked' if record.tick else 'not proven'}", "good" if record.tick else "warn")
    if record.failed:
        yield mark("taken off the branch", "warn")


def decision_mark(decision: Decision) -> Markup:
    if decision.kind is DecisionKind.STOP:
        return mark(f"stop: {decision.outcome or 'ended'}", ENDINGS[decision.outcome])
    return mark(decision.kind, "warn" if decision.kind is DecisionKind.WAIT else "calm")


def _work(record: IterationRecord) -> str:
    change = record.execution.change
    if not change.files_changed:
        return "nothing changed"
    return f"{counted(change.files_changed, 'file')} +{change.insertions} {MINUS}{change.deletions}"


def _checks_mark(record: IterationRecord) -> Markup:
    report = record.checks
    if report is None or not report.results:
        return mark("none" if report else "not run", "neutral")
    failing = len(report.failures)
    text = f"✘ {failing} of {len(report.results)}" if failing else f"✔ {len(report.results)}"
    return mark(text, checks_kind(report))


def _share(share: float) -> Markup:
    bar = element("progress", max=1, value=f"{share:.3f}", aria_label="completion")
    return joined([bar, escaped(f" {share:.0%}")])


# --- what is behind it --------------------------------------------------------------------------------------------


def _parts(record: IterationRecord, answers: Sequence[Answer], *, outputs: bool) -> Iterator[Markup]:
    yield part("What people answered before its end", answers_table(answers))
    yield part("Decision", *_decision(record.decision))
    yield part("Signals", _signals(record.signals))
    yield part("Checks", *_checks(record, outputs=outputs))
    yield part("Outcomes of test cases", _outcomes(record))
    yield part("Claims against evidence", *_claims(record))
    yield part("What was found in the diff", _findings(record))
    yield part("Judge", *(_judge(record.judgement) if record.judgement else ()))
    yield part("The plan's item", *_plan_item(record))
    yield part("Work", *_change(record))
    yield part("Agent", *_agent(record, outputs=outputs))
    yield part("Control", facts(_standing(record)))
    if not outputs:
        yield paragraph(
            escaped("Outputs and last words: "), code(f"helmsman log {record.loop} {record.iteration}"), class_="small soft"
        )


def answers_table(answers: Sequence[Answer]) -> Markup:
    """Who answered what, and by which way."""
    rows = [
        (
            escaped(f"{answer.at:%d %b %H:%M}"),
            escaped(GATES[answer.kind].title),
            mark(answer.choice, "calm"),
            escaped(f"{answer.by or 'somebody'} ({answer.via})"),
            joined([escaped(answer.guidance), *([code(json.dumps(answer.settings, default=str))] if answer.settings else ())]),
        )
        for answer in answers
    ]
    return table(("at (UTC)", "question", "answer", "by", "guidance and settings"), rows)


def _decision(decision: Decision) -> Iterator[Markup]:
    yield paragraph(decision_mark(decision), escaped(" "), code(decision.rule))
    yield paragraph(escaped(decision.reason))
    rows = [
        (
            mark("yes" if step.held else "no", "calm" if step.held else "neutral"),
            escaped(step.question),
            joined([escaped(step.because), *([element("div", escaped(f"otherwise with: {step.otherwise}"), class_="soft small")]
                    if step.held and step.otherwise else ())]),
        )
        for step in decision.path
    ]  # fmt: skip
    yield (
        folded(f"the way to it: {counted(len(rows), 'question')}", table(("", "question", "because"), rows)) if rows else NOTHING
    )


def _signals(signals: Sequence[Signal]) -> Markup:
    rows = [
        (
            mark(signal.severity, SEVERITIES[signal.severity]),
            code(signal.rule),
            joined([escaped(signal.message), *([element("div", escaped(f"told: {signal.instruction}"), class_="soft small")]
                    if signal.instruction else ())]),
            escaped(_measured(signal)),
        )
        for signal in signals
    ]  # fmt: skip
    return table(("", "rule", "what was noticed", "value / threshold"), rows)


def _measured(signal: Signal) -> str:
    known = (f"{number:g}" for number in (signal.value, signal.threshold) if number is not None)
    return " / ".join(known)


def _checks(record: IterationRecord, *, outputs: bool) -> Iterator[Markup]:
    for result in record.checks.results if record.checks else ():
        yield paragraph(
            mark("passed" if result.passed else "failed", "good" if result.passed else "bad"),
            escaped(f" {check_text(result)} "),
            span(f"({duration(result.seconds)})", "soft"),
        )
        if outputs:
            yield _check_output(result)
    if record.checks and record.checks.left_behind:
        yield paragraph(escaped(f"left behind and put back: {', '.join(record.checks.left_behind)}"), class_="soft small")


def _outcomes(record: IterationRecord) -> Markup:
    """As `helmsman verify` shows them, with what a verdict rests on."""
    cases = table_lines(record.since_start.table) if record.since_start else ()
    grounds = grounds_lines(record.decision.grounds) if record.decision.grounds else ()
    return output("\n".join((*cases, *grounds)))


def _check_output(result: CheckResult) -> Markup:
    return folded(f"output of {result.command}", output(result.head), output(result.tail))


def _plan_item(record: IterationRecord) -> Iterator[Markup]:
    item, touched = record.item, record.execution.plan
    if item is not None:
        sign = mark("proven" if item.proven else "not proven", "good" if item.proven else "warn")
        yield paragraph(sign, escaped(" "), code(item.item), escaped(f" {item.title}"))
        yield bullets(escaped(clause) for clause in item.missing)
    if touched is not None:
        told = touched.why if touched.kept else f"The plan's file was put back: {touched.why}"
        yield paragraph(escaped(told), class_="soft small")


def _claims(record: IterationRecord) -> Iterator[Markup]:
    claims = record.claims
    if claims.wants_to_finish:
        yield paragraph(mark("asks to be done", "calm"), escaped(f" {claims.how}"))
    if record.claims_checked:
        yield paragraph(escaped(f"{counted(record.claims_checked, 'claim')} could be compared with evidence."))
    rows = [
        (escaped(one.said), escaped(one.found), escaped(f"{spelled(one.layer)}, in {one.source}"))
        for one in record.contradictions
    ]
    yield table(("it says", "the evidence says", "kind"), rows)
    for denial in record.proof.denied:
        yield paragraph(mark("not done", "warn"), escaped(f" {denial.rule}: {denial.why}"))


def _findings(record: IterationRecord) -> Markup:
    rows = [
        (mark(one.weight, "bad" if one.weight == "block" else "warn"), code(one.rule), code(one.where), escaped(one.message))
        for one in record.findings
    ]
    return table(("", "rule", "where", "what was done"), rows)


def _judge(judgement: Judgement) -> Iterator[Markup]:
    score = f"{judgement.score:.0%} of the weight met" if judgement.score is not None else ""
    said = "; ".join(filter(None, (judgement.cause, score)))
    yield paragraph(mark(judgement.outcome, judge_kind(judgement)), escaped(f" {said}"))
    rows = [
        (
            mark(one.given.replace("_", " "), "good" if one.met else "warn" if one.cannot_tell else "bad"),
            escaped(one.criterion),
            escaped(f"{one.votes_met} of {one.votes_cast}, {one.votes_needed} needed"),
            joined([escaped(f"{one.reason} "), *([code(one.evidence)] if one.evidence else ())]),
        )
        for one in judgement.criteria
    ]
    yield table(("", "criterion", "votes", "reason and evidence"), rows)
    asked = f"{judgement.model or 'a model'}, {counted(judgement.calls, 'call')}, {money(judgement.usage.cost_usd)}"
    yield paragraph(escaped(f"{asked}, {duration(judgement.seconds)}"), class_="soft small")


def _change(record: IterationRecord) -> Iterator[Markup]:
    change = record.execution.change
    yield paragraph(escaped(f"{_work(record)}; "), code(change.start[:10]), escaped(" to "), code(change.commit[:10]))
    yield bullets(joined([code(commit.id[:10]), escaped(f" {commit.subject}")]) for commit in change.commits)
    files = [code(name) for name in change.files[:FILES_SHOWN]]
    more = len(change.files) - len(files)
    yield folded(counted(len(change.files), "changed path"), bullets([*files, *([escaped(f"and {more} more")] if more else ())]))
    if change.leftovers_committed:
        yield paragraph(escaped("The agent left work uncommitted; Helmsman committed it."), class_="soft small")
    if record.execution.put_back:
        yield paragraph(escaped(f"Protected, and put back: {', '.join(record.execution.put_back)}"), class_="soft small")
    if record.failed:
        taken = f" {record.failed.why}; kept at {record.failed.ref}, the branch went back to {record.failed.back_to[:10]}"
        yield paragraph(mark("taken off the branch", "warn"), escaped(taken))


def _agent(record: IterationRecord, *, outputs: bool) -> Iterator[Markup]:
    call = record.execution.call
    usage, use = call.usage, call.context
    tokens = f"{usage.tokens:,} ({usage.output_tokens:,} written, {usage.cache_read_tokens:,} read from the cache)"
    window = f" of {use.window:,}" if use.window else ""
    noise = f", {use.noise_share:.0%} of what tools said is noise" if use.heard else ""
    called = ", ".join(f"{name} {times}" for name, times in call.tools[:12])
    yield facts(
        (
            ("hat", escaped(f"{record.hat.name}: {record.hat.why}" if record.hat else "")),
            ("model", escaped(call.model)),
            (
                "took",
                escaped(f"{duration(call.seconds)}, {counted(call.turns, 'turn')}, {dollars_told(usage.cost_usd, call.untold)}"),
            ),
            ("tokens", escaped(tokens)),
            ("context", escaped(f"{use.peak:,}{window} tokens at its fullest{noise}") if use.peak else NOTHING),
            ("tools", escaped(called)),
            ("its words", escaped(call.error)),
        )
    )
    yield bullets(escaped(guard_text(guarded)) for guarded in call.guarded)
    yield bullets(escaped(line) for line in session_lines(call))
    yield folded("its last words", output(call.final_text)) if outputs else NOTHING


def _standing(record: IterationRecord) -> Iterator[tuple[str, Markup]]:
    """What control between iterations rests on, as `helmsman explain` says it."""
    for line in numbers(record.oversight):
        yield line[:KEY_WIDTH].strip(), escaped(line[KEY_WIDTH:])
