"""Jinja2 templates for models, unbreakable fences of untrusted text, and visible cuts. An undefined name is an error."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from helmsman.plain import clean, clean_lines, inert
from helmsman.texts import plural
from helmsman.tokens import fits, tokens, trim

_FENCED = re.compile(r"^(`{3,})\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)
_LEFT_OUT = "(left out: it does not fit)"


def render(name: str, /, **values: object) -> str:
    """Render the template `name`.md.j2 without a trailing newline. `{{ text | quoted }}` fences untrusted text."""
    return _environment().get_template(f"{name}.md.j2").render(**values).rstrip("\n")


def fence(text: str) -> str:
    """Fence untrusted text; the fence is longer than any run of backticks inside, so nothing in the text can end it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}\n{text.rstrip()}\n{ticks}"


def fit(text: str, allowance: int) -> str:
    """Cut a text to an allowance of tokens: fenced texts in equal shares of what the others leave; unused shares go to the next.

    Text outside of fences is trusted and stays whole; only if it exceeds the allowance, its middle is cut and the rest omitted.
    """
    if fits(text, allowance):
        return text
    result, *pieces = _FENCED.split(text)  # trusted text, then in turn ticks of a fence, text in it, trusted text
    own = "\n".join(filter(None, (part.strip("\n") for part in (result, *pieces[2::3]))))
    room = allowance - tokens(own)
    if room < 0:
        return trim(own, allowance)
    remaining = len(pieces) // 3
    for quoted, trusted in zip(pieces[1::3], pieces[2::3], strict=True):
        quotation = _quote(quoted, room // remaining - tokens("\n"))
        room, remaining = room - tokens(f"\n{quotation}"), remaining - 1
        result += quotation + trusted
    return result.strip("\n")


def whole_parts(text: str, allowance: int) -> str:
    """The text up to the first trusted part that does not fit: half an instruction would mean something else."""
    ends = [match.end() for match in _FENCED.finditer(text)]
    while ends and tokens(_FENCED.sub("", text)) > allowance:
        text = text[: ends.pop()]
    return text


def _quote(text: str, room: int) -> str:
    """A fenced text of at most `room` tokens."""
    fenced = fence(text)
    if fits(fenced, room):
        return fenced
    ticks = fenced.partition("\n")[0]
    cut = trim(text.rstrip(), room - 2 * tokens(f"{ticks}\n"))
    if cut:
        return fence(cut)
    return _LEFT_OUT if tokens(_LEFT_OUT) <= room else ""


def settings(
    package: str = "helmsman", folder: str = "prompts", finalize: Callable[[object], object] | None = None
) -> dict[str, Any]:
    """Options of a Jinja environment for Helmsman's templates. Nothing is escaped: a model reads the result, not a browser."""
    loader = PackageLoader(package, folder)
    return {"loader": loader, "undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True, "finalize": finalize}


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(**settings())  # noqa: S701 - see there
    filters: dict[str, Any] = {"quoted": fence, "inert": inert, "clean": clean, "clean_lines": clean_lines, "counted": plural}
    environment.filters.update(filters)
    return environment
