"""Run loops by a Prefect worker while it and its processes are killed. Loops that no automation revives are resumed by hand."""

import random
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.fault_injection.loops import KINDS, Loop, make_loop
from bench.fault_injection.resume import has_decided, run_to_end
from bench.fault_injection.verdict import Verdict, check_loop
from tasks.repository.git import open_repository
from tasks.repository.loop_context import loop_folder
from tasks.system.lock import holder
from tests.fakes.processes import eventually
from tests.fakes.team_engine import Team, run_team

WORKER_KILLED, WORKER_AND_LOOP_KILLED = "worker killed", "worker and loop killed"
REVIVAL_SECONDS = 45
"""Seconds to wait for an automation to revive a loop without a driver, before it is resumed by hand."""
UNSTARTED_SECONDS = 45
"""Seconds, instead of ten minutes, after which a run is restarted whose worker died before it had a process."""
PATIENCE = 400


def run_under_worker(folder: Path, loops: int, seed: int) -> tuple[list[Verdict], Counter[str]]:
    """Run a number of loops. Returns their verdicts, and how often each fault was injected."""
    rng, injected = random.Random(f"{seed}/worker"), Counter[str]()
    with run_team(folder) as team:
        team.set_deployment(team.id_of("sweep/sweep"), parameters={"unstarted_seconds": UNSTARTED_SECONDS})
        all_loops = [_make_loop(team, folder / f"loop-{number}", number, seed) for number in range(loops)]
        runs = [_start_run(team, loop) for loop in all_loops]
        for _ in range(max(2, loops // 2)):
            time.sleep(rng.uniform(4, 12))
            _kill_worker(team, all_loops, runs, rng, injected)
        for loop in all_loops:
            _wait_or_resume(loop)
        return [_verdict(team, loop, run) for loop, run in zip(all_loops, runs, strict=True)], injected


def _make_loop(team: Team, folder: Path, number: int, seed: int) -> Loop:
    loop = make_loop(number, KINDS[number % 2], folder, folder / "disk", {}, seed)
    loop.variables = {**team.helmsman.variables, "HOME": loop.variables["HOME"]}  # so that a resume finds the worker's state
    return loop


def _start_run(team: Team, loop: Loop) -> str:
    claude = {"permission_mode": "acceptEdits", "binary": str(loop.folder / "agent")}
    settings = {"claude": claude, "steering": {"hooks": False}, "limits": {"agent_failures": 50}}
    request = {
        "repository": str(loop.repository),
        "goal": "Every step file exists",
        "checks": [loop.kind.check],
        "loop": loop.name,
    }
    return team.run("loop/loop", {"request": {**request, "settings": settings}})


def _kill_worker(team: Team, loops: Sequence[Loop], runs: Sequence[str], rng: random.Random, injected: Counter[str]) -> None:
    """Kill the worker alone, whose processes continue, or one of its loops with it, so that nothing reports the end."""
    kills_loop = rng.random() < 0.5
    team.kill_worker()
    if kills_loop:
        number = rng.randrange(len(loops))
        loops[number].lost_call_limit += 1
        team.kill(runs[number])
    injected[WORKER_AND_LOOP_KILLED if kills_loop else WORKER_KILLED] += 1
    time.sleep(1)
    team.start_worker()


def _wait_or_resume(loop: Loop) -> None:
    """Wait for the loop's end; resume it if it has no driver for a while."""
    until, last_driven = time.monotonic() + PATIENCE, time.monotonic()
    while time.monotonic() < until and not has_decided(loop.state):
        last_driven = time.monotonic() if _lock_holder(loop) else last_driven
        if time.monotonic() - last_driven > REVIVAL_SECONDS and loop.state is not None:
            loop.start("resume", loop.name)
            run_to_end(loop)
            return
        time.sleep(0.5)


def _lock_holder(loop: Loop) -> object:
    return holder(loop_folder(open_repository(loop.repository), loop.name).lock)


def _verdict(team: Team, loop: Loop, run: str) -> Verdict:
    eventually(lambda: _lock_holder(loop) is None)
    eventually(lambda: not any(loop.processes()))
    verdict = check_loop(loop)
    if not verdict.is_clean:
        print(f"\nloop {loop.number} under a worker ({loop.kind.name}): {verdict}; its run was {team.states(run)}", flush=True)
    return verdict
