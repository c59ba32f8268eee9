"""An engine with all services, deployments and a worker that can be killed."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import psutil

from deployments.demo_model import Request, Turn, bash, call, say
from tests.fakes import engine_client, two_sessions
from tests.fakes.command_line import ScriptedCommandLine, scripted_command_line
from tests.fakes.loop_bench import Bench
from tests.fakes.prefect_server import TEAM_SERVER, PrefectServer
from tests.fakes.processes import ROOT, eventually, processes
from tests.fakes.repositories import make_repository
from tests.fakes.two_sessions import LOOP, iteration_of

Process: TypeAlias = subprocess.Popen[bytes]
PATIENCE = engine_client.PATIENCE
SILENCE_SECONDS = 60
"""Instead of 90: a heartbeat comes every 30 s and may be late on a busy machine; tests wait for a missing one."""
SETTLED_SECONDS = 12
"""Instead of 30."""
ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
LEVELS = {10: "DEBUG", 20: "INFO", 30: "WARNING", 40: "ERROR", 50: "CRITICAL"}
PREFECT = Path(sys.executable).with_name("prefect")
TWO_SESSIONS = two_sessions.GOAL
ANSWER = (call(bash("echo 42 > answer")), say("It is so.\n<promise>COMPLETE</promise>"))
DEPLOY = """
from prefect.client.orchestration import get_client
from deployments.deploy import update_own_automations, deploy
deploy("helmsman", as_json=True)
with get_client(sync_client=True) as client:
    update_own_automations(client, silence_seconds={silence}, settled_seconds={settled})
"""

NOTIFY = """
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.client.orchestration import get_client
from deployments.deploy import update_own_automations
sent = {{"subject": "{{{{subject}}}}", "body": "{{{{body}}}}"}}
block = CustomWebhookNotificationBlock(name="ops", url="{url}", json_data=sent)
block.save("questions", overwrite=True)
with get_client(sync_client=True) as client:
    update_own_automations(client, notify="custom-webhook/questions", silence_seconds={silence}, settled_seconds={settled})
