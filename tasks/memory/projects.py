"""Which project a repository is of: the same for every clone and worktree."""

from functools import lru_cache
from pathlib import Path

from tasks.git import Repository, git

LENGTH = 16
"""Characters of the id: enough that no two projects of anybody share one."""


def project_of(repository: Repository) -> str:
    """The beginning of the first commit's id, of several first ones the smallest. A shallow clone is a project of its own."""
    return _project(repository.common)


@lru_cache(maxsize=64)
def _project(common: Path) -> str:
    """Written down beside the loops: to find the first of a million commits takes seconds."""
    known = common / "helmsman" / "project"
    try:
        text = known.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        text = ""
    if len(text) == LENGTH and set(text) <= set("0123456789abcdef"):
        return text
    roots = git(common, "rev-list", "--max-parents=0", "--all").split()
    found = min(roots)[:LENGTH]
    known.parent.mkdir(parents=True, exist_ok=True)
    known.write_text(f"{found}\n", encoding="ascii")
    return found
