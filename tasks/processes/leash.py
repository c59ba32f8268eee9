"""A command dies with us, even when we are killed with SIGKILL and can do nothing more.

A tiny shell in a session of its own reads a pipe whose write end only we hold. End of file means that we are gone.
PR_SET_PDEATHSIG would need code between fork and exec (unsafe among threads), follows the thread, and is Linux only.
"""

import os
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager

import psutil

from helmsman.errors import WorldError
from tasks.processes.tagged import TAG
from tasks.system_errors import ROOM

# The tag reaches what left the group, and a command whose group we had no time to name. Without /proc (macOS) only the
# group is ended here. `kill -0` keeps zombies for living, hence the counted loops.
_WATCH = r"""
tag=$1 polls=$2
tagged() { grep -alsxzF "$tag" /proc/[0-9]*/environ | cut -d/ -f3; }
end() { kill -s "$1" -- ${group:+"-$group"} $(tagged); }
alive() { kill -s 0 -- "-$group" || [ -n "$(tagged)" ]; }
read -r group
read -r _
end TERM
while [ "$polls" -gt 0 ] && alive; do sleep 0.1; polls=$((polls - 1)); done
for _ in 1 2 3 4 5; do alive || exit 0; end KILL; sleep 0.1; done
"""
_POLLS_PER_SECOND = 10
_CALLED = ["/bin/sh", "-c", _WATCH, "leash"]
_TAGGED = len(_CALLED)


@contextmanager
def leash(tag: str, grace: float) -> Generator[Callable[[int], object]]:
    """Yields the function that puts a process group on the leash; leaving lets it go."""
    reader, writer = os.pipe()
    with open(writer, "wb", buffering=0) as held:  # noqa: PTH123 - a descriptor, not a path
        try:
            watcher = _watch(reader, tag, grace)
        finally:
            os.close(reader)
        try:
            yield lambda group: held.write(b"%d\n" % group)
        finally:
            watcher.kill()  # before the pipe closes: it must not take our leaving for our death
            watcher.wait()


def leashed() -> set[str]:
    """Tags of the commands on this machine whose drivers live: a watcher outlives its driver only to end what that left."""
    seen: list[list[str]] = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    return {line[_TAGGED].removeprefix(f"{TAG}=") for line in seen if line[:_TAGGED] == _CALLED and len(line) > _TAGGED}


def _watch(reader: int, tag: str, grace: float) -> subprocess.Popen[bytes]:
    """It holds nothing of ours but the pipe: no output, no directory, no tag that would end it with the others."""
    try:
        return subprocess.Popen(
            [*_CALLED, f"{TAG}={tag}", str(round(grace * _POLLS_PER_SECOND))],
            stdin=reader,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath)},
            start_new_session=True,
        )
    except OSError as error:
        problem = "The shell that guards a command could not be started"
        raise WorldError(problem, found=str(error), remedy=ROOM) from error
