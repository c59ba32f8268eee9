"""Standard output and error of a process that drives a loop: whoever reads them may go away, and the loop goes on."""

import os

from rich.console import Console


def survive_broken_pipe() -> None:
    """From here on a console whose reader is gone falls silent.

    By default rich ends the process then. Prefect's log of a run under a worker goes through it to a pipe that the worker
    reads, so a worker that died took its live loops along.
    """
    Console.on_broken_pipe = _fall_silent


def _fall_silent(self: Console) -> None:
    self.quiet = True
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, self.file.fileno())  # what is buffered still would break the interpreter's own end
    os.close(nowhere)
