"""How a loop stands with its plan, in words and as a table."""

from collections.abc import Iterator, Mapping

from helmsman.records.plan import ItemState, PlanProgress, Sketched
from helmsman.records.state import LoopState
from helmsman.render.cells import code, prose, stacked, table
from helmsman.render.markup import NOTHING, Markup, element, escaped
from helmsman.render.pieces import code as html_code
from helmsman.render.pieces import paragraph
from helmsman.render.pieces import table as html_table
from helmsman.texts import plan_text

HEAD = ("item", "stands", "title", "needs", "proven in", "tries")
STANDS: Mapping[ItemState, str] = {
    "done": "✔ done",
    "now": "▶ in hand",
    "ready": "○ ready",
    "blocked": "… waits for others",
    "escalated": "✘ a person is asked",
}


def states_of(state: LoopState) -> dict[str, ItemState]:
    """How each item that is sketched stands."""
    plan = state.plan
    done = {item.id for item in plan.sketch if item.done}
    escalated = state.ending is not None and state.ending.rule == "plan.tries"
    over = state.ending is not None and not escalated
    return {item.id: _state(item, plan, done, escalated=escalated, over=over) for item in plan.sketch}


def _state(item: Sketched, plan: PlanProgress, done: set[str], *, escalated: bool, over: bool) -> ItemState:
    if item.done:
        return "done"
    if item.id == plan.now and not over:
        return "escalated" if escalated else "now"
    return "ready" if all(name in done for name in item.needs) else "blocked"


def plan_page(state: LoopState) -> str:
    """The plan in Markdown; empty where there is none."""
    if not state.plan.total:
        return ""
    cells = [
        (code(item.id), stands, prose(item.title, 80), prose(", ".join(item.needs), 80), proven, tries)
        for item, stands, proven, tries in _rows(state)
    ]
    return stacked([
        f"# {state.loop}: {prose(plan_text(state), 200)}",
        _left_out(state),
        state.plan.missing and f"**Missing:** {prose(state.plan.missing, 600)}",
        table(HEAD, cells),
    ])  # fmt: skip


def plan_section(state: LoopState) -> Markup:
    """The plan on the report's page; nothing where there is none."""
    if not state.plan.total:
        return NOTHING
    rows = [
        tuple(map(escaped, (item.id, stands, item.title, ", ".join(item.needs), proven, tries)))
        for item, stands, proven, tries in _rows(state)
    ]
    missing = [paragraph(escaped(f"Missing for {state.plan.now}: {state.plan.missing}"))] if state.plan.missing else []
    return element(
        "section",
        element("h2", escaped("The plan")),
        paragraph(escaped(plan_text(state)), escaped(" in "), html_code(state.config.plan.file)),
        *missing,
        html_table(HEAD, rows),
        paragraph(escaped(_left_out(state)), class_="soft small") if _left_out(state) else NOTHING,
    )


def _rows(state: LoopState) -> Iterator[tuple[Sketched, str, str, str]]:
    states, plan = states_of(state), state.plan
    for item in plan.sketch:
        proved = f"#{plan.ticked[item.id]}" if item.id in plan.ticked else "before" if item.done else ""
        yield item, STANDS[states[item.id]], proved, str(plan.tries.get(item.id, "") or "")


def _left_out(state: LoopState) -> str:
    more = state.plan.total - len(state.plan.sketch)
    return f"{more:,} further items are left out here; the file has them all." if more > 0 else ""
