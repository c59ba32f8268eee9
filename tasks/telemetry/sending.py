"""A thread that delivers what a loop hands over, so that no loop waits for a collector."""

import threading
from collections.abc import Callable
from queue import Full, Queue
from typing import NamedTuple

from helmsman.render.spans import Point, Span
from tasks.system.secrets import redact

WAITING_PARCELS = 32
"""Iterations that wait for a slow collector; what comes after them is not told."""
FLUSH_SECONDS = 5.0
"""How long the end of a loop waits for the collector at most."""
MISSING = "no telemetry: an exporter is configured, and OpenTelemetry is not installed; pip install 'helmsman[telemetry]'"
UNDELIVERED = "telemetry is not delivered (see OTEL_EXPORTER_OTLP_ENDPOINT), and the loop goes on"


def _nothing() -> None:
    pass


class Parcel(NamedTuple):
    """What belongs together: it is delivered as a whole or not at all."""

    spans: tuple[Span, ...]
    points: tuple[Point, ...] = ()
    delivered: Callable[[], None] = _nothing
    """Called when it has arrived."""


class Sender:
    """Begins a thread at once; the libraries are imported there."""

    def __init__(self, uid: str, warn: Callable[[str], None]) -> None:
        """For the loop of that uid."""
        self._uid, self._warn, self._warned = uid, warn, False
        self._parcels = Queue[Callable[[], Parcel] | None](WAITING_PARCELS)
        self._given_up = threading.Event()
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        self._thread.start()

    def hand_over(self, parcel: Callable[[], Parcel]) -> None:
        """Never waits. The parcel is packed in the thread."""
        if not self._thread.is_alive():
            return
        try:
            self._parcels.put_nowait(parcel)
        except Full:
            self._complain("the collector is too slow, and some iterations are not told")

    def close(self) -> None:
        """Have the rest delivered, for a moment."""
        try:
            self._parcels.put_nowait(None)
        except Full:
            self._given_up.set()
        self._thread.join(FLUSH_SECONDS)
        self._given_up.set()

    def _run(self) -> None:
        try:
            self._deliver()
        except ModuleNotFoundError as error:
            self._complain(MISSING if (error.name or "").startswith("opentelemetry") else str(error))
        except Exception as error:  # noqa: BLE001 - an observer may fail in any way; it never stops a loop
            self._complain(f"{type(error).__name__}: {error}")

    def _deliver(self) -> None:
        from tasks.telemetry.emitting import emitter

        with emitter(self._uid, self._complain) as emit:
            while (pack := self._parcels.get()) is not None and not self._given_up.is_set():
                parcel = pack()
                if emit(parcel.spans, parcel.points):
                    parcel.delivered()

    def _complain(self, why: str) -> None:
        """Once: a collector that is away stays away for many iterations."""
        if not self._warned:
            self._warned = True
            text = why if why.startswith("no telemetry") else f"{UNDELIVERED}: {why}"
            self._warn(" ".join(redact(text).split())[:400])
