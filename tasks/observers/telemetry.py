"""Telling OpenTelemetry of a loop, where the environment says that somebody listens: traces and metrics by OTLP over HTTP.

An observer: nothing here stops a loop or makes it wait, but for FLUSH_SECONDS at its end. Who has not asked for it pays nothing:
OpenTelemetry's libraries are imported by `telemetry_sdk` alone, and that in a thread of its own.
"""

import os
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial, reduce
from pathlib import Path
from queue import Full, Queue
from typing import NamedTuple, TypeVar

from pydantic import ValidationError

from helmsman.records.base import Record
from helmsman.records.events import Event, IterationRecorded, StepFinished, TelemetryFailed
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from helmsman.render.activity import Activity, LoggedEvent, after
from helmsman.render.spans import BESIDE, Span, beside_spans, iteration_spans, loop_span
from tasks.observers.follow import FIRST_LOOK, last_entries, newest_record
from tasks.observers.journal import listening, publish
from tasks.places import LoopFolder
from tasks.repository.git import Repository
from tasks.repository.state_ref import show_state
from tasks.system.files import write_atomic
from tasks.system.secrets import redact

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
    asked = [signal for signal in SIGNALS if exported(environment, signal)]
    unspoken = next((name for signal in asked if (name := _variable(environment, signal, "PROTOCOL") or SPOKEN) != SPOKEN), None)
    if unspoken:
        warn(f"no telemetry: OTLP is spoken by {SPOKEN} here, not by {unspoken}; set OTEL_EXPORTER_OTLP_PROTOCOL={SPOKEN}")
    return bool(asked) and not unspoken


def exported(environment: Mapping[str, str], signal: str) -> bool:
    """Whether TRACES or METRICS go out by OTLP. An endpoint is enough; the exporter can be named, or be `none`."""
    exporter = environment.get(f"OTEL_{signal}_EXPORTER", "").strip().lower()
    if exporter:
        return "otlp" in [name.strip() for name in exporter.split(",")]
    return bool(_variable(environment, signal, "ENDPOINT"))


def _variable(environment: Mapping[str, str], signal: str, name: str) -> str:
    """Of one signal, or else of all."""
    names = f"OTEL_EXPORTER_OTLP_{signal}_{name}", f"OTEL_EXPORTER_OTLP_{name}"
    return next((found for one in names if (found := environment.get(one, "").strip())), "")


class Told(Record):
    """How far a loop was told."""

    iteration: int = 0
    attempt: int = 0
    ended: datetime | None = None
    """The end that was told."""


class Marks:
    """What was delivered of a loop; stands beside it, so that the next driver does not tell it again."""

    def __init__(self, path: Path) -> None:
        """Where the file is missing or cannot be read, nobody has ever told of this loop."""
        self._path = path
        self.told: Told | None = None
        with suppress(OSError, ValidationError):
            self.told = Told.model_validate_json(path.read_bytes())

    def set(self, **changed: object) -> None:
        self.told = (self.told or Told()).model_copy(update=changed)
        write_atomic(self._path, self.told.model_dump_json())


class Parcel(NamedTuple):
    """What belongs together: it is delivered as a whole or not at all."""

    pack: Callable[[], Iterable[Span]]
    """Called in the sender's thread."""
    delivered: Callable[[], None] = lambda: None
    """Called when it has arrived."""


class Sender:
    """Begins a thread at once; the libraries are imported there."""

    def __init__(self, uid: str, warn: Callable[[str], None]) -> None:
        """For the loop of that uid."""
        self._uid, self._warn, self._warned = uid, warn, False
        self._parcels = Queue[Parcel | None](WAITING_PARCELS)
        self._given_up = threading.Event()
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        self._thread.start()

    def hand_over(self, parcel: Parcel) -> None:
        """Never waits."""
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
            while (parcel := self._parcels.get()) is not None and not self._given_up.is_set():
                if emit(tuple(parcel.pack())):
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
        warn(f"no telemetry of this loop: {type(error).__name__}: {error}")
        return None


class _Watch:
    """Follows the events of one loop and hands over what is finished."""

    def __init__(self, repository: Repository, folder: LoopFolder, state: LoopState, warn: Callable[[str], None]) -> None:
        """Go on where an earlier driver stopped: what it did is in the journal."""
        self._repository, self._state = repository, state
        self._marks = Marks(folder.telemetry)
        self._line = reduce(after, last_entries(folder.journal, FIRST_LOOK), Activity())
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
                self._sender.hand_over(Parcel(partial(beside_spans, self._line, name)))
            case _:
                pass

    def close(self) -> None:
        """Tell of the loop itself where it has come to an end, and wait a little until all is delivered."""
        try:
            state, told = show_state(self._repository, self._state.loop).state, self._marks.told or Told()
            if (ending := state.ending) and told.ended != ending.at:
                self._sender.hand_over(Parcel(lambda: [loop_span(state, ending)], partial(self._marks.set, ended=ending.at)))
        finally:
            self._sender.close()

    def _catch_up(self) -> None:
        """A driver that was killed may not have delivered its last iteration."""
        record, told = newest_record(self._repository, self._state.loop), self._marks.told
        if record is None:
            self._marks.set()
        elif told is None:
            self._marks.set(**_mark(record))  # telemetry was switched on in the middle of the loop
        elif told.model_copy(update=_mark(record)) != told:
            self._tell_iteration(record)

    def _tell_iteration(self, record: IterationRecord) -> None:
        pack = partial(iteration_spans, self._state, record, self._line)
        self._sender.hand_over(Parcel(pack, partial(self._marks.set, **_mark(record))))


def _mark(record: IterationRecord) -> dict[str, int]:
    return {"iteration": record.iteration, "attempt": record.attempt}
