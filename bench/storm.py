"""Run loops under fault injection and count lost work, repeated agent calls, stray processes and wrong outcomes: all should be 0.

    python -m bench.storm [--loops 200] [--workers 4] [--seed 1] [--away 60] [--worker-loops 0] [--keep FOLDER]

Drivers, git and the engine are real. The agent is an instant program that logs its actions; in every 25th loop it is the real
Claude Code with a scripted model. While loops run, drivers, workers, agents and the engine are killed, disks fill up, clocks jump
and remotes refuse, at times that the seed determines. A loop that ends because of a fault is resumed as its own message says, and
each must reach the expected end. Exit status 1 if anything is wrong.
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

from bench.fault_injection.faults import (
    CLOCK_JUMP,
    FULL_DISK,
    KILL_AFTER_WORK,
    KILL_AGENT,
    KILL_DRIVER,
    KILL_DURING_WORK,
    MAX_JOURNAL_LINES,
    REMOTE_REFUSES,
    Fault,
    can_mount,
    clock_library,
    is_running,
    mount_disk,
    unmount_disk,
    use_fake_clock,
    wait_for_random_line,
)
from bench.fault_injection.loops import KINDS, REAL, Kind, Loop, make_loop, real_agent_script, use_real_agent
from bench.fault_injection.resume import MAX_STARTS, approve_if_asked, restart_if_needed, run_to_end
from bench.fault_injection.verdict import Verdict, check_loop, totals
from bench.fault_injection.workers import run_under_worker
from deployments.demo_model import ScriptedModel
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.processes import ROOT, eventually

ENGINE_KILLED = "server killed"
REAL_EVERY = 25


@dataclass(frozen=True)
class Plan:
    """Kind and faults of one loop."""

    kind: Kind
    faults: tuple[Fault, ...]

    @property
    def description(self) -> str:
        return f"{self.kind.name}: {', '.join(fault.name for fault in self.faults) or 'no fault'}"


@dataclass
class Storm:
    """Loops under fault injection, in one folder and with one engine."""

    folder: Path
    server: PrefectServer
    seed: int
    model: ScriptedModel
    """API URL of the real agents."""
    clock: Path | None = None
    """Library that fakes clocks, if it could be built."""
    max_journal_lines: int = MAX_JOURNAL_LINES
    """Maximum number of journal lines that a fault waits for."""
    injected: Counter[str] = field(default_factory=Counter[str])
    verdicts: list[Verdict] = field(default_factory=list[Verdict])

    def run(self, plans: Sequence[Plan], workers: int) -> None:
        """Run a loop for each plan, `workers` at a time."""
        with ThreadPoolExecutor(workers) as pool:
            for verdict in pool.map(self._run_loop, range(len(plans)), plans):
                self.verdicts.append(verdict)

    def _run_loop(self, number: int, plan: Plan) -> Verdict:
        folder = self.folder / f"loop-{number}"
        mount_point = folder / "disk"
        has_own_disk = FULL_DISK in plan.faults
        folder.mkdir()
        if has_own_disk:
            mount_disk(mount_point)
        try:
            loop = make_loop(number, plan.kind, folder, mount_point, self._variables(), self.seed)
            if CLOCK_JUMP in plan.faults and self.clock:
                use_fake_clock(loop, self.clock)
            if plan.kind is REAL:
                use_real_agent(loop, self.model.url)
            return self._run_with_faults(loop, plan)
        finally:
            if has_own_disk:
                unmount_disk(mount_point)

    def _run_with_faults(self, loop: Loop, plan: Plan) -> Verdict:
        loop.start_run()
        for fault in plan.faults:
            if fault.waits_for_journal:
                wait_for_random_line(loop, self.max_journal_lines)
            approve_if_asked(loop)
            if not is_running(loop) and not restart_if_needed(loop):
                return self._verdict(loop, plan)
            if self._inject(loop, fault):
                self.injected[fault.name] += 1
                loop.lost_call_limit += fault.may_lose_call
        run_to_end(loop)
        return self._verdict(loop, plan)

    def _inject(self, loop: Loop, fault: Fault) -> bool:
        """Inject a fault; if the driver has ended before, into the next one. Returns whether it took effect."""
        for _ in range(MAX_STARTS):
            if fault.inject(loop):
                return True
            if is_running(loop) or not restart_if_needed(loop):
                return False
        return False

    def _verdict(self, loop: Loop, plan: Plan) -> Verdict:
        eventually(lambda: not any(loop.processes()))
        verdict = check_loop(loop)
        if not verdict.is_clean:
            print(f"\nloop {loop.number} ({plan.description}): {verdict}", flush=True)
        return verdict

    def _variables(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PREFECT_API_URL": self.server.url, "LC_ALL": "C.UTF-8"}

    def kill_server(self, away: float) -> None:
        """Kill the engine, and restart it on its port after a number of seconds."""
        self.server.kill()
        self.injected[ENGINE_KILLED] += 1
        time.sleep(away)
        self.server.start()

    def kill_server_until(self, done: threading.Event, pauses: tuple[float, float], longest: float) -> None:
        """Kill the engine at intervals: mostly for a moment, sometimes for the longest absence."""
        rng = random.Random(f"{self.seed}/server")
        while not done.wait(rng.uniform(*pauses)):
            self.kill_server(longest if rng.random() < 0.25 else rng.uniform(0, 5))


def plans(loops: int, seed: int, possible: Mapping[str, bool]) -> list[Plan]:
    """One plan for each loop: all kinds of loops in turn, with up to three faults that fit."""
    rng = random.Random(seed)
    kinds = [REAL if number % REAL_EVERY == REAL_EVERY - 1 else KINDS[number % len(KINDS)] for number in range(loops)]
    return [_plan(kind, rng, possible) for kind in kinds]


def _plan(kind: Kind, rng: random.Random, is_possible: Mapping[str, bool]) -> Plan:
    faults_of_kind = [KILL_DRIVER, KILL_DRIVER, KILL_DURING_WORK, KILL_AGENT]
    faults_of_kind += [] if kind is REAL else [KILL_AFTER_WORK]  # a real agent does not record its end
    faults_of_kind += [REMOTE_REFUSES, REMOTE_REFUSES] if kind.remote else []
    special = [fault for fault in (FULL_DISK, CLOCK_JUMP) if is_possible[fault.name]]
    faults = rng.choices(faults_of_kind, k=rng.randint(0, 3))
    if special and rng.random() < 0.4:
        faults.insert(rng.randint(0, len(faults)), rng.choice(special))
    return Plan(kind, tuple(faults))


def main() -> int:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="helmsman-storm-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        clock = clock_library(folder)
        possible = {FULL_DISK.name: can_mount(folder), CLOCK_JUMP.name: clock is not None}
        for fault in (name for name, is_possible in possible.items() if not is_possible):
            print(f"{fault}: skipped, it needs {'root' if fault == FULL_DISK.name else 'a C compiler'}")
        with PrefectServer.running(folder / "server") as server, ScriptedModel(real_agent_script) as model:
            storm = Storm(folder, server, arguments.seed, model, clock)
            seconds = _run(storm, plans(arguments.loops, arguments.seed, possible), arguments)
        if arguments.worker_loops:
            verdicts, injected = run_under_worker(folder / "team", arguments.worker_loops, arguments.seed)
            storm.verdicts.extend(verdicts)
            storm.injected.update(injected)
        if arguments.keep:
            shutil.copytree(folder, arguments.keep, symlinks=True, ignore_dangling_symlinks=True, dirs_exist_ok=True)
        return _report(storm, arguments, seconds)


def _run(storm: Storm, chosen: Sequence[Plan], arguments: argparse.Namespace) -> float:
    done, start = threading.Event(), time.monotonic()
    killer = threading.Thread(target=storm.kill_server_until, args=(done, (15, 60), arguments.away), name="engine-killer")
    killer.start()
    try:
        storm.run(chosen, arguments.workers)
    finally:
        done.set()
        killer.join()
    return time.monotonic() - start


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loops", type=int, default=200)
    parser.add_argument("--workers", type=int, default=4, help="concurrent loops")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--away", type=float, default=60, help="maximum seconds of the engine's absence")
    parser.add_argument("--worker-loops", type=int, default=0, help="loops run by a Prefect worker at the end")
    parser.add_argument("--keep", type=Path, help="copy everything there at the end")
    return parser.parse_args()


def _report(storm: Storm, arguments: argparse.Namespace, seconds: float) -> int:
    count = len(storm.verdicts) - arguments.worker_loops
    print(f"{count} loops, {arguments.workers} at a time, {60 * count / seconds:.1f} loops/min")
    print(f"{arguments.worker_loops} loops under a worker")
    print("faults     " + ", ".join(f"{times} times {name}" for name, times in sorted(storm.injected.items())))
    problem_counts = totals(storm.verdicts)
    for name, number in problem_counts.items():
        print(f"{name:<24}{number:>4}", flush=True)
    print(
        f"repeat with: python -m bench.storm --loops {arguments.loops} --workers {arguments.workers} --seed {arguments.seed} "
        f"--away {arguments.away:g} --worker-loops {arguments.worker_loops}"
    )
    return 1 if any(problem_counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
