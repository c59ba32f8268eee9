"""Charts as self-contained SVG images, readable on light and dark backgrounds and by colour-blind people.

They contain no script, no style and no reference.
Elements have classes (`ink`, `grid`), so that a page can adapt the colours of text and lines to its background.
"""

from collections.abc import Callable, Sequence

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
LEFT, RIGHT, TOP, BOTTOM = 66, WIDTH - 18, 54, HEIGHT - 26
"""Edges of the area of the line."""


def line_chart(title: str, points: Sequence[Point], *, label: str, reach: Sequence[float] = ()) -> Markup:
    """Values over iterations. The axis includes zero, `reach` and every value, so that no line looks steeper than it is."""
    drawn = sorted((x, y) for x, y in points if abs(x) < LARGEST and abs(y) < LARGEST)  # drops NaN and infinity
    xs, ys = [x for x, _ in drawn] or [0.0], [0.0, *reach, *(y for _, y in drawn)]
    across, up = _scale(xs, LEFT, RIGHT - 6), _scale(ys, BOTTOM, TOP)
    places = [(across(x), up(y)) for x, y in drawn]
    tips = [f"at {short_number(x)}: {short_number(y)}" for x, y in drawn] if len(drawn) <= MOST_MARKED else []
    return render_html(
        "line_chart.svg",
        title=title,
        shown=bool(drawn),
        width=WIDTH,
        height=HEIGHT if drawn else 64,
        label=label,
        colour=COLOUR,
        path=" ".join(f"{x:.1f},{y:.1f}" for x, y in places) if len(places) > 1 else "",
        dots=[(x, y, tip) for (x, y), tip in zip(places, tips, strict=False)],
        across=[(across(x), short_number(x)) for x in dict.fromkeys((min(xs), max(xs)))],
        up=[(up(y), short_number(y)) for y in dict.fromkeys((min(ys), (min(ys) + max(ys)) / 2, max(ys)))],
        left=LEFT,
        right=RIGHT,
        bottom=BOTTOM,
        ink=INK,
    )


def _scale(values: Sequence[float], begin: float, end: float) -> Callable[[float], float]:
    """Linear map from the range of the values to image coordinates; a single value is centred."""
    low, high = min(values), max(values)
    return lambda value: begin + ((value - low) / (high - low) if high > low else 0.5) * (end - begin)
