"""A real Prefect server on loopback that a test can kill and restart. It ends with the test process."""

import os
import signal
import sys
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import httpx

from tasks.engine.embedded import QUIET, SERVER
from tasks.system.process import run
from tests.fakes import engine_client
from tests.fakes.prefect_database import copy_database
from tests.fakes.processes import free_port

TEAM_SERVER = {
    **{name: value for name, value in SERVER.items() if name in QUIET or "TASK_RUN_RECORDER" in name},
    "PREFECT_UI_ENABLED": "1",
    "PREFECT_SERVER_EVENTS_PROACTIVE_GRANULARITY": "PT1S",
    "PREFECT_SERVER_EVENTS_EXPIRED_BUCKET_BUFFER": "PT5S",  # grace for late events before silence counts
}
"""Settings of a team's server: UI, schedules, automations, events. Proactive triggers are evaluated more often."""
START_SECONDS = 100
LONGEST_LIFE = 3600


class PrefectServer:
    """Always on the same port, with the same database."""

    def __init__(self, folder: Path, settings: Mapping[str, str] = SERVER) -> None:
        """Keep everything in this folder; nothing runs before `start`."""
        self._folder, self._settings = folder, settings
        self._port = free_port()
        self._process = 0
        self._thread: threading.Thread | None = None
        self._done = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/api"

    def client(self) -> httpx.Client:
        """A client that retries; the caller closes it."""
        return engine_client.client(self.url)

    def start(self) -> None:
        copy_database(self._folder / "prefect")
        self._done.clear()
        self._thread = threading.Thread(target=self._run, name="prefect-server", daemon=True)
        self._thread.start()
        until = time.monotonic() + START_SECONDS
        while not self._answers():
            assert self._thread.is_alive(), (self._folder / "server.log").read_text()
            assert time.monotonic() < until, "the Prefect server does not come up"
            time.sleep(0.1)

    @classmethod
    @contextmanager
    def running(cls, folder: Path, settings: Mapping[str, str] = SERVER) -> Generator[Self]:
        """A server while the block runs: the embedded one's services, or TEAM_SERVER."""
        folder.mkdir(parents=True, exist_ok=True)
        server = cls(folder, settings)
        server.start()
        try:
            yield server
        finally:
            server.stop()

    def stop(self) -> None:
        self._done.set()
        self._join()

    def kill(self) -> None:
        os.kill(self._process, signal.SIGKILL)
        self._join()

    def runs(self, uid: str) -> list[dict[str, Any]]:
        """The flow runs of a loop and of its iterations, oldest first."""
        wanted = {"flow_runs": {"tags": {"all_": [f"uid:{uid}"]}}, "sort": "START_TIME_ASC"}
        with self.client() as api:
            return list(api.post("/flow_runs/filter", json=wanted).raise_for_status().json())

    def loop_runs(self, uid: str) -> list[dict[str, Any]]:
        """One for each driver, oldest first."""
        return [run for run in self.runs(uid) if run["parent_task_run_id"] is None]

    def set_state(self, run: str, kind: str) -> None:
        with self.client() as api:
            api.post(f"/flow_runs/{run}/set_state", json={"state": {"type": kind}}).raise_for_status()

    def _run(self) -> None:
        command = [sys.executable, "-P", "-m", "uvicorn", "--factory", "prefect.server.api.server:create_app"]
        options = ["--host", "127.0.0.1", "--port", str(self._port), "--log-level", "error", "--lifespan", "on"]
        own = {"PATH": os.environ["PATH"], "HOME": str(self._folder), "PREFECT_HOME": str(self._folder / "prefect")}
        own["PREFECT_UI_API_URL"] = self.url
        run(
            [*command, *options, "--timeout-graceful-shutdown", "3"],
            cwd=self._folder,
            env={**own, **self._settings},
            tag=f"test-server-{uuid4().hex}",
            deadline=LONGEST_LIFE,
            merge_stderr=True,
            output_file=self._folder / "server.log",
            on_start=self._started,
            stop=self._done.is_set,
        )

    def _started(self, process: int) -> None:
        self._process = process

    def _join(self) -> None:
        assert self._thread is not None, "the server was never started"
        self._thread.join(timeout=30)
        assert not self._thread.is_alive(), "the server does not end"

    def _answers(self) -> bool:
        with suppress(httpx.HTTPError):
            return httpx.get(f"{self.url}/health", timeout=5, trust_env=False).is_success
        return False
