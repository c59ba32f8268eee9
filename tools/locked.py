"""Print the part of the lock for some extras: `python locked.py EXTRA... < requirements.lock`. Standard library only."""

import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

BUILD = ("hatchling", "editables")
"""Instead of an extra: the tools that install the checkout, as a wheel or in place, so that only locked packages are fetched."""
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_VIA = re.compile(r"^ +# +(?:via )?([A-Za-z0-9._-]+)", re.MULTILINE)


def entries(lock: str) -> dict[str, str]:
    """Lines of each package by name, with the comment that names the packages that require it."""
    blocks = re.split(r"^(?=[A-Za-z0-9])", lock, flags=re.MULTILINE)
    return {_name(block): block for block in blocks if _NAME.match(block)}


def needed(lock: str, roots: Iterable[str]) -> str:
    """Unchanged entries of the lock for these packages and their dependencies."""
    every = entries(lock)
    parents = {name: set(_VIA.findall(block)) - {"via"} for name, block in every.items()}
    kept = set(roots) & set(every)
    while more := {name for name in every if name not in kept and parents[name] & kept}:
        kept |= more
    return "".join(every[name] for name in every if name in kept)


def roots(project: Mapping[str, Any], extras: Iterable[str]) -> set[str]:
    """Names of the package's direct dependencies, with those of its extras."""
    optional = {**project["optional-dependencies"], "build": BUILD}
    return {_name(text) for text in (*project["dependencies"], *(text for extra in extras for text in optional[extra]))}


def _name(text: str) -> str:
    match = _NAME.match(text)
    return re.sub(r"[-_.]+", "-", match[0]).lower() if match else ""


if __name__ == "__main__":
    described = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    sys.stdout.write(needed(sys.stdin.read(), roots(described["project"], sys.argv[1:])))
