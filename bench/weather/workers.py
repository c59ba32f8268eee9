"""Loops run by a Prefect worker, while it and its processes are killed. A person resumes those that no automation revives."""

import random
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.weather.judging import Judgement, judge
from bench.weather.loops import KINDS, Loop, made
from bench.weather.person import is_through, see_through
from tasks.repository.git import open_repository
from tasks.repository.loop_context import loop_folder
from tasks.system.lock import holder
from tests.fakes.processes import eventually
from tests.fakes.team_engine import Team, run_team

WORKER_KILLED, BOTH_KILLED = "worker killed", "worker and loop killed"
REVIVED_SECONDS = 45
"""Seconds to wait for a loop without a driver; then a person resumes it, whether an automation would or not."""
UNSTARTED_SECONDS = 45
"""Seconds, instead of ten minutes, after which a run is restarted whose worker died before it had a process."""
PATIENCE = 400


def under_a_worker(folder: Path, loops: int, seed: int) -> tuple[list[Judgement], Counter[str]]:
    """Results of a number of loops, and how often each fault struck."""
    chance, struck = random.Random(f"{seed}/worker"), Counter[str]()
    with run_team(folder) as team:
        team.set_deployment(team.id_of("sweep/sweep"), parameters={"unstarted_seconds": UNSTARTED_SECONDS})
        driven = [_started(team, folder / f"loop-{number}", number, seed) for number in range(loops)]
        runs = [_run(team, loop) for loop in driven]
        for _ in range(max(2, loops // 2)):
            time.sleep(chance.uniform(4, 12))
            _strike(team, driven, runs, chance, struck)
        for loop in driven:
            _see_to(loop)
        return [_judged(team, loop, run) for loop, run in zip(driven, runs, strict=True)], struck


def _started(team: Team, folder: Path, number: int, seed: int) -> Loop:
    loop = made(number, KINDS[number % 2], folder, folder / "place", {}, seed)
    loop.variables = {**team.helmsman.variables, "HOME": loop.variables["HOME"]}  # so that a resume finds the worker's state
    return loop


def _run(team: Team, loop: Loop) -> str:
    claude = {"permission_mode": "acceptEdits", "binary": str(loop.folder / "agent")}
    settings = {"claude": claude, "steering": {"hooks": False}, "limits": {"agent_failures": 50}}
    request = {"repository": str(loop.repository), "goal": "There is every step", "checks": [loop.kind.check], "loop": loop.name}
    return team.run("loop/loop", {"request": {**request, "settings": settings}})


def _strike(team: Team, loops: Sequence[Loop], runs: Sequence[str], chance: random.Random, struck: Counter[str]) -> None:
    """Kill the worker alone, whose processes continue, or one of its loops with it, so that nothing reports the end."""
    both = chance.random() < 0.5
    team.kill_worker()
    if both:
        number = chance.randrange(len(loops))
        loops[number].deaths += 1
        team.kill(runs[number])
    struck[BOTH_KILLED if both else WORKER_KILLED] += 1
    time.sleep(1)
    team.start_worker()


def _see_to(loop: Loop) -> None:
    """Wait for its end; resume it if it has no driver for a while."""
    until, left = time.monotonic() + PATIENCE, time.monotonic()
    while time.monotonic() < until and not is_through(loop.state):
        left = time.monotonic() if _driver(loop) else left
        if time.monotonic() - left > REVIVED_SECONDS and loop.state is not None:
            loop.start("resume", loop.name)
            see_through(loop)
            return
        time.sleep(0.5)


def _driver(loop: Loop) -> object:
    return holder(loop_folder(open_repository(loop.repository), loop.name).lock)


def _judged(team: Team, loop: Loop, run: str) -> Judgement:
    eventually(lambda: _driver(loop) is None)
    eventually(lambda: not any(loop.lived()))
    judgement = judge(loop)
    if not judgement.clean:
        print(f"\nloop {loop.number} under a worker ({loop.kind.name}): {judgement}; its run was {team.states(run)}", flush=True)
    return judgement
