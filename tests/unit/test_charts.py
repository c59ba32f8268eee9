"""Charts: they are images that hold what they were given, whatever that is, and that can be read on any ground."""

import math
from collections.abc import Callable
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.plain import clean
from helmsman.render.charts import (
    COLOURS,
    INK,
    KINDS,
    LARGEST,
    levels,
    line_chart,
    rounded_scale,
    short_number,
    strip,
    thinned,
)

pytestmark = pytest.mark.feature("H4")

SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = {"svg", "text", "line", "polyline", "polygon", "circle", "rect", "title"}
NEVER = {"style", "href", "src", "id"}
HOSTILE = "<script>alert(1)</script>\"' onload='x' ]]> &amp; \x00\x1b[2J \ud800 \u202e"
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
POINTS = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=30)
TEXTS = st.text(max_size=30) | st.just(HOSTILE)
RUNGS = ("E-0 patch", "E-I refactor", "E-II redesign", "E-III human", "E-IV eject")
RANGES = st.none() | st.tuples(st.integers(-5, 0), st.integers(1, 100))

IN_GENERAL: dict[str, Callable[[str], str]] = {
    "lines": lambda text: line_chart(text, {text: [(1, 2), (2, 3)], f"{text}2": []}, y_label=text),
    "strip": lambda text: strip(text, [(text, "good"), ("2", text)]),
    "ladder": lambda text: strip(text, [("1", text), ("2", "b")], looks=levels((text, "b"))),
}


def parsed(svg: str) -> ET.Element:
    """As a browser reads an image: it has to be XML."""
    return ET.fromstring(svg)


def named(svg: str, tag: str) -> list[ET.Element]:
    return list(parsed(svg).iter(f"{SVG}{tag}"))


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in named(svg, "text")]


def places(svg: str) -> list[float]:
    """Every coordinate in it."""
    plain = [
        element.get(key) for element in parsed(svg).iter() for key in ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width")
    ]
    pairs = [pair for line in named(svg, "polyline") for pair in (line.get("points") or "").replace(",", " ").split()]
    return [float(found) for found in (*plain, *pairs) if found is not None]


@pytest.mark.feature("X3")
@pytest.mark.parametrize("draw", IN_GENERAL.values(), ids=IN_GENERAL)
@given(text=TEXTS)
def test_a_foreign_text_stays_a_text(draw: Callable[[str], str], text: str) -> None:
    svg = draw(text)
    for element in parsed(svg).iter():
        assert element.tag.removeprefix(SVG) in ELEMENTS
        assert not [key for key in element.attrib if key in NEVER or key.startswith("on")]
    assert parsed(svg).get("aria-label") == clean(text)


@given(series=st.lists(st.tuples(TEXTS, POINTS), max_size=6), limits=RANGES)
def test_lines_stay_within_the_image_whatever_the_numbers_are(
    series: list[tuple[str, list[tuple[float, float]]]], limits: tuple[int, int] | None
) -> None:
    svg = line_chart("Numbers", dict(series), reach=limits or (), width=700)
    assert all(-1 <= place <= 701 for place in places(svg))
    drawn = any(abs(x) < LARGEST and abs(y) < LARGEST for points in dict(series).values() for x, y in points)
    assert ("nothing to show yet" in texts(svg)) is not drawn


def test_what_is_no_number_is_left_out() -> None:
    odd = [(1, 1.0), (2, math.nan), (3, math.inf), (4, -math.inf), (5, 2.0), (math.nan, 1.0)]
    assert line_chart("Cost", {"cost": odd}) == line_chart("Cost", {"cost": [(1, 1.0), (5, 2.0)]})


def test_higher_values_stand_higher_and_later_ones_further_right() -> None:
    svg = line_chart("Progress", {"completion": [(1, 10), (2, 40), (3, 90)]}, reach=(0, 100))
    dots = [(float(dot.get("cx") or ""), float(dot.get("cy") or "")) for dot in named(svg, "circle")]
    assert all(x2 > x1 and y2 < y1 for (x1, y1), (x2, y2) in pairwise(dots))
    assert (dots[1][1] - dots[0][1]) / (dots[2][1] - dots[0][1]) == pytest.approx(30 / 80, abs=0.01)


def test_an_axis_holds_zero_and_is_widened_by_values_beyond_its_range() -> None:
    assert {"0", "100", "200"} <= set(texts(line_chart("P", {"p": [(1, 180)]}, reach=(0, 100))))
    assert "-1" in texts(line_chart("D", {"d": [(1, -0.6), (2, 0.4)]}))


@given(
    points=st.lists(st.tuples(st.integers(0, 10_000), st.integers(-100, 100)), min_size=1, max_size=900),
    most=st.sampled_from([10, 40, 400]),
)
def test_fewer_points_keep_both_ends_and_the_extremes(points: list[tuple[float, float]], most: int) -> None:
    ordered = sorted(points)
    kept = thinned(ordered, most)
    assert len(kept) <= most
    assert set(kept) <= set(ordered)
    assert (kept[0], kept[-1]) == (ordered[0], ordered[-1])
    heights, all_heights = [y for _, y in kept], [y for _, y in ordered]
    assert (min(heights), max(heights)) == (min(all_heights), max(all_heights))


def test_of_cells_that_fall_together_the_worst_shows() -> None:
    cells = [(str(number), "bad" if number == 777 else "good") for number in range(1, 2001)]
    bad = [
        rect
        for rect in named(strip("Checks", cells), "rect")
        if rect.find(f"{SVG}title") is not None and rect.get("fill") == KINDS["bad"].colour
    ]
    (tip,) = [rect[0].text for rect in bad]
    assert tip == "771 to 780: bad at worst"


def test_every_colour_stands_out_on_light_and_on_dark_ground() -> None:
    for colour in sorted(
        {*COLOURS, *(one.colour for one in levels(RUNGS).values()), INK, *(one.colour for one in KINDS.values())}
    ):
        for ground in ["#ffffff", "#f6f7f9", "#161b22", "#0f1318"]:
            bright, dark = sorted((_luminance(colour), _luminance(ground)), reverse=True)
            assert (bright + 0.05) / (dark + 0.05) >= (3.8 if colour == INK else 2.8)


def _luminance(colour: str) -> float:
    """As WCAG counts contrast."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@given(low=st.floats(-1e14, 1e14), high=st.floats(-1e14, 1e14))
def test_a_scale_has_few_ticks_that_hold_its_values(low: float, high: float) -> None:
    low, high = sorted((low, high))
    scale = rounded_scale(low, high, 0, 100, most=4)
    close = max(abs(low), abs(high)) * 1e-9
    assert scale.ticks[0] <= low + close
    assert high - close <= scale.ticks[-1]
    assert 2 <= len(scale.ticks) <= 7


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0"), (0.25, "0.25"), (-1, "-1"), (1200, "1,200"), (12_500, "12.5k"), (1_200_000, "1.2M"), (3e9, "3G"), (2e12, "2T")],
)
def test_numbers_are_short(number: float, shown: str) -> None:
    assert short_number(number) == shown
