"""A group of loops as one table. Markdown."""

from helmsman.records.parallel import ParallelLoop, ParallelResult
from helmsman.render.cells import code, prose, stacked, table
from helmsman.texts import SIGNS, counted, dollars_told

WIDTHS = (16, 12, 16, 34, 30)


def group_page(result: ParallelResult) -> str:
    """How every loop of a group stands, and which was chosen."""
    spent = dollars_told(result.spent, result.untold)
    return stacked([
        f"# {prose(result.group, 80)}: {result.completed} of {counted(len(result.loops), 'loop')} completed, {spent}",
        table(("Loop", "Stands", "Cost", "Goal", "Why"), map(_row, result.loops), WIDTHS),
        f"**best:** {prose(result.chosen.loop, 80)}: {prose(result.chosen.reason, 600)}" if result.chosen else "",
        "\n".join(f"- {prose(words, 600)}" for words in result.problems),
    ])  # fmt: skip


def _row(one: ParallelLoop) -> tuple[str, str, str, str, str]:
    stands = SIGNS[one.outcome] if one.outcome else "▶ under way" if one.branch else "not begun"
    why = f"merged as {one.merged[:10]}" if one.merged else one.reason
    goal = f"{one.goal} ({one.approach})" if one.approach else one.goal
    return code(one.loop), stands, dollars_told(one.cost_usd, one.untold), prose(goal), prose(why)
