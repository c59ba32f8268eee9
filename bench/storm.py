"""Test loops under faults: lost work, repeated agent calls, stray processes and wrong outcomes, of which there should be none.

    python -m bench.storm [--loops 200] [--workers 4] [--seed 1] [--away 60] [--worker-loops 0] [--keep FOLDER]

Real drivers, real git and a real engine. The agent is an instant program that records its actions, and in every 25th loop the
real Claude Code with a scripted model. While loops run, drivers, workers, agents and the engine are killed, disks fill up, clocks
jump and remotes refuse, at times that the seed determines. Loops that end because of it are continued as their own message says,
and each has to reach the expected end. Exit status 1 if anything is wrong.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from bench.weather.faults import (
    CLOCK,
    FULL_DISK,
    KILL_AFTER_WORK,
    KILL_AGENT,
    KILL_AT_WORK,
    KILL_DRIVER,
    LATEST_EVENT,
    REFUSED,
    Fault,
    can_mount,
    clock_library,
    give_back_disk,
    is_driven,
    own_clock,
    own_disk,
    wait_for_moment,
)
from bench.weather.judging import Judgement, judge, totals
from bench.weather.loops import KINDS, REAL, Kind, Loop, made, script, with_real_agent
from bench.weather.person import MOST_STARTS, answer, go_on, see_through
from bench.weather.workers import under_a_worker
from deployments.demo_model import ScriptedModel
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.processes import ROOT, eventually

SERVER_KILLED = "server killed"
REAL_EVERY = 25


@dataclass(frozen=True)
class Plan:
    """Kind and faults of one loop."""

    kind: Kind
    faults: tuple[Fault, ...]

    @property
    def names(self) -> str:
        return f"{self.kind.name}: {', '.join(fault.name for fault in self.faults) or 'calm'}"


@dataclass
class Storm:
    """One storm over a folder and an engine."""

    folder: Path
    server: PrefectServer
    seed: int
    model: ScriptedModel
    """API URL of the real agents."""
    clock: Path | None = None
    """Library that makes clocks jump, if it could be built."""
    latest: int = LATEST_EVENT
    """Maximum journal lines that a fault waits for."""
    struck: Counter[str] = field(default_factory=Counter[str])
    judged: list[Judgement] = field(default_factory=list[Judgement])

    def over(self, plans: Sequence[Plan], workers: int) -> None:
        """Run a loop for each plan, `workers` at a time."""
        with ThreadPoolExecutor(workers) as pool:
            for judgement in pool.map(self._drive, range(len(plans)), plans):
                self.judged.append(judgement)

    def _drive(self, number: int, plan: Plan) -> Judgement:
        folder = self.folder / f"loop-{number}"
        place = folder / "place"
        disk = FULL_DISK in plan.faults
        folder.mkdir()
        if disk:
            own_disk(place)
        try:
            loop = made(number, plan.kind, folder, place, self._variables(), self.seed)
            if CLOCK in plan.faults and self.clock:
                own_clock(loop, self.clock)
            if plan.kind is REAL:
                with_real_agent(loop, self.model.url)
            return self._weathered(loop, plan)
        finally:
            if disk:
                give_back_disk(place)

    def _weathered(self, loop: Loop, plan: Plan) -> Judgement:
        loop.begin()
        for fault in plan.faults:
            if fault.waits:
                wait_for_moment(loop, self.latest)
            answer(loop)
            if not is_driven(loop) and not go_on(loop):
                return self._judged(loop, plan)
            if self._strikes(loop, fault):
                self.struck[fault.name] += 1
                loop.deaths += fault.costs_a_call
        see_through(loop)
        return self._judged(loop, plan)

    def _strikes(self, loop: Loop, fault: Fault) -> bool:
        """Whether the fault struck. If a driver ended before, for example without an engine, the next one is struck."""
        for _ in range(MOST_STARTS):
            if fault.strike(loop):
                return True
            if is_driven(loop) or not go_on(loop):
                return False
        return False

    def _judged(self, loop: Loop, plan: Plan) -> Judgement:
        eventually(lambda: not any(loop.lived()))
        judgement = judge(loop)
        if not judgement.clean:
            print(f"\nloop {loop.number} ({plan.names}): {judgement}", flush=True)
        return judgement

    def _variables(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PREFECT_API_URL": self.server.url, "LC_ALL": "C.UTF-8"}

    def strike_server(self, away: float) -> None:
        """Kill the engine, and restart it on its port after a number of seconds."""
        self.server.kill()
        self.struck[SERVER_KILLED] += 1
        time.sleep(away)
        self.server.start()

    def strike_server_until(self, done: threading.Event, pauses: tuple[float, float], longest: float) -> None:
        """Strike at intervals: mostly for a moment, sometimes for the longest absence."""
        chance = random.Random(f"{self.seed}/server")
        while not done.wait(chance.uniform(*pauses)):
            self.strike_server(longest if chance.random() < 0.25 else chance.uniform(0, 5))


def plans(loops: int, seed: int, possible: Mapping[str, bool]) -> list[Plan]:
    """One plan for each loop: all kinds of loops in turn, with up to three faults that fit."""
    chance = random.Random(seed)
    kinds = [REAL if number % REAL_EVERY == REAL_EVERY - 1 else KINDS[number % len(KINDS)] for number in range(loops)]
    return [_plan(kind, chance, possible) for kind in kinds]


def _plan(kind: Kind, chance: random.Random, possible: Mapping[str, bool]) -> Plan:
    fitting = [KILL_DRIVER, KILL_DRIVER, KILL_AT_WORK, KILL_AGENT]
    fitting += [] if kind is REAL else [KILL_AFTER_WORK]  # a real agent does not record its end
    fitting += [REFUSED, REFUSED] if kind.remote else []
    special = [fault for fault in (FULL_DISK, CLOCK) if possible[fault.name]]
    faults = chance.choices(fitting, k=chance.randint(0, 3))
    if special and chance.random() < 0.4:
        faults.insert(chance.randint(0, len(faults)), chance.choice(special))
    return Plan(kind, tuple(faults))


def main() -> int:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="helmsman-storm-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        clock = clock_library(folder)
        possible = {FULL_DISK.name: can_mount(folder), CLOCK.name: clock is not None}
        for fault in (one for one, is_possible in possible.items() if not is_possible):
            print(f"{fault}: left out, it needs {'root' if fault == FULL_DISK.name else 'a C compiler'}")
        with PrefectServer.running(folder / "server") as server, ScriptedModel(script) as model:
            storm = Storm(folder, server, arguments.seed, model, clock)
            seconds = _run(storm, plans(arguments.loops, arguments.seed, possible), arguments)
        if arguments.worker_loops:
            judged, struck = under_a_worker(folder / "team", arguments.worker_loops, arguments.seed)
            storm.judged.extend(judged)
            storm.struck.update(struck)
        if arguments.keep:
            shutil.copytree(folder, arguments.keep, symlinks=True, ignore_dangling_symlinks=True, dirs_exist_ok=True)
        return _told(storm, arguments, seconds)


def _run(storm: Storm, chosen: Sequence[Plan], arguments: argparse.Namespace) -> float:
    done, begun = threading.Event(), time.monotonic()
    bad_server = threading.Thread(target=storm.strike_server_until, args=(done, (15, 60), arguments.away), name="bad-server")
    bad_server.start()
    try:
        storm.over(chosen, arguments.workers)
    finally:
        done.set()
        bad_server.join()
    return time.monotonic() - begun


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loops", type=int, default=200)
    parser.add_argument("--workers", type=int, default=4, help="concurrent loops")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--away", type=float, default=60, help="maximum seconds of the engine's absence")
    parser.add_argument("--worker-loops", type=int, default=0, help="loops run by a Prefect worker at the end")
    parser.add_argument("--keep", type=Path, help="copy everything there at the end")
    return parser.parse_args()


def _told(storm: Storm, arguments: argparse.Namespace, seconds: float) -> int:
    alone = len(storm.judged) - arguments.worker_loops
    print(f"{alone} loops, {arguments.workers} at a time, {60 * alone / seconds:.1f} loops/min")
    print(f"{arguments.worker_loops} loops under a worker")
    print("faults     " + ", ".join(f"{times} times {name}" for name, times in sorted(storm.struck.items())))
    found = totals(storm.judged)
    for name, number in found.items():
        print(f"{name:<24}{number:>4}", flush=True)
    print(
        f"again with: python -m bench.storm --loops {arguments.loops} --workers {arguments.workers} --seed {arguments.seed} "
        f"--away {arguments.away:g} --worker-loops {arguments.worker_loops}"
    )
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
