"""Measure parallel loops: loops per minute for 1, 2, 4 and 8 workers, and the cost of each without its agent.

    python -m bench.parallel [--loops 8] [--workers 1 2 4 8]

Every loop has an instant agent (a shell script that creates a file) and an instant check, and merges into `main`. They run as
with `helmsman parallel`: each in its own process and worktree, on one embedded engine. The time is that of the command,
without the engine's start.
"""

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

from bench.common import SCRATCH, isolate_state, write_agent
from helmsman.records.request import Link, ParallelRequest, ParallelResult
from tasks.engine.embedded import engine
from tests.fakes.repositories import make_repository

AGENT = """\
#!/bin/sh
cat > /dev/null
n=$(basename "$PWD")
echo "$n" > "$n"
git add --all
git -c user.name=bench -c user.email=bench@localhost commit --quiet --message "$n"
cat {result}
"""


def main() -> None:
    """Run a group for each number of workers and print a row for it."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as name:
        folder = Path(name)
        isolate_state(folder)
        agent = write_agent(folder, AGENT, "<promise>COMPLETE</promise>")
        with engine() as engine_is_up:
            engine_is_up()
            from tasks.engine.runs import flush

            print(f"{arguments.loops} loops, {os.cpu_count()} cores")
            print(f"{'workers':>8}{'seconds':>9}{'loops/min':>11}{'CPU s/loop':>12}{'merged':>8}", flush=True)
            for workers in arguments.workers:
                _print_row(workers, arguments.loops, *_run_group(folder, agent, arguments.loops, workers))
            flush()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loops", type=int, default=8)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8])
    return parser.parse_args()


def _run_group(folder: Path, agent: Path, loops: int, workers: int) -> tuple[ParallelResult, float, float]:
    """Result of a group, its seconds, and the CPU seconds of all its processes."""
    from flows.parallel import parallel

    repository = make_repository(folder / f"repository-{workers}", {})
    claude = {"binary": str(agent), "permission_mode": "acceptEdits"}
    settings = {"claude": claude, "steering": {"hooks": False}, "merge": {"into": "main"}}
    links = tuple(Link(goal=f"There is {number}", checks=(f"ls *-{number}",), settings={}) for number in range(1, loops + 1))
    request = ParallelRequest(repository=str(repository), group="bench", loops=links, workers=workers, settings=settings)
    start, cpu_start = time.monotonic(), _children_seconds()
    result = parallel(request, return_state=True).result(raise_on_failure=False)
    if isinstance(result, BaseException):
        raise result
    return ParallelResult.model_validate(result), time.monotonic() - start, _children_seconds() - cpu_start


def _children_seconds() -> float:
    """CPU seconds of all our child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _print_row(workers: int, loops: int, result: ParallelResult, seconds: float, cpu: float) -> None:
    merged = sum(bool(loop.merged) for loop in result.loops)
    print(f"{workers:>8}{seconds:>9.1f}{60 * result.completed / seconds:>11.1f}{cpu / loops:>12.2f}{merged:>8}", flush=True)


if __name__ == "__main__":
    main()
