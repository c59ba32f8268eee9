"""Charts as SVG: one image each, with its colours in it, read on light and on dark ground, by the colour-blind too.

They hold no script, no style and no reference, so they stand in a page, in Markdown as an image, or in a file alike.
Elements carry classes (`ink`, `grid`), by which a page may give text and lines the colours of its own ground.
"""

import base64
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup

from helmsman.plain import shortened
from helmsman.render.templating import render_html

Point = tuple[float, float]

LARGEST = 1e15
"""Numbers beyond it are no measurement; sums of larger ones would overflow."""
INK = "#727d8a"
"""Read on white as on black: an image does not know the ground that it stands on."""
COLOURS = ("#3b82c4", "#d97706", "#009e73", "#b75d9f", INK)
DASHES = ("none", "7 3", "2 3", "9 3 2 3", "4 2")
"""Lines differ by dashes as well as by colour."""
MOST_POINTS = 400
MOST_MARKED = 60
"""Points up to which each one has a dot and a tip."""
MOST_CELLS = 200
LEFT, RIGHT = 66, 18
NAME_WIDTH = 6.4
"""Of a character at 11 pixels; a guess on the wide side, since nothing here measures fonts."""
CELL_HEIGHT = 34


class Look(NamedTuple):
    """Colour and share of the height of a cell: what needs a look stands out by its height too."""

    colour: str
    share: float


KINDS: Mapping[str, Look] = {
    "neutral": Look(INK, 0.25),
    "good": Look("#009e73", 0.55),
    "warn": Look("#b88600", 0.8),
    "bad": Look("#c2410c", 1.0),
}
"""From calm to alarming."""
_LEVELS = ("#8096ad", "#3b82c4", "#b88600", "#d97706", "#c2410c")


def levels(titles: Sequence[str]) -> Mapping[str, Look]:
    """Looks of the steps of a ladder, the lowest first."""
    return {title: Look(_LEVELS[min(at, 4)], (at + 1) / len(titles)) for at, title in enumerate(titles)}


