"""Jinja2 templates for models. An undefined name is an error, never a blank."""

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
    """Text of the repository or its tools. It is cut first and fenced then, so that no cut can open its fence."""

    text: str


Piece = str | Untrusted

_BEGIN, _END = "\x02", "\x03"  # around a quoted text between template and pieces; a text that has them loses them
_GAP = "\x1e"
_MARKS = str.maketrans(_BEGIN + _END + _GAP, "   ")
_QUOTED = re.compile(f"{_BEGIN}(.*?){_END}", re.DOTALL)


class _Marked(str):
    """A text of ours that has marks in it."""

    __slots__ = ()


GAP = _Marked(_GAP)  # between two blocks of a message


def render(name: str, /, **values: object) -> str:
    """The template `name`.md.j2, filled in, without a newline at its end."""
    return _environment().get_template(f"{name}.md.j2").render(**values).rstrip("\n")


def render_pieces(name: str, /, **values: object) -> tuple[Piece, ...]:
    """The same in pieces: what stands as `{{ text | quoted }}` on a line of its own is foreign, all else is ours."""
    parts = _QUOTED.split(render(name, **values))
    last = len(parts) - 1
    ours = (part.removeprefix("\n" if at else "").removesuffix("\n" if at < last else "") for at, part in enumerate(parts))
    return tuple(Untrusted(parts[at]) if at % 2 else own for at, own in enumerate(ours) if own or at % 2)


def _quoted(text: str) -> _Marked:
    return _Marked(f"{_BEGIN}{text.translate(_MARKS)}{_END}")


def _plain(value: object) -> object:
    """What a template prints; no value has a mark of ours in it."""
    return value.translate(_MARKS) if isinstance(value, str) and not isinstance(value, _Marked) else value


def settings(package: str = "helmsman", folder: str = "prompts", finalize: Callable[[object], object] = _plain) -> dict[str, Any]:
    """Of an environment for our templates. Nothing is escaped: what is made is read by a model, not by a browser."""
    where = PackageLoader(package, folder)
    return {"loader": where, "undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True, "finalize": finalize}


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(**settings())  # noqa: S701 - see there
    filters: dict[str, Any] = {"quoted": _quoted, "inert": inert, "clean": clean, "clean_lines": clean_lines, "counted": plural}
    environment.filters.update(filters)
    return environment
