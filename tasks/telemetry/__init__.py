"""Telling OpenTelemetry of a loop, where the environment says that somebody listens: traces and metrics by OTLP over HTTP.

An observer: nothing here stops a loop or makes it wait, but for FLUSH_SECONDS at its end. Who has not asked for it pays nothing:
OpenTelemetry's libraries are imported by `emitting` alone, and that in a thread of its own.
"""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import reduce
from typing import TypeVar

from helmsman.records.events import Event, IterationRecorded, StepFinished, TelemetryFailed
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from helmsman.render import Activity, LoggedEvent, after
from helmsman.render.metrics import iteration_points, loop_points
from helmsman.render.spans import BESIDE, beside_spans, iteration_spans, loop_span
from tasks.places import LoopFolder
from tasks.repository.git import Repository
from tasks.repository.state_ref import show_state
from tasks.telemetry.marks import Marks
from tasks.telemetry.sending import Parcel, Sender
from tasks.telemetry.wanted import wanted
from tasks.telling.following import Follower, newest_record
from tasks.telling.journal import listening, publish

T = TypeVar("T")


@contextmanager
def watched(repository: Repository, folder: LoopFolder, state: LoopState, log: Callable[[str], None]) -> Generator[None]:
    """Tell of a loop while the block drives it. `log` and the display hear at most once of telemetry that does not arrive."""

    def warn(why: str) -> None:
        publish(TelemetryFailed(why=why))
        log(why)

    if not wanted(os.environ, warn):
        yield
        return
    watch = _guarded(lambda: _Watch(repository, folder, state, warn), warn)
    if watch is None:
        yield
        return
    try:
        with listening(watch.hear):
            yield
    finally:
        _guarded(watch.close, warn)


def _guarded(act: Callable[[], T], warn: Callable[[str], None]) -> T | None:
    try:
        return act()
    except Exception as error:  # noqa: BLE001 - an observer may fail in any way; it never stops a loop
        warn(f"no telemetry of this loop: {type(error).__name__}: {error}")
        return None


class _Watch:
    """Follows the events of one loop and hands over what is finished."""

    def __init__(self, repository: Repository, folder: LoopFolder, state: LoopState, warn: Callable[[str], None]) -> None:
        """Go on where an earlier driver stopped: what it did is in the journal."""
        self._repository, self._state = repository, state
        self._marks = Marks(folder.telemetry)
        self._line = reduce(after, _lived(folder), Activity())
        self._sender = Sender(state.uid, warn)
        try:
            self._catch_up()
        except Exception:
            self._sender.close()
            raise

    def hear(self, event: Event) -> None:
        self._line = after(self._line, LoggedEvent(datetime.now(UTC), event))
        match event:
            case IterationRecorded():
                self._tell_iteration(event.record)
            case StepFinished(step=name) if name in BESIDE:
                state, line = self._state, self._line
                self._sender.hand_over(lambda: Parcel(beside_spans(state, line, name)))
            case _:
                pass

    def close(self) -> None:
        """Tell of the loop itself where it has come to an end, and wait a little until all is delivered."""
        try:
            state = show_state(self._repository, self._state.loop).state
            if state.ending and self._marks.ended != state.ending.at:
                self._tell_end(state)
        finally:
            self._sender.close()

    def _catch_up(self) -> None:
        """A driver that was killed may not have delivered its last iteration."""
        record = newest_record(self._repository, self._state.loop)
        if record is None:
            self._marks.begin()
        elif self._marks.recorded is None:
            self._marks.record(record)  # telemetry was switched on in the middle of the loop
        elif not self._marks.knows(record):
            self._tell_iteration(record)

    def _tell_iteration(self, record: IterationRecord) -> None:
        state, line, marks = self._state, self._line, self._marks

        def parcel() -> Parcel:
            points = tuple(iteration_points(state, record))
            return Parcel(iteration_spans(state, record, line), points, lambda: marks.record(record))

        self._sender.hand_over(parcel)

    def _tell_end(self, state: LoopState) -> None:
        ending, marks = state.ending, self._marks
        if ending:
            points = tuple(loop_points(state, ending))
            self._sender.hand_over(lambda: Parcel((loop_span(state, ending),), points, lambda: marks.end(ending)))


def _lived(folder: LoopFolder) -> list[LoggedEvent]:
    follower = Follower(folder.journal)
    try:
        return follower.news()
    finally:
        follower.close()
