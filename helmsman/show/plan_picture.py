"""A plan as a picture: each item a box below what it needs, its state by colour, sign and line. Made for one item and for 80.

Boxes that have no prerequisites in common stand side by side; a row that is full goes on below.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from helmsman.plain import shortened
from helmsman.records.plan import ItemState, PlanProgress, Sketched
from helmsman.records.state import LoopState
from helmsman.show.charts import BLUE, GREEN, ORANGE
from helmsman.show.markup import Markup, element
from helmsman.show.svg import INK, picture, tip, words
from helmsman.texts import counted

WIDTH = 720
COLUMNS = 4
MARGIN, GAP, LEVEL_GAP = 12, 12, 26
BOX = (WIDTH - 2 * MARGIN - (COLUMNS - 1) * GAP) / COLUMNS
HEIGHT = 42
TOP = 34
TITLE_SHOWN, ID_SHOWN = 25, 20
LANES, LANE = 5, 2.0
"""Lines from different items beside each other, and how far apart."""
RED = "#c2410c"


class Look(NamedTuple):
    """How a state looks. The sign and the line say it without the colour."""

    colour: str
    sign: str
    words: str
    dashes: str = "none"
    ground: float = 0.08
    border: float = 1


LOOKS: Mapping[ItemState, Look] = {
    "done": Look(GREEN, "✔", "done", ground=0.16),
    "now": Look(BLUE, "▶", "in hand", ground=0.16, border=2.5),
    "ready": Look(INK, "○", "ready", ground=0.04),
    "blocked": Look(ORANGE, "…", "waits for others", "4 3", ground=0.03),
    "escalated": Look(RED, "✘", "a person is asked", ground=0.16, border=2.5),
}


class _Place(NamedTuple):
    x: float
    y: float


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


def plan_picture(state: LoopState) -> Markup:
    plan, states = state.plan, states_of(state)
    places, height = _layout(plan.sketch)
    boxes = [_box(item, places[item.id], states[item.id], plan) for item in plan.sketch]
    title = f"The plan: {plan.done} of {plan.total} done"
    return picture(title, WIDTH, height + 24, [*_edges(plan.sketch, places, states), *boxes, *_legend(states, height + 12)])


def _layout(items: Sequence[Sketched]) -> tuple[dict[str, _Place], float]:
    """By depth: an item stands below everything that it needs."""
    depths = _depths(items)
    places: dict[str, _Place] = {}
    y = float(TOP)
    for depth in sorted(set(depths.values())):
        level = [item.id for item in items if depths[item.id] == depth]
        for number, name in enumerate(level):
            row, column = divmod(number, COLUMNS)
            places[name] = _Place(MARGIN + column * (BOX + GAP), y + row * (HEIGHT + GAP))
        y += -(-len(level) // COLUMNS) * (HEIGHT + GAP) - GAP + LEVEL_GAP
    return places, y


def _depths(items: Sequence[Sketched]) -> dict[str, int]:
    """The length of the longest way to each; what cannot be reached by any order stands at the top."""
    depths: dict[str, int] = {}
    left = list(items)
    while left:
        ready = [item for item in left if all(name in depths for name in item.needs)] or left
        depths |= {item.id: 1 + max((depths.get(name, 0) for name in item.needs), default=0) for item in ready}
        left = [item for item in left if item.id not in depths]
    return depths


def _edges(items: Sequence[Sketched], places: Mapping[str, _Place], states: Mapping[str, ItemState]) -> Iterator[Markup]:
    """From each item to those that need it, in the gaps between the boxes, so that none hides a word."""
    numbers = {item.id: number for number, item in enumerate(items)}
    for item in items:
        for name in item.needs:
            lane = (numbers[name] % LANES - LANES // 2) * LANE
            way = _way(places[name], places[item.id], lane)
            colour = LOOKS[states[name]].colour
            yield element("path", d=way, fill="none", stroke=colour, stroke_opacity="0.6", stroke_width=1.1)


def _way(begin: _Place, end: _Place, lane: float) -> str:
    """Down out of one box, sideways, down beside the column of the other where there are boxes between, and down into it."""
    x1, y1, x2, y2 = begin.x + BOX / 2 + lane, begin.y + HEIGHT, end.x + BOX / 2 + lane, end.y
    out, into, gutter = y1 + GAP / 2 + lane, y2 - GAP / 2 + lane, end.x - GAP / 2 + lane
    if y2 - y1 <= LEVEL_GAP:
        return f"M{x1:.1f} {y1:.1f} V{into:.1f} H{x2:.1f} V{y2:.1f}"
    return f"M{x1:.1f} {y1:.1f} V{out:.1f} H{gutter:.1f} V{into:.1f} H{x2:.1f} V{y2:.1f}"


def _box(item: Sketched, place: _Place, state: ItemState, plan: PlanProgress) -> Markup:
    look = LOOKS[state]
    marks = f"{' ∥' * item.parallel}{' ⊙' * item.verify}"
    ground = element(
        "rect",
        x=place.x,
        y=place.y,
        width=BOX,
        height=HEIGHT,
        rx=6,
        fill=look.colour,
        fill_opacity=f"{look.ground}",
        stroke=look.colour,
        stroke_width=look.border,
        stroke_dasharray=look.dashes,
    )
    name = words(
        place.x + 9, place.y + 17, f"{look.sign} {shortened(item.id, ID_SHOWN)}{marks}", font_weight="600", class_="ink head"
    )
    title = words(place.x + 9, place.y + 33, shortened(item.title, TITLE_SHOWN), size=10.5)
    return element("g", tip(tip_of(item, state, plan)), ground, name, title)


def tip_of(item: Sketched, state: ItemState, plan: PlanProgress) -> str:
    """All that is known of an item, in a line."""
    spent, proved = plan.tries.get(item.id, 0), plan.ticked.get(item.id, 0)
    told = (
        f"{item.id}: {item.title}",
        LOOKS[state].words,
        f"proven in iteration {proved}" if proved else "",
        counted(spent, "try", "tries") if spent else "",
        f"needs {', '.join(item.needs)}" if item.needs else "",
        "may be done beside others" if item.parallel else "",
        "verifies" if item.verify else "",
    )
    return "; ".join(filter(None, told))


def _legend(states: Mapping[str, ItemState], y: float) -> Iterator[Markup]:
    x = float(MARGIN)
    for state, look in LOOKS.items():
        number = sum(one == state for one in states.values())
        if number:
            text = f"{look.sign} {number} {look.words}"
            yield words(x, y, text, fill=look.colour, class_="legend")
            x += 7 * len(text) + 16
