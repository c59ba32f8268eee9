"""The dashboard: a loop as a viable system, each of its systems with a sign and the numbers behind it. Markdown."""

from collections.abc import Iterator

from helmsman.records.iteration import IterationRecord
from helmsman.records.modes import Rung
from helmsman.records.moments import Moment
from helmsman.records.state import LoopState
from helmsman.render.cells import prose, stacked, table
from helmsman.render.charts import Series, as_data_uri, line_chart, timeline
from helmsman.render.system import System
from helmsman.render.thinking_systems import ahead, audit, policy
from helmsman.render.working_systems import control, coordination, operations
from helmsman.texts import SIGNS, counted, dollars_told, duration, plan_text, tokens_told

DRAWN = 200
"""Iterations in a chart."""

SYSTEMS = (operations, coordination, control, audit, ahead, policy)


def dashboard(state: LoopState, record: IterationRecord | None = None) -> str:
    """How the loop stands. `record` is its last iteration, None where none has ended since it was opened."""
    systems = [system(state, record) for system in SYSTEMS]
    return stacked([
        f"# {state.loop}: {standing(state)}",
        prose(state.config.goal.strip().partition("\n")[0], 200),
        f"{_spent(state)}  \n{_last(state, record)}",
        f"**plan**: {prose(plan_text(state), 200)}" if state.plan.total else "",
        _overview(systems),
        *_charts(state),
        *(system.section() for system in systems),
    ])  # fmt: skip


def standing(state: LoopState) -> str:
    """In two words."""
    if state.gate is not None:
        return "? a person is asked"
    return "▶ running" if state.outcome is None else SIGNS[state.outcome]


def _spent(state: LoopState) -> str:
    spent = state.spending
    told = dollars_told(spent.cost_usd, state.untold), tokens_told(spent.tokens, state.untold)
    used = f"{', '.join(told)}, {duration(spent.seconds)}"
    done = f"{counted(state.iteration, 'iteration')} of {state.config.limits.iterations}"
    return f"**{done}**, {counted(spent.agent_calls, 'agent call')}, {used}, as of {state.updated_at:%Y-%m-%d %H:%M:%S} UTC"


def _last(state: LoopState, record: IterationRecord | None) -> str:
    if state.ending:
        return f"**ended** by {prose(state.ending.rule, 80)}: {prose(state.ending.reason, 600)}"
    if record is None:
        return ""
    decision, hat = record.decision, f" in the hat of a {prose(record.hat.name, 40)}" if record.hat else ""
    return f"**after #{record.iteration}{hat}: {decision.word}** by {prose(decision.rule, 80)}: {prose(decision.reason, 600)}"


def _overview(systems: list[System]) -> str:
    rows = ((one.title, f"{one.sign} {one.sign.words}", one.short) for one in systems)
    return table(("System", "Stands", "In short"), rows, (24, 14, 62))


def _charts(state: LoopState) -> Iterator[str]:
    """Progress, and which rung it was made on, once there is more than one iteration."""
    moments = state.history[-DRAWN:]
    if len(moments) < 2:  # noqa: PLR2004 - one point is no line
        return
    yield _image("how much is measured as done", _progress(moments))
    if any(moment.rung for moment in moments):
        rungs = [(moment.iteration, moment.rung) for moment in moments]
        yield _image("rungs of the ladder", timeline("Rung of the ladder", rungs, [rung.title for rung in Rung]))


def _progress(moments: tuple[Moment, ...]) -> str:
    points = [(float(moment.iteration), moment.completion * 100) for moment in moments]
    return line_chart("Measured as done", [Series("done", points)], y_label="%", y_range=(0, 100))


def _image(told: str, svg: str) -> str:
    return f"![{told}]({as_data_uri(svg)})"
