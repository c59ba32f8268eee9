"""Drive a loop in a separate process: `python -m deployments.driver HOW …`.

`detached PIPE REQUEST`, started only by `deployments/run.py`, forks from its caller and reports its start on the pipe.
`member [--embedded]`, started only by `tasks/groups/members.py`, drives one loop of a group, with environment and request on
standard input. It writes events to the loop's journal, and errors to its caller.
"""

import gc
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from deployments.errors import status_of
from tasks.system.environment import hide_process

YOUNG_OBJECTS = 50_000  # as in cli.py: imported objects are long-lived


def run_background(pipe: str, request: str) -> int:
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background processes of scripts inherit SIG_IGN
    os.set_inheritable(int(pipe), False)  # child processes must not keep it open
    open_pipes = [int(pipe)]

    def tell(message: str) -> None:
        """Write the first message to the caller, which may have exited, and close the pipe."""
        while open_pipes:
            with suppress(BrokenPipeError):
                os.write(open_pipes[0], f"{message}\n".encode())
            os.close(open_pipes.pop())

    status = status_of(lambda: _drive(request, tell))
    tell(str(status))
    return status


def _drive(request: str, tell: Callable[[str], None] | None = None, *, embedded: bool = False) -> int:
    """Drive the loop to its end; the first event after preparation shows that it runs."""
    from deployments.run import RUNNING, drive
    from helmsman.records.events import PreparationStarted
    from helmsman.records.request import LoopRequest
    from tasks.engine.embedded import adopt_engine
    from tasks.repository.git import open_repository
    from tasks.system.journal import listening

    if embedded:
        adopt_engine()
    loop_request = LoopRequest.model_validate_json(request)
    repository = open_repository(Path(loop_request.repository))

    def hear(event: object) -> None:
        if tell and not isinstance(event, PreparationStarted):  # preparation may still fail, and the caller reports that
            tell(RUNNING)

    with listening(hear):
        return drive(repository, loop_request, as_json=False)


def drive_member(*how: str) -> int:
    hide_process()
    gc.set_threshold(YOUNG_OBJECTS)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    environment, request = sys.stdin.readline(), sys.stdin.read()
    os.environ.update(json.loads(environment))
    return status_of(lambda: _drive(request, embedded="--embedded" in how))


def main() -> None:
    """Drive the loop and exit with its status."""
    sys.exit({"detached": run_background, "member": drive_member}[sys.argv[1]](*sys.argv[2:]))


if __name__ == "__main__":
    main()
