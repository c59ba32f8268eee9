"""SVG elements for pictures. Colours are those of the page, in light and dark mode."""

from collections.abc import Iterable

from tools.reference.markup import Markup, element, escape, join

INK, FAINT, ACCENT, GROUND = "ink", "faint", "accent", "ground"
"""Classes of docs/site.css."""


def text(
    x: float, y: float, words: str, *, css_class: str = INK, size: float = 13, anchor: str = "start", **more: str | float
) -> Markup:
    return element("text", escape(words), x=x, y=y, class_=css_class, font_size=size, text_anchor=anchor, **more)


def box(x: float, y: float, width: float, height: float, css_class: str = GROUND) -> Markup:
    return element("rect", x=x, y=y, width=width, height=height, rx=6, class_=css_class)


def arrow(path: str) -> Markup:
    return element("path", d=path, class_="way", marker_end="url(#arrow)")


def badge(x: float, y: float, words: str) -> Markup:
    """A number in a circle."""
    return join(
        (
            element("circle", cx=x, cy=y, r=10, class_="badge"),
            text(x, y + 4, words, css_class="badge-ink", size=11, anchor="middle"),
        )
    )


def svg_picture(title: str, width: float, height: float, parts: Iterable[Markup]) -> str:
    """One line of markup, which Markdown leaves unchanged. It shrinks with the page and never grows."""
    arrow_head = element("path", d="M0,0 L8,4 L0,8 z", class_="tip")
    marker = element(
        "marker", arrow_head, id="arrow", viewBox="0 0 8 8", refX=7, refY=4, markerWidth=8, markerHeight=8, orient="auto"
    )
    svg = element(
        "svg",
        element("title", escape(title)),
        element("defs", marker),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        role="img",
        aria_label=title,
        style=f"max-width:{width:.0f}px",
    )
    return f'<div class="picture">{svg}</div>'
