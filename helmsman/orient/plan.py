"""What an iteration is told of a plan: the one item in hand, what proves it, and that the loop ticks it. Bounded by the item."""

from collections.abc import Iterator, Sequence

from helmsman.orient.checks import commands, failed
from helmsman.plain import clean, clean_lines
from helmsman.prompts import Piece, render, render_pieces
from helmsman.records.plan import InHand, PlanItem
from helmsman.records.state import LoopState
from helmsman.texts import counted

LONGEST_DETAILS = 3_000
MOST_ACCEPTANCE = 20
LONGEST_LINE = 400
LONGEST_MISSING = 600


def plan_sections(state: LoopState, hand: InHand | None) -> Iterator[tuple[str, str]]:
    """The operator wrote the plan, so it stands as an order."""
    if hand is None:
        return
    touched, item = state.plan.touched, hand.item
    told = {"put_back": clean(touched.why) if touched and not touched.kept else "", "file": state.config.plan.file, "item": item}
    yield "plan", render("plan", **told, **(_item(state, hand, item) if item else {}))


def own_check_section(state: LoopState, hand: InHand | None) -> Sequence[Piece]:
    """What the item's own check printed when it failed last."""
    item, own = hand.item if hand else None, state.plan.own
    if item is None or own is None or own.passed or state.plan.now != item.id or own.command != item.check:
        return ()
    return render_pieces("item_check", item=item.id, check=failed(own))


def _item(state: LoopState, hand: InHand, item: PlanItem) -> dict[str, object]:
    spent = state.plan.tries.get(item.id, 0) if state.plan.now == item.id else 0
    more = len(item.acceptance) - MOST_ACCEPTANCE
    wanted = [clean(line)[:LONGEST_LINE] for line in item.acceptance[:MOST_ACCEPTANCE]]
    return {
        "title": clean(item.title),
        "details": _details(item),
        "wanted": [*wanted, *([f"and {more} more, in the file"] if more > 0 else [])],
        "check": commands([item.check]) if item.check else "",
        "done": hand.done,
        "items": counted(hand.total, "item"),
        "others": counted(hand.remaining - 1, "other") if hand.remaining > 1 else "",
        "judged": bool(state.config.judge.criteria),
        "spent": spent,
        "tries": state.config.plan.tries,
        "missing": clean(state.plan.missing)[:LONGEST_MISSING],
        "anew": hand.anew,
    }


def _details(item: PlanItem) -> str:
    details = clean_lines(item.details)
    return f"{details[:LONGEST_DETAILS]} […]" if len(details) > LONGEST_DETAILS else details
