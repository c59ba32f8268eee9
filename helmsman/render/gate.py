"""Questions to a person, for a form, an issue or a terminal, with the exact command for each choice."""

import html
import re
import shlex
from collections.abc import Iterator

from helmsman.oversee.diagnosis import describe_conflict
from helmsman.plain import clean, clean_lines, shorten
from helmsman.records.control import EscalationLevel, short_level
from helmsman.records.gates import GATES, Answer, Choice, Gate, GateKind
from helmsman.records.state import LoopState
from helmsman.render.facts import as_code, failing_names, first_lines, passing_text
from helmsman.render.markdown_page import code, table
from helmsman.render.templating import render_markdown
from helmsman.texts import format_cost, format_duration, plural

EVIDENCE_LINES, EVIDENCE_WIDTH = 8, 160  # lines of evidence in a terminal, and characters of each
FAILURES_SHOWN, MOMENTS_SHOWN, ANSWERS_SHOWN = 3, 10, 3
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_INDENT = " " * 11
_NEEDED = {GateKind.BUDGET: "--set limits.KEY=VALUE"}  # an approval of that kind would have no effect without it


def form_text(gate: Gate, seen: str) -> str:
    """Text above the fields of a form. `seen`: what the person has to know, as Markdown."""
    return render_markdown("gate_form", gate=gate, seen=seen)


def loop_summary(state: LoopState) -> str:
    """Short description of a loop for a form."""
    signs = {result.command: "✔ " if result.passed else "✘ " for result in (state.checks.results if state.checks else ())}
    configured = (f"{signs.get(check.command, '')}{as_code(check.command)}" for check in state.config.checks)
    rung, report, limits, spent = state.oversight.ladder.rung, state.checks, state.config.limits, state.spending
    parts = (
        f"{state.iteration} of {plural(limits.iterations, 'iteration')}",
        format_cost(spent.cost_usd, limits.cost_usd, state.untold),
        format_duration(spent.seconds),
        passing_text(report) if report and report.results else "",
        "" if state.config.checks else "no check: nothing is verified",
        rung.title if rung > EscalationLevel.PATCH else "",
        code(state.branch, 120) if state.iteration else "",
    )
    return render_markdown(
        "loop_summary",
        state=state,
        standing=" · ".join(part for part in parts if part),
        checks=first_lines(failing_names(state.checks) if state.iteration and state.checks else configured),
        conflicts=[describe_conflict(conflict) for conflict in state.oversight.conflicts[:FAILURES_SHOWN]],
        proposed=first_lines(state.proposed),
    )


def evidence(state: LoopState, worktree: str) -> str:
    commits = shlex.quote(f"{state.base_commit[:10]}..{state.branch}")  # a reader may copy it into a shell
    failures = state.checks.failures[:FAILURES_SHOWN] if state.checks else ()
    rows = (
        (
            str(moment.iteration),
            f"{moment.completion:.0%}",
            moment.movement,
            short_level(moment.rung),
            "yes" if moment.undone else "",
        )
        for moment in state.past_iterations[-MOMENTS_SHOWN:]
    )
    return render_markdown(
        "evidence",
        short=loop_summary(state),
        printed=[result.tail.strip() or result.head.strip() for result in failures],
        moments=table(("#", "progress", "movement", "level", "undone"), rows) if state.iteration else "",
        look=f"git log {commits}",
        worktree=worktree,
        answers=state.answers[-ANSWERS_SHOWN:],
    )


def gate_lines(gate: Gate, loop: str) -> list[str]:
    """Question, evidence, choices with their commands, and the effect of no answer."""
    effect = gate.choices.get(gate.at_timeout)
    unanswered = f"without an answer by then: {gate.at_timeout}{f' ({effect})' if effect else ''}"
    deadline = (
        f"{gate.deadline:%Y-%m-%d %H:%M} UTC; {unanswered}"
        if gate.deadline
        else "none: the question stays open until somebody answers"
    )
    commands = [
        (f"{choice:<10} {effect}", f"{_INDENT}{answer_command(gate, choice, loop)}") for choice, effect in gate.choices.items()
    ]
    return [
        f"asked      {GATES[gate.kind].title} ({clean(gate.key)}), {gate.asked_at:%Y-%m-%d %H:%M} UTC",
        f"question   {clean(gate.question)}",
        *([f"rejected   {clean(gate.refused)}"] if gate.refused else ()),
        *_evidence_lines(gate),
        *(line for pair in commands for line in pair),
        "with       --guidance TEXT: for the next iteration; approve also accepts --set KEY=VALUE",
        f"deadline   {deadline}",
    ]


def answered_lines(gate: Gate, answer: Answer, loop: str, to_continue: str) -> list[str]:
    """An answered question, and what continues the loop; `to_continue` is empty if a process drives it."""
    step = [f"next       {to_continue}"] if to_continue else []
    return [*gate_lines(gate, loop)[:2], answer_line(answer), *step]


def answer_line(answer: Answer) -> str:
    """The answer, its author and its channel."""
    guidance = f": {clean(answer.guidance)[:EVIDENCE_WIDTH]}" if answer.guidance else ""
    author = f" by {clean(answer.by)}" if answer.by else ""
    return f"answered   {answer.choice}{author} ({answer.via}){guidance}"


def answer_command(gate: Gate, choice: Choice, loop: str) -> str:
    """Command for a choice. The name comes from a stored state, so it is quoted as a single shell word."""
    name = shlex.quote(clean(loop))
    match choice:
        case Choice.APPROVE:
            return " ".join(filter(None, (f"helmsman approve {name}", _NEEDED.get(gate.kind, ""))))
        case Choice.REVISE:
            return f"helmsman reject {name} --guidance TEXT"
        case Choice.STOP if Choice.REVISE not in gate.choices:
            return f"helmsman reject {name}"
        case _:
            return f"helmsman answer {name} {choice}"


def _evidence_lines(gate: Gate) -> Iterator[str]:
    """Evidence without tables, which are made for the form; `helmsman log` has their content."""
    all_lines = (clean(html.unescape(_ESCAPED.sub(r"\1", line))).rstrip() for line in clean_lines(gate.evidence).splitlines())
    lines = [line for line in all_lines if line and not line.startswith("|")]
    for number, line in enumerate(lines[:EVIDENCE_LINES]):
        yield f"{_INDENT if number else 'evidence   '}{shorten(line, EVIDENCE_WIDTH)}"
    if len(lines) > EVIDENCE_LINES:
        yield f"{_INDENT}… {plural(len(lines) - EVIDENCE_LINES, 'more line')}"
