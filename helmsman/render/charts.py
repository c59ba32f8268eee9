"""Charts as SVG text: one image each, with its colours in it, read on light and on dark ground, by the colour-blind too.

They hold no script, no style and no reference, so they stand in a page, in Markdown as an image, or in a file alike.
Elements carry classes (`ink`, `grid`), by which a page may give text and lines the colours of its own ground.
"""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from helmsman.plain import shortened
from helmsman.render.markup import Markup, element
from helmsman.render.svg import (
    INK,
    LARGEST,
    Point,
    Scale,
    line,
    measurable,
    picture,
    rounded_scale,
    short_number,
    thinned,
    tip,
    whole_scale,
    words,
)

BLUE, ORANGE, GREEN, PINK = "#3b82c4", "#d97706", "#009e73", "#b75d9f"
COLOURS = (BLUE, ORANGE, GREEN, PINK, INK)
DASHES = ("none", "7 3", "2 3", "9 3 2 3", "4 2")
"""Lines differ by dashes as well as by colour."""
LEVELS = ("#8096ad", "#3b82c4", "#b88600", "#d97706", "#c2410c")
"""From calm to alarming."""
Kind = Literal["good", "bad", "neutral", "warn"]
KINDS: dict[str, tuple[str, float]] = {
    "good": (GREEN, 0.55),
    "warn": ("#b88600", 0.8),
    "bad": ("#c2410c", 1.0),
    "neutral": (INK, 0.25),
}
"""Colour and share of the height: what needs a look stands out by its height too."""
WORST_FIRST = ("bad", "warn", "good", "neutral")

MOST_POINTS = 400
MOST_MARKED = 60
"""Points up to which each one has a dot and a tip."""
MOST_CELLS = 200
MOST_BARS = 24
LEFT, RIGHT = 66, 18
NAME_WIDTH = 6.4
"""Of a character at 11 pixels; a guess on the wide side, since nothing here measures fonts."""


@dataclass(frozen=True)
class Series:
    """One line of a chart. Points that are no finite numbers are left out."""

    name: str
    points: Sequence[Point]


@dataclass(frozen=True)
class _Frame:
    """Where in an image the data lie."""

    width: float
    height: float
    x: Scale
    y: Scale


