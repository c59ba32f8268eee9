"""A person who answers a loop's questions through the engine's API, as the UI does, while the loop waits."""

import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.fakes import engine_client

PATIENCE = 60
Fill = Mapping[str, Any] | Callable[[], None]
"""Values for the form, or an action to take once the question is open."""


@dataclass
class Approver:
    """The forms that were open, and the responses to the answers."""

    api: str
    forms: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    """Schemas of the forms, with their descriptions."""
    statuses: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])
    afterwards: Callable[[], None] = lambda: None
    """Called right after a form was accepted."""

    def work(self, loop: str, fills: Sequence[Fill]) -> None:
        """Answer one form after the other; a refused one again with the next values."""
        known = ""
        with engine_client.client(self.api, PATIENCE, engine_client.login()) as client:
            for fill in fills:
                run, keyset = self._wait_for_form(client, loop, known)
                if callable(fill):
                    fill()
                    known = f"{run}/{keyset['response']}"
                    continue
                answer = client.post(f"/flow_runs/{run}/resume", json={"run_input": dict(fill)})
                response = answer.raise_for_status().json()
                self.statuses.append(response["status"])
                self.afterwards()
                self.problems.append(response["details"].get("reason") or "")
                known = f"{run}/{keyset['response']}" if response["status"] == "ACCEPT" else ""

    def _wait_for_form(self, client: httpx.Client, loop: str, known: str) -> tuple[str, Mapping[str, str]]:
        wanted = {"tags": {"all_": [f"loop:{loop}"]}, "state": {"type": {"any_": ["PAUSED"]}}}
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            for run in client.post("/flow_runs/filter", json={"flow_runs": wanted}).raise_for_status().json():
                keyset = run["state"]["state_details"]["run_input_keyset"]
                shown = client.get(f"/flow_runs/{run['id']}/input/{keyset['schema']}")
                described = client.get(f"/flow_runs/{run['id']}/input/{keyset['description']}")
                # the engine stores the schema first, then the description
                if f"{run['id']}/{keyset['response']}" != known and shown.is_success and described.is_success:
                    self.forms.append({**shown.json(), "description": described.json()})
                    return run["id"], keyset
            time.sleep(0.2)
        raise AssertionError(f"loop {loop} asks no question")


@contextmanager
def answer_forms(api: str, loop: str, *fills: Fill) -> Generator[Approver]:
    """Answer in a thread while the block drives the loop."""
    approver, failed = Approver(api), list[BaseException]()

    def work() -> None:
        try:
            approver.work(loop, fills)
        except BaseException as error:  # noqa: BLE001 - raised again in the test's own thread
            failed.append(error)

    thread = threading.Thread(target=work, name="approver", daemon=True)
    thread.start()
    try:
        yield approver
    finally:
        thread.join(2 * PATIENCE)  # it gives up by itself, with the reason
    if failed:
        raise failed[0]
