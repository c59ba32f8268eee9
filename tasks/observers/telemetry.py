"""Export traces and metrics of a loop to OpenTelemetry by OTLP over HTTP, if the environment configures an exporter.

An observer: it never stops a loop and delays it only for a few seconds at its end. It costs nothing if not configured:
only `telemetry_sdk` imports OpenTelemetry's libraries, and it is imported on demand.
"""

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import reduce
from typing import TypeVar

from helmsman.records.events import Event, IterationRecorded, ObserverFailed, StepFinished
from helmsman.records.state import LoopState
from helmsman.render.activity import Activity, LoggedEvent, apply_event
from helmsman.render.spans import OUTSIDE_ITERATIONS, iteration_spans, loop_span, outside_spans
from tasks.observers.follow import FIRST_LOOK, last_entries
from tasks.repository.git import Repository
from tasks.repository.state_ref import show_state
from tasks.system.journal import listening, publish
from tasks.system.paths import LoopFolder
from tasks.system.secrets import redact

SIGNALS = "TRACES", "METRICS"
SPOKEN = "http/protobuf"
"""The only OTLP protocol of the extra `telemetry`."""
MISSING = "no telemetry: an exporter is configured, and OpenTelemetry is not installed; pip install 'helmsman[telemetry]'"
UNDELIVERED = "telemetry is not delivered (see OTEL_EXPORTER_OTLP_ENDPOINT); the loop continues"
T = TypeVar("T")


def is_enabled(environment: Mapping[str, str], warn: Callable[[str], None]) -> bool:
    """Whether to export telemetry. Warns about an unsupported protocol."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    chosen = exported_signals(environment)
    unknown = next((name for signal in chosen if (name := _variable(environment, signal, "PROTOCOL") or SPOKEN) != SPOKEN), None)
    if unknown:
        warn(f"no telemetry: the OTLP protocol {unknown} is not supported; set OTEL_EXPORTER_OTLP_PROTOCOL={SPOKEN}")
    return bool(chosen) and not unknown


def exported_signals(environment: Mapping[str, str]) -> Sequence[str]:
    """Signals of TRACES and METRICS exported by OTLP: an endpoint is enough; the exporter can be set, also to `none`."""
    exporters = {signal: environment.get(f"OTEL_{signal}_EXPORTER", "").strip().lower() for signal in SIGNALS}
    return [
        signal
        for signal, exporter in exporters.items()
        if ("otlp" in map(str.strip, exporter.split(",")) if exporter else _variable(environment, signal, "ENDPOINT"))
    ]


def _variable(environment: Mapping[str, str], signal: str, name: str) -> str:
    """Value of a variable for one signal, else for all signals."""
    names = f"OTEL_EXPORTER_OTLP_{signal}_{name}", f"OTEL_EXPORTER_OTLP_{name}"
    return next((found for variable in names if (found := environment.get(variable, "").strip())), "")


@contextmanager
def exporting(repository: Repository, folder: LoopFolder, state: LoopState) -> Generator[None]:
    """Export telemetry of a loop while the block runs. A failed export is reported at most once."""

    def warn(why: str) -> None:
        publish(ObserverFailed(why=why))

    exporter = _try(lambda: _Exporter(repository, folder, state, warn), warn) if is_enabled(os.environ, warn) else None
    if exporter is None:
        yield
        return
    try:
        with listening(exporter.handle_event):
            yield
    finally:
        _try(exporter.close, warn)


def _try(act: Callable[[], T], warn: Callable[[str], None]) -> T | None:
    try:
        return act()
    except Exception as error:  # noqa: BLE001 - an observer may fail in any way; it never stops a loop
        missing = isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("opentelemetry")
        warn(MISSING if missing else f"no telemetry of this loop: {type(error).__name__}: {error}")
        return None


class _Exporter:
    """Follows the events of one loop and exports finished spans."""

    def __init__(self, repository: Repository, folder: LoopFolder, state: LoopState, warn: Callable[[str], None]) -> None:
        """Restore the activity of the current attempt from the journal of an earlier driver."""
        from tasks.observers.telemetry_sdk import Pipeline

        self._warn, self._has_warned = warn, False
        self._repository, self._state = repository, state
        self._activity = reduce(apply_event, last_entries(folder.journal, FIRST_LOOK), Activity())
        self._pipeline = Pipeline(state.uid, exported_signals(os.environ), self._warn_once)

    def handle_event(self, event: Event) -> None:
        self._activity = apply_event(self._activity, LoggedEvent(datetime.now(UTC), event))
        match event:
            case IterationRecorded():
                self._pipeline.export(list(iteration_spans(self._state, event.record, self._activity)))
            case StepFinished(step=name) if name in OUTSIDE_ITERATIONS:
                self._pipeline.export(outside_spans(self._activity, name))
            case _:
                pass

    def close(self) -> None:
        """Export the span of the loop if it ended in this block, and wait a little for delivery."""
        try:
            state = show_state(self._repository, self._state.loop).state
            if state.ending and state.ending != self._state.ending:
                self._pipeline.export([loop_span(state, state.ending)])
        finally:
            self._pipeline.close()

    def _warn_once(self, why: str) -> None:
        """Warn once: an unavailable collector usually stays so for many iterations."""
        if not self._has_warned:
            self._has_warned = True
            self._warn(" ".join(redact(f"{UNDELIVERED}: {why}").split())[:400])
