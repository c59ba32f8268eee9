"""Templates for people. An undefined name is an error, and every text is escaped unless it is markup already.

In HTML and SVG a text becomes one line of plain characters, in Markdown the result of `markdown_page.prose`. Text between
backticks is shown as code.
"""

import json
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from jinja2 import Environment
from markupsafe import Markup, escape

from helmsman.plain import LONGEST_LINE, clean, clean_lines, in_plain_words
from helmsman.prompts import settings
from helmsman.records.control import short_level
from helmsman.render.facts import as_code, checks_kind
from helmsman.render.markdown_page import by_backticks, cell, code, fence, prose
from helmsman.texts import format_dollars, format_duration, format_money, format_tool_calls, merged_text, plural

OUTPUT_SHOWN = 6000  # characters of an output in a page; the record has more
_HERE = "helmsman.render", "templates"
_GAP = Markup("\x1e")  # between two paragraphs of Markdown


def render_html(name: str, /, **values: object) -> Markup:
    """Render the template `name`.html.j2 or `name`.svg.j2."""
    return Markup(_html_environment().get_template(f"{name}.j2").render(**values))  # noqa: S704 - templates escape their values


def with_code(text: str) -> Markup:
    """Format text between backticks as code."""
    pieces = enumerate(by_backticks(clean(text)))
    return Markup("").join(Markup("<code>{}</code>").format(piece) if at % 2 else escape(piece) for at, piece in pieces)


def output(text: str) -> Markup:
    """Untrusted text of several lines as preformatted text; only the end of a long one, which has the reason."""
    cut = text if len(text) <= OUTPUT_SHOWN else f"[{len(text) - OUTPUT_SHOWN:,} characters omitted]\n{text[-OUTPUT_SHOWN:]}"
    return Markup("<pre>{}</pre>").format(Markup(escape(clean_lines(cut)))) if text.strip() else Markup()  # noqa: S704 - escaped


def _printed_value(value: object) -> object:
    """Value as printed in a template: a coordinate with one decimal, a text as one line without control characters."""
    if isinstance(value, float):
        return f"{value:.1f}".removesuffix(".0")
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def render_markdown(name: str, /, **values: object) -> str:
    """Render the template `name`.md.j2 without empty paragraphs; the template separates paragraphs with `gap`."""
    text = _markdown_environment().get_template(f"{name}.md.j2").render(gap=_GAP, **values)
    return "\n\n".join(filter(None, (paragraph.strip("\n") for paragraph in text.split(_GAP))))


def trusted(text: str) -> str:
    """Trusted text, or Markdown already."""
    return text.replace(_GAP, " ")


def without_ticks(text: str, most: int = LONGEST_LINE) -> str:
    """Untrusted text without backticks."""
    return prose(text.replace("`", "'"), most)


@lru_cache(maxsize=1)
def _markdown_environment() -> Environment:

    def as_markup(function: Callable[..., str]) -> Callable[..., Markup]:
        return lambda *arguments: Markup(function(*arguments))  # noqa: S704 - its result is harmless

    def escape_untrusted(value: object) -> object:
        """Escape a text that no filter has turned into Markdown: it is untrusted."""
        return as_markup(prose)(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    environment = Environment(**settings(*_HERE, escape_untrusted), autoescape=True)
    filters: dict[str, Callable[..., str]] = {
        function.__name__: function for function in (prose, code, cell, fence, trusted, without_ticks)
    }
    filters["moment"] = "{:%Y-%m-%d %H:%M} UTC".format
    filters_and_functions: dict[str, Any] = {name: as_markup(function) for name, function in filters.items()} | {
        "plural": plural,
        "format_duration": format_duration,
    }
    environment.filters.update(filters_and_functions)
    return environment


@lru_cache(maxsize=1)
def _html_environment() -> Environment:
    environment = Environment(**settings(*_HERE, _printed_value), autoescape=True)
    words = (plural, format_dollars, format_duration, merged_text, format_money, format_tool_calls)
    plain = (with_code, output, as_code, checks_kind, in_plain_words, short_level)
    filters: dict[str, Any] = {function.__name__: function for function in (*words, *plain)}
    environment.filters.update(filters | {"as_json": partial(json.dumps, default=str)})
    return environment
