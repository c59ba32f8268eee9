"""What charts are drawn with: text and lines, scales with round numbers, and fewer points."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from helmsman.plain import shortened
from helmsman.render.markup import Markup, element, escaped

Point = tuple[float, float]

LARGEST = 1e15
"""Numbers beyond it are no measurement; sums of larger ones would overflow."""
INK = "#727d8a"
"""Read on white as on black: an image does not know the ground that it stands on."""


def words(x: float, y: float, text: str, *, size: float = 11, anchor: str = "start", **attributes: str | float) -> Markup:
    """A line of text. Colour by presentation attribute: a page may override it by class, an image has it as it is."""
    given: dict[str, str | float] = {"class_": "ink", "fill": INK, **attributes}
    return element("text", escaped(text), x=x, y=y, font_size=size, text_anchor=anchor, **given)


def tip(text: str) -> Markup:
    """What is shown where the pointer rests."""
    return element("title", escaped(text))


def line(x1: float, y1: float, x2: float, y2: float, **attributes: str | float) -> Markup:
    given: dict[str, str | float] = {"class_": "grid", "stroke": INK, "stroke_opacity": "0.25", **attributes}
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, **given)


def picture(title: str, width: float, height: float, parts: Iterable[Markup]) -> Markup:
    """A whole image with its title at the top."""
    head = words(12, 20, shortened(title, 90), size=13, class_="ink head", font_weight="600")
    return element(
        "svg",
        head,
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=width,
        height=height,
        class_="chart",
        role="img",
        aria_label=title,
        font_family="system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif",
    )


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
    step = _round_step(max(high - low, _least(low, high)) / most)
    first, last = math.floor(low / step), math.ceil(high / step)
    last = max(last, first + 1)
    ticks = tuple(number * step for number in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], begin, end, ticks)


def whole_scale(low: float, high: float, begin: float, end: float, *, most: int) -> Scale:
    """A scale that ends where the values do, with ticks on whole numbers only. One value stands in its middle."""
    if low == high:
        return Scale(low - 1, high + 1, begin, end, (low,))
    step = _round_step(max((high - low) / most, 1))
    ticks = tuple(number * step for number in range(math.ceil(low / step), math.floor(high / step) + 1))
    return Scale(
        low, high, begin, end, ticks if ticks[:1] == (low,) else (low, *(tick for tick in ticks if tick - low > step / 2))
    )


def _least(low: float, high: float) -> float:
    """A span for values that are all the same, or as good as that."""
    largest = max(abs(low), abs(high))
    return max(largest * 1e-9, 1e-9) if largest else 1.0


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
