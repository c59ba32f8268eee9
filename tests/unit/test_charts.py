"""Charts: correct for any input, and readable on light and dark backgrounds."""

import math
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.plain import clean
from helmsman.render.report import COLOUR, INK, LARGEST, line_chart
from helmsman.texts import short_number

pytestmark = pytest.mark.feature("H4")

SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = {"svg", "text", "line", "polyline", "polygon", "circle", "rect", "title"}
NEVER = {"style", "href", "src", "id"}
HOSTILE = "<script>alert(1)</script>\"' onload='x' ]]> &amp; \x00\x1b[2J \ud800 \u202e"
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
POINTS = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=30)
TEXTS = st.text(max_size=30) | st.just(HOSTILE)
RANGES = st.none() | st.tuples(st.integers(-5, 0), st.integers(1, 100))


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
@given(text=TEXTS)
def test_a_foreign_text_stays_a_text(text: str) -> None:
    svg = line_chart(text, [(1, 2), (2, 3)], label=text)
    for element in parsed(svg).iter():
        assert element.tag.removeprefix(SVG) in ELEMENTS
        assert not [key for key in element.attrib if key in NEVER or key.startswith("on")]
    assert parsed(svg).get("aria-label") == clean(text)


@given(points=POINTS, reach=RANGES)
def test_lines_stay_within_the_image_whatever_the_numbers_are(
    points: list[tuple[float, float]], reach: tuple[int, int] | None
) -> None:
    svg = line_chart("Numbers", points, label="n", reach=reach or ())
    assert all(-1 <= place <= 441 for place in places(svg))
    drawn = any(abs(x) < LARGEST and abs(y) < LARGEST for x, y in points)
    assert ("no data yet" in texts(svg)) is not drawn


def test_values_that_are_not_finite_are_omitted() -> None:
    odd = [(1, 1.0), (2, math.nan), (3, math.inf), (4, -math.inf), (5, 2.0), (math.nan, 1.0)]
    assert line_chart("Cost", odd, label="$") == line_chart("Cost", [(1, 1.0), (5, 2.0)], label="$")


def test_an_empty_chart_says_so_under_its_title() -> None:
    assert texts(line_chart("E", [], label="n")) == ["E", "no data yet"]


def test_one_point_is_a_dot_without_a_line() -> None:
    svg = line_chart("Cost", [(7, 0.25)], label="US dollars")
    (dot,) = named(svg, "circle")
    assert dot.find(f"{SVG}title") is not None
    assert [tip.text for tip in named(svg, "title")] == ["at 7: 0.25"]
    assert not named(svg, "polyline")
    assert {"7", "0", "US dollars", "iteration"} <= set(texts(svg))


def test_higher_values_stand_higher_and_later_ones_further_right() -> None:
    svg = line_chart("Progress", [(1, 10), (2, 40), (3, 90)], label="%", reach=(0, 100))
    dots = [(float(dot.get("cx") or ""), float(dot.get("cy") or "")) for dot in named(svg, "circle")]
    assert all(x2 > x1 and y2 < y1 for (x1, y1), (x2, y2) in pairwise(dots))
    assert (dots[1][1] - dots[0][1]) / (dots[2][1] - dots[0][1]) == pytest.approx(30 / 80, abs=0.01)


def test_an_axis_holds_zero_and_is_widened_by_values_beyond_its_range() -> None:
    assert texts(line_chart("P", [(1, 180)], label="%", reach=(0, 100)))[2:5] == ["0", "90", "180"]
    assert texts(line_chart("D", [(1, -0.6), (2, 0.4)], label="D"))[2:5] == ["-0.6", "-0.1", "0.4"]
    assert texts(line_chart("D", [(3, 1), (10, 1)], label="D"))[5:7] == ["3", "10"]


@pytest.mark.parametrize("ground", ["#ffffff", "#f6f7f9", "#161b22", "#0f1318"])
@pytest.mark.parametrize("colour", [COLOUR, INK])
def test_every_colour_stands_out_on_light_and_on_dark_ground(colour: str, ground: str) -> None:
    bright, dark = sorted((_luminance(colour), _luminance(ground)), reverse=True)
    assert (bright + 0.05) / (dark + 0.05) >= (3.8 if colour == INK else 2.8)


def _luminance(colour: str) -> float:
    """As WCAG counts contrast."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0"), (0.25, "0.25"), (-1, "-1"), (1200, "1,200"), (12_500, "12.5k"), (1_200_000, "1.2M"), (3e9, "3G"), (2e12, "2T")],
)
def test_numbers_are_short(number: float, shown: str) -> None:
    assert short_number(number) == shown
