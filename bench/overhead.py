"""Measure the cost of control: time from an agent's exit to the next start, and resources of a long loop's process.

    python bench/overhead.py [--iterations 510]

Runs one loop on the embedded engine with an instant agent (a shell script that changes a file and prints a recorded result) and
an instant check. For comparison, runs a bare Prefect flow on the same engine whose subflow has as many empty tasks as an
iteration has steps. Prints medians at the beginning and at the end, their ratio, and memory, open files and child processes of
the loop's process.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import psutil

from bench.common import SCRATCH, isolate_state, write_agent
from helmsman.records.events import Event, IterationRecorded
from tasks.engine.embedded import engine
from tasks.system.journal import listening
from tests.fakes.repositories import make_repository

STEPS = 12
"""Steps of an iteration: orient, plan, prompt, execute, checks, invariants, claims, judge, oversee, decide, learn,
record."""
WINDOW = 10

AGENT = """\
#!/bin/sh
date +%s.%N >> {folder}/log
cat > /dev/null
date +%s.%N > counter
cat {result}
date +%s.%N >> {folder}/log
"""


class Resources(NamedTuple):
    """Resources of the loop's process at one time."""

    memory: float
    """Resident memory in MiB."""
    files: int
    processes: int
    """Descendants of the process."""

    def __str__(self) -> str:
        return f"{self.memory:.0f} MiB, {self.files} open files, {self.processes} child processes"


def main() -> None:
    """Run the loop and the bare flow, and print."""
    iterations = _arguments().iterations
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as name:
        folder = Path(name)
        isolate_state(folder)
        with engine() as engine_is_up:
            engine_is_up()
            from tasks.engine.runs import flush

            before = _bare_flow(WINDOW)
            resources = _run_loop(folder, iterations)
            after = _bare_flow(WINDOW)
            flush()
        _print(_gaps(folder / "log"), resources, before, after)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=WINDOW + 500)
    return parser.parse_args()


def _run_loop(folder: Path, iterations: int) -> list[Resources]:
    """Run one loop. Returns the resources of its process after each iteration."""
    from flows.loop import loop
    from helmsman.records.request import LoopRequest

    repository = make_repository(folder / "repository", {"counter": "0\n"})
    resources: list[Resources] = []
    process = psutil.Process()

    def record_resources(event: Event) -> None:
        if isinstance(event, IterationRecorded):
            resources.append(
                Resources(process.memory_info().rss / 2**20, process.num_fds(), len(process.children(recursive=True)))
            )

    settings = {
        "claude": {"binary": str(write_agent(folder, AGENT, "More remains.")), "permission_mode": "acceptEdits"},
        "steering": {"hooks": False},  # a shell script calls none
        "limits": {"iterations": iterations, "calls_per_hour": 10**6, "wall_clock_hours": None},
    }
    request = LoopRequest(repository=str(repository), goal="count", checks=("true",), loop="bench", settings=settings)
    with listening(record_resources):
        loop(request, return_state=True)
    return resources


def _bare_flow(runs: int) -> list[float]:
    """Seconds of each run of a subflow with as many empty tasks as an iteration has steps, persisted like those."""
    from prefect import flow, task

    from tasks.engine.runs import without_heartbeats

    @task(persist_result=True, result_serializer="json")
    def step(number: int, now: float) -> float:
        return number + now

    @flow(name="bare-iteration")
    def bare_iteration() -> None:
        for number in range(STEPS):
            step(number, time.time())

    @flow(name="bare")
    def bare() -> list[float]:
        with without_heartbeats():
            return [_seconds_of(bare_iteration) for _ in range(runs)]

    return bare()


def _seconds_of(function: Callable[[], None]) -> float:
    start = time.monotonic()
    function()
    return time.monotonic() - start


def _gaps(log: Path) -> list[float]:
    """Seconds between an agent's exit and the start of the next one."""
    times = [float(line) for line in log.read_text().split()]
    return [start - end for end, start in zip(times[1::2], times[2::2], strict=False)]


def _print(gaps: list[float], resources: list[Resources], before: list[float], after: list[float]) -> None:
    first, last = statistics.median(gaps[:WINDOW]), statistics.median(gaps[-WINDOW:])
    bare_first, bare_last = statistics.median(before), statistics.median(after)
    total = len(gaps) + 1
    print(f"{'':34}{'loop':>9}{'bare flow':>11}{'ratio':>7}")
    print(f"iterations 1-{WINDOW}, median seconds{first:>15.3f}{bare_first:>11.3f}{first / bare_first:>7.2f}")
    print(f"iterations {total - WINDOW}-{total}, median seconds{last:>11.3f}{bare_last:>11.3f}{last / bare_last:>7.2f}")
    print(f"growth from first to last{last / first:>18.2f}")
    for number, used in ((WINDOW, resources[min(WINDOW, len(resources) - 1)]), (total, resources[-1])):
        print(f"after iteration {number}: {used}")


if __name__ == "__main__":
    main()
