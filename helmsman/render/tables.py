"""Tables of a loop in Markdown: its iterations, what was checked, what was judged, what people were asked."""

import json
from collections.abc import Iterable, Iterator, Sequence

from helmsman.plain import spelled
from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.evidence import AgentOutcome
from helmsman.records.findings import Weight
from helmsman.records.gates import Answer, Gate
from helmsman.records.iteration import IterationRecord
from helmsman.records.judgement import CriterionVerdict
from helmsman.records.modes import Rung, short_rung
from helmsman.records.moments import Moment, Movement
from helmsman.records.reflexion import Rejection
from helmsman.records.state import LoopState
from helmsman.records.verdict import Considered
from helmsman.render.asking import not_taken
from helmsman.render.cells import BREAK, code, fence, prose, stacked, table
from helmsman.render.gates import answer_command
from helmsman.render.system import passing_checks
from helmsman.render.verification import grounds_markdown, table_markdown
from helmsman.texts import counted, duration, money

ITERATIONS = 50
FAILURES = 8
"""Failing checks whose output is shown."""
ROWS = 40
"""Of what the configuration does not bound."""


def _capped(head: Sequence[str], rows: Iterable[Sequence[str]], widths: Sequence[int]) -> str:
    """A table of the first rows, and how many more there are."""
    every = list(rows)
    more = f"\n\nand {len(every) - ROWS} more" if len(every) > ROWS else ""
    return table(head, every[:ROWS], widths) + more


def _sign(*, good: bool) -> str:
    return "✔" if good else "✘"


# --- iterations -----------------------------------------------------------------------------------------------------


def iterations_table(state: LoopState) -> str:
    """The newest iterations first, and how many there were before those."""
    shown = state.worked[-ITERATIONS:]
    before = state.iteration - len({moment.iteration for moment in shown if moment.movement is not Movement.WAITED})
    left_out = f"{counted(max(0, before), 'earlier iteration')} left out: `helmsman log {state.loop}` has them."
    start = [moment for moment in state.history[:1] if moment.iteration == 0]
    head = ("#", "Done", "Movement", "Checks", "Tests", "Change", "Tools", "Cost", "Time", "Rung", "Remarks")
    rows = [*map(_iteration, reversed(shown)), *(map(_start, start) if before <= 0 else ())]
    return stacked([
        f"# {state.loop}: {counted(state.iteration, 'iteration')}",
        table(head, rows, (8, 6, 10, 6, 12, 20, 8, 10, 12, 6, 18)) or "No iteration has ended yet.",
        "Rungs: " + ", ".join(rung.title for rung in Rung) + ". Tests: those that pass, of those that ran." if rows else "",
        left_out if before > 0 else "",
    ])  # fmt: skip


def _iteration(moment: Moment) -> tuple[str, ...]:
    attempt = f" ({moment.attempt})" if moment.attempt > 1 else ""
    change = f"+{moment.insertions} −{moment.deletions} in {moment.files_changed:,}" if moment.files_changed else "–"
    return (
        f"{moment.iteration}{attempt}",
        f"{moment.completion:.0%}",
        str(moment.movement),
        _sign(good=moment.green) if moment.checked else "–",
        _tests(moment),
        change,
        "–" if "tools" in moment.untold else f"{moment.tool_calls:,}",
        "–" if "cost" in moment.untold and not moment.cost_usd else money(moment.cost_usd),
        duration(moment.seconds),
        short_rung(moment.rung),
        _remarks(moment),
    )


def _start(moment: Moment) -> tuple[str, ...]:
    """The tree that nobody had worked on yet."""
    checks = _sign(good=moment.green) if moment.checked else "–"
    return ("start", f"{moment.completion:.0%}", "–", checks, _tests(moment), "–", "–", "–", "–", "–", "")


def _tests(moment: Moment) -> str:
    run = moment.passing_tests + moment.failing_tests
    return f"{moment.passing_tests:,} of {run:,}" if run else "–"


def _remarks(moment: Moment) -> str:
    said = (
        (spelled(moment.outcome), moment.outcome is not AgentOutcome.FINISHED),
        ("taken back", moment.undone),
        ("asked to be done", moment.asked),
        ("only tests", moment.test_only),
        (f"{moment.denials} refused", moment.denials > 0),
        (f"{moment.relevance:.0%} to the point", moment.relevance < 0.5),  # noqa: PLR2004 - half of it was about something else
    )
    return ", ".join(words for words, holds in said if holds)


# --- checks ---------------------------------------------------------------------------------------------------------


