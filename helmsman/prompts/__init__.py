"""Jinja2 templates for models. An undefined name is an error."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from helmsman.plain import clean, clean_lines, inert
from helmsman.texts import plural


def render(name: str, /, **values: object) -> str:
    """Render the template `name`.md.j2 without a trailing newline. `{{ text | quoted }}` fences untrusted text."""
    return _environment().get_template(f"{name}.md.j2").render(**values).rstrip("\n")


def fence(text: str) -> str:
    """Fence untrusted text; the fence is longer than any run of backticks inside, so nothing in the text can end it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}\n{text.rstrip()}\n{ticks}"


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
