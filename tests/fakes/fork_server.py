"""The process that has imported everything: for each request it forks a child that runs the `main` of a module.

It has a single thread, so that forking is safe, and ends when its socket is closed.
"""

import gc
import importlib
import json
import os
import random
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from tasks.engine.embedded import QUIET

HELMSMAN = Path(sys.executable).with_name("helmsman")
LONGEST_REQUEST = 1 << 17
MOST_PIPES = 4
IMPORTED = (
    "deployments.group",
    "deployments.cli",
    "deployments.run",
    "deployments.show",
    "flows.align",
    "flows.chain",
    "flows.loop",
    "tasks.alignment.run",
    "tasks.engine.runs",
    "tasks.memory.sqlite",
    "tests.e2e.crash_driver",
)


def serve(requests: socket.socket) -> Callable[[], int | None]:
    """Fork for each request; in a child return its main function, in the server a function that does nothing."""
    ends: dict[int, int] = {}
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, _be_woken)
    signal.set_wakeup_fd(wake)
    while True:
        ready, _, _ = select.select([requests, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            _tell_ended(ends)
        if requests in ready:
            text, pipes, _, _ = socket.recv_fds(requests, LONGEST_REQUEST, MOST_PIPES)
            if not text:
                return lambda: 0
            number = os.fork()
            if not number:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for left in (woken, wake, requests.detach(), pipes.pop(), *ends.values()):
                    os.close(left)
                return _become(json.loads(text), pipes)
            ends[number] = pipes.pop()
            for pipe in pipes:
                os.close(pipe)
            requests.send(str(number).encode())


def _be_woken(_number: int, _frame: FrameType | None) -> None:
    """The wakeup pipe needs a handler to be installed."""


def _tell_ended(ends: dict[int, int]) -> None:
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            pipe = ends.pop(ended[0])
            with suppress(BrokenPipeError):  # nobody waits
                os.write(pipe, str(ended[1]).encode())
            os.close(pipe)


def _become(request: dict[str, Any], pipes: list[int]) -> Callable[[], int | None]:
    """Take over pipes, environment, arguments and folder of the request."""
    for stream, pipe in enumerate(pipes):
        os.dup2(pipe, stream)
        os.close(pipe)
    os.environ.clear()
    os.environ.update(request["variables"])
    sys.argv = [str(HELMSMAN), *request["arguments"]]
    sys.modules["__main__"].__package__ = None  # a message on usage names the program by the first argument
    random.seed()

    if "PREFECT_API_URL" in os.environ:
        _read_settings_anew()  # not in the folder, which the real one has left by then
    os.chdir(request["folder"])  # noqa: TID251 - it becomes a process that was started there
    return importlib.import_module(request["module"]).main


def _read_settings_anew() -> None:
    """Refresh Prefect's settings as if it was imported now, with the engine's quiet settings."""
    from prefect.context import refresh_global_settings_context

    os.environ.update({name: value for name, value in QUIET.items() if name not in os.environ})
    refresh_global_settings_context()


def main() -> None:
    os.environ.update(QUIET)
    for name in IMPORTED:
        importlib.import_module(name)
    assert threading.active_count() == 1, threading.enumerate()
    gc.freeze()  # objects that exist now are never collected
    sys.exit(serve(socket.socket(fileno=int(sys.argv[1])))())


if __name__ == "__main__":
    main()