def checks_table(state: LoopState, record: IterationRecord | None = None) -> str:
    """Checks and invariants on the last tree, with the ends of what failing ones printed."""
    report = record.checks if record and record.checks else state.checks
    skipped = record is not None and record.checks is None
    if report is None:
        return stacked([f"# {state.loop}: checks", "Nothing has been checked yet."])
    return stacked([
        f"# {state.loop}: {passing_checks(report)}",
        "In the last iteration nothing was checked; this is the report before it." if skipped else "",
        f"Checked: tree {code(report.tree[:10])} after {counted(state.iteration, 'iteration')}.",
        "Verified in the agent's folder." if report.clean is False else "",
        _results(report),
        *_outputs(report),
        *_left_behind(report),
        *_findings(state),
    ])  # fmt: skip


def _results(report: CheckReport) -> str:
    if not report.results:
        return "**No check is configured: nothing is verified.**"
    return _capped(("", "Check", "Tests", "Exit", "Time", "Remarks"), map(_result, report.results), (2, 48, 12, 6, 10, 24))


def _result(result: CheckResult) -> tuple[str, ...]:
    counts = result.counts
    command = "" if result.name == result.command else f"{BREAK}{code(result.command, 200)}"
    remarks = (
        "timed out" if result.timed_out else "",
        prose(result.error),
        prose(result.remark),
        "no test ran" if result.ran_no_test else "",
        f"{counts.skipped:,} skipped" if counts and counts.skipped else "",
        f"flaky: {', '.join(code(name, 120) for name in result.flaky[:3])}" if result.flaky else "",
    )
    return (
        _sign(good=result.passed),
        f"{prose(result.name, 120)}{command}",
        f"{counts.passed:,} of {counts.executed:,}" if counts else "–",
        "–" if result.exit_code is None else str(result.exit_code),
        duration(result.seconds),
        "; ".join(remark for remark in remarks if remark),
    )


def _outputs(report: CheckReport) -> Iterator[str]:
    for result in report.failures[:FAILURES]:
        yield f"## ✘ {prose(result.name, 120)}"
        names = result.counts.failing if result.counts else ()
        yield "\n".join(f"- {code(name, 200)}" for name in names[:20])
        printed = result.tail or result.head
        yield fence(printed) if printed.strip() else "It printed nothing."
    if len(report.failures) > FAILURES:
        yield f"{len(report.failures) - FAILURES} more fail; their output is left out."


def _left_behind(report: CheckReport) -> Iterator[str]:
    if report.left_behind:
        yield f"The checks changed files of the worktree, which were put back: {', '.join(map(code, report.left_behind))}"


def _findings(state: LoopState) -> Iterator[str]:
    yield "## Invariants"
    rows = (
        ("✘ blocks" if found.weight is Weight.BLOCK else "▲ hint", f"{code(found.rule, 60)}{BREAK}{code(found.where, 160)}",
         prose(found.message), prose(found.honest))
        for found in state.findings
    )  # fmt: skip
    head = ("", "Rule and place", "What was done", "What would be honest")
    yield _capped(head, rows, (10, 30, 26, 30)) or "✔ Nothing was found."


# --- verdicts -------------------------------------------------------------------------------------------------------


def verdicts_table(state: LoopState, record: IterationRecord | None = None) -> str:
    """What was decided and by which questions; what stands against completion; what the judge says."""
    return stacked(
        [f"# {state.loop}: verdicts", *(_decision(record) if record else ()), *_claims(state), *_judged(state, record)]
    )


def _decision(record: IterationRecord) -> Iterator[str]:
    decision, proof = record.decision, record.proof
    yield f"## After iteration {record.iteration}: {decision.word}"
    yield f"**{prose(decision.rule, 80)}**: {prose(decision.reason, 600)}"
    yield table(("", "Asked", "Answer"), map(_considered, decision.path), (2, 46, 46))
    last = decision.path[-1] if decision.path else None
    yield f"What would change it: {prose(last.otherwise)}." if last and last.otherwise else ""
    yield "## Completion"
    gates = (
        ("asked for", _sign(good=proof.asked), prose(proof.how)),
        ("checks green", _sign(good=proof.green), ""),
        *((prose(spelled(denial.rule), 60), "✘", prose(denial.why)) for denial in proof.denied),
        ("judge", *_approval(record)),
    )
    yield table(("Gate", "", "Why"), gates, (18, 2, 76))
    yield from table_markdown(record.since_start.table) if record.since_start else ()
    yield from grounds_markdown(decision.grounds) if decision.grounds else ()


def _approval(record: IterationRecord) -> tuple[str, str]:
    judgement = record.judgement
    return ("–", "was not asked") if judgement is None else (_sign(good=judgement.approved), prose(judgement.cause))


