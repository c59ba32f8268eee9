"""Spans and points into OpenTelemetry's SDK and out by OTLP. The only file that imports it; needs the extra `telemetry`."""

import logging
import os
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from uuid import uuid4

from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import Counter, Histogram, Meter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, Tracer, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from helmsman.render.spans import Attributes, Point, Span, read_traceparent, telemetry_names, trace_id
from tasks.observers.telemetry import exported
from tasks.system.secrets import redact

SCOPE = "helmsman"
BATCH = 512
"""Spans in one request, as the SDK's own default is."""
METRICS_MILLIS = 10_000
KINDS = {"internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT}

Emit = Callable[[Sequence[Span], Sequence[Point]], bool]


@contextmanager
def emitter(uid: str, complain: Callable[[str], None]) -> Generator[Emit]:
    """Yields what tells of the loop and says whether it arrived.

    A provider that the process was set up with is used as it is; else there is one of our own, by the standard variables.
    """
    with ExitStack() as stack:
        set_up = trace.get_tracer_provider()
        if isinstance(set_up, TracerProvider):
            traces, meter = _Traces(uid, set_up, set_up.force_flush), metrics.get_meter(SCOPE)
        else:
            stack.enter_context(_quiet(complain))
            resource = _resource(os.environ)
            traces = _own_traces(uid, resource) if exported(os.environ, "TRACES") else None
            meter = stack.enter_context(_own_meter(resource)) if exported(os.environ, "METRICS") else None
        points = _Points(meter) if meter else None
        yield lambda spans, measured: _emit(traces, points, spans, measured)


def _emit(traces: "_Traces | None", points: "_Points | None", spans: Sequence[Span], measured: Sequence[Point]) -> bool:
    for point in measured if points else ():
        points.record(point)  # pyright: ignore[reportOptionalMemberAccess] - there are none without it
    return traces.tell(spans) if traces else True


class _Ids(IdGenerator):
    """The ids that we say are next."""

    def __init__(self, trace: int) -> None:
        """All spans belong to this trace."""
        self._trace, self.span = trace, 1

    def generate_trace_id(self) -> int:
        return self._trace

    def generate_span_id(self) -> int:
        return self.span

    def is_trace_id_random(self) -> bool:
        """A hash is as good."""
        return True


class _Traces:
    """Spans that have ended already, with ids of ours."""

    def __init__(self, uid: str, provider: TracerProvider, flush: Callable[[], bool]) -> None:
        """The sampler decides once, for the whole loop."""
        tracer = provider.get_tracer(SCOPE, version(SCOPE))
        self._tracer, self._flush, self._ids = tracer, flush, _Ids(trace_id(uid))
        if isinstance(tracer, Tracer):  # else the SDK is disabled
            tracer.id_generator = self._ids
            sampled = tracer.sampler.should_sample(None, trace_id(uid), "loop").decision.is_sampled()
            self._flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
        driver = read_traceparent(os.environ.get("TRACEPARENT", ""))
        self._links = [Link(self._context(*driver))] if driver else []
        self._uid = uid

    def tell(self, spans: Sequence[Span]) -> bool:
        for span in spans:
            self._tell(span)
        return self._flush()

    def _tell(self, span: Span) -> None:
        self._ids.span = span.id
        parent = Context()
        if span.parent:
            parent = trace.set_span_in_context(NonRecordingSpan(self._context(trace_id(self._uid), span.parent)), parent)
        told = self._tracer.start_span(
            redact(span.name),
            parent,
            KINDS[span.kind],
            _without_secrets(span.attributes),
            self._links if _is_driven(span) else None,
            _nanoseconds(span.start.timestamp()),
        )
        for note in span.notes:
            told.add_event(note.name, _without_secrets(note.attributes), _nanoseconds(note.at.timestamp()))
        if span.error:
            told.set_status(Status(StatusCode.ERROR, span.error))
        told.end(_nanoseconds(span.end.timestamp()))

    def _context(self, in_trace: int, span: int) -> SpanContext:
        return SpanContext(in_trace, span, is_remote=True, trace_flags=self._flags)


def _is_driven(span: Span) -> bool:
    """Loops and iterations say who drove them."""
    return "helmsman.decision.rule" in span.attributes


class _Kept(SpanProcessor):
    """Keeps spans until they are sent: unlike the SDK's own processors it says whether they arrived."""

    def __init__(self, exporter: OTLPSpanExporter) -> None:
        """The exporter bounds each request by OTEL_EXPORTER_OTLP_TIMEOUT (10 s), its own tries included."""
        self._exporter, self._spans = exporter, list[ReadableSpan]()

    def on_end(self, span: ReadableSpan) -> None:
        if span.context and span.context.trace_flags.sampled:
            self._spans.append(span)

    def send(self) -> bool:
        spans, self._spans = self._spans, []
        batches = [spans[start : start + BATCH] for start in range(0, len(spans), BATCH)]
        return all(self._exporter.export(batch) is SpanExportResult.SUCCESS for batch in batches)


def _own_traces(uid: str, resource: Resource) -> _Traces:
    provider, kept = TracerProvider(resource=resource, shutdown_on_exit=False), _Kept(OTLPSpanExporter())
    provider.add_span_processor(kept)
    return _Traces(uid, provider, kept.send)


@contextmanager
def _own_meter(resource: Resource) -> Generator[Meter]:
    """Sent every OTEL_METRIC_EXPORT_INTERVAL (60 s) and at the end."""
    reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    try:
        yield provider.get_meter(SCOPE, version(SCOPE))
    finally:
        provider.shutdown(METRICS_MILLIS)


class _Points:
    """One instrument for each name of the table."""

    def __init__(self, meter: Meter) -> None:
        """They are made when they are needed."""
        self._meter, self._made = meter, dict[str, Counter | Histogram]()

    def record(self, point: Point) -> None:
        instrument = self._made.get(point.instrument) or self._made.setdefault(point.instrument, self._make(point.instrument))
        attributes = _without_secrets(point.attributes)
        if isinstance(instrument, Counter):
            instrument.add(point.value, attributes)
        else:
            instrument.record(point.value, attributes)

    def _make(self, name: str) -> Counter | Histogram:
        what = telemetry_names()["instruments"][name]
        if what["kind"] == "counter":
            return self._meter.create_counter(name, what["unit"], what["meaning"])
        buckets = what["buckets"]
        return self._meter.create_histogram(name, what["unit"], what["meaning"], explicit_bucket_boundaries_advisory=buckets)


class _Heard(logging.Handler):
    """Hears what the exporters have to complain of, again and again, and passes the first error on."""

    def __init__(self, complain: Callable[[str], None]) -> None:
        """Of warnings, which come before an error, the last is remembered: it names the cause."""
        super().__init__(logging.WARNING)
        self._complain, self._cause = complain, ""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.ERROR:
            self._cause = record.getMessage()
        else:
            self._complain(f"{record.getMessage()} {self._cause}".strip())


_quieting = threading.Lock()
_quieted = 0


@contextmanager
def _quiet(complain: Callable[[str], None]) -> Generator[None]:
    """The libraries' own log lines, one and more for every try, go nowhere else while we speak by ourselves."""
    global _quieted  # noqa: PLW0603 - one logger for the whole process
    logger, heard = logging.getLogger("opentelemetry"), _Heard(complain)
    with _quieting:
        _quieted += 1
        logger.addHandler(heard)
        logger.propagate = False
    try:
        yield
    finally:
        with _quieting:
            _quieted -= 1
            logger.removeHandler(heard)
            logger.propagate = not _quieted


def _resource(environment: Mapping[str, str]) -> Resource:
    """What the environment says of the service wins; each driver is an instance of its own, or their counters would mix."""
    found = Resource.create().attributes
    named = "OTEL_SERVICE_NAME" in environment or "service.name=" in environment.get("OTEL_RESOURCE_ATTRIBUTES", "")
    own = {} if named else {"service.name": SCOPE}
    if "service.instance.id=" not in environment.get("OTEL_RESOURCE_ATTRIBUTES", ""):
        own["service.instance.id"] = str(uuid4())
    if "service.version" not in found:
        own["service.version"] = version(SCOPE)
    return Resource.create(own)


def _without_secrets(attributes: Attributes) -> dict[str, str | bool | int | float]:
    return {name: redact(value) if isinstance(value, str) else value for name, value in attributes.items()}


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1_000_000) * 1000
