"""Markdown pages of a loop or a group for the engine's UI: summary first, then progress and findings."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from helmsman.plain import in_plain_words
from helmsman.records.agent import AgentOutcome
from helmsman.records.control import EscalationLevel, IterationSummary, Movement, short_level
from helmsman.records.iteration import IterationRecord
from helmsman.records.request import ParallelResult
from helmsman.records.result import result_of
from helmsman.records.state import LoopState
from helmsman.render.dashboard import dashboard, status_text
from helmsman.render.facts import (
    Fact,
    as_code,
    check_facts,
    contradiction_facts,
    decision_facts,
    facts,
    finding_facts,
    front_facts,
    judge_facts,
    passing_text,
)
from helmsman.render.gate import answer_command
from helmsman.render.lines import group_lines, next_steps
from helmsman.render.markdown_page import BREAK, cell, code, facts_table, fence, join_blocks, prose, table
from helmsman.render.templating import render_markdown
from helmsman.render.verification import outcome_text
from helmsman.texts import format_duration, format_money, plan_text, plural

ITERATIONS, FAILURES, ROWS = 50, 8, 40
"""Iterations in a table, failing checks with output, and rows of tables that the configuration does not bound."""
LONGEST_GROUP = 40_000  # characters of a group's page


@dataclass(frozen=True)
class Page:
    name: str
    data: str | float
    description: str

    @property
    def kind(self) -> str:
        return "markdown" if isinstance(self.data, str) else "progress"


def pages_of(state: LoopState, record: IterationRecord | None) -> list[Page]:
    """All pages of a loop; the engine lists the last one first."""
    plan = plan_page(state)
    status = f"{status_text(state)} after iteration {state.iteration}"
    percent = round(100 * max(0.0, min(1.0, state.oversight.progress.completion)), 1)
    return [
        Page("progress", percent, f"{status}: {percent:g} % measured as done"),
        Page("gates", gates_page(state), f"{status}: questions to people, and their answers"),
        Page("verdicts", verdicts_page(state, record), f"{status}: what was decided and judged"),
        Page("checks", checks_page(state, record), f"{status}: checks and their output"),
        *([Page("plan", plan, f"{status}: the plan and its items")] if plan else ()),
        Page("iterations", iterations_page(state), f"{status}: all iterations in a table"),
        Page("dashboard", dashboard(state, record), f"{status}: the loop as a viable system"),
        Page("summary", summary(state), f"{status}: what is done, what proves it, what comes next"),
    ]


def summary(state: LoopState) -> str:
    """Answers to a person's first questions."""
    if state.gate is not None:
        next_actions = [f"answer: Resume in the menu of the run's page, or {as_code(f'helmsman answer {state.loop}')}"]
    elif state.outcome is None:
        next_actions = ["the loop is running; no question is open"]
    else:
        next_actions = [as_code(command) for _, command in next_steps(result_of(state, ""))]
    facts = [(fact.name, fact.value) for fact in front_facts(state)]
    return join_blocks([
        f"# {state.loop}: {status_text(state)}",
        prose(state.config.goal.strip().partition("\n")[0], 200),
        facts_table([*facts, ("Next", "\n".join(next_actions))], widths=(10, 70)),
    ])  # fmt: skip


def iterations_page(state: LoopState) -> str:
    """The newest iterations first, and the number of earlier ones."""
    shown = state.past_iterations[-ITERATIONS:]
    before = state.iteration - len({moment.iteration for moment in shown if moment.movement is not Movement.WAITED})
    note = f"{plural(max(0, before), 'earlier iteration')} omitted: `helmsman log {state.loop}` shows them."
    start = [moment for moment in state.history[:1] if moment.iteration == 0]  # the tree before any work
    head = ("#", "Done", "Movement", "Checks", "Tests", "Change", "Tools", "Cost", "Time", "Level", "Remarks")
    first = [
        ("start", f"{moment.completion:.0%}", "–", _checks_cell(moment), _tests_cell(moment), *("–",) * 5, "") for moment in start
    ]
    rows = [*map(_iteration_row, reversed(shown)), *(first if before <= 0 else ())]
    return join_blocks([
        f"# {state.loop}: {plural(state.iteration, 'iteration')}",
        table(head, rows, (8, 6, 10, 6, 12, 20, 8, 10, 12, 6, 18)) or "No iteration has ended yet.",
        f"Levels: {', '.join(level.title for level in EscalationLevel)}. Tests: passing of all that ran." if rows else "",
        note if before > 0 else "",
    ])  # fmt: skip


