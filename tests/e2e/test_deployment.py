"""Deployed to a work pool: the loop as a process worker runs it, started and cancelled by the API alone."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from deployments.demo_model import Request, Turn, bash, call, say
from helmsman.records.decision import Outcome
from helmsman.records.state import LoopState
from tasks.repository.git import git, open_repository
from tasks.repository.state_ref import show_state
from tests.fakes.bench import ROOT, eventually
from tests.fakes.command_line import Driving, driving, make_repository
from tests.fakes.prefect_server import PrefectServer

pytestmark = [pytest.mark.timeout(300), pytest.mark.xdist_group("deployment")]  # one engine, one worker

PATIENCE = 100
SERVICE_UNAVAILABLE = 503
PREFECT = Path(sys.executable).with_name("prefect")
ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
HOLDING = call(bash("touch ~/held; sleep 300"))
ANSWER = (call(bash("echo 42 > answer")), say("It is so.\n<promise>COMPLETE</promise>"))


def script(request: Request) -> Turn:
    """A goal that is reached, and one that the agent never comes to the end of."""
    return HOLDING if "hold on" in request.prompt else ANSWER[min(request.turn, 1)]


@dataclass(frozen=True)
class Deployed:
    helmsman: Driving
    api: httpx.Client
    deployment: str

    def start(self, **request: Any) -> httpx.Response:
        wanted = {"state": {"type": "SCHEDULED"}, "parameters": {"request": request}}
        return self.post(f"/deployments/{self.deployment}/create_flow_run", wanted)

    def post(self, where: str, what: Mapping[str, Any]) -> httpx.Response:
        """Asked again, as every client of Prefect's does, while its SQLite has no time."""
        until = time.monotonic() + PATIENCE
        while (answer := self.api.post(where, json=what)).status_code == SERVICE_UNAVAILABLE:
            assert time.monotonic() < until, answer.text
            time.sleep(0.5)
        return answer

    def run_of(self, started: httpx.Response) -> Mapping[str, Any]:
        return self.api.get(f"/flow_runs/{started.json()['id']}").raise_for_status().json()

    def loop(self, name: str) -> LoopState:
        return show_state(open_repository(self.helmsman.repository), name).state


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory, prefect_server: PrefectServer) -> Generator[Deployed]:
    """As `prefect.yaml` says that it is done."""
    folder = tmp_path_factory.mktemp("deployed")
    make_repository(folder / "repository")
    url = prefect_server.url
    with driving(folder, url, script) as helmsman, httpx.Client(base_url=url, timeout=30, trust_env=False) as api:
        prefect(helmsman, "work-pool", "create", "helmsman", "--type", "process")
        prefect(helmsman, "--no-prompt", "deploy", "--all")
        deployment = api.get("/deployments/name/loop/loop").raise_for_status().json()["id"]
        with worker(helmsman):
            yield Deployed(helmsman, api, deployment)


def prefect(helmsman: Driving, *arguments: str) -> None:
    variables = {**helmsman.variables, "PWD": str(ROOT)}
    ended = subprocess.run(
        [PREFECT, *arguments], cwd=ROOT, env=variables, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


@contextmanager
def worker(helmsman: Driving) -> Generator[None]:
    """A process worker and all that it starts, in a process group that ends with the block."""
    command = [PREFECT, "worker", "start", "--pool", "helmsman", "--name", "a-worker"]
    variables = {**helmsman.variables, "PREFECT_WORKER_QUERY_SECONDS": "1"}
    with (helmsman.folder / "worker.log").open("w") as log:
        process = subprocess.Popen(command, cwd=helmsman.folder, env=variables, stdout=log, stderr=log, start_new_session=True)
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait(PATIENCE)


@pytest.mark.slow
@pytest.mark.feature("D1")
def test_deploying_leaves_the_project_as_it_was(deployed: Deployed) -> None:
    found = deployed.api.get(f"/deployments/{deployed.deployment}").json()
    assert (found["entrypoint"], found["work_pool_name"], found["tags"]) == ("flows/loop.py:loop", "helmsman", ["helmsman"])
    assert not [path for path in (".prefect", ".prefectignore") if (ROOT / path).exists()]


@pytest.mark.feature("D1")
@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"goal": "g"}, "'repository' is a required property"),
        ({"repository": "/r", "gaol": "g"}, "'gaol' was unexpected"),
    ],
)
def test_the_api_refuses_parameters_that_are_no_request(request_: dict[str, Any], words: str, deployed: Deployed) -> None:
    refused = deployed.start(**request_)
    assert refused.status_code == 409, refused.text
    assert words in refused.json()["detail"]


@pytest.mark.feature("D1")
def test_a_worker_runs_a_loop_to_its_end_under_the_loop_s_name(deployed: Deployed) -> None:
    repository = deployed.helmsman.repository
    started = deployed.start(repository=str(repository), goal="reach it", checks=["test -e answer"], loop="reach-it")
    assert started.status_code == 201, started.text
    assert eventually(lambda: deployed.run_of(started)["state_type"] in ENDED, PATIENCE), deployed.run_of(started)["state"]
    run, state = deployed.run_of(started), deployed.loop("reach-it")
    assert (run["state_type"], run["name"]) == ("COMPLETED", "reach-it")
    assert {"helmsman", "loop:reach-it", f"uid:{state.uid}"} <= set(run["tags"])
    assert "completion.verified" in run["state"]["message"]
    assert (state.outcome, state.iteration) == (Outcome.COMPLETED, 1)
    assert git(repository, "show", "helmsman/reach-it:answer") == "42\n"
    below = deployed.post("/flow_runs/filter", {"flow_runs": {"tags": {"all_": [f"uid:{state.uid}"]}}}).json()
    assert {found["name"] for found in below} == {"reach-it", "reach-it #1"}
