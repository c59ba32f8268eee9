"""What a detached driver runs: `python -m deployments.detached PIPE REQUEST`. `deployments/detaching.py` alone starts it."""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from deployments.complaints import status_of
from deployments.detaching import OUTPUT, UNDER_WAY

LONGEST_OUTPUT = 4 * 1024 * 1024
"""Bytes before the output is turned over; one older generation is kept, as of the journal."""
STREAMS = 1, 2


class Listener:
    """Whoever waits for the loop to be under way. Only the first word is for them; they may have gone."""

    def __init__(self, pipe: int) -> None:
        """Speak on this pipe, which nobody else shall hold open."""
        os.set_inheritable(pipe, False)
        self._pipe: int | None = pipe

    def tell(self, word: str) -> None:
        pipe, self._pipe = self._pipe, None
        if pipe is None:
            return
        with suppress(BrokenPipeError):
            os.write(pipe, f"{word}\n".encode())
        os.close(pipe)


def main() -> None:
    """Leave whoever started us, drive the loop, and say how far it has come."""
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's background ignores it, and so would we
    listener = Listener(int(sys.argv[1]))
    status = status_of(lambda: _driven(sys.argv[2], listener))
    listener.tell(str(status))
    sys.exit(status)


def _driven(request: str, listener: Listener) -> int:
    """Drive the loop to its end; its first event after all preparation shows that it is under way."""
    from deployments.running import drive
    from helmsman.records.events import PreparationStarted
    from helmsman.records.request import LoopRequest
    from tasks.places import loop_folder
    from tasks.repository.git import open_repository
    from tasks.telling.journal import listening

    asked = LoopRequest.model_validate_json(request)
    repository = open_repository(Path(asked.repository))
    output = loop_folder(repository, asked.loop).root / OUTPUT

    def hear(event: object) -> None:
        if not isinstance(event, PreparationStarted):  # which may fail, and whoever waits is to hear of it
            listener.tell(UNDER_WAY)

    with listening(hear), listening(lambda _: turn_over(output)):
        return drive(repository, asked, as_json=False)


def turn_over(output: Path, most: int = LONGEST_OUTPUT) -> None:
    """Go on in a new file where what we have printed has grown long: a loop may go on for weeks."""
    if os.fstat(STREAMS[0]).st_size <= most:
        return
    sys.stdout.flush()
    output.replace(output.with_suffix(".1.log"))
    fresh = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for stream in STREAMS:
        os.dup2(fresh, stream)
    os.close(fresh)


if __name__ == "__main__":
    main()
