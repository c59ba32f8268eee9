"""Markup as a separate type: only `escape` turns text into markup, so pyright finds text that is not escaped."""

import html
from collections.abc import Iterable
from typing import NewType

from helmsman.plain import clean

Markup = NewType("Markup", str)
"""HTML or SVG, created only by the functions here."""

NOTHING = Markup("")


def escape(text: str) -> Markup:
    """Foreign text for an element or an attribute: one line, without markup and control characters, which XML does not allow."""
    return Markup(html.escape(clean(text)))


def element(tag: str, *content: Markup, **attributes: str | float) -> Markup:
    """One HTML or SVG element. Escapes attributes; `text_anchor` and `class_` become the names of markup."""
    return Markup(f"{start_tag(tag, **attributes)}{''.join(content)}</{tag}>")


def start_tag(tag: str, **attributes: str | float) -> Markup:
    """The start tag; the complete element if it has no content."""
    pairs = "".join(f' {_attribute_name(key)}="{_attribute_value(value)}"' for key, value in attributes.items())
    return Markup(f"<{tag}{pairs}>")


def join(parts: Iterable[Markup]) -> Markup:
    return Markup("".join(parts))


def _attribute_name(key: str) -> str:
    return key if key == "viewBox" else key.rstrip("_").replace("_", "-")


def _attribute_value(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
