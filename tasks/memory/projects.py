"""Which store is meant, and which project a repository is of: the same for every clone and worktree."""

from functools import lru_cache
from pathlib import Path

from helmsman.errors import OperatorError, TransientError
from tasks.repository.git import Repository, git, succeeds
from tasks.system.environment import ours
from tasks.system.paths import helmsman_folder, state_home

URL = "HELMSMAN_MEMORY_URL"  # wins over memory.url, and may hold a password
FILE = "sqlite:///"
LENGTH = 16  # characters of the id: enough that no two projects of anybody share one
WRITTEN_DOWN = "project-2"
"""Not `project`: an earlier version wrote a wrong one there, of whatever root was the smallest, be it a loop's own state."""


def chosen_url(configured: str) -> str:
    """Where the memory is, given what the configuration says; empty: in this user's own file."""
    return ours().get(URL) or configured


def is_server(url: str) -> bool:
    return bool(url) and not url.startswith("sqlite:")


def file_of(url: str) -> Path:
    """The file that a URL names, which is no server's. Raises TransientError."""
    if not url:
        return state_home() / "memory" / "memory.db"
    named = Path(url.removeprefix(FILE)).expanduser()
    if not url.startswith(FILE) or not named.is_absolute() or "?" in url or "\x00" in url:
        raise TransientError(
            "memory.url names no file",
            expected="four slashes and a whole path, as sqlite:////folder/memory.db",
            found=repr(url)[:200],
            remedy="set it by HELMSMAN_MEMORY__URL",
        )
    return named


@lru_cache(maxsize=64)
def project_of(repository: Repository) -> str:
    """The beginning of the first commit's id, of several first ones the smallest. A shallow clone is a project of its own.

    Written down beside the loops: to find the first of a million commits takes seconds. Of the work alone: the states of loops
    and what `git stash` keeps begin with a commit of their own. A bare repository may point to a branch that is not there, while
    its worktrees have others. Raises OperatorError where there is no commit.
    """
    common = repository.common
    known = helmsman_folder(common) / WRITTEN_DOWN
    try:
        text = known.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        text = ""
    if len(text) == LENGTH and set(text) <= set("0123456789abcdef"):
        return text
    work = ("HEAD",) if succeeds(common, "rev-parse", "--verify", "--quiet", "HEAD^{commit}") else ("--branches", "--remotes")
    roots = git(common, "rev-list", "--max-parents=0", *work).split()
    if not roots:
        raise OperatorError("the project has no first commit to be known by", found=str(common), remedy="make a commit")
    found = min(roots)[:LENGTH]
    known.parent.mkdir(parents=True, exist_ok=True)
    known.write_text(f"{found}\n", encoding="ascii")
    return found
