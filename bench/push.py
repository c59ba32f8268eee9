"""Measure the time from a push to the first step of its loop: real hook, receiver, Prefect server, worker and agent CLI.

    python bench/push.py [--pushes 5]

Pushes to a bare repository on this machine one after the other, and waits each time for the end of the loop. Prints the median of
each part and of the whole.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx

from deployments.demo_model import Request, Turn, say
from helmsman.records.events import StepStarted
from tasks.repository.git import open_repository
from tasks.repository.loop_context import loop_folder
from tests.fakes.command_line import scripted_command_line
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.processes import eventually
from tests.fakes.push_receiver import (
    ServedRepository,
    deploy,
    install_hook,
    run_receiver,
    run_worker,
    served_repository,
    write_repository_list,
)

PATIENCE = 200
CONFIGURATION = """
goal = "Nothing is to be done"
checks = ["true"]
[on_push]
branches = ["main"]
"""
PARTS = (
    "git push, as the person waits for it",
    "pushed → accepted by the receiver",
    "accepted → run created",
    "run created → flow running",
    "flow running → the loop's first step",
    "pushed → the loop's first step",
)


@dataclass(frozen=True)
class Scene:
    api: httpx.Client
    served: ServedRepository


def main() -> None:
    """Measure and print."""
    pushes = _arguments().pushes
    with tempfile.TemporaryDirectory(prefix="helmsman-bench-") as name, _scene(Path(name)) as scene:
        _one_push(scene, 0)  # the first one includes the receiver's import of Prefect
        measured = [_one_push(scene, number) for number in range(1, pushes + 1)]
    print(f"median seconds of {pushes} pushes{'':22}median   least    most")
    for part, seconds in zip(PARTS, zip(*measured, strict=True), strict=True):
        print(f"{part:<48}{statistics.median(seconds):>7.2f} {min(seconds):>7.2f} {max(seconds):>7.2f}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pushes", type=int, default=5)
    return parser.parse_args()


@contextmanager
def _scene(folder: Path) -> Generator[Scene]:
    served = served_repository(folder / "served", {"helmsman.toml": CONFIGURATION})
    repos = write_repository_list(folder, {"project": str(served.bare)})
    with PrefectServer.running(folder / "server") as server, scripted_command_line(folder, server.url, _script) as helmsman:
        deploy(helmsman.variables)
        with (
            run_worker(folder, helmsman.variables),
            run_receiver(folder, repos, helmsman.variables) as receiver,
            httpx.Client(base_url=server.url, timeout=60, trust_env=False) as api,
        ):
            install_hook(served, receiver.url)
            yield Scene(api, served)


def _script(_: Request) -> Turn:
    return say("Nothing was to be done.\n<promise>COMPLETE</promise>")


def _one_push(scene: Scene, number: int) -> tuple[float, ...]:
    """Push once. Returns the seconds of each part."""
    commit = scene.served.commit(f"change {number}", {"number": f"{number}\n"})
    begun = time.time()
    scene.served.push("HEAD:main")
    pushed = time.time()
    if not eventually(lambda: _run(scene, commit).get("state_type") in {"COMPLETED", "FAILED", "CRASHED"}, PATIENCE):
        raise SystemExit("a push came to nothing")
    run = _run(scene, commit)
    moments = (
        pushed,
        _moment(run["parameters"]["push"]["received_at"]),
        _moment(run["created"]),
        _moment(run["start_time"]),
        _first_step(scene, run["name"]),
    )
    parts = [later - earlier for earlier, later in pairwise(moments)]
    return (pushed - begun, *parts, moments[-1] - pushed)


def _run(scene: Scene, commit: str) -> Mapping[str, Any]:
    wanted = {"flows": {"name": {"any_": ["on_push"]}}, "sort": "EXPECTED_START_TIME_DESC", "limit": 5}
    answer = scene.api.post("/flow_runs/filter", json=wanted)
    runs: list[dict[str, Any]] = answer.json() if answer.is_success else []  # its SQLite may be busy
    return next((run for run in runs if run["parameters"]["push"]["commit"] == commit), dict[str, Any]())


def _first_step(scene: Scene, loop: str) -> float:
    journal = loop_folder(open_repository(scene.served.bare), loop).journal
    lines = (line.split(" ", 1) for line in journal.read_text("utf-8").splitlines())
    kind = StepStarted.model_fields["event"].default
    return next(_moment(when) for when, what in lines if f'"{kind}"' in what)


def _moment(told: str) -> float:
    return datetime.fromisoformat(told).timestamp()


if __name__ == "__main__":
    main()
