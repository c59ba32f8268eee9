"""What drives a loop in a process of its own: `python -m deployments.driver HOW …`, which `HOW` says for whom.

`detached PIPE REQUEST`, started by `deployments/run.py` alone, leaves whoever started it and says how far it has come.
`member [--embedded]`, started by `tasks/groups/members.py` alone, drives one loop of a group, with environment and request on
standard input. It shows itself in the loop's journal; what it complains of goes to whoever started it.
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

YOUNG_OBJECTS = 50_000  # as for the command line: what is imported lives to the end


def run_background(pipe: str, request: str) -> int:
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's background ignores it, and so would we
    os.set_inheritable(int(pipe), False)  # nobody else shall hold it open
    waiting = [int(pipe)]

    def tell(word: str) -> None:
        """Whoever waits for the loop to be under way hears the first word alone; they may have gone."""
        while waiting:
            with suppress(BrokenPipeError):
                os.write(waiting[0], f"{word}\n".encode())
            os.close(waiting.pop())

    status = status_of(lambda: _drive(request, tell))
    tell(str(status))
    return status


def _drive(request: str, tell: Callable[[str], None] | None = None, *, embedded: bool = False) -> int:
    """Drive the loop to its end; its first event after all preparation shows that it is under way."""
    from deployments.run import UNDER_WAY, drive
    from helmsman.records.events import PreparationStarted
    from helmsman.records.request import LoopRequest
    from tasks.engine.embedded import adopt_engine
    from tasks.repository.git import open_repository
    from tasks.system.journal import listening

    if embedded:
        adopt_engine()
    asked = LoopRequest.model_validate_json(request)
    repository = open_repository(Path(asked.repository))

    def hear(event: object) -> None:
        if tell and not isinstance(event, PreparationStarted):  # which may fail, and whoever waits is to hear of it
            tell(UNDER_WAY)

    with listening(hear):
        return drive(repository, asked, as_json=False)


def drive_member(*how: str) -> int:
    hide_process()
    gc.set_threshold(YOUNG_OBJECTS)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    environment, request = sys.stdin.readline(), sys.stdin.read()
    os.environ.update(json.loads(environment))
    return status_of(lambda: _drive(request, embedded="--embedded" in how))


def main() -> None:
    """Drive the loop to its end. The exit status is the loop's own."""
    sys.exit({"detached": run_background, "member": drive_member}[sys.argv[1]](*sys.argv[2:]))


if __name__ == "__main__":
    main()
