"""From what a command may see and touch to the arguments of bubblewrap."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix")
"""Programs and their settings, read-only. Whatever is not named here or by the box is not there at all."""

OURS = "/run/helmsman"  # folder of the box for what is ours
INSIDE = f"{OURS}/inside.py"
SOCKETS = f"{OURS}/sockets"
OBJECTS = f"{OURS}/objects"

APART = (
    "--unshare-user",
    "--disable-userns",  # else whoever is inside could make a namespace where mounts and networks are his to set up
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
)
POWERLESS = ("--cap-drop", "ALL", "--die-with-parent")
"""No --new-session: the process runner starts a session anyway, and its TERM has to reach the group inside."""
LAST = ("--remount-ro", "/")  # what was made to hold the mounts
EMPTY = ("/tmp", "/var/tmp", "/run")  # noqa: S108 - those of the box

Way = Literal["read", "write", "empty", "nothing"]


@dataclass(frozen=True)
class Mount:
    """What lies at a path of the box: something of outside to read or to write, an empty folder, or an empty file."""

    path: str
    way: Way = "read"
    source: str = ""  # Where it lies outside. Empty: at the same path.

    def arguments(self) -> list[str]:
        """Bubblewrap's words for it."""
        source = self.source or self.path
        words: dict[Way, list[str]] = {
            "read": ["--ro-bind", source],
            "write": ["--bind", source],
            "empty": ["--tmpfs"],
            "nothing": ["--ro-bind", "/dev/null"],
        }
        return [*words[self.way], self.path]


def arguments(worktree: str, mounts: Sequence[Mount], *, shares_network: bool) -> list[str]:
    """Bubblewrap's arguments for a command that works there, up to its dashes. A later mount lies over an earlier one."""
    network = () if shares_network else ("--unshare-net",)
    system = [part for path in SYSTEM for part in ("--ro-bind-try", path, path)]
    own = ["--proc", "/proc", "--dev", "/dev", *(part for path in EMPTY for part in ("--tmpfs", path))]
    laid = [part for mount in mounts for part in mount.arguments()]
    return [*APART, *network, *POWERLESS, *system, *own, *laid, *LAST, "--chdir", worktree, "--"]
