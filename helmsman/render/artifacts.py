"""What a loop shows in the engine's UI, as Markdown: a summary first, then how it works and all that was found. And a group."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from helmsman.plain import spelled
from helmsman.records.agent import AgentOutcome
from helmsman.records.control import EscalationLevel, IterationSummary, Movement, short_level
from helmsman.records.iteration import IterationRecord
from helmsman.records.plan import ItemState
from helmsman.records.request import ParallelResult
from helmsman.records.result import result_of
from helmsman.records.state import LoopState
from helmsman.render.dashboard import dashboard, standing
from helmsman.render.facts import (
    Fact,
    check_facts,
    coded,
    decision_facts,
    finding_facts,
    front_facts,
    green_text,
    judge_facts,
    untrue_facts,
)
from helmsman.render.gate import answer_command
from helmsman.render.lines import next_steps
from helmsman.render.markdown_page import BREAK, cell, code, facts_table, prose, stacked, table
from helmsman.render.templating import render_markdown
from helmsman.render.verification import outcome_text
from helmsman.texts import SIGNS, duration, format_dollars, money, plan_text, plural

ITERATIONS, FAILURES, ROWS = 50, 8, 40
"""Iterations in a table, failing checks whose output is shown, rows of what the configuration does not bound."""
PLAN_HEAD = ("item", "stands", "title", "needs", "proven in", "tries")
STANDS: Mapping[ItemState, str] = {
    "done": "✔ done",
    "now": "▶ in hand",
    "ready": "○ ready",
    "blocked": "… waits for other loops",
    "escalated": "✘ waiting for a person",
}


@dataclass(frozen=True)
class Page:
    name: str
    data: str | float
    description: str

    @property
    def kind(self) -> str:
        return "markdown" if isinstance(self.data, str) else "progress"


def pages_of(state: LoopState, record: IterationRecord | None) -> list[Page]:
    """All that is shown of a loop; the engine lists what is last here first."""
    plan = plan_page(state)
    stands = f"{standing(state)} after iteration {state.iteration}"
    done = round(100 * max(0.0, min(1.0, state.oversight.progress.completion)), 1)
    return [
        Page("progress", done, f"{stands}: {done:g} % measured as done"),
        Page("gates", gates_page(state), f"{stands}: what people are asked, and their answers"),
        Page("verdicts", verdicts_page(state, record), f"{stands}: what was decided and judged"),
        Page("checks", checks_page(state, record), f"{stands}: checks and what they printed"),
        *([Page("plan", plan, f"{stands}: the plan and its items")] if plan else ()),
        Page("iterations", iterations_page(state), f"{stands}: all iterations in a table"),
        Page("dashboard", dashboard(state, record), f"{stands}: the loop as a viable system"),
        Page("summary", summary(state), f"{stands}: what is done, what proves it, what comes next"),
    ]


def summary(state: LoopState) -> str:
    """What a person asks first."""
    if state.gate is not None:
        following = [f"answer: Resume in the menu of the run's page, or {coded(f'helmsman answer {state.loop}')}"]
    elif state.outcome is None:
        following = ["the loop is running; nothing needs your answer"]
    else:
        following = [coded(command) for _, command in next_steps(result_of(state, ""))]
    facts = [(fact.name, fact.value) for fact in front_facts(state)]
    return stacked([
        f"# {state.loop}: {standing(state)}",
        prose(state.config.goal.strip().partition("\n")[0], 200),
        facts_table([*facts, ("Next", "\n".join(following))], widths=(10, 70)),
    ])  # fmt: skip


def iterations_page(state: LoopState) -> str:
    """The newest iterations first, and how many there were before those."""
    shown = state.worked[-ITERATIONS:]
    before = state.iteration - len({moment.iteration for moment in shown if moment.movement is not Movement.WAITED})
    left_out = f"{plural(max(0, before), 'earlier iteration')} left out: `helmsman log {state.loop}` has them."
    start = [moment for moment in state.history[:1] if moment.iteration == 0]  # the tree that nobody had worked on yet
    head = ("#", "Done", "Movement", "Checks", "Tests", "Change", "Tools", "Cost", "Time", "Rung", "Remarks")
    first = [("start", f"{one.completion:.0%}", "–", _checked(one), _tests(one), *("–",) * 5, "") for one in start]
    rows = [*map(_iteration, reversed(shown)), *(first if before <= 0 else ())]
    return stacked([
        f"# {state.loop}: {plural(state.iteration, 'iteration')}",
        table(head, rows, (8, 6, 10, 6, 12, 20, 8, 10, 12, 6, 18)) or "No iteration has ended yet.",
        f"Rungs: {', '.join(one.title for one in EscalationLevel)}. Tests: those that pass, of those that ran." if rows else "",
        left_out if before > 0 else "",
    ])  # fmt: skip


def _iteration(moment: IterationSummary) -> tuple[str, ...]:
    attempt = f" ({moment.attempt})" if moment.attempt > 1 else ""
    change = f"+{moment.insertions} −{moment.deletions} in {moment.files_changed:,}" if moment.files_changed else "–"
    remarks = {
        spelled(moment.outcome): moment.outcome is not AgentOutcome.FINISHED,
        "taken back": moment.undone,
        "claimed completion": moment.asked,
        "only tests": moment.test_only,
        f"{moment.denials} refused": moment.denials > 0,
        f"{moment.relevance:.0%} to the point": moment.relevance < 0.5,  # noqa: PLR2004 - half of it was about something else
    }
    return (
        f"{moment.iteration}{attempt}",
        f"{moment.completion:.0%}",
        str(moment.movement),
        _checked(moment),
        _tests(moment),
        change,
        "–" if "tools" in moment.untold else f"{moment.tool_calls:,}",
        "–" if "cost" in moment.untold and not moment.cost_usd else money(moment.cost_usd),
        duration(moment.seconds),
        short_level(moment.rung),
        ", ".join(words for words, holds in remarks.items() if holds),
    )


def _checked(moment: IterationSummary) -> str:
    return ("✔" if moment.green else "✘") if moment.checked else "–"


def _tests(moment: IterationSummary) -> str:
    run = moment.passing_tests + moment.failing_tests
    return f"{moment.passing_tests:,} of {run:,}" if run else "–"


def plan_page(state: LoopState) -> str:
    """The plan; empty where there is none."""
    if not state.plan.total:
        return ""
    return stacked([
        f"# {state.loop}: {prose(plan_text(state), 200)}",
        left_out(state),
        state.plan.missing and f"**Missing:** {prose(state.plan.missing, 600)}",
        table(PLAN_HEAD, ((code(one), stands, prose(title, 80), prose(needs, 80), *rest)
                          for one, stands, title, needs, *rest in plan_rows(state))),
    ])  # fmt: skip


def plan_rows(state: LoopState) -> Iterator[tuple[str, ...]]:
    """Each item that is sketched, under `PLAN_HEAD`."""
    plan, states = state.plan, states_of(state)
    for item in plan.sketch:
        proven = f"#{plan.ticked[item.id]}" if item.id in plan.ticked else "before" if item.done else ""
        needs, tries = ", ".join(item.needs), str(plan.tries.get(item.id, "") or "")
        yield item.id, STANDS[states[item.id]], item.title, needs, proven, tries


def left_out(state: LoopState) -> str:
    more = state.plan.total - len(state.plan.sketch)
    return f"{more:,} further items are left out here; the file has them all." if more > 0 else ""


def states_of(state: LoopState) -> dict[str, ItemState]:
    plan, done, found = state.plan, {item.id for item in state.plan.sketch if item.done}, dict[str, ItemState]()
    for item in plan.sketch:
        found[item.id] = "done" if item.done else "ready" if done.issuperset(item.needs) else "blocked"
        if item.id == plan.now and not item.done and (state.ending is None or state.ending.rule == "plan.tries"):
            found[item.id] = "escalated" if state.ending else "now"
    return found


def _table(facts: Iterator[Fact]) -> str:
    """The first of them, and how many more there are."""
    every = list(facts)
    more = f"\n\nand {len(every) - ROWS} more" if len(every) > ROWS else ""
    return facts_table(fact[:2] for fact in every[:ROWS]) + more


def checks_page(state: LoopState, record: IterationRecord | None = None) -> str:
    """Checks on the last tree, with the ends of what failing ones printed, and what was found in the change."""
    report = record.checks if record and record.checks else state.checks
    return _page(
        "checks_page",
        state=state,
        report=report,
        passing=green_text(report) if report else "",
        skipped=record is not None and record.checks is None,
        checks=_table(check_facts(report)),
        findings=_table(finding_facts(state.findings)),
        most=FAILURES,
    )


def _page(name: str, **values: object) -> str:
    return f"{render_markdown(name, **values)}\n"


def verdicts_page(state: LoopState, record: IterationRecord | None = None) -> str:
    """What was decided and by which questions; what stands against completion; what the judge says."""
    rows = (
        (str(one.iteration), f"{one.at:%Y-%m-%d %H:%M}", str(one.consecutive),
         ", ".join(code(name, 60) for name in one.criteria), prose(one.reason, 600))
        for one in state.judge.feedback[::-1]
    )  # fmt: skip
    return _page(
        "verdicts_page",
        state=state,
        record=record,
        decision=facts_table(fact[:2] for fact in decision_facts(record.decision)) if record else "",
        completion=_completion(record) if record else "",
        outcomes=outcome_text(record) if record else "",
        untrue=_table(untrue_facts(state.contradictions)),
        judged=_table(judge_facts(record.judgement)) if record and record.judgement else "",
        rejections=table(("#", "When", "In a row", "Criteria", "Reason"), rows, (5, 17, 8, 16, 62)),
    )


def _completion(record: IterationRecord) -> str:
    proof, judgement = record.proof, record.judgement
    judged = ("✔" if judgement.approved else f"✘ {judgement.cause}") if judgement else "was not asked"
    rows = (
        ("asked for", f"✔ {proof.how}" if proof.asked else "✘"),
        ("checks green", "✔" if proof.green else "✘"),
        *((spelled(denial.rule), f"✘ {denial.why}") for denial in proof.denied),
        ("judge", judged),
    )
    return facts_table(rows, widths=(18, 76))


def gates_page(state: LoopState) -> str:
    """The open question with how to answer it, and what was answered before."""
    gate = state.gate
    choices = (
        (f"**{choice}**", effect, code(answer_command(gate, choice, state.loop)))
        for choice, effect in (gate.choices.items() if gate else ())
        if gate
    )
    answers = (
        (f"{code(one.gate, 80)}{BREAK}{one.at:%Y-%m-%d %H:%M}",
         f"**{one.choice}**{BREAK}{prose(one.by, 60) or 'somebody'} ({one.via})",
         prose(one.guidance, 600), prose(json.dumps(one.settings)) if one.settings else "")
        for one in state.answers[::-1]
    )  # fmt: skip
    return _page(
        "gates_page",
        state=state,
        choices=table(("Choice", "What it does", "Command"), choices, (12, 42, 44)),
        answers=table(("Question", "Answer", "Guidance", "Settings"), answers, (22, 24, 44, 20)),
    )


def group_page(result: ParallelResult) -> str:
    """How every loop of a group stands, and which was chosen."""
    spent = format_dollars(result.spent, result.untold)
    rows = (
        (code(one.loop),
         SIGNS[one.outcome] if one.outcome else "▶ under way" if one.branch else "not begun",
         format_dollars(one.cost_usd, one.untold),
         prose(f"{one.goal} ({one.approach})" if one.approach else one.goal),
         cell(f"merged as {one.merged[:10]}" if one.merged else one.reason))
        for one in result.loops
    )  # fmt: skip
    return stacked([
        f"# {prose(result.group, 80)}: {result.completed} of {plural(len(result.loops), 'loop')} completed, {spent}",
        table(("Loop", "Stands", "Cost", "Goal", "Why"), rows, (16, 12, 16, 34, 30)),
        f"**best:** {prose(result.chosen.loop, 80)}: {prose(result.chosen.reason, 600)}" if result.chosen else "",
        "\n".join(f"- {prose(words, 600)}" for words in result.problems),
    ])  # fmt: skip
