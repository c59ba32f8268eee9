"""The report on a loop that ended without completion, in its own folder: what a person reads first in the morning."""

from collections.abc import Iterator
from contextlib import suppress

from helmsman.oversee.gates import gate_due
from helmsman.plain import clean
from helmsman.records.iteration import IterationRecord
from helmsman.records.modes import short_rung
from helmsman.records.result import result_of
from helmsman.records.state import LoopState
from helmsman.records.verdict import Outcome
from helmsman.render import explanation, iteration_lines
from helmsman.render.lines import next_steps
from helmsman.texts import SIGNS, dollars_told, duration, tokens_told
from tasks.worktrees.workplace import Workplace

NAME = "report.md"


def write_report(place: Workplace, state: LoopState, record: IterationRecord) -> None:
    """Write it where a stop is no completion; it only tells, so a disk that is full does not matter."""
    if state.outcome in {None, Outcome.COMPLETED} or state.ending is None:
        return
    with suppress(OSError):
        place.folder.root.mkdir(parents=True, exist_ok=True)
        (place.folder.root / NAME).write_text("\n".join(_lines(place, state, record)) + "\n", encoding="utf-8")


def _lines(place: Workplace, state: LoopState, record: IterationRecord) -> Iterator[str]:
    ending, spent = state.ending, state.spending
    yield f"# Loop {state.loop}: {SIGNS[state.outcome]}"
    yield f"\n{clean(ending.reason) if ending else ''}\n"
    yield f"- goal: {clean(state.config.goal)[:500]}"
    used = f"{dollars_told(spent.cost_usd, state.untold)}, {tokens_told(spent.tokens, state.untold)}"
    yield f"- spent: {state.iteration} iterations, {used}, {duration(spent.seconds)}"
    yield f"- branch: `{clean(state.branch)}` at `{state.head[:12]}`"
    if best := state.oversight.best:
        yield f"- best: `{best.commit[:12]}` of iteration {best.iteration}, {best.completion:.0%}"
    if state.failed:
        yield f"- taken off the branch: `{state.failed.ref}` after iteration {state.failed.iteration}: {clean(state.failed.why)}"
    yield f"- worktree: {clean(str(place.worktree))}"
    due = gate_due(state, state.updated_at)  # it is asked right after this is written
    yield from (f"- {label}: `{command}`" for label, command in next_steps(result_of(state, ""), due))
    yield "\n## How it went\n\n| # | completion | movement | rung | work |\n|---|---|---|---|---|"
    for moment in state.worked:
        taken = "taken back" if moment.undone else ""
        yield f"| {moment.iteration} | {moment.completion:.0%} | {moment.movement} | {short_rung(moment.rung)} | {taken} |"
    for climb in state.oversight.ladder.climbs:
        yield f"\n- after {climb.iteration}: {climb.before.title} to {climb.after.title}: {clean(climb.reason)}"
    yield "\n## The last decision\n\n```"
    yield from explanation(record)
    yield "```\n\n## The last iteration\n\n```"
    yield from iteration_lines(record)
    yield "```"
