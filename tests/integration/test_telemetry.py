"""Telemetry: unavailable collectors, missing libraries, and one trace over several drivers of a loop."""

import os
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from deployments.live import LiveView
from helmsman.records.advance import advance
from helmsman.records.events import Event, IterationRecorded, ObserverFailed, StepFinished, StepStarted
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from helmsman.render.spans import Attributes, Span, span_id, trace_context, trace_id
from tasks.observers import telemetry, telemetry_sdk
from tasks.observers.telemetry import SIGNALS, exporting, is_enabled
from tasks.observers.telemetry_sdk import Pipeline
from tasks.repository.git import Repository, open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import read_state, write_state
from tasks.system.journal import journal_to, listening, publish
from tasks.system.paths import LoopFolder
from tests.contracts.source import ROOT
from tests.fakes.collector import Collector, run_collector
from tests.fakes.repositories import LOOP, make_repository
from tests.unit import builders
from tests.unit.builders import CONTINUE, MINUTE, NOW, STOP

pytestmark = pytest.mark.feature("H6")

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


def iteration(number: int = 1, attributes: Attributes | None = None) -> list[Span]:
    return [Span((number,), (), "iteration", NOW, NOW + MINUTE, attributes or {"helmsman.decision": "continue"})]


def sent(*parcels: list[Span]) -> list[str]:
    """Tell these, and return what was complained of."""
    heard = list[str]()
    pipeline = Pipeline("u1", SIGNALS, heard.append)
    for one in parcels:
        pipeline.export(one)
    pipeline.close()
    return heard


@pytest.fixture(autouse=True)
def nothing_is_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*os.environ]:
        if name.startswith("OTEL_") or name == "TRACEPARENT":
            monkeypatch.delenv(name)


