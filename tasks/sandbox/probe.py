"""Whether a box can be made on this machine: tried before anything is paid for, never found out in silence."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from helmsman.config.infrastructure import SandboxConfig
from helmsman.errors import OperatorError
from helmsman.sandbox.box import APART, POWERLESS
from tasks.sandbox.host_mounts import refuse_hidden_in, written_out

PROGRAM = "bwrap"
PATIENCE = 30
CONTAINERS = ("/.dockerenv", "/run/.containerenv")  # what Docker and Podman leave in theirs
INSTEAD = 'or run Helmsman in a container (docs/sandbox.md) with sandbox.kind = "container"'
TRIED = (*APART, "--unshare-net", *POWERLESS, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", "true")

_ALLOW = (
    "let users make namespaces (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces above 0;"
    " where AppArmor forbids it, a profile for bwrap)"
)
_REMEDIES = (
    ("Unknown option", "install bubblewrap 0.8 or newer"),
    ("Can't mount proc", f"the container that this runs in masks /proc; {INSTEAD.removeprefix('or ')}"),
)


def require_sandbox(config: SandboxConfig) -> str:
    """What will hold the agent, in words. Raises OperatorError where it cannot be had."""
    if config.kind == "container":
        return f"the container that this runs in ({_container()})"
    if config.kind != "bubblewrap":
        return "none: the agent may do what you may"
    home = os.environ.get("HOME", "")
    refuse_hidden_in(config.hide, list(written_out(config.write, home)), home)
    program = find_bubblewrap()
    try:
        tried = subprocess.run([program, *TRIED], capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OperatorError("bubblewrap cannot be run", expected=f"{program} that works", found=str(error)) from error
    if tried.returncode != 0:
        said = tried.stderr.strip()
        remedy = next((remedy for words, remedy in _REMEDIES if words in said), f"{_ALLOW}, {INSTEAD}")
        raise OperatorError("this machine's kernel or settings allow no sandbox", expected=PROGRAM, found=said, remedy=remedy)
    return f"{program}; network: {config.network}"


def find_bubblewrap() -> Path:
    """Bubblewrap's program. Raises OperatorError."""
    if sys.platform != "linux":
        raise OperatorError("bubblewrap is for Linux", found=sys.platform, remedy=INSTEAD.removeprefix("or "))
    found = shutil.which(PROGRAM)
    if found is None:
        raise OperatorError(
            'sandbox.kind = "bubblewrap", and bubblewrap is not installed',
            expected=f"{PROGRAM} on PATH",
            remedy=f"apt-get install bubblewrap (dnf, pacman and apk name it so too), {INSTEAD}",
        )
    return Path(found).absolute()  # PATH may name folders from where we stand, and the command stands elsewhere


def _container() -> str:
    """How the container is known. Raises OperatorError where this is none."""
    signs = [path for path in CONTAINERS if Path(path).exists()]
    signs += [f"{name}={os.environ[name]}" for name in ("container",) if os.environ.get(name)]
    signs += ["Kubernetes"] if os.environ.get("KUBERNETES_SERVICE_HOST") else []
    if not signs:
        raise OperatorError(
            'sandbox.kind = "container", and this is none: the agent would have all that you have',
            expected=f"one of {', '.join(CONTAINERS)}, the variable `container`, or Kubernetes",
            remedy='run Helmsman in its container (docs/sandbox.md); on Linux sandbox.kind = "bubblewrap" needs none',
        )
    return signs[0]
