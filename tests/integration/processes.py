"""Real processes for tests: run a command, or a driver that runs one, and prove that nothing of it is left."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from tasks.system.process import TAG, Ended, run

ROOT = Path(__file__).parents[2]
ENV = {"PATH": os.environ["PATH"]}
SOON = 20.0  # seconds that a busy machine may take for what takes milliseconds
STUBBORN = "trap '' TERM; echo ready; while :; do sleep 0.1; done"


def carriers(tag: str) -> list[int]:
    """Everything alive that has to do with a tag: by its environment, or (the supervisor) by its arguments."""
    return [process.pid for process in psutil.process_iter() if _carries(process, tag)]


def _carries(process: psutil.Process, tag: str) -> bool:
    try:
        texts = [process.environ().get(TAG, ""), *process.cmdline()]
    except psutil.Error:  # a zombie, or somebody else's
        return False
    return process.pid != os.getpid() and any(text.removeprefix(f"{TAG}=").startswith(tag) for text in texts)


def nap(tag: str) -> str:
    """A command that is told from every other sleep by its arguments: with a cleared environment it has no tag."""
    return f"sleep 300.{int(tag[-8:], 16)}"


def sleepers(tag: str) -> list[int]:
    return [one.pid for one in psutil.process_iter(["cmdline"]) if one.info["cmdline"] == nap(tag).split()]


def eventually(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + SOON
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


@contextmanager
def own_tag() -> Generator[str]:
    """A tag that nobody else has, and that nobody alive has afterwards."""
    tag = f"test-{uuid.uuid4().hex}"
    try:
        yield tag
    finally:
        left = carriers(tag) + sleepers(tag)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
    assert not left


def sh(
    script: str,
    tag: str,
    *,
    deadline: float = 60,
    idle: float | None = None,
    grace: float = 5,
    on_line: Callable[[bytes], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Ended:
    return run(
        ["sh", "-c", script], cwd=ROOT, env=ENV, tag=tag, deadline=deadline, idle=idle, grace=grace, on_line=on_line, stop=stop
    )


def driver(code: str, tag: str, *, within: Sequence[str] = ()) -> "subprocess.Popen[str]":
    """A process of its own that runs a command, so that it can be killed. `within`: a command that takes another one."""
    prelude = "import os, signal, sys\nfrom pathlib import Path\nfrom tasks.system.process import end_tagged, run\n"
    prelude += "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell that starts us in the background ignores it
    prelude += "tag, here, env = os.environ['T'], Path(os.environ['ROOT']), {'PATH': os.environ['PATH']}\n"
    return subprocess.Popen(
        [*within, sys.executable, "-c", prelude + code],
        env=ENV | {"PYTHONPATH": str(ROOT), "ROOT": str(ROOT), "T": tag},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def driven(code: str, tag: str, *, within: Sequence[str] = ()) -> str:
    with driver(code, tag, within=within) as process:
        output, errors = process.communicate(timeout=100)
    assert process.returncode == 0, errors
    return output
