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
_REQUIRED_BY = re.compile(r"^ +# +(?:via )?([A-Za-z0-9._-]+)", re.MULTILINE)


def split_entries(lock: str) -> dict[str, str]:
    """Lines of each package by name, with the comment that names the packages that require it."""
    blocks = re.split(r"^(?=[A-Za-z0-9])", lock, flags=re.MULTILINE)
    return {_name(block): block for block in blocks if _NAME.match(block)}


def select(lock: str, roots: Iterable[str]) -> str:
    """Unchanged entries of the lock for these packages and their dependencies."""
    blocks = split_entries(lock)
    parents = {name: set(_REQUIRED_BY.findall(block)) - {"via"} for name, block in blocks.items()}
    selected = set(roots) & set(blocks)
    while added := {name for name in blocks if name not in selected and parents[name] & selected}:
        selected |= added
    return "".join(blocks[name] for name in blocks if name in selected)


def direct_dependencies(project: Mapping[str, Any], extras: Iterable[str]) -> set[str]:
    """Names of the package's direct dependencies, with those of its extras."""
    optional = {**project["optional-dependencies"], "build": BUILD}
    return {_name(text) for text in (*project["dependencies"], *(text for extra in extras for text in optional[extra]))}


def _name(text: str) -> str:
    match = _NAME.match(text)
    return re.sub(r"[-_.]+", "-", match[0]).lower() if match else ""


if __name__ == "__main__":
    pyproject = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    sys.stdout.write(select(sys.stdin.read(), direct_dependencies(pyproject["project"], sys.argv[1:])))
