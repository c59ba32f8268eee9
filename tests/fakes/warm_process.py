"""Helmsman's commands without the seconds of imports: forked by a process that has imported everything.

A forked command has the arguments, folder, environment, pipes and exit status of a started one.
Only its entry in `ps` and `/proc/PID/environ` are those of the fork server.
"""

import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from tests.fakes.fork_server import LONGEST_REQUEST

ROOT = Path(__file__).parents[2]
COMMAND_LINE = "deployments.cli"
NOBODY = (0, 0)


class ColdProcess(subprocess.Popen[str]):
    """Runs a module in a new Python. Its output goes to pipes or a terminal."""

    def __init__(
        self, module: str, arguments: Sequence[str], folder: Path, variables: Mapping[str, str], terminal: int | None = None
    ) -> None:
        """Start it. A warm one closes the terminal that it is given."""
        none, pipe = (subprocess.DEVNULL, subprocess.PIPE) if terminal is None else (terminal, terminal)
        command = [sys.executable, "-P", "-m", module, *arguments]
        super().__init__(command, cwd=folder, env=variables, stdin=none, stdout=pipe, stderr=pipe, text=True)


class WarmProcess(ColdProcess):
    """A Popen whose process is forked by the fork server, and waited for by its status pipe.

    It needs PREFECT_API_URL: a process that starts its own server must do so before it imports Prefect.
    """

    _status = -1
    _waitpid_lock: Lock
    """Popen's own lock, held while waiting."""

    def _execute_child(self, *given: Any) -> None:
        """As Popen calls it: of what is given, the 6th is the folder, the 7th the environment, the 11th to 16th are pipes."""
        (_, _, _, module, *arguments), folder, variables = given[0], given[5], given[6]
        pipes: tuple[int, ...] = given[10:16]
        request = {"module": module, "arguments": arguments, "folder": str(folder), "variables": dict(variables)}
        theirs = (pipes[0], pipes[3], pipes[5])
        with _MAKING:
            forker = _forker()
        self.pid, self._status = forker.fork(request, theirs)
        self._child_created = True
        for end in {*theirs, pipes[1]}:  # a terminal is all three of theirs
            if end >= 0:
                os.close(end)

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        """Number and status, once it has ended."""
        if wait_flags & os.WNOHANG and not select.select([self._status], [], [], 0)[0]:
            return NOBODY
        told = os.read(self._status, 16)
        os.close(self._status)
        return self.pid, int(told or b"9")

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        if not self._waitpid_lock.acquire(blocking=False):  # another thread is waiting and sets the status
            return None
        try:
            if self.returncode is None and self._child_created:
                number, status = self._try_wait(os.WNOHANG)
                if number:
                    self.returncode = os.waitstatus_to_exitcode(status)
            return self.returncode
        finally:
            self._waitpid_lock.release()


class Forker:
    """The fork server. It ends with this process."""

    def __init__(self) -> None:
        """Start it; this takes the seconds that each command would."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket, self._lock = ours, Lock()
        variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
        with theirs:
            command = [sys.executable, "-P", "-m", "tests.fakes.fork_server", str(theirs.fileno())]
            self._process = subprocess.Popen(command, env=variables, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)

    def fork(self, request: Mapping[str, Any], pipes: Sequence[int]) -> tuple[int, int]:
        """The pid of the new process, and a pipe that delivers its exit status."""
        status, theirs = os.pipe()
        text = json.dumps(request).encode()
        assert len(text) <= LONGEST_REQUEST, f"{len(text)} bytes of arguments and environment"
        with self._lock:
            socket.send_fds(self._socket, [text], [*pipes, theirs])
            number = int(self._socket.recv(16) or b"0")
        os.close(theirs)
        assert number, "the fork server has ended; its last output is above"
        return number, status

    def end(self) -> None:
        """Close the socket; the server then ends."""
        self._socket.close()
        self._process.wait()


_MAKING = Lock()
"""Without it two threads could start a server each, as the cache does not lock."""


@cache
def _forker() -> Forker:
    return Forker()


def end_fork_server() -> None:
    """Stop the fork server if there is one."""
    if _forker.cache_info().currsize:
        _forker().end()
        _forker.cache_clear()
