"""Read a loop's instructions: configuration, rubric, guides for agents, guard rails, specifications."""

import re
from contextlib import suppress
from itertools import islice
from pathlib import Path

from helmsman.config import LoopConfig
from helmsman.oversee.conflicts import MOST_ORDERS
from helmsman.oversee.imperatives import read_imperatives
from helmsman.records.control import Imperative
from tasks.system.files import read_within

MOST_FILES = 50
LARGEST_FILE = 200_000  # maximum bytes of a file to read
_FIRST = ("RUBRIC.md", "AGENTS.md", "CLAUDE.md", ".helmsman/guardrails.md")
_DOCUMENT = re.compile(r"[\w./-]{1,200}\.(?:md|rst|txt)\b")


def read_instructions(worktree: Path, config: LoopConfig) -> tuple[Imperative, ...]:
    """Instructions for the loop, the goal's first. Skips unreadable files; never raises."""
    instructions = list(read_imperatives("goal", config.goal))
    for criterion in config.judge.criteria:
        instructions += read_imperatives(f"criteria {criterion.id}", criterion.text)
    for name in _list_files(worktree, config.goal):
        text = read_within(worktree, name, LARGEST_FILE) or b""
        instructions += read_imperatives(name, text.decode("utf-8-sig", "replace"))
    return tuple(instructions[:MOST_ORDERS])


def _list_files(worktree: Path, goal: str) -> list[str]:
    """Names of instruction files, as cited; each file once, none outside of the worktree."""
    cited = (found[0].removeprefix("./") for found in islice(_DOCUMENT.finditer(goal), MOST_FILES))
    specs = islice(sorted(f"specs/{path.name}" for path in (worktree / "specs").glob("*.md")), MOST_FILES)
    found = dict[Path, str]()
    for name in (*_FIRST, *cited, *specs):
        with suppress(OSError, RuntimeError, ValueError):  # no such file, a loop of links, a zero byte
            path = (worktree / name).resolve(strict=True)
            if path.is_relative_to(worktree.resolve()) and path.is_file():
                found.setdefault(path, name)
    return list(found.values())[:MOST_FILES]
