"""Telling OpenTelemetry of a loop, where the environment says that somebody listens: traces and metrics by OTLP over HTTP.

An observer: nothing here stops a loop or makes it wait, but for FLUSH_SECONDS at its end. Who has not asked for it pays nothing:
OpenTelemetry's libraries are imported by `telemetry_sdk` alone, and that in a thread of its own.
"""

import os
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from queue import Full, Queue
from typing import NamedTuple, TypeVar

from pydantic import ValidationError

from helmsman.records.base import Record
from helmsman.records.decision import Decision
from helmsman.records.events import Event, IterationRecorded, StepFinished, TelemetryFailed
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from helmsman.render import Activity, LoggedEvent, after
from helmsman.render.metrics import iteration_points, loop_points
from helmsman.render.spans import BESIDE, Point, Span, beside_spans, iteration_spans, loop_span
from tasks.observers.follow import Follower, newest_record
from tasks.observers.journal import listening, publish
from tasks.places import LoopFolder
from tasks.repository.git import Repository
from tasks.repository.state_ref import show_state
from tasks.system.secrets import redact

ENDPOINTS = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
SIGNALS = "TRACES", "METRICS"
SPOKEN = "http/protobuf"
"""The one protocol of OTLP that the extra `telemetry` brings."""
WAITING_PARCELS = 32
"""Iterations that wait for a slow collector; what comes after them is not told."""
FLUSH_SECONDS = 5.0
"""How long the end of a loop waits for the collector at most."""
MISSING = "no telemetry: an exporter is configured, and OpenTelemetry is not installed; pip install 'helmsman[telemetry]'"
UNDELIVERED = "telemetry is not delivered (see OTEL_EXPORTER_OTLP_ENDPOINT), and the loop goes on"
T = TypeVar("T")


def wanted(environment: Mapping[str, str], warn: Callable[[str], None]) -> bool:
    """Whether to tell anything at all. A protocol that is not spoken here is warned of."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    if is_set_up():
        return True
    asked = [signal for signal in SIGNALS if exported(environment, signal)]
    unspoken = next((name for signal in asked if (name := protocol(environment, signal)) != SPOKEN), None)
    if unspoken:
        warn(f"no telemetry: OTLP is spoken by {SPOKEN} here, not by {unspoken}; set OTEL_EXPORTER_OTLP_PROTOCOL={SPOKEN}")
    return bool(asked) and not unspoken


def is_set_up() -> bool:
    """Whether a provider of traces was set up in this process, by `opentelemetry-instrument` for one. Imports nothing."""
    sdk, api = sys.modules.get("opentelemetry.sdk.trace"), sys.modules.get("opentelemetry.trace")
    return sdk is not None and api is not None and isinstance(api.get_tracer_provider(), sdk.TracerProvider)


def exported(environment: Mapping[str, str], signal: str) -> bool:
    """Whether TRACES or METRICS go out by OTLP. An endpoint is enough; the exporter can be named, or be `none`."""
    exporter = environment.get(f"OTEL_{signal}_EXPORTER", "").strip().lower()
    if exporter:
        return "otlp" in [name.strip() for name in exporter.split(",")]
    return any(environment.get(name, "").strip() for name in (ENDPOINTS[0], f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"))


def protocol(environment: Mapping[str, str], signal: str) -> str:
    common = environment.get("OTEL_EXPORTER_OTLP_PROTOCOL", "").strip()
    return environment.get(f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "").strip() or common or SPOKEN


class _Delivered(Record):
    iteration: int = 0
    attempt: int = 0
    ended: datetime | None = None


class Marks:
    """Reads the file at the start and writes it anew with every delivery. One that cannot be read says nothing."""

    def __init__(self, path: Path) -> None:
        """The file may be missing."""
        self._path = path
        self._delivered = _read(path)

    @property
    def recorded(self) -> tuple[int, int] | None:
        """The last iteration that was delivered, and its attempt; None: nobody has ever told of this loop."""
        return (self._delivered.iteration, self._delivered.attempt) if self._delivered else None

    @property
    def ended(self) -> datetime | None:
        """The end that was delivered."""
        return self._delivered.ended if self._delivered else None

    def knows(self, record: IterationRecord) -> bool:
        return self.recorded == (record.iteration, record.attempt)

    def begin(self) -> None:
        self._write(_Delivered())

    def record(self, record: IterationRecord) -> None:
        self._write(_Delivered(iteration=record.iteration, attempt=record.attempt, ended=self.ended))

    def end(self, ending: Decision) -> None:
        before = self._delivered or _Delivered()
        self._write(before.model_copy(update={"ended": ending.at}))

    def _write(self, delivered: _Delivered) -> None:
        self._delivered = delivered
        new = self._path.with_suffix(".new")
        new.write_text(delivered.model_dump_json(), encoding="utf-8")
        new.replace(self._path)


def _read(path: Path) -> _Delivered | None:
    try:
        return _Delivered.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


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
        from tasks.observers.telemetry_sdk import emitter

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
