"""Handing accepted events on to the engine, for as long as it takes: a server that is down delays one and loses none."""

import logging
import threading
from typing import Self

from helmsman.errors import HelmsmanError, WorldError
from helmsman.plain import clean
from tasks.loops.opening import now_utc
from tasks.triggers.deliveries import Deliveries, Event

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds until the next attempt, doubled each time."""
MOST_DOUBLED = 6
"""Times; then the longest is reached."""
LOOK_SECONDS = 30.0
"""Between two looks for what another receiver has left behind."""

_log = logging.getLogger(__name__)


def pause_after(failed: int) -> float:
    """Seconds, after so many attempts in a row that failed."""
    return min(FIRST_PAUSE * 2 ** min(failed - 1, MOST_DOUBLED), LONGEST_PAUSE) if failed else LOOK_SECONDS


class Sender:
    """A thread that lives while the block runs."""

    def __init__(self, deliveries: Deliveries) -> None:
        """Nothing is sent before the block is entered."""
        self._deliveries = deliveries
        self._awake, self._done = threading.Event(), False
        self._thread = threading.Thread(target=self._run, name="push-sender", daemon=True)

    def wake(self) -> None:
        """Something new is waiting."""
        self._awake.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done = True
        self.wake()
        self._thread.join(timeout=5)  # in the middle of a request it is left behind; what was not sent is still in the file

    def _run(self) -> None:
        failed = 0
        while not self._done:
            self._awake.clear()
            failed = 0 if self._send_all() else failed + 1
            self._awake.wait(pause_after(failed))

    def _send_all(self) -> bool:
        """Whether nothing waits any more. The first event that the engine has no ear for ends the round."""
        try:
            while events := self._deliveries.waiting():
                sent = [self._send(event) for event in events]
                if not all(sent):
                    return False
        except WorldError as error:
            _log.warning("pushes wait: %s", clean(str(error)))
            return False
        except Exception:  # noqa: BLE001 - the thread lives as long as the receiver
            _log.exception("pushes wait: this was not foreseen")
            return False
        return True

    def _send(self, event: Event) -> bool:
        """Whether its run exists. One that the engine refuses does not hold up the others."""
        from tasks.triggers.push_runs import start_run

        try:
            run = start_run(event)
        except WorldError:
            raise
        except HelmsmanError as error:
            _log.error("%s waits: %s", event.what, clean(str(error)))
            return False
        self._deliveries.started(event, run)
        _log.info("%s: flow run %s, %.1f s after it came", event.what, run, (now_utc() - event.received_at).total_seconds())
        return True