def _iteration_row(moment: IterationSummary) -> tuple[str, ...]:
    attempt = f" ({moment.attempt})" if moment.attempt > 1 else ""
    change = f"+{moment.insertions} −{moment.deletions} in {moment.files_changed:,}" if moment.files_changed else "–"
    is_remarkable = {
        in_plain_words(moment.outcome): moment.outcome is not AgentOutcome.FINISHED,
        "undone": moment.undone,
        "claimed completion": moment.asked,
        "only tests": moment.test_only,
        f"{moment.denials} denied": moment.denials > 0,
        f"{moment.relevance:.0%} related": moment.relevance < 0.5,  # noqa: PLR2004 - half of it is unrelated to the task
    }
    return (
        f"{moment.iteration}{attempt}",
        f"{moment.completion:.0%}",
        str(moment.movement),
        _checks_cell(moment),
        _tests_cell(moment),
        change,
        "–" if "tools" in moment.untold else f"{moment.tool_calls:,}",
        "–" if "cost" in moment.untold and not moment.cost_usd else format_money(moment.cost_usd),
        format_duration(moment.seconds),
        short_level(moment.rung),
        ", ".join(remark for remark, applies in is_remarkable.items() if applies),
    )


def _checks_cell(moment: IterationSummary) -> str:
    return ("✔" if moment.green else "✘") if moment.checked else "–"


def _tests_cell(moment: IterationSummary) -> str:
    run = moment.passing_tests + moment.failing_tests
    return f"{moment.passing_tests:,} of {run:,}" if run else "–"


def plan_page(state: LoopState) -> str:
    """The plan; empty if there is none."""
    if not state.plan.total:
        return ""
    return join_blocks([
        f"# {state.loop}: {prose(plan_text(state), 200)}",
        state.plan.missing and f"**Missing:** {prose(state.plan.missing, 600)}",
        "\n".join(f"- {cell(line)}" for line in plan_lines(state)),
    ])  # fmt: skip


def plan_lines(state: LoopState) -> Iterator[str]:
    """Each known item with its mark: done, in progress, or open."""
    plan = state.plan
    for item in plan.sketch:
        yield f"{'✔' if item.done else '▶' if item.id == plan.now else '○'} {as_code(item.id)} {item.title}"
    omitted = plan.total - len(plan.sketch)
    yield from [f"{omitted:,} further items are omitted; the file has them all."] if omitted > 0 else ()


def _limited_table(facts: Iterator[Fact]) -> str:
    """The first facts as a table, and the number of the others."""
    all_facts = list(facts)
    more = f"\n\nand {len(all_facts) - ROWS} more" if len(all_facts) > ROWS else ""
    return facts_table(fact[:2] for fact in all_facts[:ROWS]) + more


def checks_page(state: LoopState, record: IterationRecord | None = None) -> str:
    """Checks of the last tree, the end of the output of failing ones, and findings in the change."""
    report = record.checks if record and record.checks else state.checks
    return _render_page(
        "checks_page",
        state=state,
        report=report,
        passing=passing_text(report) if report else "",
        skipped=record is not None and record.checks is None,
        checks=_limited_table(check_facts(report)),
        findings=_limited_table(finding_facts(state.findings)),
        most=FAILURES,
    )


def _render_page(name: str, **values: object) -> str:
    return f"{render_markdown(name, **values)}\n"


def verdicts_page(state: LoopState, record: IterationRecord | None = None) -> str:
    """The decision and its questions, the obstacles to completion, and the judge's verdict."""
    rows = (
        (str(feedback.iteration), f"{feedback.at:%Y-%m-%d %H:%M}", str(feedback.consecutive),
         ", ".join(code(name, 60) for name in feedback.criteria), prose(feedback.reason, 600))
        for feedback in state.judge.feedback[::-1]
    )  # fmt: skip
    return _render_page(
        "verdicts_page",
        state=state,
        record=record,
        decision=facts_table(fact[:2] for fact in decision_facts(record.decision)) if record else "",
        completion=_limited_table(fact for fact in facts(record) if fact.part == "Claims" and fact.name != "untrue")
        if record
        else "",
        outcomes=outcome_text(record) if record else "",
        untrue=_limited_table(contradiction_facts(state.contradictions)),
        judged=_limited_table(judge_facts(record.judgement)) if record and record.judgement else "",
        rejections=table(("#", "When", "In a row", "Criteria", "Reason"), rows, (5, 17, 8, 16, 62)),
    )


def gates_page(state: LoopState) -> str:
    """The open question with the ways to answer it, and earlier answers."""
    gate = state.gate
    choices = (
        (f"**{choice}**", effect, code(answer_command(gate, choice, state.loop)))
        for choice, effect in (gate.choices.items() if gate else ())
        if gate
    )
    answers = (
        (f"{code(answer.gate, 80)}{BREAK}{answer.at:%Y-%m-%d %H:%M}",
         f"**{answer.choice}**{BREAK}{prose(answer.by, 60) or 'somebody'} ({answer.via})",
         prose(answer.guidance, 600), prose(json.dumps(answer.settings)) if answer.settings else "")
        for answer in state.answers[::-1]
    )  # fmt: skip
    return _render_page(
        "gates_page",
        state=state,
        choices=table(("Choice", "What it does", "Command"), choices, (12, 42, 44)),
        answers=table(("Question", "Answer", "Guidance", "Settings"), answers, (22, 24, 44, 20)),
    )


def group_page(result: ParallelResult) -> str:
    return join_blocks([f"# {prose(result.group, 80)}", fence("\n".join(group_lines(result)), LONGEST_GROUP)])
