"""Translation of a command's permissions to arguments of bubblewrap."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix")
"""Programs and their settings, read-only. Paths that are neither here nor mounted do not exist in the box."""

OWN_FOLDER = "/run/helmsman"  # Helmsman's own folder in the box
INSIDE = f"{OWN_FOLDER}/inside.py"
SOCKETS = f"{OWN_FOLDER}/sockets"
OBJECTS = f"{OWN_FOLDER}/objects"

NAMESPACES = (
    "--unshare-user",
    "--disable-userns",  # otherwise a process inside could create a namespace and control mounts and networks there
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
)
UNPRIVILEGED = ("--cap-drop", "ALL", "--die-with-parent")
"""No --new-session: the process runner starts a session itself, and its TERM must reach the group inside."""
FINAL_OPTIONS = ("--remount-ro", "/")  # created to hold the mounts
EMPTY = ("/tmp", "/var/tmp", "/run")  # noqa: S108 - inside the box

Way = Literal["read", "write", "empty", "nothing"]


@dataclass(frozen=True)
class Mount:
    """Content of a path in the box: a host path to read or write, an empty folder, or an empty file."""

    path: str
    way: Way = "read"
    source: str = ""  # Host path; empty for the same path.

    def arguments(self) -> list[str]:
        """Arguments of bubblewrap for this mount."""
        source = self.source or self.path
        options: dict[Way, list[str]] = {
            "read": ["--ro-bind", source],
            "write": ["--bind", source],
            "empty": ["--tmpfs"],
            "nothing": ["--ro-bind", "/dev/null"],
        }
        return [*options[self.way], self.path]


def arguments(worktree: str, mounts: Sequence[Mount], *, shares_network: bool) -> list[str]:
    """Arguments of bubblewrap for a command in the worktree, up to `--`. A later mount covers an earlier one."""
    network = () if shares_network else ("--unshare-net",)
    system = [part for path in SYSTEM for part in ("--ro-bind-try", path, path)]
    own = ["--proc", "/proc", "--dev", "/dev", *(part for path in EMPTY for part in ("--tmpfs", path))]
    mounted = [part for mount in mounts for part in mount.arguments()]
    return [*NAMESPACES, *network, *UNPRIVILEGED, *system, *own, *mounted, *FINAL_OPTIONS, "--chdir", worktree, "--"]
