"""Names derived from people's texts, and valid names of branches."""

import re
import textwrap
import unicodedata

LONGEST_SLUG = 32
PLAIN_NAME = r"^[a-z0-9]+(-[a-z0-9]+)*$"
"""Safe in refs, file names, Prefect keys and shell commands."""
LOOP_ID = PLAIN_NAME
LONGEST_BRANCH = 200
OWN_BRANCHES = "helmsman/"
"""Prefix of the branches of loops."""

_NOT_IN_BRANCHES = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock/")
"""Characters and sequences that git forbids in refs."""


def loop_id(goal: str, suffix: str) -> str:
    """A short readable id: the goal's first words, and a suffix that makes it unique."""
    ascii_goal = unicodedata.normalize("NFKD", goal).encode("ascii", "ignore").decode().lower()
    lines = textwrap.wrap(" ".join(re.findall(r"[a-z0-9]+", ascii_goal)), LONGEST_SLUG) or ["loop"]
    return f"{lines[0].replace(' ', '-')}-{suffix}"


def is_branch(name: str) -> bool:
    """Whether git accepts a name for a branch, and a terminal shows it unchanged."""
    has_valid_length = 0 < len(name) <= LONGEST_BRANCH and name.isprintable()
    has_invalid_end = name.startswith(("-", ".", "/")) or name.endswith((".lock", ".", "/")) or name in {"@", "HEAD"}
    return has_valid_length and not has_invalid_end and not _NOT_IN_BRANCHES.search(name)
