"""Telling OpenTelemetry of a loop, where the environment says that somebody listens: traces and metrics by OTLP over HTTP.

An observer: nothing here stops a loop or makes it wait, but for a few seconds at its end. Who has not asked for it pays nothing:
OpenTelemetry's libraries are imported by `telemetry_sdk` alone, which is imported where a loop is told of.
"""

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import reduce
from typing import TypeVar

from helmsman.records.events import Event, IterationRecorded, StepFinished, TelemetryFailed
from helmsman.records.state import LoopState
from helmsman.render.activity import Activity, LoggedEvent, after
from helmsman.render.spans import BESIDE, beside_spans, iteration_spans, loop_span
from tasks.observers.follow import FIRST_LOOK, last_entries
from tasks.repository.git import Repository
from tasks.repository.state_ref import show_state
from tasks.system.journal import listening, publish
from tasks.system.paths import LoopFolder
from tasks.system.secrets import redact

SIGNALS = "TRACES", "METRICS"
SPOKEN = "http/protobuf"
"""The one protocol of OTLP that the extra `telemetry` brings."""
MISSING = "no telemetry: an exporter is configured, and OpenTelemetry is not installed; pip install 'helmsman[telemetry]'"
UNDELIVERED = "telemetry is not delivered (see OTEL_EXPORTER_OTLP_ENDPOINT), and the loop goes on"
T = TypeVar("T")


def wanted(environment: Mapping[str, str], warn: Callable[[str], None]) -> bool:
    """Whether to tell anything at all. A protocol that is not spoken here is warned of."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    asked = exported_signals(environment)
    unspoken = next((name for signal in asked if (name := _variable(environment, signal, "PROTOCOL") or SPOKEN) != SPOKEN), None)
    if unspoken:
        warn(f"no telemetry: OTLP is spoken by {SPOKEN} here, not by {unspoken}; set OTEL_EXPORTER_OTLP_PROTOCOL={SPOKEN}")
    return bool(asked) and not unspoken


def exported_signals(environment: Mapping[str, str]) -> Sequence[str]:
    """Which of TRACES and METRICS go out by OTLP. An endpoint is enough; the exporter can be named, or be `none`."""
    named = {signal: environment.get(f"OTEL_{signal}_EXPORTER", "").strip().lower() for signal in SIGNALS}
    return [
        signal
        for signal, exporter in named.items()
        if ("otlp" in map(str.strip, exporter.split(",")) if exporter else _variable(environment, signal, "ENDPOINT"))
    ]


def _variable(environment: Mapping[str, str], signal: str, name: str) -> str:
    """Of one signal, or else of all."""
    names = f"OTEL_EXPORTER_OTLP_{signal}_{name}", f"OTEL_EXPORTER_OTLP_{name}"
    return next((found for one in names if (found := environment.get(one, "").strip())), "")


@contextmanager
def watched(repository: Repository, folder: LoopFolder, state: LoopState, log: Callable[[str], None]) -> Generator[None]:
    """Tell of a loop while the block drives it. `log` and the display hear at most once of telemetry that does not arrive."""

    def warn(why: str) -> None:
        publish(TelemetryFailed(why=why))
        log(why)

    watch = _guarded(lambda: _Watch(repository, folder, state, warn), warn) if wanted(os.environ, warn) else None
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
        missing = isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("opentelemetry")
        warn(MISSING if missing else f"no telemetry of this loop: {type(error).__name__}: {error}")
        return None


class _Watch:
    """Follows the events of one loop and tells what is finished."""

    def __init__(self, repository: Repository, folder: LoopFolder, state: LoopState, warn: Callable[[str], None]) -> None:
        """Go on where an earlier driver stopped: what it did of the attempt under way is in the journal."""
        from tasks.observers.telemetry_sdk import Pipeline

        self._warn, self._warned = warn, False
        self._repository, self._state = repository, state
        self._line = reduce(after, last_entries(folder.journal, FIRST_LOOK), Activity())
        self._pipeline = Pipeline(state.uid, exported_signals(os.environ), self._complain)

    def hear(self, event: Event) -> None:
        self._line = after(self._line, LoggedEvent(datetime.now(UTC), event))
        match event:
            case IterationRecorded():
                self._pipeline.tell(list(iteration_spans(self._state, event.record, self._line)))
            case StepFinished(step=name) if name in BESIDE:
                self._pipeline.tell(beside_spans(self._line, name))
            case _:
                pass

    def close(self) -> None:
        """Tell of the loop itself where it has come to an end here, and wait a little until all is delivered."""
        try:
            state = show_state(self._repository, self._state.loop).state
            if state.ending and state.ending != self._state.ending:
                self._pipeline.tell([loop_span(state, state.ending)])
        finally:
            self._pipeline.close()

    def _complain(self, why: str) -> None:
        """Once: a collector that is away stays away for many iterations."""
        if not self._warned:
            self._warned = True
            self._warn(" ".join(redact(f"{UNDELIVERED}: {why}").split())[:400])
