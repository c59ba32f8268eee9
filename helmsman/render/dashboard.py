"""The dashboard: a loop as a viable system, each of its systems with a sign and the numbers behind it. Markdown."""

from collections.abc import Iterator

from helmsman.records.iteration import IterationRecord
from helmsman.records.modes import Rung
from helmsman.records.state import LoopState
from helmsman.render.charts import as_data_uri, levels, line_chart, strip
from helmsman.render.markdown_page import cell, prose, stacked, table
from helmsman.render.systems import systems
from helmsman.texts import SIGNS, counted, dollars_told, duration, plan_text, tokens_told

DRAWN = 200
"""Iterations in a chart."""
TITLES = tuple(rung.title for rung in Rung)


def dashboard(state: LoopState, record: IterationRecord | None = None) -> str:
    """How the loop stands. `record` is its last iteration, None where none has ended since it was opened."""
    every = systems(state, record)
    overview = ((one.title, f"{one.sign} {one.sign.words}", cell(one.short)) for one in every)
    return stacked([
        f"# {state.loop}: {standing(state)}",
        prose(state.config.goal.strip().partition("\n")[0], 200),
        f"{_spent(state)}  \n{_last(state, record)}",
        f"**plan**: {prose(plan_text(state), 200)}" if state.plan.total else "",
        table(("System", "Stands", "In short"), overview, (24, 14, 62)),
        *_charts(state),
        *(system.section() for system in every),
    ])  # fmt: skip


def standing(state: LoopState) -> str:
    """In two words."""
    if state.gate is not None:
        return "? a person is asked"
    return "▶ running" if state.outcome is None else SIGNS[state.outcome]


def _spent(state: LoopState) -> str:
    spent = state.spending
    used = dollars_told(spent.cost_usd, state.untold), tokens_told(spent.tokens, state.untold), duration(spent.seconds)
    done = f"{counted(state.iteration, 'iteration')} of {state.config.limits.iterations}"
    at = f"as of {state.updated_at:%Y-%m-%d %H:%M:%S} UTC"
    return f"**{done}**, {counted(spent.agent_calls, 'agent call')}, {', '.join(used)}, {at}"


def _last(state: LoopState, record: IterationRecord | None) -> str:
    decision = state.ending or (record.decision if record else None)
    if decision is None:
        return ""
    hat = f" in the hat of a {prose(record.hat.name, 40)}" if record and record.hat else ""
    what = "ended" if state.ending or record is None else f"after #{record.iteration}{hat}: {decision.word}"
    return f"**{what}** by {prose(decision.rule, 80)}: {prose(decision.reason, 600)}"


def _charts(state: LoopState) -> Iterator[str]:
    """Progress, and which rung it was made on, once there is more than one iteration."""
    moments = state.history[-DRAWN:]
    if len(moments) < 2:  # noqa: PLR2004 - one point is no line
        return
    done = {"done": [(float(moment.iteration), moment.completion * 100) for moment in moments]}
    drawn = line_chart("Measured as done", done, y_label="%", reach=(0, 100))
    yield f"![how much is measured as done]({as_data_uri(drawn)})"
    if any(moment.rung for moment in moments):
        cells = [(str(moment.iteration), TITLES[min(moment.rung, Rung.EJECT)]) for moment in moments]
        yield f"![rungs of the ladder]({as_data_uri(strip('Rung of the ladder', cells, looks=levels(TITLES)))})"