def test_spans_and_points_arrive_with_the_ids_that_they_were_given(monkeypatch: pytest.MonkeyPatch) -> None:
    with run_collector() as collector:
        monkeypatch.setenv(ENDPOINT, collector.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,service.name=ours")
        assert sent(iteration(1), iteration(2)) == []
    assert {span.trace for span in collector.spans} == {f"{trace_id('u1'):032x}"}
    assert [span.id for span in collector.spans] == [f"{span_id('u1', (number,)):016x}" for number in (1, 2)]
    assert {span.parent for span in collector.spans} == {f"{span_id('u1', ()):016x}"}
    assert [point.as_int for _, point in collector.points["helmsman.iterations"]] == [2]
    assert collector.resource["service.name"] == "ours"
    assert collector.resource["deployment.environment.name"] == "test"


def test_a_collector_that_refuses_is_complained_of(monkeypatch: pytest.MonkeyPatch) -> None:
    with run_collector(status=400) as collector:
        monkeypatch.setenv(ENDPOINT, collector.url)
        (complaint, *_) = sent(*(iteration(number) for number in range(5)))
    assert "Failed to export spans batch code: 400" in complaint


@pytest.mark.parametrize("deaf", [True, False], ids=["it never answers", "nobody listens"])
def test_an_unreachable_collector_delays_the_end_of_a_loop_only_briefly(monkeypatch: pytest.MonkeyPatch, *, deaf: bool) -> None:
    monkeypatch.setattr(telemetry_sdk, "FLUSH_SECONDS", 0.3)
    with run_collector(deaf=True) as collector:
        monkeypatch.setenv(ENDPOINT, collector.url if deaf else "http://127.0.0.1:9")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
        sent(*(iteration(number) for number in range(3000)))  # more than may wait: telling never blocks
        for delivering in [thread for thread in threading.enumerate() if thread.name == "telemetry"]:
            delivering.join()  # each batch would take a second; one that nobody listens to may have ended already


def test_values_of_secret_variables_are_replaced_by_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    with run_collector() as collector:
        monkeypatch.setenv(ENDPOINT, collector.url)
        monkeypatch.setenv("SHOP_API_KEY", "s3cr3t-of-the-shop")
        sent(iteration(attributes={"gen_ai.tool.name": "s3cr3t-of-the-shop"}))
    assert collector.spans[0].attributes == {"gen_ai.tool.name": "[SHOP_API_KEY]"}


def test_whoever_started_the_loop_is_linked(monkeypatch: pytest.MonkeyPatch) -> None:
    with run_collector() as collector:
        monkeypatch.setenv(ENDPOINT, collector.url)
        monkeypatch.setenv("TRACEPARENT", trace_context("outer", 1, 1)["TRACEPARENT"] + "\n")
        sent(iteration(attributes={"helmsman.decision.rule": "continue"}), iteration(2))
    assert [span.links for span in collector.spans] == [(f"{trace_id('outer'):032x}",), ()]


@pytest.mark.parametrize(
    ("environment", "is_wanted"),
    [
        ({}, False),
        ({ENDPOINT: ""}, False),
        ({ENDPOINT: "http://here"}, True),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://here/v1/metrics"}, True),
        ({ENDPOINT: "http://here", "OTEL_SDK_DISABLED": " True "}, False),
        ({ENDPOINT: "http://here", "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}, False),
        ({"OTEL_TRACES_EXPORTER": "console, otlp"}, True),
    ],
)
def test_the_standard_variables_say_whether_telemetry_is_wanted(environment: dict[str, str], *, is_wanted: bool) -> None:
    assert is_enabled(environment, pytest.fail) is is_wanted


def test_an_unsupported_protocol_is_reported_and_nothing_is_sent() -> None:
    heard = list[str]()
    assert not is_enabled({ENDPOINT: "http://here", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, heard.append)
    assert heard[0].endswith("the OTLP protocol grpc is not supported; set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf")


MISSING = """
import sys
class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter")):
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Nowhere())
from types import SimpleNamespace
from tasks.observers.telemetry import exporting
from tasks.system.journal import listening
with listening(lambda event: print(event.why)), exporting(None, None, SimpleNamespace(uid="u1")):
    pass
"""


def output_of(program: str) -> str:
    variables = {**os.environ, ENDPOINT: "http://127.0.0.1:9"}
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_without_the_libraries_one_line_says_what_to_install() -> None:
    assert output_of(MISSING) == f"{telemetry.MISSING}\n"
    assert "pip install 'helmsman[telemetry]'" in telemetry.MISSING


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """With a loop that has not done anything yet."""
    found = open_repository(make_repository(tmp_path / "top"))
    loop_folder(found, LOOP).root.mkdir(parents=True)
    write_state(found, builders.state(loop=LOOP), over=None, record=None, subject="start")
    return found


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with run_collector() as listening_one:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", listening_one.url)
        yield listening_one


@contextmanager
def driver(repository: Repository) -> Generator[LoopState]:
    """One that drives the loop from where it stands."""
    folder, (state, _) = loop_folder(repository, LOOP), read_state(repository, LOOP)
    with exporting(repository, folder, state), listening(journal_to(folder.journal)):
        yield state


def step(state: LoopState, name: str) -> None:
    publish(StepStarted(iteration=state.due, attempt=state.attempt, step=name))
    publish(StepFinished(iteration=state.due, attempt=state.attempt, step=name, seconds=0))


def record(repository: Repository, state: LoopState, *, last: bool = False) -> IterationRecord:
    """Write an iteration down, as the step of that name does."""
    found = builders.record(STOP if last else CONTINUE, loop=LOOP, iteration=state.due, attempt=state.attempt)
    write_state(repository, advance(state, found), over=read_state(repository, LOOP)[1], record=found, subject="more")
    return found


def drive(repository: Repository, *, last: bool = False) -> None:
    with driver(repository) as state:
        step(state, "orient")
        publish(IterationRecorded(record=record(repository, state, last=last)))


def folder_of(repository: Repository) -> LoopFolder:
    return loop_folder(repository, LOOP)


def span_names(collector: Collector) -> list[str]:
    return sorted(f"{span.name} {span.attributes.get('helmsman.iteration', '')}".strip() for span in collector.spans)


def test_several_drivers_in_sequence_export_one_trace_that_ends_once(repository: Repository, collector: Collector) -> None:
    drive(repository)
    drive(repository, last=True)
    with driver(repository):  # a loop that has ended is looked at again
        pass
    names = [name for name in span_names(collector) if name.startswith(("iteration", "invoke_workflow"))]
    assert names == ["invoke_workflow helmsman", "iteration 1", "iteration 2"]
    assert len({span.trace for span in collector.spans}) == 1
    assert len({span.id for span in collector.spans}) == len(collector.spans)


def test_the_next_driver_goes_on_with_the_steps_that_a_killed_one_has_done(repository: Repository, collector: Collector) -> None:
    with driver(repository) as state:
        step(state, "orient")
    with driver(repository) as state:
        step(state, "plan")
        publish(IterationRecorded(record=record(repository, state)))
    assert [name for name in span_names(collector) if name.startswith("step")] == ["step orient 1", "step plan 1"]


def test_a_rejected_export_is_one_line_of_the_display(repository: Repository, collector: Collector) -> None:
    collector.status = 400
    folder, (state, _) = folder_of(repository), read_state(repository, LOOP)
    complaints, screen = list[Event](), Console(file=StringIO(), width=500)
    with listening(complaints.append), listening(LiveView(screen)), exporting(repository, folder, state):
        publish(IterationRecorded(record=record(repository, state)))
    assert isinstance(screen.file, StringIO)
    (complaint,) = (event for event in complaints if isinstance(event, ObserverFailed))
    assert screen.file.getvalue().splitlines()[-1] == f"    warn       {complaint.why}"
