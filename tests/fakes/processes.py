"""Real processes for tests: start them, wait for their end, find what is left of them."""

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from tasks.system import process as commands
from tasks.system import supervisor

ROOT = Path(__file__).parents[2]
ENV = {"PATH": os.environ["PATH"]}
SOON = 20
"""Seconds that a busy machine may take for what takes milliseconds."""
PATIENCE = 240
"""Seconds that a command may take to its end: an engine on an empty database needs one minute or two on a busy machine."""
STUBBORN = "trap '' TERM; echo ready; while :; do sleep 0.1; done"


@dataclass(frozen=True)
class Ended:
    exit_code: int
    output: str
    errors: str


def wait_for_end(process: "subprocess.Popen[str]") -> Ended:
    """Wait for the end of a process; kill one that takes too long."""
    try:
        output, errors = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        output, errors = process.communicate()
    return Ended(process.returncode, output, errors)


def eventually(condition: Callable[[], bool], seconds: float = SOON) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True  # do not evaluate it again: it may have side effects
        time.sleep(0.05)
    return condition()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def processes(variable: str, beginning: str) -> list[psutil.Process]:
    """Processes with a variable of this prefix."""
    return [process for process in psutil.process_iter() if variable_of(process, variable).startswith(beginning)]


def is_supervisor(process: psutil.Process) -> bool:
    """Whether it is the supervisor between a driver and a command."""
    with suppress(psutil.Error):
        return supervisor.PYTHON[-1] in process.cmdline()
    return False


def variable_of(process: psutil.Process, name: str) -> str:
    with suppress(psutil.Error):
        return process.environ().get(name, "")
    return ""


def tagged_pids(tag: str) -> list[int]:
    """Processes with a tag in their environment or, for supervisors, in their arguments."""
    return [process.pid for process in psutil.process_iter() if _is_tagged(process, tag)]


def _is_tagged(process: psutil.Process, tag: str) -> bool:
    try:
        texts = [process.environ().get(commands.TAG, ""), *process.cmdline()]
    except psutil.Error:  # a zombie, or another user's
        return False
    return process.pid != os.getpid() and any(text.removeprefix(f"{commands.TAG}=").startswith(tag) for text in texts)


def sleeper(tag: str) -> str:
    """A sleep with unique arguments: a process with a cleared environment has no tag to find it by."""
    return f"sleep 300.{int(tag[-8:], 16)}"


def sleeping_pids(tag: str) -> list[int]:
    return [one.pid for one in psutil.process_iter(["cmdline"]) if one.info["cmdline"] == sleeper(tag).split()]


@contextmanager
def unique_tag() -> Generator[str]:
    """A unique tag; fail if a process still has it at the end."""
    tag = f"test-{uuid.uuid4().hex}"
    try:
        yield tag
    finally:
        left = tagged_pids(tag) + sleeping_pids(tag)
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
) -> commands.ProcessResult:
    return commands.run(
        ["sh", "-c", script], cwd=ROOT, env=ENV, tag=tag, deadline=deadline, idle=idle, grace=grace, on_line=on_line, stop=stop
    )


def start_driver(code: str, tag: str, *, within: Sequence[str] = ()) -> "subprocess.Popen[str]":
    """Start a process that runs a command and can be killed. `within`: a wrapper command."""
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


def run_driver(code: str, tag: str, *, within: Sequence[str] = ()) -> str:
    with start_driver(code, tag, within=within) as process:
        output, errors = process.communicate(timeout=100)
    assert process.returncode == 0, errors
    return output
