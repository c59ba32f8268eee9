"""What the page is built of: marks, lists of facts, tables, foreign output."""

from collections.abc import Iterable, Sequence
from typing import Literal

from helmsman.render.charts import Kind
from helmsman.render.markup import NOTHING, Markup, element, escaped, escaped_lines, joined

OUTPUT_SHOWN = 6000
"""Characters of an output that the page holds; the record has more."""


def mark(text: str, kind: Kind | Literal["calm"]) -> Markup:
    """A word on a coloured ground; it says the same without the colour."""
    return element("span", escaped(text), class_=f"mark {kind}")


def code(text: str) -> Markup:
    return element("code", escaped(text))


def paragraph(*content: Markup, class_: str = "") -> Markup:
    return element("p", *content, **({"class_": class_} if class_ else {}))


def span(text: str, class_: str = "") -> Markup:
    """Text as an element of its own: a cell of a row, or a text with a look."""
    return element("span", escaped(text), **({"class_": class_} if class_ else {}))


def part(title: str, *content: Markup) -> Markup:
    """A part of an iteration's details; without content nothing, not even the title."""
    filled = [one for one in content if one]
    return joined([element("h3", escaped(title)), *filled]) if filled else NOTHING


def facts(pairs: Iterable[tuple[str, Markup]]) -> Markup:
    """Names and what is known of them; what is empty is left out."""
    rows = [joined([element("dt", escaped(name)), element("dd", value)]) for name, value in pairs if value]
    return element("dl", *rows) if rows else NOTHING


def table(heads: Sequence[str], rows: Iterable[Sequence[Markup]]) -> Markup:
    """A table; without rows nothing."""
    body = [element("tr", *(element("td", cell) for cell in row)) for row in rows]
    head = element("tr", *(element("th", escaped(name), scope="col") for name in heads))
    return element("table", element("thead", head), element("tbody", *body)) if body else NOTHING


def bullets(items: Iterable[Markup]) -> Markup:
    made = [element("li", item) for item in items]
    return element("ul", *made) if made else NOTHING


def output(text: str) -> Markup:
    """Foreign text of many lines as it was printed; of a long one its end, where the reason stands."""
    cut = text if len(text) <= OUTPUT_SHOWN else f"[{len(text) - OUTPUT_SHOWN:,} characters left out]\n{text[-OUTPUT_SHOWN:]}"
    return element("pre", escaped_lines(cut)) if text.strip() else NOTHING


def folded(title: str, *content: Markup) -> Markup:
    """What is shown when it is asked for; without content nothing."""
    filled = [one for one in content if one]
    return element("details", element("summary", escaped(title)), *filled) if filled else NOTHING
