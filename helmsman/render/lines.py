"""Lines for a terminal and for logs: iterations, decisions, next commands, and the loops of a repository."""

import shlex
from collections.abc import Iterable, Iterator, Sequence

from helmsman.config import LoopConfig
from helmsman.memory.recall import recalled_lines
from helmsman.plain import OWN_BRANCHES, clean, in_plain_words, shorten
from helmsman.records.alignment import AlignResult
from helmsman.records.checks import CheckReport
from helmsman.records.control import EscalationLevel, Oversight
from helmsman.records.decision import Outcome
from helmsman.records.gates import Gate
from helmsman.records.iteration import IterationRecord
from helmsman.records.request import ParallelResult
from helmsman.records.result import LoopResult
from helmsman.records.state import LoopState
from helmsman.render.facts import LIMITS, check_facts, facts, passing_text, shares_text
from helmsman.render.gate import answer_command
from helmsman.render.verification import outcome_text
from helmsman.texts import SIGNS, format_dollars, format_duration, format_money, format_tool_calls, plural

REASON_SHOWN, GOAL_SHOWN = 100, 60
NOT_STARTED = frozenset({126, 127})  # exit codes of a shell: not executable, not found
EXPLAINED, SAID_ABOVE = frozenset({"Decision", "Control", "Signals"}), frozenset({"→", "advice"})
"""Parts of an iteration that explain its decision, and facts of them that are shown elsewhere."""
LIST_HEAD = ("LOOP", "STATE", "ITERATIONS", "COST", "CHANGED", "BRANCH", "GOAL")


def iteration_lines(record: IterationRecord, *, before_result: bool = False) -> Iterator[str]:
    """An iteration in a few lines: outcome of the agent's call, changes, checks and decision.

    `before_result`: the loop's result follows, which gives the reason for its end.
    """
    call = record.execution.call
    attempt = f" (attempt {record.attempt})" if record.attempt > 1 else ""
    effort = (
        format_tool_calls(call.tool_calls, call.untold),
        format_dollars(call.usage.cost_usd, call.untold),
        format_duration(call.seconds),
    )
    call_text = f"{'research, ' * record.was_research}agent {in_plain_words(call.outcome)}{' (resumed)' * call.resumed}"
    yield f"#{record.iteration}{attempt}  {call_text}: {', '.join(effort)}"
    for fact in facts(record):
        if fact.name == "→":
            yield f"    → {record.decision.title if before_result and record.decision.kind == 'stop' else fact.value}"
        elif not fact.is_detail:
            yield f"    {fact.line}"


def result_name(record: IterationRecord) -> str:
    """Result of an iteration in a few words: `2 of 8 checks green`."""
    if record.checks is None:
        return f"agent: {record.execution.call.outcome.replace('_', ' ')}"
    return passing_text(record.checks)


def start_lines(report: CheckReport | None, warnings: Sequence[str]) -> Iterator[str]:
    """The checks before any work, those that cannot start, and warnings."""
    yield "#0  the checks before any work" if report else "#0  before any work"
    yield from (f"    {fact.line}" for fact in (check_facts(report) if report else ()) if not fact.is_detail)
    for result in report.failures if report else ():
        if result.error or result.exit_code in NOT_STARTED:
            yield f"    warn       {clean(result.name)} cannot start; fix it in helmsman.toml, unless the work is to create it"
    yield from (f"    warn       {clean(warning)}" for warning in warnings)


def explanation_lines(record: IterationRecord) -> Iterator[str]:
    """The decision of one iteration: the path through the table, the numbers, and what would have changed it."""
    decision = record.decision
    attempt = f" (attempt {record.attempt})" if record.attempt > 1 else ""
    yield f"#{record.iteration}{attempt}  {decision.title} ({decision.rule})"
    yield f"    {clean(decision.reason)}"
    yield from (
        fact.line for fact in facts(record) if (fact.part in EXPLAINED or fact.name == "hat") and fact.name not in SAID_ABOVE
    )
    yield from outcome_text(record).splitlines()
    if record.moment:
        yield f"movement   {record.moment.movement}"
    yield from recalled_lines(record.recalled)
    yield from (f"learned    {clean(lesson)}" for lesson in record.learned.lessons)
    if record.failed:
        failed = record.failed
        yield f"undone     {failed.commit[:10]} stays at {failed.ref}; the branch is at {failed.back_to[:10]}"


def steering_lines(oversight: Oversight, config: LoopConfig) -> Iterator[str]:
    """Control state of a loop for its status; ordinary values are omitted."""
    control, ladder = oversight.control, oversight.ladder
    yield f"progress   {shares_text(oversight.progress)}, urgency {control.output:.2f} ({control.band})"
    why = clean(shorten(ladder.reason, REASON_SHOWN))
    health = ", ".join(filter(None, (
        f"{ladder.rung.title} because of {why}" if ladder.rung > EscalationLevel.PATCH else "",
        f"diagnosis {oversight.diagnosis}" if oversight.diagnosis not in {"none", "productive"} else "",
    )))  # fmt: skip
    suffix = "" if config.ladder.act else " (observing only: ladder.act is off)"
    yield f"health     {health or 'no problems'}{suffix}"
    yield from (f"fault      {clean(fault)}; its default was used" for fault in oversight.faults)