def as_data_uri(svg: str) -> str:
    """A chart as the address of an image, for Markdown and `<img>`."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


# --- lines --------------------------------------------------------------------------------------------------------


def line_chart(
    title: str,
    series: Sequence[Series],
    *,
    width: int = 720,
    height: int = 240,
    y_label: str = "",
    y_range: tuple[float, float] | None = None,
    x_label: str = "iteration",
) -> Markup:
    """Values over iterations. The axis holds zero, `y_range` and every value, so that no line looks steeper than it is."""
    drawn = [Series(one.name, measurable(one.points)) for one in series]
    points = [point for one in drawn for point in one.points]
    if not points:
        return _nothing(title, width)
    head = 30 + (18 if y_label or len(drawn) > 1 else 0)
    xs, ys = [x for x, _ in points], [0.0, *(y_range or ()), *(y for _, y in points)]
    across = whole_scale(min(xs), max(xs), LEFT, width - RIGHT - 6, most=12)
    frame = _Frame(width, height, across, rounded_scale(min(ys), max(ys), height - 26, head + 6, most=4))
    lines = [part for number, one in enumerate(drawn) for part in _curve(frame, one, number, alone=len(drawn) == 1)]
    label = shortened(y_label, 32)
    labels = [words(12, 38, label), *(_legend(frame, drawn, 24 + len(label) * NAME_WIDTH) if len(drawn) > 1 else ())]
    return picture(title, width, height, [*labels, *_axes(frame, x_label), *lines])


def _axes(frame: _Frame, x_label: str) -> Iterator[Markup]:
    bottom = frame.y.begin
    for tick in frame.y.ticks:
        strength = "0.6" if tick == 0 else "0.2"
        yield line(LEFT, frame.y(tick), frame.width - RIGHT, frame.y(tick), stroke_opacity=strength)
        yield words(LEFT - 8, frame.y(tick) + 4, short_number(tick), anchor="end")
    yield from _x_ticks(frame.x, bottom, x_label)


def _x_ticks(scale: Scale, bottom: float, x_label: str) -> Iterator[Markup]:
    for tick in scale.ticks:
        yield line(scale(tick), bottom, scale(tick), bottom + 4, stroke_opacity="0.6")
        yield words(scale(tick), bottom + 17, short_number(tick), anchor="middle")
    yield words(scale.begin - 16, bottom + 17, x_label, anchor="end", size=10, font_style="italic")


def _legend(frame: _Frame, series: Sequence[Series], begin: float) -> Iterator[Markup]:
    """Names at the right of the second row, the last one at the edge; as long as there is room for, many only in part."""
    right, share = frame.width - RIGHT, (frame.width - RIGHT - begin) / len(series)
    for number, one in reversed(list(enumerate(series))):
        name = shortened(one.name, min(24, max(int((share - 40) / NAME_WIDTH), 1)))
        left = right - len(name) * NAME_WIDTH
        if left - 26 < begin:
            return
        yield words(left, 38, name)
        yield line(left - 26, 34, left - 6, 34, **_pen(number))
        right = left - 40


def _pen(number: int) -> dict[str, str | float]:
    colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
    return {"class_": "line", "stroke": colour, "stroke_opacity": "1", "stroke_width": 2, "stroke_dasharray": dash}


def _curve(frame: _Frame, one: Series, number: int, *, alone: bool) -> Iterator[Markup]:
    points = thinned(one.points, MOST_POINTS)
    places = [(frame.x(x), frame.y(y)) for x, y in points]
    if alone and len(points) > 1:
        yield _area(frame, places)
    pen = {**_pen(number), "fill": "none", "stroke_linejoin": "round", "stroke_linecap": "round"}
    if len(points) > 1:
        yield element("polyline", points=_path(places), **pen)
    if len(one.points) <= MOST_MARKED:
        colour = COLOURS[number % len(COLOURS)]
        for (x, y), (left, top) in zip(points, places, strict=True):
            told = tip(f"{one.name} at {short_number(x)}: {short_number(y)}")
            yield element("circle", told, cx=left, cy=top, r=2.6 if len(points) > 1 else 4, fill=colour)


def _area(frame: _Frame, places: Sequence[Point]) -> Markup:
    ground = frame.y(0)
    around = [(places[0][0], ground), *places, (places[-1][0], ground)]
    return element("polygon", points=_path(around), fill=COLOURS[0], fill_opacity="0.12")


def _path(places: Sequence[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


# --- levels over time ---------------------------------------------------------------------------------------------


def timeline(title: str, steps: Sequence[tuple[int, int]], labels: Sequence[str], *, width: int = 720) -> Markup:
    """On which level each iteration was, the lowest at the bottom. A step whose level has no label is left out."""
    known = sorted({step for step in steps if step[1] in range(len(labels)) and abs(step[0]) < LARGEST})
    if not known:
        return _nothing(title, width)
    height, left = 58 + 24 * len(labels), max(LEFT, 24 + max(len(shortened(label, 20)) for label in labels) * NAME_WIDTH)
    bottom = height - 26
    x = whole_scale(known[0][0], known[-1][0], left + 6, width - RIGHT - 6, most=12)
    rows = [bottom - 12 - 24 * level for level in range(len(labels))]
    parts = [
        *(line(left, row, width - RIGHT, row) for row in rows),
        *(words(left - 8, row + 4, shortened(label, 20), anchor="end") for row, label in zip(rows, labels, strict=True)),
        *_x_ticks(x, bottom, "iteration"),
        *_stays(_highest(known), x, rows, labels),
    ]
    return picture(title, width, height, parts)


def _highest(steps: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """At most so many steps as can be told apart; of those that fall together the highest stands."""
    size = -(-len(steps) // MOST_CELLS)
    return [(steps[first][0], max(level for _, level in steps[first : first + size])) for first in range(0, len(steps), size)]


def _stays(steps: Sequence[tuple[int, int]], x: Scale, rows: Sequence[float], labels: Sequence[str]) -> Iterator[Markup]:
    """A bar for each stay on a level, and a thin line up or down to the next."""
    stays = [(level, [iteration for iteration, _ in group]) for level, group in groupby(steps, key=lambda step: step[1])]
    for number, (level, stay) in enumerate(stays):
        begin, end = x(stay[0]), x(stay[-1])
        if number + 1 < len(stays):
            after, next_stay = stays[number + 1]
            end = x(next_stay[0])
            yield line(end, rows[level], end, rows[after], stroke_opacity="0.6", stroke_width=1.5)
        told = tip(f"{labels[level]}: {_from_to(stay)}")
        colour = LEVELS[min(level, len(LEVELS) - 1)]
        yield element("rect", told, x=begin - 5, y=rows[level] - 5, width=end - begin + 10, height=10, rx=5, fill=colour)


def _from_to(iterations: Sequence[int]) -> str:
    return f"iteration {iterations[0]}" + (f" to {iterations[-1]}" if len(iterations) > 1 else "")


# --- bars and cells -----------------------------------------------------------------------------------------------


def bars(title: str, values: Sequence[tuple[str, float]], *, unit: str = "", width: int = 720) -> Markup:
    """One bar for each name, in the order given; beyond two dozen the rest is counted."""
    known = [(name, value) for name, value in values if abs(value) < LARGEST]
    if not known:
        return _nothing(title, width)
    shown = known[:MOST_BARS]
    left = 24 + max(len(shortened(name, 34)) for name, _ in shown) * NAME_WIDTH
    right = width - RIGHT - 12 - max(len(_with_unit(value, unit)) for _, value in shown) * NAME_WIDTH
    numbers = [0.0, *(value for _, value in shown)]
    scale = Scale(min(numbers), max(numbers) if any(numbers) else 1.0, left, right, ())
    parts = [part for row, (name, value) in enumerate(shown) for part in _bar(34 + 24 * row, name, value, scale, unit)]
    height = 44 + 24 * len(shown)
    if len(known) > len(shown):
        parts.append(words(left, height + 6, f"and {len(known) - len(shown)} more"))
        height += 18
    return picture(title, width, height, parts)


def _bar(top: float, name: str, value: float, scale: Scale, unit: str) -> Iterator[Markup]:
    begin, end = sorted((scale(0), scale(value)))
    yield words(min(scale.begin, scale(0)) - 8, top + 13, shortened(name, 34), anchor="end")
    yield element(
        "rect",
        tip(f"{name}: {_with_unit(value, unit)}"),
        x=begin,
        y=top + 3,
        width=max(end - begin, 1),
        height=13,
        rx=2,
        fill=BLUE,
    )
    yield words(end + 8, top + 13, _with_unit(value, unit))


def _with_unit(value: float, unit: str) -> str:
    return f"{short_number(value)} {unit}".rstrip()


def strip(title: str, cells: Sequence[tuple[str, str]], *, width: int = 720) -> Markup:
    """One cell for each iteration in order: (label, good, bad, neutral or warn). Many are put together, the worst showing."""
    if not cells:
        return _nothing(title, width)
    size = -(-len(cells) // MOST_CELLS)
    groups = [cells[first : first + size] for first in range(0, len(cells), size)]
    pitch = min((width - 12 - RIGHT) / len(groups), 28.0)
    longest = max(len(shortened(group[0][0], 6)) for group in groups)
    every = -(-(longest * NAME_WIDTH + 8) // pitch)
    parts: list[Markup] = []
    for number, group in enumerate(groups):
        parts.append(_cell(group, 12 + number * pitch, pitch))
        if number % every == 0:
            parts.append(words(12 + (number + 0.5) * pitch, 80, shortened(group[0][0], 6), anchor="middle", size=10))
    return picture(title, width, 90, [*parts, *_kinds_legend(cells, width)])


def _cell(group: Sequence[tuple[str, str]], left: float, pitch: float) -> Markup:
    kind = min((kind if kind in KINDS else "neutral" for _, kind in group), key=WORST_FIRST.index)
    colour, share = KINDS[kind]
    first, last = group[0][0], group[-1][0]
    told = tip(f"{first}: {kind}" if len(group) == 1 else f"{first} to {last}: {kind} at worst")
    gap = 2 if pitch > 6 else 0  # noqa: PLR2004 - pixels
    tall = 34 * share
    return element("rect", told, x=left, y=66 - tall, width=pitch - gap, height=tall, rx=min(2, pitch / 4), fill=colour)


def _kinds_legend(cells: Sequence[tuple[str, str]], width: float) -> Iterator[Markup]:
    used = {kind if kind in KINDS else "neutral" for _, kind in cells}
    right = width - RIGHT
    for kind in (kind for kind in WORST_FIRST if kind in used):
        left = right - len(kind) * NAME_WIDTH
        yield words(left, 20, kind)
        yield element("rect", x=left - 14, y=11, width=9, height=9, rx=2, fill=KINDS[kind][0])
        right = left - 26


def _nothing(title: str, width: float) -> Markup:
    return picture(title, width, 64, [words(12, 46, "nothing to show yet", font_style="italic")])
