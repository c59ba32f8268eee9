"""Spans into OpenTelemetry's SDK and out by OTLP. The only file that imports it; needs the extra `telemetry`."""

import logging
import os
import threading
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from importlib.metadata import version
from itertools import chain
from uuid import uuid4

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from helmsman.render.spans import Attributes, Path, Span, points_of, span_id, telemetry_names, trace_id
from tasks.system.secrets import redact

SCOPE = "helmsman"
FLUSH_SECONDS = 5.0
"""How long the end of a loop waits for the collector at most."""
METRICS_MILLIS = 10_000


class Pipeline:
    """Where the spans of one loop go, as traces and as metrics, set up by the standard variables."""

    def __init__(self, uid: str, signals: Collection[str], complain: Callable[[str], None]) -> None:
        """`signals`: TRACES and METRICS as far as they go out. The sampler decides once, for the whole loop."""
        # each driver is an instance of its own, or their counters would mix; what the environment says of the service wins
        own = Resource({"service.name": SCOPE, "service.version": version(SCOPE), "service.instance.id": str(uuid4())})
        self._uid, self._resource = uid, Resource.create().merge(own).merge(OTELResourceDetector().detect())
        sampler = TracerProvider(resource=self._resource, shutdown_on_exit=False).sampler
        sampled = sampler.should_sample(None, trace_id(uid), "loop").decision.is_sampled()
        driver = TraceContextTextMapPropagator().extract({"traceparent": os.environ.get("TRACEPARENT", "").strip()})
        context = trace.get_current_span(driver).get_span_context()
        self._links = [Link(context)] if context.is_valid else []
        self._stack = ExitStack()
        self._stack.enter_context(_quiet(complain))
        self._measure = self._stack.enter_context(_metrics(self._resource)) if "METRICS" in signals else None
        # OTEL_EXPORTER_OTLP_TIMEOUT (10 s) bounds a request with its tries
        self._processor = BatchSpanProcessor(OTLPSpanExporter()) if "TRACES" in signals and sampled else None

    def tell(self, spans: Sequence[Span]) -> None:
        """Never waits. Spans are over and have ids of their own, so they go past the SDK's tracer, which would draw some."""
        if self._measure:
            self._measure(spans)
        if self._processor:
            for span in spans:
                self._processor.on_end(self._readable(span))

    def close(self) -> None:
        """Have the rest delivered, for a moment: the SDK itself would wait for half a minute."""

        def end() -> None:
            with self._stack:
                if self._processor:
                    self._processor.shutdown()

        ending = threading.Thread(target=end, name="telemetry", daemon=True)
        ending.start()
        ending.join(FLUSH_SECONDS)

    def _readable(self, span: Span) -> ReadableSpan:
        end, error = _nanoseconds(span.end), str(span.attributes.get("error.type", ""))
        return ReadableSpan(
            redact(span.name),
            self._context(span.path),
            None if span.parent is None else self._context(span.parent),
            self._resource,
            _without_secrets(span.attributes),
            [Event("helmsman.signal", _without_secrets(signal), end) for signal in span.signals],
            self._links if "helmsman.decision.rule" in span.attributes else [],  # loops and iterations say who drove them
            SpanKind.CLIENT if span.attributes.get("gen_ai.operation.name") == "chat" else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR, error) if error else Status(),
            start_time=_nanoseconds(span.start),
            end_time=end,
            instrumentation_scope=InstrumentationScope(SCOPE, version(SCOPE)),
        )

    def _context(self, path: Path) -> SpanContext:
        own = span_id(self._uid, path)
        return SpanContext(trace_id(self._uid), own, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


@contextmanager
def _metrics(resource: Resource) -> Generator[Callable[[Sequence[Span]], None]]:
    """Sent every OTEL_METRIC_EXPORT_INTERVAL (60 s) and at the end."""
    reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    meter = provider.get_meter(SCOPE, version(SCOPE))
    record: dict[str, Callable[[float, dict[str, str | bool | int | float]], None]] = {}
    for name, what in telemetry_names()["instruments"].items():
        unit, meaning, buckets = what["unit"], what["meaning"], what.get("buckets")
        if what["kind"] == "counter":
            record[name] = meter.create_counter(name, unit, meaning).add
        else:
            record[name] = meter.create_histogram(name, unit, meaning, explicit_bucket_boundaries_advisory=buckets).record

    def measure(spans: Sequence[Span]) -> None:
        for point in chain.from_iterable(map(points_of, spans)):
            record[point.instrument](point.value, _without_secrets(point.attributes))

    try:
        yield measure
    finally:
        provider.shutdown(METRICS_MILLIS)


class _Heard(logging.Handler):
    """Hears what the exporters have to complain of, again and again, and passes the errors on."""

    def __init__(self, complain: Callable[[str], None]) -> None:
        """Of warnings, which come before an error, the last is remembered: it names the cause."""
        super().__init__(logging.WARNING)
        self._complain, self._cause = complain, ""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.ERROR:
            self._cause = record.getMessage()
        else:
            self._complain(f"{record.getMessage()} {self._cause}".strip())


@contextmanager
def _quiet(complain: Callable[[str], None]) -> Generator[None]:
    """The libraries' own log lines, one and more for every try, go nowhere else while anybody here speaks for them."""
    logger, heard = logging.getLogger("opentelemetry"), _Heard(complain)
    logger.addHandler(heard)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(heard)
        logger.propagate = not any(isinstance(one, _Heard) for one in logger.handlers)


def _without_secrets(attributes: Attributes) -> dict[str, str | bool | int | float]:
    return {name: redact(value) if isinstance(value, str) else value for name, value in attributes.items()}


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1000
