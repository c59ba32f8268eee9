"""Measure parallel loops: loops per minute for 1, 2, 4 and 8 workers, and the cost of each without its agent.

    python -m bench.parallel [--loops 8] [--workers 1 2 4 8]

Every loop has an instant agent (a shell script that creates a file) and an instant check, and merges into `main`. They run as
with `helmsman parallel`: each in its own process and worktree, on one embedded engine. The time is that of the command,
without the engine's start.
"""

import argparse
import json
import os
import resource
import shlex
import tempfile
import time
from pathlib import Path

from bench.overhead import RESULT, own_homes
from helmsman.records.request import Link, ParallelRequest, ParallelResult
from tasks.engine.embedded import engine
from tasks.repository.git import git

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
    with tempfile.TemporaryDirectory(prefix="helmsman-bench-") as name:
        folder = Path(name)
        own_homes(folder)
        agent = _agent(folder)
        with engine() as engine_is_up:
            engine_is_up()
            from tasks.engine.runs import flush

            print(f"{arguments.loops} loops, {os.cpu_count()} cores")
            print(f"{'workers':>8}{'seconds':>9}{'loops/min':>11}{'CPU s/loop':>12}{'merged':>8}", flush=True)
            for workers in arguments.workers:
                _print(workers, arguments.loops, *_group(folder, agent, arguments.loops, workers))
            flush()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loops", type=int, default=8)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8])
    return parser.parse_args()


def _agent(folder: Path) -> Path:
    (folder / "result").write_text(json.dumps({**RESULT, "result": "<promise>COMPLETE</promise>"}) + "\n")
    agent = folder / "agent"
    agent.write_text(AGENT.format(result=shlex.quote(str(folder / "result"))))
    agent.chmod(0o755)
    return agent


def _group(folder: Path, agent: Path, loops: int, workers: int) -> tuple[ParallelResult, float, float]:
    """Result of a group, its seconds, and the CPU seconds of all its processes."""
    from flows.parallel import parallel

    repository = folder / f"repository-{workers}"
    repository.mkdir()
    git(repository, "init", "--quiet", "--initial-branch=main")
    git(repository, "commit", "--quiet", "--allow-empty", "--message", "start")
    claude = {"binary": str(agent), "permission_mode": "acceptEdits"}
    settings = {"claude": claude, "steering": {"hooks": False}, "merge": {"into": "main"}}
    links = tuple(Link(goal=f"There is {number}", checks=(f"ls *-{number}",), settings={}) for number in range(1, loops + 1))
    request = ParallelRequest(repository=str(repository), group="bench", loops=links, workers=workers, settings=settings)
    begun, used = time.monotonic(), _children_s()
    told = parallel(request, return_state=True).result(raise_on_failure=False)
    if isinstance(told, BaseException):
        raise told
    return ParallelResult.model_validate(told), time.monotonic() - begun, _children_s() - used


def _children_s() -> float:
    """CPU seconds of all our child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _print(workers: int, loops: int, result: ParallelResult, seconds: float, cpu: float) -> None:
    merged = sum(bool(one.merged) for one in result.loops)
    print(f"{workers:>8}{seconds:>9.1f}{60 * result.completed / seconds:>11.1f}{cpu / loops:>12.2f}{merged:>8}", flush=True)


if __name__ == "__main__":
    main()
