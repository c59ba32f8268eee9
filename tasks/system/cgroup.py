"""Cgroups of commands, where this user may make one: below our own, named after the tag of the command.

Only version 2 can end a whole group at once. A container's root and a user's systemd session may make some; in an ordinary
SSH session or Docker container the folder belongs to somebody else, and the supervisor does without.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, unquote

from tasks.system.supervisor import KILL_SECONDS, kill_cgroup, remove

_PREFIX = "helmsman-"
_POLL = 0.01


def make_cgroup(tag: str) -> Path | None:
    """An empty one; None where none can be had."""
    mount = _mount()
    if mount is None:
        return None
    with suppress(OSError, ValueError):
        return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{quote(tag, safe='')}.", dir=mount[0] / _own(mount[1])))
    return None


def cgroups() -> Iterator[tuple[str, Path]]:
    """Tag and folder of every cgroup of a command, whoever made it."""
    mount = _mount()
    for folder, names, _ in os.walk(mount[0]) if mount else ():
        for name in names:
            if name.startswith(_PREFIX):
                yield unquote(name.removeprefix(_PREFIX).rpartition(".")[0]), Path(folder, name)


def members(cgroup: Path) -> set[int]:
    """Pids of everybody in it and below."""
    found: set[int] = set()
    for folder, _, _ in os.walk(cgroup):
        with suppress(OSError):
            found.update(map(int, Path(folder, "cgroup.procs").read_text(encoding="ascii").split()))
    return found


def end_cgroup(cgroup: Path | None) -> set[int]:
    """Kill everybody in it, and remove it when they are gone. Returns whom there were."""
    if cgroup is None:
        return set()
    found = members(cgroup)
    until = time.monotonic() + KILL_SECONDS
    while members(cgroup) and time.monotonic() < until:
        kill_cgroup(str(cgroup))
        time.sleep(_POLL)
    remove(str(cgroup))
    return found


def _mount() -> tuple[Path, str] | None:
    """Where cgroups of version 2 are mounted, and which of them is at the top there."""
    with suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines():
            mounted, _, what = line.partition(" - ")
            if what.split()[0] == "cgroup2":
                _, _, _, top, folder, *_ = mounted.split()
                return Path(folder), top
    return None


def _own(top: str) -> str:
    """The path of our own cgroup below the mount. Raises ValueError where it does not lie there, OSError without /proc."""
    lines = Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    (own,) = (line.removeprefix("0::") for line in lines if line.startswith("0::"))
    return str(Path(own).relative_to(top))
