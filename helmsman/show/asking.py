"""What a person reads who is asked: what was seen, the choices, and what each will do."""

import shlex
from collections.abc import Iterator

from helmsman.oversee.double_bind.telling import sentence
from helmsman.oversee.limits import gauges
from helmsman.records.gates import GATES, Gate
from helmsman.records.modes import Rung, short_rung
from helmsman.records.state import LoopState
from helmsman.show.cells import code, fence, prose

FAILURES_SHOWN = 3
OUTPUT_SHOWN = 1200
MOMENTS_SHOWN = 10
ANSWERS_SHOWN = 3


def form_text(gate: Gate, loop: str) -> str:
    """The description of a gate's form, as Markdown. It begins with why the last answer was not taken."""
    asked_of = f" Asked of: {prose(gate.asked_of)}." if gate.asked_of else ""
    lines = [
        *([f"> {not_taken(gate)}"] if gate.refused else ()),
        f"## {GATES[gate.kind].title}: {code(loop)}",
        f"**{prose(gate.question)}**{asked_of}",
        gate.evidence,
        "### What each choice will do",
        "\n".join(f"- **{choice}**: {effect}" for choice, effect in gate.choices.items()),
        *_deadline(gate),
    ]
    return "\n\n".join(lines)


def not_taken(gate: Gate) -> str:
    """Why the last answer was not taken, as Markdown."""
    return f"**Your answer was not taken:** {prose(gate.refused, 1000)}"


def evidence(state: LoopState, worktree: str) -> str:
    """What was seen of a loop until now, as Markdown."""
    return "\n\n".join(_evidence(state, worktree))


def _evidence(state: LoopState, worktree: str) -> Iterator[str]:
    if state.ending:
        yield f"Why it stopped: {prose(state.ending.reason, 1500)}"
    if state.last_call.words:
        said = "The agent says that it is blocked" if state.last_call.blocked else "The agent's last words"
        yield f"{said}: {prose(state.last_call.words, 600)}"
    yield f"Goal: {prose(state.config.goal, 600)}"
    yield _numbers(state)
    yield _checks(state)
    if state.judge.feedback:
        yield f"The judge, last: {prose(state.judge.feedback[-1].reason, 800)}"
    if state.oversight.conflicts:
        yield "\n".join(f"- {prose(sentence(one))}" for one in state.oversight.conflicts[:FAILURES_SHOWN])
    if state.iteration:
        yield "\n".join(_table(state))
    commits = shlex.quote(f"{state.base_commit[:10]}..{state.branch}")  # whoever reads it may copy it into a shell
    yield f"Look: {code(f'git log {commits}')}, worktree {code(worktree)}"
    if state.proposed and state.ending:
        yield "Learnt, for AGENTS.md:\n\n" + "\n".join(f"- {prose(line, 600)}" for line in state.proposed)
    if state.answers:
        yield "\n".join(_answers(state))


def _numbers(state: LoopState) -> str:
    spent, oversight = state.spending, state.oversight
    rows_of = gauges(state.config.limits, spent, state.iteration)
    used = ", ".join(f"{gauge.used:,.4g} of {gauge.limit:,.6g} {gauge.unit}" for gauge in rows_of)
    rows = (
        f"- used: {used}",
        *([f"- progress {oversight.progress.completion:.0%}, {oversight.ladder.rung.title}"] if state.iteration else ()),
        *([f"- because of {prose(oversight.ladder.reason)}"] if oversight.ladder.rung > Rung.PATCH else ()),
    )
    return "\n".join(rows)


def _checks(state: LoopState) -> str:
    if state.checks is None:
        commands = "\n".join(f"- {code(check.command)}" for check in state.config.checks)
        return f"Checks, not run yet:\n\n{commands}" if commands else "**No check is configured: nothing will be verified.**"
    if not state.checks.results:
        return "**No check is configured: nothing was verified.**"
    lines = [f"- {'✔' if result.passed else '✘'} {code(result.command)}" for result in state.checks.results]
    printed = (result.tail.strip() or result.head.strip() for result in state.checks.failures[:FAILURES_SHOWN])
    shown = [fence(output, OUTPUT_SHOWN) for output in printed if output]
    return "\n\n".join(["Checks:\n\n" + "\n".join(lines), *shown])


def _table(state: LoopState) -> Iterator[str]:
    yield "| # | progress | movement | rung | taken back |\n|---|---|---|---|---|"
    for moment in state.worked[-MOMENTS_SHOWN:]:
        taken = "yes" if moment.undone else ""
        yield f"| {moment.iteration} | {moment.completion:.0%} | {moment.movement} | {short_rung(moment.rung)} | {taken} |"


def _answers(state: LoopState) -> Iterator[str]:
    yield "Answered before:\n"
    for answer in state.answers[-ANSWERS_SHOWN:]:
        words = f": {prose(answer.guidance, 200)}" if answer.guidance else ""
        yield f"- {answer.at:%Y-%m-%d %H:%M} UTC, {answer.kind}: **{answer.choice}** by {prose(answer.by) or answer.via}{words}"


def _deadline(gate: Gate) -> Iterator[str]:
    if gate.deadline is not None:
        yield f"Without an answer by {gate.deadline:%Y-%m-%d %H:%M} UTC: **{gate.at_timeout}**."
