"""Markup as a separate type: only `escaped` turns text into markup, so that pyright finds what was forgotten."""

import html
from collections.abc import Iterable
from typing import NewType

from helmsman.plain import clean, clean_lines

Markup = NewType("Markup", str)
"""HTML or SVG, created only by the functions here."""

NOTHING = Markup("")


def escaped(text: str) -> Markup:
    """Foreign text for an element or an attribute: one line, without markup and control characters, which XML does not allow."""
    return Markup(html.escape(clean(text)))


def escaped_lines(text: str) -> Markup:
    """Like `escaped`, for several lines."""
    return Markup(html.escape(clean_lines(text)))


def element(tag: str, *content: Markup, **attributes: str | float) -> Markup:
    """One HTML or SVG element. Escapes attributes; `text_anchor` and `class_` become the names of markup."""
    return Markup(f"{opening(tag, **attributes)}{''.join(content)}</{tag}>")


def opening(tag: str, **attributes: str | float) -> Markup:
    """The start tag; the complete element if it has no content."""
    given = "".join(f' {_spelled(key)}="{_value(value)}"' for key, value in attributes.items())
    return Markup(f"<{tag}{given}>")


def joined(parts: Iterable[Markup]) -> Markup:
    return Markup("".join(parts))


def _spelled(key: str) -> str:
    return key if key == "viewBox" else key.rstrip("_").replace("_", "-")


def _value(value: str | float) -> str:
    return escaped(value) if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
