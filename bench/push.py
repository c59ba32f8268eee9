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

from bench.common import SCRATCH
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
goal = "Do nothing"
checks = ["true"]
[on_push]
branches = ["main"]
"""
PARTS = (
    "git push, as seen by the user",
    "pushed → accepted by the receiver",
    "accepted → run created",
    "run created → flow running",
    "flow running → the loop's first step",
    "pushed → the loop's first step",
)


@dataclass(frozen=True)
class Setup:
    api: httpx.Client
    served: ServedRepository


def main() -> None:
    """Push a number of times, and print the median of each part."""
    pushes = _arguments().pushes
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as name, _set_up(Path(name)) as setup:
        _measure_push(setup, 0)  # the first one includes the receiver's import of Prefect
        measured = [_measure_push(setup, number) for number in range(1, pushes + 1)]
    print(f"median seconds of {pushes} pushes{'':22}median   min     max")
    for part, seconds in zip(PARTS, zip(*measured, strict=True), strict=True):
        print(f"{part:<48}{statistics.median(seconds):>7.2f} {min(seconds):>7.2f} {max(seconds):>7.2f}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pushes", type=int, default=5)
    return parser.parse_args()


@contextmanager
def _set_up(folder: Path) -> Generator[Setup]:
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
            yield Setup(api, served)


def _script(_: Request) -> Turn:
    return say("Nothing to do.\n<promise>COMPLETE</promise>")


def _measure_push(setup: Setup, number: int) -> tuple[float, ...]:
    """Push once. Returns the seconds of each part."""
    commit = setup.served.commit(f"change {number}", {"number": f"{number}\n"})
    start = time.time()
    setup.served.push("HEAD:main")
    pushed = time.time()
    if not eventually(lambda: _run(setup, commit).get("state_type") in {"COMPLETED", "FAILED", "CRASHED"}, PATIENCE):
        raise SystemExit(f"the loop of a push did not end within {PATIENCE} s")
    run = _run(setup, commit)
    times = (
        pushed,
        _timestamp(run["parameters"]["push"]["received_at"]),
        _timestamp(run["created"]),
        _timestamp(run["start_time"]),
        _first_step(setup, run["name"]),
    )
    parts = [later - earlier for earlier, later in pairwise(times)]
    return (pushed - start, *parts, times[-1] - pushed)


def _run(setup: Setup, commit: str) -> Mapping[str, Any]:
    query = {"flows": {"name": {"any_": ["on_push"]}}, "sort": "EXPECTED_START_TIME_DESC", "limit": 5}
    response = setup.api.post("/flow_runs/filter", json=query)
    runs: list[dict[str, Any]] = response.json() if response.is_success else []  # its SQLite may be busy
    return next((run for run in runs if run["parameters"]["push"]["commit"] == commit), dict[str, Any]())


def _first_step(setup: Setup, loop: str) -> float:
    journal = loop_folder(open_repository(setup.served.bare), loop).journal
    lines = (line.split(" ", 1) for line in journal.read_text("utf-8").splitlines())
    kind = StepStarted(iteration=1, attempt=1, step="orient").event
    return next(_timestamp(timestamp) for timestamp, event in lines if f'"{kind}"' in event)


def _timestamp(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


if __name__ == "__main__":
    main()
