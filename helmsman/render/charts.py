"""Charts as self-contained SVG images, readable on light and dark backgrounds and by colour-blind people.

They contain no script, no style and no reference.
Elements have classes (`ink`, `grid`), so that a page can adapt the colours of text and lines to its background.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from helmsman.plain import shorten
from helmsman.render.templating import render_html
from helmsman.texts import short_number

Point = tuple[float, float]

LARGEST = 1e15  # larger numbers are not measurements, and their sums would overflow
INK = "#727d8a"
"""Readable on white and on black: an image does not know its background."""
COLOUR = "#3b82c4"
"""Of lines."""
MOST_MARKED = 60  # points that have a dot and a tooltip each; charts with more have none
MOST_CELLS = 200  # newest cells of a strip
WIDTH, HEIGHT = 440, 190
"""Size of a chart: two fit side by side, and one is legible on a phone."""
LEFT, RIGHT = 66, 18
CELL_HEIGHT = 34
LEGEND_WIDTH = 100


class Look(NamedTuple):
    """Colour and relative height of a cell: height also marks what needs attention."""

    colour: str
    share: float


KINDS: Mapping[str, Look] = {
    "neutral": Look(INK, 0.25),
    "good": Look("#009e73", 0.55),
    "warn": Look("#b88600", 0.8),
    "bad": Look("#c2410c", 1.0),
}
"""From calm to alarming."""


def line_chart(title: str, points: Sequence[Point], *, label: str, reach: Sequence[float] = ()) -> Markup:
    """Values over iterations. The axis includes zero, `reach` and every value, so that no line looks steeper than it is."""
    drawn = sorted((x, y) for x, y in points if abs(x) < LARGEST and abs(y) < LARGEST)  # drops NaN and infinity
    xs, ys = [x for x, _ in drawn] or [0.0], [0.0, *reach, *(y for _, y in drawn)]
    across, up = Scale(min(xs), max(xs), LEFT, WIDTH - RIGHT - 6), Scale(min(ys), max(ys), HEIGHT - 26, 54)
    shown = [(across(x), up(y)) for x, y in drawn]
    ticks = (up.low, (up.low + up.high) / 2, up.high)
    tips = [f"at {short_number(x)}: {short_number(y)}" for x, y in drawn] if len(drawn) <= MOST_MARKED else []
    return render_html(
        "line_chart.svg",
        title=title,
        shown=bool(drawn),
        width=WIDTH,
        height=HEIGHT if drawn else 64,
        label=label,
        colour=COLOUR,
        path=" ".join(f"{x:.1f},{y:.1f}" for x, y in shown) if len(shown) > 1 else "",
        dots=[(x, y, tip) for (x, y), tip in zip(shown, tips, strict=False)],
        across=[(across(tick), short_number(tick)) for tick in dict.fromkeys((across.low, across.high))],
        up=[(up(tick), short_number(tick)) for tick in dict.fromkeys(ticks)],
        left=LEFT,
        right=WIDTH - RIGHT,
        bottom=up.begin,
        ink=INK,
    )


class Scale(NamedTuple):
    """Linear map from values to image coordinates; a single value is centred."""

    low: float
    high: float
    begin: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return self.begin + share * (self.end - self.begin)


def strip_chart(title: str, cells: Sequence[tuple[str, str]]) -> Markup:
    """One cell for each iteration in order: (label, kind). The first and the last are labelled."""
    newest = cells[-MOST_CELLS:]
    pitch = min((WIDTH - 12 - RIGHT) / max(len(newest), 1), 28.0)
    drawn = [(12 + at * pitch, f"{label}: {kind}", KINDS[kind]) for at, (label, kind) in enumerate(newest)]
    used_kinds = [kind for kind in KINDS if kind in {kind for _, kind in newest}]
    return render_html(
        "strip.svg",
        title=title,
        shown=bool(newest),
        width=WIDTH,
        height=108 if newest else 64,
        cells=[
            (left, 50 + CELL_HEIGHT * (1 - look.share), pitch * 0.9, CELL_HEIGHT * look.share, look.colour, tip)
            for left, tip, look in drawn
        ],
        labels=[(12 + (at + 0.5) * pitch, shorten(newest[at][0], 6)) for at in sorted({0, len(newest) - 1}) if newest],
        legend=[(26 + at * LEGEND_WIDTH, kind, KINDS[kind].colour) for at, kind in enumerate(used_kinds)],
        ink=INK,
    )