def next_lines(result: LoopResult, gate: Gate | None = None, again: str = "") -> Iterator[str]:
    """One command that shows the work, and one that continues, as lines."""
    yield from (f"{label:<10} {command}" for label, command in next_steps(result, gate, again))


def next_steps(result: LoopResult, gate: Gate | None = None, again: str = "") -> Iterator[tuple[str, str]]:
    """Purpose and text of each command. `gate`: an open question, whose answer comes first. `again`: what continues the loop."""
    if result.unverified:
        yield "next", f"helmsman resume {result.loop}  # shows the options for an unverified state, and changes nothing"
        return
    branch = shlex.quote(clean(result.branch))  # git allows shell syntax in names, and a reader may copy it
    if result.merged:
        yield "look", f"git show --stat --first-parent {result.merged.commit[:12]}"
    else:
        yield "look", f"git diff ...{branch}" if _is_to_merge(result) else f"helmsman log {result.loop}"
    if step := _next_command(result, branch, gate, again):
        yield "next", step


def _is_to_merge(result: LoopResult) -> bool:
    """Whether the work is finished on a branch of the loop: work in place is on the operator's branch already."""
    return result.outcome is Outcome.COMPLETED and result.branch.startswith(OWN_BRANCHES)


def _next_command(result: LoopResult, branch: str, gate: Gate | None, again: str) -> str:
    if gate is not None:
        choice, effect = next(iter(gate.choices.items()))
        return f"{answer_command(gate, choice, result.loop)}  # {effect} Other choices: helmsman answer {result.loop}"
    if result.merged:
        same = result.merged.commit == result.merged.base
        return "" if same else f"git revert -m 1 {result.merged.commit[:12]}  # only to undo the merge"
    if result.outcome is Outcome.COMPLETED:
        return f"git merge {branch}" if _is_to_merge(result) else ""
    more = f" --set {result.rule}=VALUE" if result.outcome is Outcome.STOPPED and result.rule.startswith(LIMITS) else ""
    return f"{again or f'helmsman resume {result.loop}'}{more}"


def list_lines(loops: Iterable[tuple[LoopState, str, str]]) -> Iterator[str]:
    """One line for each loop under a head, in columns. Input: state, status, and why it is unverified."""
    rows: list[tuple[str, ...]] = [LIST_HEAD]
    for state, status, unverified in loops:
        spent, mark = state.spending.cost_usd, f"(unverified: {clean(unverified)}) " if unverified else ""
        rows.append(
            (
                state.loop,
                status,
                f"{state.iteration} of {state.config.limits.iterations}",
                "unknown" if "cost" in state.untold and not spent else format_money(spent),
                f"{state.updated_at:%Y-%m-%d %H:%M} UTC",
                clean(state.branch),
                f"{mark}{clean(state.config.goal.strip().splitlines()[0])[:GOAL_SHOWN]}",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def group_lines(result: ParallelResult) -> Iterator[str]:
    """Status of every loop of a group, and the chosen one."""
    spent = format_dollars(result.spent, result.untold)
    yield f"group      {result.group}: {result.completed} of {plural(len(result.loops), 'loop')} completed, {spent}"
    for loop in result.loops:
        sign = SIGNS[loop.outcome] if loop.outcome else "under way" if loop.branch else "not started"
        yield f"loop       {loop.loop}  {sign}  {format_dollars(loop.cost_usd, loop.untold)}  {clean(loop.goal)}"
        if loop.approach:
            yield f"           approach: {clean(loop.approach)}"
        if loop.reason and loop.outcome is not Outcome.COMPLETED:
            yield f"           {clean(loop.reason)}"
        if loop.merged:
            yield f"           merged as {loop.merged[:10]}"
    if result.chosen:
        yield f"best       {result.chosen.loop}: {clean(result.chosen.reason)}"
    yield from (f"problem    {clean(problem)}" for problem in result.problems)


def alignment_lines(result: AlignResult) -> Iterator[str]:
    """Result of an alignment in a few lines."""
    yield f"alignment  {clean(result.file)}"
    if result.by == "template":
        yield "by         the template: no model was asked"
    if result.reason:
        yield f"because    {' '.join(clean(result.reason).split())}"
    if result.cost_usd:
        yield f"cost       {format_money(result.cost_usd)}, {plural(result.round, 'round')}"
    if result.questions:
        yield f"open       {plural(len(result.questions), 'question')}; a loop does not start until they are answered"
        yield from (f"           {number}. {clean(question)}" for number, question in enumerate(result.questions, 1))
