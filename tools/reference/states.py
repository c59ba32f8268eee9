"""State diagrams: states in a column, transitions down at the right and up at the left, with numbers that a table explains."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from tools.reference.markdown import cell, table
from tools.reference.markup import Markup
from tools.reference.svg import GROUND, arrow, badge, box, svg_picture, text

STEP, HEIGHT, WIDTH, LANE = 78, 40, 170, 26
_STATE = re.compile(r'^\s*state "(?P<name>[^"]+)" as (?P<id>\w+)$', re.MULTILINE)
_TRANSITION = re.compile(r"^\s*(?P<before>\w+) --> (?P<after>\w+) : (?P<label>.+)$", re.MULTILINE)
_FENCE = re.compile(r"^```mermaid\n(stateDiagram-v2\n.*?)^```$", re.DOTALL | re.MULTILINE)

Transition = tuple[str, str, str]
"""From, to, condition."""


def render_state_diagrams(markdown: str) -> str:
    """The page with drawn state diagrams: Mermaid would need resources from elsewhere."""
    return _FENCE.sub(lambda fence: _draw(fence[1]), markdown)


def _draw(mermaid: str) -> str:
    states = {match["id"]: match["name"] for match in _STATE.finditer(mermaid)}
    return state_diagram(states, [(match["before"], match["after"], match["label"]) for match in _TRANSITION.finditer(mermaid)])


@dataclass(frozen=True)
class _Arc:
    number: int
    first: int
    last: int
    lane: int

    @property
    def down(self) -> bool:
        return self.last > self.first


def state_diagram(states: Mapping[str, str], transitions: Sequence[Transition]) -> str:
    """The picture, with a table of its transitions below. States are ids with names, in the order of the column."""
    row_of = {name: index for index, name in enumerate(states)}
    arcs = _arcs([(row_of[before], row_of[after]) for before, after, _ in transitions])
    left = 40 + LANE * max((arc.lane for arc in arcs if not arc.down), default=0)
    right = 40 + LANE * max((arc.lane for arc in arcs if arc.down), default=0)
    nodes = [part for index, name in enumerate(states.values()) for part in _node(left, index, name)]
    height = STEP * (len(states) - 1) + HEIGHT + 8
    picture = svg_picture(
        ", ".join(states.values()), left + WIDTH + right, height, [*nodes, *(p for arc in arcs for p in _arc_path(arc, left))]
    )
    rows = [
        (str(index), f"{states[before]} → {states[after]}", cell(label))
        for index, (before, after, label) in enumerate(transitions, 1)
    ]
    return f"{picture}\n\n{table(('', 'transition', 'when'), rows)}\n"


def _arcs(ends: Sequence[tuple[int, int]]) -> list[_Arc]:
    """Arcs with lanes: short ones inside; two that overlap never share a lane."""
    arcs: list[_Arc] = []
    for number, (first, last) in sorted(enumerate(ends, 1), key=lambda pair: abs(pair[1][1] - pair[1][0])):
        overlapping = [arc for arc in arcs if arc.down == (last > first) and _overlap(arc, first, last)]
        lane = next(lane for lane in count(1) if all(arc.lane != lane for arc in overlapping))
        arcs.append(_Arc(number, first, last, lane))
    return arcs


def _overlap(arc: _Arc, first: int, last: int) -> bool:
    return max(min(arc.first, arc.last), min(first, last)) < min(max(arc.first, arc.last), max(first, last))


def _node(left: float, index: int, name: str) -> tuple[Markup, Markup]:
    top = 4 + index * STEP
    return box(left, top, WIDTH, HEIGHT, GROUND), text(left + WIDTH / 2, top + 25, name, anchor="middle")


def _arc_path(arc: _Arc, left: float) -> tuple[Markup, Markup]:
    side, sign = (left + WIDTH, 1) if arc.down else (left, -1)
    nudge = min(arc.lane * 3, HEIGHT / 2 - 6)
    start = 4 + arc.first * STEP + HEIGHT / 2 + sign * nudge
    end = 4 + arc.last * STEP + HEIGHT / 2 - sign * nudge
    lane = side + sign * (LANE * arc.lane)
    middle = (start + end) / 2
    curve = f"M{side},{start:.0f} C{lane},{start:.0f} {lane},{start:.0f} {lane},{middle:.0f} S{lane},{end:.0f} {side},{end:.0f}"
    return arrow(curve), badge(lane, middle, str(arc.number))
