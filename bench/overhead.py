"""Measure the cost of control: time from an agent's exit to the next start, and resources of a long loop's process.

    python bench/overhead.py [--iterations 510]

Runs one loop on the embedded engine with an instant agent (a shell script that changes a file and prints a recorded result) and
an instant check. For comparison, runs a bare Prefect flow on the same engine whose subflow has as many empty tasks as an
iteration has steps. Prints medians at the beginning and at the end, their ratio, and memory, open files and child processes of
the loop's process.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import psutil

from helmsman.records.events import Event, IterationRecorded
from tasks.engine.embedded import engine
from tasks.repository.git import git
from tasks.system.journal import listening

STEPS = 12
"""Steps of an iteration: orient, plan, prompt, execute, checks, invariants, claims, judge, oversee, decide, learn,
record."""
WINDOW = 10

AGENT = """\
#!/bin/sh
date +%s.%N >> "{log}"
cat > /dev/null
date +%s.%N > counter
cat "{result}"
date +%s.%N >> "{log}"
"""

RESULT = {
    "type": "result", "subtype": "success", "is_error": False, "result": "More remains.", "num_turns": 1, "total_cost_usd": 0.0,
    "session_id": "s", "usage": {"input_tokens": 1, "output_tokens": 1}, "terminal_reason": "completed",
}  # fmt: skip


class Held(NamedTuple):
    """Resources of the loop's process at one time."""

    memory: float
    """Resident memory in MiB."""
    files: int
    processes: int
    """Descendants of the process."""

    def __str__(self) -> str:
        return f"{self.memory:.0f} MiB, {self.files} open files, {self.processes} child processes"


def main() -> None:
    """Run both and print."""
    iterations = _arguments().iterations
    with tempfile.TemporaryDirectory(prefix="helmsman-bench-") as name:
        folder = Path(name)
        own_homes(folder)
        with engine() as engine_is_up:
            engine_is_up()
            from tasks.engine.runs import flush

            before = _bare_flow(WINDOW)
            held = _run_loop(folder, iterations)
            after = _bare_flow(WINDOW)
            flush()
        _print(_gaps(folder / "log"), held, before, after)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=WINDOW + 500)
    return parser.parse_args()


def own_homes(folder: Path) -> None:
    """Set up an engine and a state folder of its own."""
    os.environ |= {"HELMSMAN_HOME": str(folder / "state"), "PREFECT_HOME": str(folder / "prefect")}
    os.environ.pop("PREFECT_API_URL", None)


def _run_loop(folder: Path, iterations: int) -> list[Held]:
    """Run one loop. Returns the resources of its process after each iteration."""
    from flows.loop import loop
    from helmsman.records.request import LoopRequest

    held: list[Held] = []
    process = psutil.Process()

    def watch(event: Event) -> None:
        if isinstance(event, IterationRecorded):
            held.append(Held(process.memory_info().rss / 2**20, process.num_fds(), len(process.children(recursive=True))))

    settings = {
        "claude": {"binary": str(_agent(folder)), "permission_mode": "acceptEdits"},
        "steering": {"hooks": False},  # a shell script calls none
        "limits": {"iterations": iterations, "calls_per_hour": 10**6, "wall_clock_hours": None},
    }
    request = LoopRequest(repository=str(_repository(folder)), goal="count", checks=("true",), loop="bench", settings=settings)
    with listening(watch):
        loop(request, return_state=True)
    return held


def _agent(folder: Path) -> Path:
    script, result = folder / "agent", folder / "result.json"
    result.write_text(json.dumps(RESULT) + "\n")
    script.write_text(AGENT.format(log=folder / "log", result=result))
    script.chmod(0o755)
    return script


def _repository(folder: Path) -> Path:
    root = folder / "repository"
    root.mkdir()
    (root / "counter").write_text("0\n")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "start")
    return root


def _bare_flow(runs: int) -> list[float]:
    """Seconds of each run of a subflow with as many empty tasks, persisted like ours, in a parent flow."""
    from prefect import flow, task

    from tasks.engine.runs import without_heartbeats

    @task(persist_result=True, result_serializer="json")
    def step(number: int, moment: float) -> float:
        return number + moment

    @flow(name="bare-iteration")
    def bare_iteration() -> None:
        for number in range(STEPS):
            step(number, time.time())

    @flow(name="bare")
    def bare() -> list[float]:
        with without_heartbeats():
            return [_timed(bare_iteration) for _ in range(runs)]

    return bare()


def _timed(what: Callable[[], None]) -> float:
    begun = time.monotonic()
    what()
    return time.monotonic() - begun


def _gaps(log: Path) -> list[float]:
    """Seconds between an agent's exit and the start of the next one."""
    moments = [float(line) for line in log.read_text().split()]
    return [start - end for end, start in zip(moments[1::2], moments[2::2], strict=False)]


def _print(gaps: list[float], held: list[Held], before: list[float], after: list[float]) -> None:
    first, last = statistics.median(gaps[:WINDOW]), statistics.median(gaps[-WINDOW:])
    bare_first, bare_last = statistics.median(before), statistics.median(after)
    total = len(gaps) + 1
    print(f"{'':34}{'ours':>9}{'bare flow':>11}{'ratio':>7}")
    print(f"iterations 1-{WINDOW}, median seconds{first:>15.3f}{bare_first:>11.3f}{first / bare_first:>7.2f}")
    print(f"iterations {total - WINDOW}-{total}, median seconds{last:>11.3f}{bare_last:>11.3f}{last / bare_last:>7.2f}")
    print(f"growth from first to last{last / first:>18.2f}")
    for number, moment in ((WINDOW, held[min(WINDOW, len(held) - 1)]), (total, held[-1])):
        print(f"after iteration {number}: {moment}")


if __name__ == "__main__":
    main()
