"""Read what a loop is ordered to do: configuration, rubric, guides for agents, guard rails, specifications."""

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from helmsman.config import LoopConfig
from helmsman.oversee.conflicts import MOST_ORDERS
from helmsman.oversee.imperatives import imperatives
from helmsman.records.control import Imperative
from tasks.system.files import read_within

MOST_FILES = 50
LARGEST_FILE = 200_000
"""Bytes of a file that are read."""
MOST_FOLDERS = 2000
"""Folders that are searched for further guides."""
_GUIDES = ("AGENTS.md", "CLAUDE.md")
_FIRST = ("RUBRIC.md", *_GUIDES, ".helmsman/guardrails.md")
_FOREIGN = frozenset({"node_modules", "vendor", "third_party", "dist", "build", "target", "venv", "__pycache__"})
"""Folders whose guides are for somebody else's work."""
_DOCUMENT = re.compile(r"[\w./-]{1,200}\.(?:md|rst|txt)\b")


def read_orders(worktree: Path, config: LoopConfig) -> tuple[Imperative, ...]:
    """Every order that the loop is under, the goal's first. What cannot be read is left out; nothing raises."""
    found = list(imperatives("goal", config.goal))
    for criterion in config.judge.criteria:
        found += imperatives(f"criteria {criterion.id}", criterion.text)
    for name in _files(worktree, config.goal):
        text = read_within(worktree, name, LARGEST_FILE) or b""
        found += imperatives(name, text.decode("utf-8-sig", "replace"))
    return tuple(found[:MOST_ORDERS])


def _files(worktree: Path, goal: str) -> Iterator[str]:
    """Files by the names that they are cited by; each once, none outside of the worktree."""
    root = _resolved(worktree)
    if root is None:
        return
    seen: set[Path] = set()
    for name in islice(dict.fromkeys(_names(root, goal)), 4 * MOST_FILES):
        path = _resolved(root / name)
        if path is None or path in seen or not path.is_relative_to(root) or not path.is_file():
            continue
        seen.add(path)
        yield name
        if len(seen) == MOST_FILES:
            return


def _names(root: Path, goal: str) -> Iterator[str]:
    yield from _FIRST
    yield from (found[0].removeprefix("./") for found in islice(_DOCUMENT.finditer(goal), MOST_FILES))
    yield from islice(sorted(f"specs/{path.name}" for path in (root / "specs").glob("*.md")), MOST_FILES)
    for folder, folders, files in islice(os.walk(root), MOST_FOLDERS):  # links to folders are not followed
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _FOREIGN)
        here = Path(folder).relative_to(root)
        yield from (str(here / name) for name in _GUIDES if name in files)


def _resolved(path: Path) -> Path | None:
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):  # no such file, a loop of links, a zero byte
        return None
