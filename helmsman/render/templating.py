"""Templates of what people see. A name that is not filled in is an error, and every text is escaped unless it is markup already.

In HTML and SVG a text becomes one line of plain characters, in Markdown what `cells.prose` makes of it. What stands between
backticks in a text is shown as code.
"""

from functools import lru_cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from helmsman.plain import clean, clean_lines

OUTPUT_SHOWN = 6000
"""Characters of an output that a page holds; the record has more."""


def render_html(name: str, /, **values: object) -> Markup:
    """The template `name`.html.j2 or `name`.svg.j2, filled in."""
    return Markup(_html().get_template(f"{name}.j2").render(**values))  # noqa: S704 - a template escapes what it is given


def with_code(text: str) -> Markup:
    """A text in which every second piece between backticks is code; a backtick without another one is itself."""
    pieces = clean(text).split("`")
    if len(pieces) % 2 == 0:
        pieces[-2:] = ["`".join(pieces[-2:])]
    made = (escape(piece) if at % 2 == 0 else Markup("<code>{}</code>").format(piece) for at, piece in enumerate(pieces))
    return Markup("").join(made)


def output(text: str) -> Markup:
    """Foreign text of many lines as it was printed; of a long one its end, where the reason stands."""
    cut = text if len(text) <= OUTPUT_SHOWN else f"[{len(text) - OUTPUT_SHOWN:,} characters left out]\n{text[-OUTPUT_SHOWN:]}"
    return Markup("<pre>{}</pre>").format(Markup(escape(clean_lines(cut)))) if text.strip() else Markup()  # noqa: S704 - escaped


def _shown(value: object) -> object:
    """What a template prints: a coordinate has one decimal, a text is one line and moves no cursor."""
    if isinstance(value, float):
        return f"{value:.1f}".removesuffix(".0")
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@lru_cache(maxsize=1)
def _html() -> Environment:
    environment = Environment(
        loader=PackageLoader("helmsman.render", "templates"),
        undefined=StrictUndefined,
        autoescape=True,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"with_code": with_code, "output": output}
    return environment
