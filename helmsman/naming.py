"""Names: those made from what people wrote, and what the name of a branch may be."""

import re
import textwrap
import unicodedata

LONGEST_SLUG = 32
PLAIN_NAME = r"^[a-z0-9]+(-[a-z0-9]+)*$"
"""Safe as part of a ref, a file, a key in Prefect and a line that a shell reads."""
LOOP_ID = PLAIN_NAME
LONGEST_BRANCH = 200
OWN_BRANCHES = "helmsman/"
"""Branches of loops begin so."""

_NOT_IN_BRANCHES = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock/")
"""What git itself allows in no ref."""


def loop_id(goal: str, suffix: str) -> str:
    """A short id that reads like the goal: its first words, and a suffix that makes it unique."""
    plain = unicodedata.normalize("NFKD", goal).encode("ascii", "ignore").decode().lower()
    lines = textwrap.wrap(" ".join(re.findall(r"[a-z0-9]+", plain)), LONGEST_SLUG) or ["loop"]
    return f"{lines[0].replace(' ', '-')}-{suffix}"


def is_branch(name: str) -> bool:
    """Whether git would take it as the name of a branch, and a terminal shows it as it is."""
    within = 0 < len(name) <= LONGEST_BRANCH and name.isprintable()
    ends = name.startswith(("-", ".", "/")) or name.endswith((".lock", ".", "/")) or name in {"@", "HEAD"}
    return within and not ends and not _NOT_IN_BRANCHES.search(name)