"""


def script(request: Request) -> Turn:
    """Reach one goal in two sessions, all others at once."""
    return two_sessions.script(request) if TWO_SESSIONS in request.prompt else ANSWER[min(request.turn, 1)]


@dataclass
class Team:
    server: PrefectServer
    helmsman: ScriptedCommandLine
    api: httpx.Client
    deployed: Mapping[str, Any]
    """Output of `helmsman deploy --json`."""
    workers: list[Process] = field(default_factory=list[Process])

    @property
    def home(self) -> Path:
        return self.helmsman.folder / "home"

    def bench(self, folder: Path) -> Bench:
        """Make a repository for one loop."""
        folder.mkdir(exist_ok=True)
        make_repository(folder / "repository", {})
        return Bench(folder, self.helmsman.model, dict(self.helmsman.variables))

    def start(self, bench: Bench, goal: str, check: str, **settings: Any) -> str:
        """Start a loop by the deployment. Returns the id of its run."""
        return self.run("loop/loop", self.request(bench, goal, check, **settings))

    def request(self, bench: Bench, goal: str, check: str, **settings: Any) -> Mapping[str, Any]:
        request = {"repository": str(bench.repository), "goal": goal, "checks": [check], "loop": LOOP, "settings": settings}
        return {"request": request}

    def run(self, deployment: str, parameters: Mapping[str, Any], in_hours: float = 0) -> str:
        when = (datetime.now(UTC) + timedelta(hours=in_hours)).isoformat()
        wanted = {"state": {"type": "SCHEDULED", "state_details": {"scheduled_time": when}}, "parameters": parameters}
        started = self.post(f"/deployments/{self.id_of(deployment)}/create_flow_run", wanted)
        return str(started.raise_for_status().json()["id"])

    def id_of(self, deployment: str) -> str:
        return str(self.api.get(f"/deployments/name/{deployment}").raise_for_status().json()["id"])

    def post(self, where: str, what: Any) -> httpx.Response:
        return self.api.post(where, json=what)

    def set_deployment(self, deployment: str, **changes: Any) -> None:
        answer = self.api.patch(f"/deployments/{deployment}", json=changes)
        assert answer.is_success, f"{answer.status_code} {answer.text}"

    def eventually(self, condition: Callable[[], bool]) -> bool:
        """Whether a condition becomes true; it is polled slowly, so that the engine is not busy with that."""

        def holds_now() -> bool:
            holds = condition()
            if not holds:
                time.sleep(engine_client.PAUSE)
            return holds

        return eventually(holds_now, PATIENCE)

    def run_of(self, run: str) -> Mapping[str, Any]:
        return self.api.get(f"/flow_runs/{run}").raise_for_status().json()

    def states(self, run: str) -> list[str]:
        """Names of the states that a run went through, oldest first."""
        found = self.api.get("/flow_run_states/", params={"flow_run_id": run}).raise_for_status().json()
        return [state["name"] for state in sorted(found, key=lambda state: state["timestamp"])]

    def notify(self, url: str) -> None:
        """Notify a webhook when a loop asks a person, as `helmsman deploy --notify` does."""
        _python(self.helmsman, NOTIFY.format(url=url, silence=SILENCE_SECONDS, settled=SETTLED_SECONDS))

    def log_of(self, run: str) -> list[tuple[str, str]]:
        """Level and words of each line in the log of a run, oldest first."""
        wanted = {"logs": {"flow_run_id": {"any_": [run]}}, "sort": "TIMESTAMP_ASC", "limit": 200}
        found = self.post("/logs/filter", wanted).raise_for_status().json()
        return [(LEVELS[line["level"]], line["message"]) for line in found]

    def ended(self, run: str, *names: str) -> Mapping[str, Any]:
        """The run, once it has ended or is in a state of these names."""

        def is_there() -> bool:
            found = self.run_of(run)
            return found["state_type"] in ENDED or found["state_name"] in names

        assert self.eventually(is_there), (self.states(run), self.log)
        return self.run_of(run)

    def is_asleep(self, run: str) -> bool:
        """Whether a run waits for a person, and no process of it is left."""
        return self.ended(run, "Suspended")["state_name"] == "Suspended" and self.has_left(run)

    def has_left(self, run: str) -> bool:
        """Whether no process of a run is left, soon."""
        return eventually(lambda: not processes("PREFECT__FLOW_RUN_ID", run))

    def kill(self, run: str) -> None:
        """Kill the driver of a run and processes with its id; not the agent, which must end by itself."""
        for process in processes("PREFECT__FLOW_RUN_ID", run):
            with suppress(psutil.Error):
                process.send_signal(signal.SIGKILL)

    def hold(self) -> None:
        """Keep the agent waiting inside its next first session."""
        (self.home / "held").unlink(missing_ok=True)
        (self.home / "hold").touch()

    def is_held(self) -> bool:
        return eventually((self.home / "held").exists, PATIENCE)

    def release(self) -> None:
        (self.home / "hold").unlink()

    def sessions(self, since: int) -> list[tuple[int, int]]:
        """For each session after so many requests: its iteration and number of requests."""
        seen = Counter((one.call, iteration_of(one)) for one in self.helmsman.model.requests[since:])
        return [(iteration, requests) for (_, iteration), requests in sorted(seen.items())]

    @property
    def log(self) -> str:
        return (self.helmsman.folder / "worker.log").read_text()[-4000:]

    def start_worker(self) -> None:
        command = [PREFECT, "worker", "start", "--pool", "helmsman", "--name", f"worker-{len(self.workers)}"]
        variables = {**self.helmsman.variables, "PREFECT_WORKER_QUERY_SECONDS": "1"}
        with (self.helmsman.folder / "worker.log").open("a") as log:
            self.workers.append(
                subprocess.Popen(command, cwd=self.helmsman.folder, env=variables, stdout=log, stderr=log, start_new_session=True)
            )

    def kill_worker(self) -> None:
        self.workers[-1].kill()
        self.workers[-1].wait(PATIENCE)

    def end(self) -> None:
        """Stop the workers; what they started has the team's HOME and is killed with the command line."""
        for worker in self.workers:
            worker.terminate()
            worker.wait(PATIENCE)


@contextmanager
def run_team(folder: Path) -> Generator[Team]:
    with (
        PrefectServer.running(folder / "server", TEAM_SERVER) as server,
        scripted_command_line(folder, server.url, script) as helmsman,
    ):
        deployed = json.loads(_deploy(helmsman).splitlines()[-1])
        with server.client() as api:
            made = Team(server, helmsman, api, deployed)
            made.start_worker()
            try:
                yield made
            finally:
                made.end()


def _deploy(helmsman: ScriptedCommandLine) -> str:
    return _python(helmsman, DEPLOY.format(silence=SILENCE_SECONDS, settled=SETTLED_SECONDS))


def _python(helmsman: ScriptedCommandLine, code: str) -> str:
    variables = {**helmsman.variables, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-P", "-c", code]
    ended = subprocess.run(
        command, cwd=helmsman.folder, env=variables, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout
