"""Templates of what people see. A name that is not filled in is an error, and every text is escaped unless it is markup already.

In HTML and SVG a text becomes one line of plain characters, in Markdown what `cells.prose` makes of it. What stands between
backticks in a text is shown as code.
"""

import json
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from jinja2 import Environment
from markupsafe import Markup, escape

from helmsman.plain import LONGEST_LINE, clean, clean_lines, spelled
from helmsman.prompts import settings
from helmsman.records.control import short_level
from helmsman.render.facts import checks_kind, coded
from helmsman.render.markdown_page import by_backticks, cell, code, fence, prose
from helmsman.texts import duration, format_dollars, format_tool_calls, merged_text, money, plural

OUTPUT_SHOWN = 6000  # characters of an output that a page holds; the record has more
_HERE = "helmsman.render", "templates"
_GAP = Markup("\x1e")  # between two paragraphs of Markdown


def render_html(name: str, /, **values: object) -> Markup:
    """The template `name`.html.j2 or `name`.svg.j2, filled in."""
    return Markup(_html().get_template(f"{name}.j2").render(**values))  # noqa: S704 - a template escapes what it is given


def with_code(text: str) -> Markup:
    """A text with what stands between backticks as code."""
    pieces = enumerate(by_backticks(clean(text)))
    return Markup("").join(Markup("<code>{}</code>").format(one) if at % 2 else escape(one) for at, one in pieces)


def output(text: str) -> Markup:
    """Foreign text of many lines as it was printed; of a long one its end, where the reason stands."""
    cut = text if len(text) <= OUTPUT_SHOWN else f"[{len(text) - OUTPUT_SHOWN:,} characters left out]\n{text[-OUTPUT_SHOWN:]}"
    return Markup("<pre>{}</pre>").format(Markup(escape(clean_lines(cut)))) if text.strip() else Markup()  # noqa: S704 - escaped


def _shown(value: object) -> object:
    """What a template prints: a coordinate has one decimal, a text is one line and moves no cursor."""
    if isinstance(value, float):
        return f"{value:.1f}".removesuffix(".0")
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def render_markdown(name: str, /, **values: object) -> str:
    """The template `name`.md.j2: its paragraphs, between which it prints `gap`, without those that say nothing."""
    text = _markdown().get_template(f"{name}.md.j2").render(gap=_GAP, **values)
    return "\n\n".join(filter(None, (paragraph.strip("\n") for paragraph in text.split(_GAP))))


def own(text: str) -> str:
    """Our own words, or what is Markdown already."""
    return text.replace(_GAP, " ")


def quoted(text: str, most: int = LONGEST_LINE) -> str:
    """Foreign text whose backticks would stand there as they are."""
    return prose(text.replace("`", "'"), most)


@lru_cache(maxsize=1)
def _markdown() -> Environment:

    def made(of: Callable[..., str]) -> Callable[..., Markup]:
        return lambda *given: Markup(of(*given))  # noqa: S704 - what it makes is harmless

    def printed(value: object) -> object:
        """A text that no filter has made Markdown of is foreign."""
        return made(prose)(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    environment = Environment(**settings(*_HERE, printed), autoescape=True)
    filters: dict[str, Callable[..., str]] = {of.__name__: of for of in (prose, code, cell, fence, own, quoted)}
    filters["moment"] = "{:%Y-%m-%d %H:%M} UTC".format
    known: dict[str, Any] = {name: made(of) for name, of in filters.items()} | {"plural": plural, "duration": duration}
    environment.filters.update(known)
    return environment


@lru_cache(maxsize=1)
def _html() -> Environment:
    environment = Environment(**settings(*_HERE, _shown), autoescape=True)
    words = (plural, format_dollars, duration, merged_text, money, format_tool_calls)
    plain = (with_code, output, coded, checks_kind, spelled, short_level)
    known: dict[str, Any] = {of.__name__: of for of in (*words, *plain)}
    environment.filters.update(known | {"as_json": partial(json.dumps, default=str)})
    return environment
