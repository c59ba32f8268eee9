"""What a person reads who is asked: what was seen, the choices, and what each will do."""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import takewhile

from helmsman.oversee.diagnosis import sentence
from helmsman.oversee.limits import gauges
from helmsman.plain import LONGEST_LINE
from helmsman.records.checks import CheckReport
from helmsman.records.gates import Gate
from helmsman.records.modes import Rung, short_rung
from helmsman.records.state import LoopState
from helmsman.render.cells import code, fence, prose
from helmsman.render.first_facts import LISTED, failing_names
from helmsman.texts import counted, duration, money_text

FAILURES_SHOWN = 3
OUTPUT_SHOWN = 1200
MOMENTS_SHOWN = 10
ANSWERS_SHOWN = 3
"""Lines of a list in a form: with its fields it has to fit on a screen."""
_ADVISES = re.compile(r"\bhelmsman \w|^a person has to ")


def form_text(gate: Gate, seen: str) -> str:
    """What stands above the fields of a form, as Markdown; all of it has to fit on a screen.

    `seen`: what the person has to know, as Markdown. Why the last answer was not taken comes first.
    """
    asked_of = f" Asked of: {prose(gate.asked_of)}." if gate.asked_of else ""
    lines = [
        *([f"> {not_taken(gate)}"] if gate.refused else ()),
        f"**{_quoted(gate.question)}**{asked_of}",
        "\n".join(f"- **{choice}**: {effect}" for choice, effect in gate.choices.items()),
        *_deadline(gate),
        seen,
    ]
    return "\n\n".join(line for line in lines if line)


def in_short(state: LoopState) -> str:
    """What a form tells of a loop: one line of how it stands, what fails, why it stopped, and its goal."""
    return "\n\n".join(_in_short(state))


def _in_short(state: LoopState) -> Iterator[str]:
    yield _standing(state)
    if checks := list(_failing(state.checks) if state.iteration and state.checks else _agreed(state)):
        yield f"{'Failing' if state.iteration else 'Checks'}:\n\n{_list(checks)}"
    if state.ending:
        yield f"Why it stopped: {_quoted(_without_advice(state.ending.reason), 400)}"
    if state.last_call.words:
        yield f"{_who_says(state)}: {_quoted(state.last_call.words)}"
    yield f"Goal: {_quoted(state.config.goal)}"
    if state.judge.feedback:
        yield f"The judge: {_quoted(state.judge.feedback[-1].reason, 400)}"
    if state.oversight.conflicts:
        yield _list([_quoted(sentence(one)) for one in state.oversight.conflicts])
    if state.proposed and state.ending:
        yield f"For AGENTS.md:\n\n{_list([_quoted(line) for line in state.proposed])}"


def _standing(state: LoopState) -> str:
    """How it stands, in one line."""
    rung, report = state.oversight.ladder.rung, state.checks
    green = len(report.results) - len(report.failures) if report else 0
    limits, spent = state.config.limits, state.spending
    parts = (
        f"{state.iteration} of {counted(limits.iterations, 'iteration')}",
        money_text(spent.cost_usd, limits.cost_usd, state.untold),
        duration(spent.seconds),
        f"{green} of {counted(len(report.results), 'check')} green" if report and report.results else "",
        "" if state.config.checks else "no check: nothing is verified",
        rung.title if rung > Rung.PATCH else "",
        code(state.branch, 120) if state.iteration else "",
    )
    return " · ".join(part for part in parts if part)


def _agreed(state: LoopState) -> Iterator[str]:
    """The checks that the loop goes by, and how they were at the start as far as that is known."""
    signs = {result.command: "✔ " if result.passed else "✘ " for result in (state.checks.results if state.checks else ())}
    yield from (f"{signs.get(check.command, '')}{code(check.command, 200)}" for check in state.config.checks)


def _failing(report: CheckReport) -> Iterator[str]:
    yield from (code(name, 160) for name in failing_names(report))


def _list(items: Sequence[str]) -> str:
    rest = len(items) - LISTED
    return "\n".join([*(f"- {item}" for item in items[:LISTED]), *([f"- … and {rest} more"] if rest > 0 else ())])


def _without_advice(reason: str) -> str:
    """A reason without its last clauses, where they say what a person might do: whoever reads a form is about to."""
    clauses = takewhile(lambda clause: not _ADVISES.search(clause), reason.split("; "))
    return "; ".join(clauses) or reason


def _quoted(text: str, most: int = LONGEST_LINE) -> str:
    """Foreign text whose backticks would stand there as they are."""
    return prose(text.replace("`", "'"), most)


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
        yield f"{_who_says(state)}: {prose(state.last_call.words, 600)}"
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


def _who_says(state: LoopState) -> str:
    return "The agent says that it is blocked" if state.last_call.blocked else "The agent's last words"


def _numbers(state: LoopState) -> str:
    spent, oversight = state.spending, state.oversight
    rows_of = gauges(state.config.limits, spent, state.iteration)
    used = ", ".join(gauge.told for gauge in rows_of)
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
