"""Export spans by OTLP with OpenTelemetry's SDK. The only module that imports it; needs the extra `telemetry`."""

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
"""Maximum wait for the collector at the end of a loop."""
METRICS_MILLIS = 10_000


class Pipeline:
    """Exporter of one loop's spans as traces and metrics, configured by the standard variables."""

    def __init__(self, uid: str, signals: Collection[str], report_error: Callable[[str], None]) -> None:
        """`signals`: those of TRACES and METRICS to export. The sampler decides once for the whole loop."""
        # each driver is a separate instance, so that counters do not mix; attributes from the environment take precedence
        own = Resource({"service.name": SCOPE, "service.version": version(SCOPE), "service.instance.id": str(uuid4())})
        self._uid, self._resource = uid, Resource.create().merge(own).merge(OTELResourceDetector().detect())
        sampler = TracerProvider(resource=self._resource, shutdown_on_exit=False).sampler
        sampled = sampler.should_sample(None, trace_id(uid), "loop").decision.is_sampled()
        driver = TraceContextTextMapPropagator().extract({"traceparent": os.environ.get("TRACEPARENT", "").strip()})
        context = trace.get_current_span(driver).get_span_context()
        self._links = [Link(context)] if context.is_valid else []
        self._stack = ExitStack()
        self._stack.enter_context(_capturing_logs(report_error))
        self._measure = self._stack.enter_context(_metrics(self._resource)) if "METRICS" in signals else None
        # OTEL_EXPORTER_OTLP_TIMEOUT (10 s) limits a request including retries
        self._processor = BatchSpanProcessor(OTLPSpanExporter()) if "TRACES" in signals and sampled else None

    def export(self, spans: Sequence[Span]) -> None:
        """Export spans without blocking. They are finished and have ids, so they bypass the SDK's tracer, which generates ids."""
        if self._measure:
            self._measure(spans)
        if self._processor:
            for span in spans:
                self._processor.on_end(self._readable(span))

    def close(self) -> None:
        """Flush for at most FLUSH_SECONDS: the SDK itself would wait for half a minute."""

        def end() -> None:
            with self._stack:
                if self._processor:
                    self._processor.shutdown()

        thread = threading.Thread(target=end, name="telemetry", daemon=True)
        thread.start()
        thread.join(FLUSH_SECONDS)

    def _readable(self, span: Span) -> ReadableSpan:
        end, error = _nanoseconds(span.end), str(span.attributes.get("error.type", ""))
        return ReadableSpan(
            redact(span.name),
            self._context(span.path),
            None if span.parent is None else self._context(span.parent),
            self._resource,
            _without_secrets(span.attributes),
            [Event("helmsman.signal", _without_secrets(signal), end) for signal in span.signals],
            self._links if "helmsman.decision.rule" in span.attributes else [],  # loops and iterations link to the driver's span
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
    """Yield a function that records metrics, exported every OTEL_METRIC_EXPORT_INTERVAL (60 s) and at the end."""
    reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    meter = provider.get_meter(SCOPE, version(SCOPE))
    record: dict[str, Callable[[float, dict[str, str | bool | int | float]], None]] = {}
    for name, instrument in telemetry_names()["instruments"].items():
        unit, meaning, buckets = instrument["unit"], instrument["meaning"], instrument.get("buckets")
        if instrument["kind"] == "counter":
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


class _ErrorForwarder(logging.Handler):
    """Log handler that forwards errors of the exporters."""

    def __init__(self, report_error: Callable[[str], None]) -> None:
        """Keeps the last warning, which precedes an error and contains its cause."""
        super().__init__(logging.WARNING)
        self._report_error, self._cause = report_error, ""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.ERROR:
            self._cause = record.getMessage()
        else:
            self._report_error(f"{record.getMessage()} {self._cause}".strip())


@contextmanager
def _capturing_logs(report_error: Callable[[str], None]) -> Generator[None]:
    """Capture the libraries' log lines, at least one per retry, while the block runs."""
    logger, handler = logging.getLogger("opentelemetry"), _ErrorForwarder(report_error)
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = not any(isinstance(other, _ErrorForwarder) for other in logger.handlers)


def _without_secrets(attributes: Attributes) -> dict[str, str | bool | int | float]:
    return {name: redact(value) if isinstance(value, str) else value for name, value in attributes.items()}


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1000
