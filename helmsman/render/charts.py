"""Charts as self-contained SVG images, readable on light and dark backgrounds and by colour-blind people.

They contain no script, no style and no reference.
Elements have classes (`ink`, `grid`), so that a page can adapt the colours of text and lines to its background.
"""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from helmsman.render.templating import render_html
from helmsman.texts import short_number

Point = tuple[float, float]

LARGEST = 1e15  # larger numbers are not measurements, and their sums would overflow
INK = "#727d8a"
"""Readable on white and on black: an image does not know its background."""
COLOUR = "#3b82c4"
"""Of lines."""
MOST_MARKED = 60  # points that have a dot and a tooltip each; charts with more have none
WIDTH, HEIGHT = 440, 190
"""Size of a chart: two fit side by side, and one is legible on a phone."""
LEFT, RIGHT = 66, 18


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
