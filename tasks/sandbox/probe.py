"""Check whether this machine can run a sandbox, before anything is paid for, and report why not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from helmsman.config.infrastructure import SandboxConfig
from helmsman.errors import OperatorError
from helmsman.sandbox import NAMESPACES, UNPRIVILEGED
from tasks.sandbox.host_mounts import expand_paths, require_not_writable

PROGRAM = "bwrap"
PATIENCE = 30
CONTAINERS = ("/.dockerenv", "/run/.containerenv")  # created by Docker and Podman
INSTEAD = 'or run Helmsman in a container (docs/sandbox.md) with sandbox.kind = "container"'
TRIED = (*NAMESPACES, "--unshare-net", *UNPRIVILEGED, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", "true")

_ALLOW = (
    "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces above 0;"
    " where AppArmor forbids it, a profile for bwrap)"
)
_REMEDIES = (
    ("Unknown option", "install bubblewrap 0.8 or newer"),
    ("Can't mount proc", f"the container that Helmsman runs in masks /proc; {INSTEAD.removeprefix('or ')}"),
)


def require_sandbox(config: SandboxConfig) -> str:
    """Describe the sandbox of the agent. Raises OperatorError if it is not available."""
    if config.kind == "container":
        return f"the container that Helmsman runs in ({_container()})"
    if config.kind != "bubblewrap":
        return "none: the agent has your permissions"
    home = os.environ.get("HOME", "")
    require_not_writable(config.hide, list(expand_paths(config.write, home)), home)
    program = find_bubblewrap()
    try:
        trial = subprocess.run([program, *TRIED], capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OperatorError("bubblewrap cannot be run", expected=f"a working {program}", found=str(error)) from error
    if trial.returncode != 0:
        stderr = trial.stderr.strip()
        remedy = next((remedy for message, remedy in _REMEDIES if message in stderr), f"{_ALLOW}, {INSTEAD}")
        raise OperatorError("the kernel or its settings do not allow a sandbox", expected=PROGRAM, found=stderr, remedy=remedy)
    return f"{program}; network: {config.network}"


def find_bubblewrap() -> Path:
    """Path of bubblewrap. Raises OperatorError if it is missing."""
    if sys.platform != "linux":
        raise OperatorError("bubblewrap runs only on Linux", found=sys.platform, remedy=INSTEAD.removeprefix("or "))
    program = shutil.which(PROGRAM)
    if program is None:
        raise OperatorError(
            'sandbox.kind = "bubblewrap", but bubblewrap is not installed',
            expected=f"{PROGRAM} on PATH",
            remedy=f"apt-get install bubblewrap (the same name in dnf, pacman and apk), {INSTEAD}",
        )
    return Path(program).absolute()  # PATH may have relative entries, and the command has another working directory


def _container() -> str:
    """How the container was detected. Raises OperatorError if there is none."""
    signs = [path for path in CONTAINERS if Path(path).exists()]
    signs += [f"{name}={os.environ[name]}" for name in ("container",) if os.environ.get(name)]
    signs += ["Kubernetes"] if os.environ.get("KUBERNETES_SERVICE_HOST") else []
    if not signs:
        raise OperatorError(
            'sandbox.kind = "container", but this is no container: the agent would have your permissions',
            expected=f"one of {', '.join(CONTAINERS)}, the variable `container`, or Kubernetes",
            remedy='run Helmsman in its container (docs/sandbox.md); on Linux sandbox.kind = "bubblewrap" needs none',
        )
    return signs[0]
