"""Artifacts of a loop in the engine's UI: keys, pages, and a server that fails or hangs."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId, FlowRunFilter, FlowRunFilterTags, LogFilter
from prefect.client.schemas.objects import Artifact, FlowRun
from prefect.settings import PREFECT_API_URL, temporary_settings

from helmsman.records.control import Oversight
from helmsman.records.state import LoopState
from tasks.engine.runs import flush, run_id
from tasks.observers import artifacts
from tasks.observers.artifacts import publish_artifacts
from tests.fakes.http_server import Call, Reply, serve_http
from tests.fakes.processes import eventually
from tests.fakes.scripted_agent import PROMISE, says
from tests.flows.conftest import Drive
from tests.unit.builders import STOP
from tests.unit.full_records import quoting_record, quoting_state

pytestmark = pytest.mark.usefixtures("engine_url")
NAMES = ("summary", "dashboard", "iterations", "checks", "verdicts", "gates", "progress")
KINDS = {"progress": "progress"}
SECRET = "sk-ant-api03-0123456789abcdef"


def artifacts_of(run: UUID) -> list[Artifact]:
    """Oldest first."""
    wanted = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[run]))
    with get_client(sync_client=True) as client:
        found = client.read_artifacts(artifact_filter=wanted, limit=200)
    return sorted(found, key=lambda artifact: str(artifact.created))


def by_key(run: UUID) -> dict[str, Any]:
    """What each artifact of a run holds."""
    return {str(artifact.key): artifact.data for artifact in artifacts_of(run)}


def in_a_run(what: Callable[[], object]) -> UUID:
    """Do something in a flow run of its own. Returns the run's id."""

    @flow(name="showing", persist_result=False)
    def showing() -> UUID:
        what()
        return run_id()

    return showing()


def runs_tagged(tag: str, uid: str) -> list[FlowRun]:
    with get_client(sync_client=True) as client:
        return client.read_flow_runs(flow_run_filter=FlowRunFilter(tags=FlowRunFilterTags(all_=[tag, f"uid:{uid}"])))


def loop_run(uid: str) -> UUID:
    [run] = runs_tagged("helmsman", uid)
    return run.id


def warnings_of(run: UUID) -> list[str]:
    """Warnings in the log of a run."""
    flush()
    with get_client(sync_client=True) as client:
        logs = client.read_logs(LogFilter.model_validate({"flow_run_id": {"any_": [run]}, "level": {"ge_": 30}}))
    return [log.message for log in logs]


def ended(**fields: Any) -> LoopState:
    return quoting_state().model_copy(update={"ending": STOP, "gate": None, **fields})


def test_a_driven_loop_leaves_each_artifact_once_on_its_own_page(drive: Drive) -> None:
    driven = drive([says(), says(PROMISE, shell="echo 42 > answer")], name="auth-fix")
    left = artifacts_of(loop_run(driven.state.uid))
    assert Counter(artifact.key for artifact in left) == dict.fromkeys((f"{name}-auth-fix" for name in NAMES), 1)
    assert {artifact.key: artifact.type for artifact in left} == {f"{n}-auth-fix": KINDS.get(n, "markdown") for n in NAMES}
    shown = {str(artifact.key): str(artifact.data) for artifact in left}
    assert shown["dashboard-auth-fix"].startswith("# auth-fix: ✔ completed")
    assert shown["iterations-auth-fix"].startswith("# auth-fix: 2 iterations")
    assert "proven at" in shown["summary-auth-fix"]
    assert [run.name for run in runs_tagged("helmsman", driven.state.uid)] == ["auth-fix"]
    assert {run.name for run in runs_tagged("helmsman-iteration", driven.state.uid)} == {"auth-fix #1", "auth-fix #2"}


@pytest.mark.feature("H5")
def test_an_artifact_is_updated_and_not_created_twice() -> None:
    def show() -> None:
        publish_artifacts(ended(iteration=10), quoting_record())
        publish_artifacts(ended(iteration=11), quoting_record())

    run = in_a_run(show)
    assert Counter(artifact.key for artifact in artifacts_of(run)) == dict.fromkeys((f"{name}-mend-it" for name in NAMES), 1)
    assert "11 of 30 iterations" in by_key(run)["dashboard-mend-it"]
    assert by_key(run)["progress-mend-it"] == 62.5


@pytest.mark.feature("H5")
def test_the_embedded_engine_gets_artifacts_only_at_an_end_or_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.observers.artifacts.is_embedded", lambda: True)
    going = ended(ending=None)
    assert artifacts_of(in_a_run(lambda: publish_artifacts(going, quoting_record()))) == []
    asked = in_a_run(lambda: publish_artifacts(quoting_state()))
    assert len(artifacts_of(asked)) == len(NAMES)


@pytest.mark.feature("M11")
def test_a_loop_of_a_chain_is_not_shown_what_the_one_before_it_did() -> None:
    def show() -> None:
        publish_artifacts(ended(), quoting_record())
        publish_artifacts(ended(loop="next", iteration=0, checks=None, oversight=Oversight()))

    shown = by_key(in_a_run(show))
    assert "2 passed, 1 failed" in shown["checks-mend-it"]
    assert "2 passed, 1 failed" not in shown["checks-next"]


@pytest.mark.feature("H5")
def test_a_rejecting_engine_costs_one_line_in_the_log() -> None:
    refused = ended(loop="No Key Of Prefect's")
    run = in_a_run(lambda: publish_artifacts(refused, quoting_record()))
    assert artifacts_of(run) == []
    assert eventually(lambda: bool(warnings_of(run)))
    assert len(warnings_of(run)) == 1
    assert "the artifacts of loop No Key Of Prefect's are out of date" in warnings_of(run)[0]


@pytest.mark.feature("H5")
def test_no_secret_is_in_any(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    words = f"{'x' * 280} {SECRET} *{SECRET}*"
    run = in_a_run(lambda: publish_artifacts(quoting_state(words), quoting_record(words)))
    shown = [f"{artifact.data} {artifact.description}" for artifact in artifacts_of(run)]
    assert len(shown) == len(NAMES)
    assert not [text for text in shown if SECRET[:12] in text.replace("\\", "")]
    assert any("ANTHROPIC" in text for text in shown)


@pytest.mark.feature("H5")
def test_a_hanging_engine_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifacts, "ANSWER_SECONDS", 0.5)
    asked, is_over = list[str](), threading.Event()

    def hang(call: Call) -> Reply:
        asked.append(f"{call.method} {call.target}")
        is_over.wait()
        return Reply()

    def show() -> None:
        with serve_http(hang) as url:
            for number in (1, 2):  # what could not be written is tried at the next showing, once again
                with temporary_settings({PREFECT_API_URL: f"{url}/api"}):
                    artifacts.publish_artifacts(ended(), quoting_record())
                assert [one for one in asked if "artifacts" in one or "admin" in one] == [look] * number
            is_over.set()

    look = "POST /api/artifacts/filter"
    run = in_a_run(show)
    assert artifacts_of(run) == []