def _considered(step: Considered) -> tuple[str, ...]:
    return ("→" if step.held else "", prose(step.question), prose(step.because))


def _claims(state: LoopState) -> Iterator[str]:
    trust = state.trust
    yield "## Claims"
    held = f"{trust.checked - trust.contradicted} of {counted(trust.checked, 'claim')} held"
    yield f"Over the whole loop {held} ({trust.score:.0%})." if trust.score is not None else "No claim could be compared yet."
    rows = ((spelled(one.layer), prose(one.said), prose(one.found), prose(one.source, 60)) for one in state.contradictions)
    yield table(("Layer", "It said", "Found", "Where"), rows, (14, 34, 34, 12)) or "✔ Nothing of the last iteration was untrue."


def _judged(state: LoopState, record: IterationRecord | None) -> Iterator[str]:
    yield "## Judge"
    judgement = record.judgement if record else None
    if judgement is not None:
        score = f", score {judgement.score:.0%}" if judgement.score is not None else ""
        votes = f", {counted(judgement.calls, 'call')} of {code(judgement.model, 80)}" if judgement.model else ""
        yield f"**{judgement.outcome}**{score}{votes}. {prose(judgement.cause, 600)}"
        yield _capped(("", "Criterion", "Votes", "Reason", "Evidence"), map(_criterion, judgement.criteria), (2, 12, 14, 46, 20))
    elif not state.config.judge.criteria:
        yield "There are no criteria, so no judge is asked."
    elif not state.judge.feedback:
        yield "It has not been asked yet: it is, once the agent asks to be done and every check passes."
    if state.judge.feedback:
        yield "### Rejections"
        yield table(
            ("#", "When", "In a row", "Criteria", "Reason"), map(_rejection, state.judge.feedback[::-1]), (5, 17, 8, 16, 62)
        )


def _criterion(one: CriterionVerdict) -> tuple[str, ...]:
    votes = f"{one.votes_met} of {one.votes_cast}, needs {one.votes_needed}"
    sign = "?" if one.cannot_tell else _sign(good=one.met)
    return (sign, code(one.criterion, 60), votes, prose(one.reason, 600), code(one.evidence, 160))


def _rejection(one: Rejection) -> tuple[str, ...]:
    criteria = ", ".join(code(name, 60) for name in one.criteria)
    return (str(one.iteration), f"{one.at:%Y-%m-%d %H:%M}", str(one.consecutive), criteria, prose(one.reason, 600))


# --- gates ----------------------------------------------------------------------------------------------------------


def gates_table(state: LoopState) -> str:
    """The open question with how to answer it, and what was answered before."""
    answers = table(("Question", "Answer", "Guidance", "Settings"), map(_answer, state.answers[::-1]), (22, 24, 44, 20))
    return stacked([
        f"# {state.loop}: {'a person is asked' if state.gate else 'nobody is asked'}",
        *(_open(state.gate, state.loop) if state.gate else ()),
        f"## Answers\n\n{answers or 'Nobody was asked yet, or nobody has answered.'}",
        *(_evidence(state.gate) if state.gate else ()),
    ])  # fmt: skip


def _open(gate: Gate, loop: str) -> Iterator[str]:
    yield f"**{prose(gate.question)}**"
    if gate.refused:
        yield not_taken(gate)
    of = f", of {prose(gate.asked_of, 80)}" if gate.asked_of else ""
    until = f"until {gate.deadline:%Y-%m-%d %H:%M} UTC, then: {gate.at_timeout}" if gate.deadline else "without a deadline"
    yield f"Asked {gate.asked_at:%Y-%m-%d %H:%M} UTC{of}, {until}. Key: {code(gate.key, 80)}"
    yield "\n".join(f"{number}. {prose(question, 600)}" for number, question in enumerate(gate.questions, 1))
    choices = ((f"**{choice}**", effect, code(answer_command(gate, choice, loop))) for choice, effect in gate.choices.items())
    yield table(("Choice", "What it does", "Command"), choices, (12, 42, 44))


def _evidence(gate: Gate) -> Iterator[str]:
    """It is Markdown already, made of escaped pieces; the last thing on the page, so that nothing in it can swallow another."""
    if gate.evidence.strip():
        yield f"## What was seen\n\n{gate.evidence}"


def _answer(answer: Answer) -> tuple[str, ...]:
    question = f"{code(answer.gate, 80)}{BREAK}{answer.at:%Y-%m-%d %H:%M}"
    choice = f"**{answer.choice}**{BREAK}{prose(answer.by, 60) or 'somebody'} ({answer.via})"
    return (question, choice, prose(answer.guidance, 600), prose(json.dumps(answer.settings)) if answer.settings else "")
