"""How a loop stands with its plan, in words, as a table and with its picture."""

from collections.abc import Iterator

from helmsman.records.plan import Sketched
from helmsman.records.state import LoopState
from helmsman.show.cells import code, prose, stacked, table
from helmsman.show.charts import as_data_uri
from helmsman.show.markup import NOTHING, Markup, element, escaped
from helmsman.show.pieces import code as html_code
from helmsman.show.pieces import folded, paragraph
from helmsman.show.pieces import table as html_table
from helmsman.show.plan_picture import LOOKS, plan_picture, states_of
from helmsman.texts import plan_text

HEAD = ("item", "stands", "title", "needs", "proven in", "tries")


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
        f"![the plan with its state]({as_data_uri(plan_picture(state))})",
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
        element("div", element("figure", plan_picture(state), class_="card"), class_="charts plan"),
        paragraph(escaped(_left_out(state)), class_="soft small") if _left_out(state) else NOTHING,
        folded(f"every item ({len(rows)})", html_table(HEAD, rows)),
    )


def _rows(state: LoopState) -> Iterator[tuple[Sketched, str, str, str]]:
    states, plan = states_of(state), state.plan
    for item in plan.sketch:
        look = LOOKS[states[item.id]]
        proved = f"#{plan.ticked[item.id]}" if item.id in plan.ticked else "before" if item.done else ""
        yield item, f"{look.sign} {look.words}", proved, str(plan.tries.get(item.id, "") or "")


def _left_out(state: LoopState) -> str:
    more = state.plan.total - len(state.plan.sketch)
    return f"{more:,} further items are left out of the picture; the file has them all." if more > 0 else ""
