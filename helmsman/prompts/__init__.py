"""Jinja2 templates for models. An undefined name is an error."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from helmsman.plain import clean, clean_lines, inert
from helmsman.texts import plural


@dataclass(frozen=True)
class Untrusted:
    """Text of the repository or its tools. It is cut before it is fenced, so that no cut can break its fence."""

    text: str


Piece = str | Untrusted

_BEGIN, _END = "\x02", "\x03"  # mark quoted text between template and pieces; removed from values
_GAP = "\x1e"
_MARKS = str.maketrans(_BEGIN + _END + _GAP, "   ")
_QUOTED_TEXT = re.compile(f"{_BEGIN}(.*?){_END}", re.DOTALL)


class _Marked(str):
    """Trusted text that contains marks."""

    __slots__ = ()


GAP = _Marked(_GAP)  # between two blocks of a message


def render(name: str, /, **values: object) -> str:
    """Render the template `name`.md.j2 without a trailing newline."""
    return _environment().get_template(f"{name}.md.j2").render(**values).rstrip("\n")


def render_pieces(name: str, /, **values: object) -> tuple[Piece, ...]:
    """Render a template as pieces: `{{ text | quoted }}` on its own line is untrusted, all else is trusted."""
    parts = _QUOTED_TEXT.split(render(name, **values))
    last = len(parts) - 1
    trusted = (part.removeprefix("\n" if at else "").removesuffix("\n" if at < last else "") for at, part in enumerate(parts))
    return tuple(Untrusted(parts[at]) if at % 2 else text for at, text in enumerate(trusted) if text or at % 2)


def _mark_quoted(text: str) -> _Marked:
    return _Marked(f"{_BEGIN}{text.translate(_MARKS)}{_END}")


def _without_marks(value: object) -> object:
    """Value for a template, without marks."""
    return value.translate(_MARKS) if isinstance(value, str) and not isinstance(value, _Marked) else value


def settings(
    package: str = "helmsman", folder: str = "prompts", finalize: Callable[[object], object] = _without_marks
) -> dict[str, Any]:
    """Options of a Jinja environment for Helmsman's templates. Nothing is escaped: a model reads the result, not a browser."""
    loader = PackageLoader(package, folder)
    return {"loader": loader, "undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True, "finalize": finalize}


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(**settings())  # noqa: S701 - see there
    filters: dict[str, Any] = {
        "quoted": _mark_quoted,
        "inert": inert,
        "clean": clean,
        "clean_lines": clean_lines,
        "counted": plural,
    }
    environment.filters.update(filters)
    return environment
