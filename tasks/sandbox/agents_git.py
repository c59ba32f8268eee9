"""The repository that a check sees before the agent's end: what the agent has committed is in its box, and nowhere else yet."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from helmsman.sandbox.box import AGENTS_OBJECTS, Mount
from tasks.beneath import read_beneath
from tasks.sandbox.own_git import BORROWED, OwnGit

LONGEST_HEAD = 255
LARGEST = 256 * 1024 * 1024
MOST_SHARED = 8
"""Parts of a split index. Git removes old ones; whoever plants thousands shall not keep us copying."""
_PART = r"[\w@+-][\w.@+-]*"
_HEAD = re.compile(rf"(?:ref: (refs/heads/{_PART}(?:/{_PART})*)|[0-9a-f]{{40,64}})\n?")


def as_the_agent_left_it(git: OwnGit, agents: Path) -> Iterator[Mount]:
    """Lay the agent's HEAD, branch and index over a check's own repository, and lend it the agent's objects.

    Only plain files below the agent's folder are copied, and what they say is read inside the box alone. No setting is taken.
    """
    head = (read_beneath(agents, "HEAD", LONGEST_HEAD) or b"").decode(errors="replace")
    found = _HEAD.fullmatch(head)
    if found is None:
        return
    shared = [path.name for path in islice(agents.glob("sharedindex.*"), MOST_SHARED)]
    for name in ("HEAD", "packed-refs", "index", *shared, *((found[1],) if found[1] else ())):
        content = read_beneath(agents, name, LARGEST)
        if content is not None:
            (git.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (git.folder / name).write_bytes(content)
    with (git.folder / BORROWED / "alternates").open("a") as alternates:
        alternates.write(f"{AGENTS_OBJECTS}\n")
    yield Mount(AGENTS_OBJECTS, "read", str(agents / "objects"))
