"""An OTLP/HTTP collector on loopback that decodes requests by OpenTelemetry's own protocol buffers and keeps them."""

import gzip
import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.fakes.http_server import Call, Reply, serve_http


class ReceivedSpan(NamedTuple):
    """A span as a back end sees it."""

    trace: str
    id: str
    parent: str
    name: str
    start: int
    end: int
    attributes: Mapping[str, Any]
    error: str
    notes: tuple[str, ...]
    links: tuple[str, ...]


@dataclass
class Collector:
    """What was received. With a `status` other than 200 it rejects everything; when `deaf` it never responds."""

    status: int = 200
    deaf: bool = False
    spans: list[ReceivedSpan] = field(default_factory=list[ReceivedSpan])
    points: dict[str, list[tuple[dict[str, Any], Any]]] = field(default_factory=dict[str, list[tuple[dict[str, Any], Any]]])
    """Of each metric the points that came last, with their attributes."""
    resource: dict[str, Any] = field(default_factory=dict[str, Any])
    requests: list[str] = field(default_factory=list[str])
    url: str = ""
    leave: threading.Event = field(default_factory=threading.Event)

    def children(self, parent: str = "") -> list[ReceivedSpan]:
        return sorted((span for span in self.spans if span.parent == parent), key=lambda span: span.start)

    def tree(self, parent: str = "", depth: int = 0) -> Iterator[str]:
        """Names, two spaces for each level."""
        for span in self.children(parent):
            yield f"{'  ' * depth}{span.name}"
            yield from self.tree(span.id, depth + 1)

    def take(self, path: str, body: bytes) -> None:
        self.requests.append(path)
        if self.status != 200:
            return
        if path == "/v1/traces":
            self._take_spans(ExportTraceServiceRequest.FromString(body))
        if path == "/v1/metrics":
            self._take_metrics(ExportMetricsServiceRequest.FromString(body))

    def _take_spans(self, request: ExportTraceServiceRequest) -> None:
        for resource in request.resource_spans:
            self.resource = _attributes(resource.resource.attributes)
            self.spans += [_received_span(span) for scope in resource.scope_spans for span in scope.spans]

    def _take_metrics(self, request: ExportMetricsServiceRequest) -> None:
        found = (metric for resource in request.resource_metrics for scope in resource.scope_metrics for metric in scope.metrics)
        for metric in found:
            points = metric.sum.data_points if metric.HasField("sum") else metric.histogram.data_points
            self.points[metric.name] = [(_attributes(point.attributes), point) for point in points]


def _received_span(span: Any) -> ReceivedSpan:
    return ReceivedSpan(
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        name=span.name,
        start=span.start_time_unix_nano,
        end=span.end_time_unix_nano,
        attributes=_attributes(span.attributes),
        error=span.status.message if span.status.code == 2 else "",
        notes=tuple(event.name for event in span.events),
        links=tuple(link.trace_id.hex() for link in span.links),
    )


def _attributes(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


@contextmanager
def run_collector(**how: Any) -> Generator[Collector]:
    """A collector that listens while the block runs."""
    collector = Collector(**how)

    def respond(call: Call) -> Reply:
        if collector.deaf:
            collector.requests.append(call.target)
            collector.leave.wait()
        else:
            is_packed = call.headers.get("content-encoding") == "gzip"
            collector.take(call.target, gzip.decompress(call.body) if is_packed else call.body)
        return Reply(collector.status, headers={"content-type": "application/x-protobuf"})

    with serve_http(respond) as collector.url:
        try:
            yield collector
        finally:
            collector.leave.set()
