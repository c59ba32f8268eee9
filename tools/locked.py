"""The part of the lock that these extras need: `python locked.py EXTRA... < requirements.lock`. Standard library alone."""

import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

BUILD = ("hatchling", "editables")
"""In place of an extra: what installs the checkout, as a wheel or in place, so that nothing is fetched that is not locked."""
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_VIA = re.compile(r"^ +# +(?:via )?([A-Za-z0-9._-]+)", re.MULTILINE)


def entries(lock: str) -> dict[str, str]:
    """Each package's lines, with the comment that tells who wants it, by its name."""
    blocks = re.split(r"^(?=[A-Za-z0-9])", lock, flags=re.MULTILINE)
    return {_name(block): block for block in blocks if _NAME.match(block)}


def needed(lock: str, roots: Iterable[str]) -> str:
    """The lock's entries for these packages and all that they bring along, as they stand there."""
    every = entries(lock)
    parents = {name: set(_VIA.findall(block)) - {"via"} for name, block in every.items()}
    kept = set(roots) & set(every)
    while more := {name for name in every if name not in kept and parents[name] & kept}:
        kept |= more
    return "".join(every[name] for name in every if name in kept)


def roots(project: Mapping[str, Any], extras: Iterable[str]) -> set[str]:
    """Names of what the package needs itself, with these of its extras."""
    optional = {**project["optional-dependencies"], "build": BUILD}
    return {_name(text) for text in (*project["dependencies"], *(text for extra in extras for text in optional[extra]))}


def _name(text: str) -> str:
    match = _NAME.match(text)
    return re.sub(r"[-_.]+", "-", match[0]).lower() if match else ""


if __name__ == "__main__":
    described = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    sys.stdout.write(needed(sys.stdin.read(), roots(described["project"], sys.argv[1:])))
