"""Signals that end a command: whatever it made for itself goes first."""

import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager

ENDINGS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


@contextmanager
def ending_tidily() -> Generator[None]:
    """A signal that ends the block leaves no checkout behind, and no later one disturbs that: a closed terminal sends several."""
    heeded = [one for one in ENDINGS if signal.getsignal(one) is not signal.SIG_IGN]  # nohup has us ignore one

    def end(number: int, _: object) -> None:
        for one in heeded:
            signal.signal(one, signal.SIG_IGN)
        sys.exit(128 + number)

    before = [(one, signal.signal(one, end)) for one in heeded]
    try:
        yield
    finally:
        for one, handler in before:
            signal.signal(one, handler)
