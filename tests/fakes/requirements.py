"""What some tests need besides git and Python. Each probe runs it instead of looking for a file.

`@pytest.mark.needs("browser")` skips a test by that name where the probe fails. `TEST_REQUIRED=all`, or a list of names joined by
commas, turns such skips into failures.
"""

import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import pytest

REQUIRED = "TEST_REQUIRED"
NEEDS = re.compile(r"\bneeds ([^:]+): ")
SECONDS = 60
"""A browser's first start on a busy machine takes 10."""
AS_NOBODY = "--reuid=65534", "--regid=65534", "--clear-groups"


def _runs(*command: str | Path) -> str:
    """Why a command fails; empty if it succeeds."""
    try:
        ended = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False, stdin=subprocess.DEVNULL, cwd="/")
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    last = ended.stderr.decode(errors="replace").strip().splitlines()[-1:] or [f"exit status {ended.returncode}"]
    return f"{command[0]}: {last[0]}" if ended.returncode else ""


def _browser() -> str:
    from tests.fakes.browser import QUIET, find_browser, sandbox_flags

    with tempfile.TemporaryDirectory(prefix="helmsman-browser-", ignore_cleanup_errors=True) as home:
        found = find_browser()
        page = "--headless", f"--user-data-dir={home}", "--dump-dom", "about:blank"
        return _runs(found, *QUIET, *sandbox_flags(), *page) if found else "install the package chromium"


def _compiler() -> str:
    from bench.fault_injection.faults import CLOCK_SOURCE

    return _runs("cc", "-shared", "-fPIC", "-o", "/dev/null", CLOCK_SOURCE)


def _disks() -> str:
    with tempfile.TemporaryDirectory() as folder:
        if why := _runs("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder):
            return why
        return _runs("umount", folder)


def _machines() -> str:
    from tests.fakes.many_machines import missing_programs

    return missing_programs()


def _postgres() -> str:
    from tests.fakes.postgres import server_programs

    found = server_programs()
    return _runs(found / "initdb", "--version") if found else "install the package postgresql"


def _made(name: str) -> Callable[[], str]:
    def probe() -> str:
        from tests.fakes.model_apis import agents_path

        why = _runs("env", f"PATH={agents_path()}", name, "--version")
        return why and f"`make agents` installs {name} ({why})"

    return probe


def _cgroups() -> str:
    from tasks.system.supervised import end_cgroup, make_cgroup

    made = make_cgroup("probe")
    end_cgroup(made)
    return "" if made else "this user may make no cgroup"


def _program(name: str, *arguments: str) -> Callable[[], str]:
    return lambda: _runs(name, *arguments)


PROBES: dict[str, Callable[[], str]] = {
    "act": _made("act"),
    "agents": _made("codex"),
    "bash": _program("bash", "-c", "true"),
    "browser": _browser,
    "bubblewrap": _program("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "true"),
    "cgroups": _cgroups,
    "compiler": _compiler,
    "curl": _program("curl", "--version"),
    "disks": _disks,
    "fish": _program("fish", "--version"),
    "freezer": lambda: "" if os.access("/sys/fs/cgroup/freezer", os.W_OK) else "no cgroup of version 1 can be written",
    "gitlab-ci-local": _made("gitlab-ci-local"),
    "go": _program("go", "version"),
    "machines": _machines,
    "node": _program("node", "--version"),
    "npm": _program("npm", "--version"),
    "openssl": _program("openssl", "version"),
    "postgres": _postgres,
    "rsync": _program("rsync", "--version"),
    "setpriv": _program("setpriv", *(AS_NOBODY if os.geteuid() == 0 else ()), "true"),
    "root": lambda: "" if os.geteuid() == 0 else "these tests do not run as root",
    "user namespaces": _program("unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"),
    "zsh": _program("zsh", "--version"),
}


@cache
def missing(name: str) -> str:
    """Why it is missing; empty if it is there. Raises KeyError for a name without a probe."""
    return PROBES[name]()


def need(*names: str) -> None:
    """Skip the running test if one is missing, or fail it if that one is required."""
    for name in names:
        if why := missing(name):
            text = f"needs {name}: {why}"
            pytest.fail(f"{text} (required by {REQUIRED})", pytrace=False) if is_required(name) else pytest.skip(text)


def is_required(name: str) -> bool:
    asked = {part.strip() for part in os.environ.get(REQUIRED, "").split(",")}
    return name in asked or "all" in asked


def needs_of(item: pytest.Item) -> list[str]:
    """The names in a test's `needs` markers. Raises UsageError for one without a probe."""
    names = [str(name) for marker in item.iter_markers("needs") for name in marker.args]
    if unknown := sorted(set(names) - PROBES.keys()):
        raise pytest.UsageError(f"{item.nodeid} needs {unknown}: tests/fakes/requirements.py has no probe of that name")
    return names


def count_skips(reports: Iterable[pytest.TestReport]) -> str:
    """Such as `browser 12, zsh 3`: the number of skipped tests by what is missing."""
    found = [NEEDS.search(str(report.longrepr)) for report in reports]
    counts = Counter(name[1] for name in found if name)
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
