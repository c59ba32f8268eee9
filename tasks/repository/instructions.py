"""Read what a loop is ordered to do: configuration, rubric, guides for agents, guard rails, specifications."""

import re
from contextlib import suppress
from itertools import islice
from pathlib import Path

from helmsman.config import LoopConfig
from helmsman.oversee.conflicts import MOST_ORDERS
from helmsman.oversee.imperatives import imperatives
from helmsman.records.control import Imperative
from tasks.system.files import read_within

MOST_FILES = 50
LARGEST_FILE = 200_000  # bytes of a file that are read
_FIRST = ("RUBRIC.md", "AGENTS.md", "CLAUDE.md", ".helmsman/guardrails.md")
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


def _files(worktree: Path, goal: str) -> list[str]:
    """Files by the names that they are cited by; each once, none outside of the worktree."""
    named = (found[0].removeprefix("./") for found in islice(_DOCUMENT.finditer(goal), MOST_FILES))
    specs = islice(sorted(f"specs/{path.name}" for path in (worktree / "specs").glob("*.md")), MOST_FILES)
    found = dict[Path, str]()
    for name in (*_FIRST, *named, *specs):
        with suppress(OSError, RuntimeError, ValueError):  # no such file, a loop of links, a zero byte
            path = (worktree / name).resolve(strict=True)
            if path.is_relative_to(worktree.resolve()) and path.is_file():
                found.setdefault(path, name)
    return list(found.values())[:MOST_FILES]