def as_data_uri(svg: str) -> str:
    """A chart as the address of an image, for Markdown and `<img>`."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


# --- lines --------------------------------------------------------------------------------------------------------


def line_chart(
    title: str,
    series: Mapping[str, Sequence[Point]],
    *,
    y_label: str = "",
    reach: Sequence[float] = (),
    width: int = 720,
    height: int = 240,
) -> Markup:
    """Values over iterations. The axis holds zero, `reach` and every value, so that no line looks steeper than it is."""
    drawn = {name: measurable(points) for name, points in series.items()}
    points = [point for one in drawn.values() for point in one]
    xs, ys = [x for x, _ in points] or [0.0], [0.0, *reach, *(y for _, y in points)]
    across = whole_scale(min(xs), max(xs), LEFT, width - RIGHT - 6, most=12)
    up = rounded_scale(min(ys), max(ys), height - 26, 36 + (18 if y_label or len(drawn) > 1 else 0), most=4)
    label = shortened(y_label, 32)
    lines = [_line(name, one, number, across, up) for number, (name, one) in enumerate(drawn.items())]
    begin = 24 + len(label) * NAME_WIDTH
    return render_html(
        "line_chart.svg",
        title=title,
        shown=bool(points),
        width=width,
        height=height if points else 64,
        label=label,
        lines=lines,
        legend=list(_legend(list(drawn), begin, width - RIGHT)) if len(lines) > 1 else [],
        across=[(across(tick), short_number(tick)) for tick in across.ticks],
        up=[(up(tick), short_number(tick), "0.25" if tick else "0.6") for tick in up.ticks],
        left=LEFT,
        right=width - RIGHT,
        bottom=up.begin,
        ink=INK,
    )


def _line(name: str, points: Sequence[Point], number: int, across: "Scale", up: "Scale") -> dict[str, object]:
    shown = [(across(x), up(y)) for x, y in thinned(points, MOST_POINTS)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in shown) if len(shown) > 1 else ""
    tips = [f"{name} at {short_number(x)}: {short_number(y)}" for x, y in points] if len(points) <= MOST_MARKED else []
    return {
        "name": name,
        "colour": COLOURS[number % len(COLOURS)],
        "dash": DASHES[number % len(DASHES)],
        "path": path,
        "area": f"{shown[0][0]:.1f},{up(0):.1f} {path} {shown[-1][0]:.1f},{up(0):.1f}" if path else "",
        "dots": [(x, y, tip) for (x, y), tip in zip(shown, tips, strict=False)],
        "radius": 2.6 if path else 4,
    }


def _legend(names: Sequence[str], begin: float, right: float) -> Iterator[tuple[int, float, str]]:
    """Number, place and text of each name, the last one at the right edge; as long as there is room."""
    share = (right - begin) / max(len(names), 1)
    for number, full in reversed(list(enumerate(names))):
        name = shortened(full, min(24, max(int((share - 40) / NAME_WIDTH), 1)))
        left = right - len(name) * NAME_WIDTH
        if left - 26 < begin:
            return
        yield number, left, name
        right = left - 40


# --- cells --------------------------------------------------------------------------------------------------------


def strip(title: str, cells: Sequence[tuple[str, str]], *, looks: Mapping[str, Look] = KINDS, width: int = 720) -> Markup:
    """One cell for each iteration in order: (label, kind). Many are put together, the gravest showing."""
    order = list(looks)
    known = [(label, kind if kind in looks else order[0]) for label, kind in cells]
    size = max(-(-len(known) // MOST_CELLS), 1)
    groups = [known[first : first + size] for first in range(0, len(known), size)]
    pitch = min((width - 12 - RIGHT) / max(len(groups), 1), 28.0)
    longest = max((len(shortened(group[0][0], 6)) for group in groups), default=0)
    every = int(-(-(longest * NAME_WIDTH + 8) // pitch))
    used = [kind for kind in order if kind in {kind for _, kind in known}]
    return render_html(
        "strip.svg",
        title=title,
        shown=bool(known),
        width=width,
        height=108 if known else 64,
        cells=[_cell(group, 12 + at * pitch, pitch, looks) for at, group in enumerate(groups)],
        labels=[(12 + (at + 0.5) * pitch, shortened(groups[at][0][0], 6)) for at in range(0, len(groups), every)],
        legend=[(left, name, looks[used[at]].colour) for at, left, name in _legend(used, 12, width - RIGHT)],
        ink=INK,
    )


def _cell(group: Sequence[tuple[str, str]], left: float, pitch: float, looks: Mapping[str, Look]) -> dict[str, object]:
    kind = max((kind for _, kind in group), key=list(looks).index)
    first, last = group[0][0], group[-1][0]
    tall = CELL_HEIGHT * looks[kind].share
    return {
        "tip": f"{first}: {kind}" if len(group) == 1 else f"{first} to {last}: {kind} at worst",
        "colour": looks[kind].colour,
        "left": left,
        "top": 50 + CELL_HEIGHT - tall,
        "width": pitch - (2 if pitch > 6 else 0),  # noqa: PLR2004 - pixels
        "height": tall,
        "round": min(2, pitch / 4),
    }


# --- numbers ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scale:
    """From values to places in the image."""

    low: float
    high: float
    begin: float
    end: float
    ticks: tuple[float, ...]

    def __call__(self, value: float) -> float:
        return self.begin + (value - self.low) / (self.high - self.low) * (self.end - self.begin)


def measurable(points: Iterable[Point]) -> list[Point]:
    """Points that can be drawn, from left to right: what is no number is left out."""
    return sorted((x, y) for x, y in points if abs(x) < LARGEST and abs(y) < LARGEST)


def rounded_scale(low: float, high: float, begin: float, end: float, *, most: int) -> Scale:
    """A scale from one round number to another, with a tick on each in between."""
    least = max(abs(low), abs(high)) * 1e-9 or 1.0  # a span for values that are all the same, or as good as that
    step = _round_step(max(high - low, least) / most)
    first, last = math.floor(low / step), math.ceil(high / step)
    ticks = tuple(number * step for number in range(first, max(last, first + 1) + 1))
    return Scale(ticks[0], ticks[-1], begin, end, ticks)


def whole_scale(low: float, high: float, begin: float, end: float, *, most: int) -> Scale:
    """A scale that ends where the values do, with ticks on whole numbers only. One value stands in its middle."""
    if low == high:
        return Scale(low - 1, high + 1, begin, end, (low,))
    step = _round_step(max((high - low) / most, 1))
    ticks = tuple(number * step for number in range(math.ceil(low / step), math.floor(high / step) + 1))
    return Scale(low, high, begin, end, (low, *(tick for tick in ticks if tick - low > step / 2)))


def _round_step(rough: float) -> float:
    """1, 2 or 5 times a power of ten, and not below the rough one."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10, 20) if factor * power >= rough)


_UNITS = ((1e12, 1e12, "T"), (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"))
"""From which number on, its size, its letter: 1,200 is read as fast as 1.2k."""


def short_number(value: float) -> str:
    """As many digits as an axis needs: 0.25, 3, 12.5k, 1.2M."""
    for least, size, unit in _UNITS:
        if abs(value) >= least:
            return f"{value / size:.4g}{unit}"
    return f"{value:,.0f}" if value == round(value) else f"{value:.3g}"


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """At most so many points that look like all of them: of each stretch the lowest and the highest, and both ends."""
    if len(points) <= most:
        return list(points)
    edges = [round(number * len(points) / (most // 2 - 1)) for number in range(most // 2)]
    kept = {points[0], points[-1]}
    for first, last in pairwise(edges):
        stretch = points[first:last]
        kept |= {min(stretch, key=lambda point: point[1]), max(stretch, key=lambda point: point[1])}
    return sorted(kept)
