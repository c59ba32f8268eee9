"""What is told of a loop over the lives of several drivers: one trace, and nothing twice."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from deployments.live import LiveView
from helmsman.records.advance import advance
from helmsman.records.events import IterationRecorded, StepFinished, StepStarted
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from tasks.observers.telemetry import exporting
from tasks.repository.git import Repository, open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import read_state, write_state
from tasks.system.journal import journal_to, listening, publish
from tasks.system.paths import LoopFolder
from tests.fakes.collector import Collector, run_collector
from tests.fakes.repositories import LOOP, make_repository
from tests.unit import builders
from tests.unit.builders import CONTINUE, STOP

pytestmark = pytest.mark.feature("H6")


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
    with exporting(repository, folder, state, pytest.fail), listening(journal_to(folder.journal)):
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


def told(collector: Collector) -> list[str]:
    return sorted(f"{span.name} {span.attributes.get('helmsman.iteration', '')}".strip() for span in collector.spans)


def test_drivers_that_follow_one_another_tell_one_trace_and_its_end_once(repository: Repository, collector: Collector) -> None:
    drive(repository)
    drive(repository, last=True)
    with driver(repository):  # a loop that has ended is looked at again
        pass
    names = [name for name in told(collector) if name.startswith(("iteration", "invoke_workflow"))]
    assert names == ["invoke_workflow helmsman", "iteration 1", "iteration 2"]
    assert len({span.trace for span in collector.spans}) == 1
    assert len({span.id for span in collector.spans}) == len(collector.spans)


def test_the_next_driver_goes_on_with_the_steps_that_a_killed_one_has_done(repository: Repository, collector: Collector) -> None:
    with driver(repository) as state:
        step(state, "orient")
    with driver(repository) as state:
        step(state, "plan")
        publish(IterationRecorded(record=record(repository, state)))
    assert [name for name in told(collector) if name.startswith("step")] == ["step orient 1", "step plan 1"]


def test_what_a_collector_refuses_is_one_line_of_the_loops_display(repository: Repository, collector: Collector) -> None:
    collector.status = 400
    folder, (state, _) = folder_of(repository), read_state(repository, LOOP)
    complaints, screen = list[str](), Console(file=StringIO(), width=500)
    with listening(LiveView(screen)), exporting(repository, folder, state, complaints.append):
        publish(IterationRecorded(record=record(repository, state)))
    assert isinstance(screen.file, StringIO)
    (complaint,) = complaints
    assert screen.file.getvalue().splitlines()[-1] == f"    warn       {complaint}"
