"""Measure a loop on many machines: memory of each program, and what each iteration adds to every store.

    python -m bench.machines [--iterations 20]      as root; PostgreSQL, Redis, haproxy and iproute2 are needed

Sets up the deployment of docs/operations.md (two servers behind a balancer, PostgreSQL, Redis, S3, a git remote, a worker) on
machines made of namespaces, and runs a loop with a scripted agent for that number of iterations. Prints resident megabytes by
program, kibibytes per iteration in each store, and seconds per iteration without its agent.
"""

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from deployments.demo_model import Request, Turn, bash, call, say
from tasks.repository.git import open_repository, read_ref
from tasks.repository.state_ref import read_records, state_ref
from tests.fakes.many_machines import ManyMachines, machine_processes, many_machines, missing_programs
from tests.fakes.processes import eventually

LOOP = "measured"
PROGRAMS = {
    "server start": "Prefect server",
    "worker start": "worker",
    "flow-run execute": "driver of a loop",
    "prefect.engine": "driver of a loop",
    "redis-server": "Redis",
    "postgres": "PostgreSQL",
    "haproxy": "balancer",
}
"""Names of programs by a part of their command."""
TIMEOUT_SECONDS = 3600


def script(request: Request) -> Turn:
    """Each session adds a line and does not claim completion."""
    return call(bash("echo $RANDOM >> work.txt")) if request.turn == 0 else say("One more line.")


def measure(iterations: int) -> None:
    with tempfile.TemporaryDirectory(prefix="machines-") as folder, many_machines(Path(folder) / "all", script, "a") as machines:
        before = stored_bytes(machines)
        settings = {"limits": {"iterations": iterations}, "steering": {"stop_seconds": 0}}
        run = machines.start(goal="work.txt is long", checks=["test ! -e work.txt"], loop=LOOP, settings=settings)
        remote, resident = open_repository(machines.remote), dict[str, float]()

        def has_ended() -> bool:
            resident.update({name: max(mb, resident.get(name, 0)) for name, mb in resident_memory(machines).items()})
            time.sleep(1)
            return machines.run_of(run)["state_type"] in {"COMPLETED", "FAILED", "CRASHED"}

        assert eventually(has_ended, TIMEOUT_SECONDS), machines.log()
        assert read_ref(remote.common, state_ref(LOOP)), machines.run_of(run)["state"]["message"]
        records = list(read_records(remote, LOOP))
        time.sleep(10)  # the servers write events with a delay
        print_results(resident, before, stored_bytes(machines), len(records), str(machines.run_of(run)["state"]["message"]))
        seconds = (records[0].ended_at - records[-1].started_at).total_seconds() if len(records) > 1 else 0.0
        agents = sum(record.execution.call.seconds for record in records)
        print(f"seconds per iteration without its agent   {(seconds - agents) / max(len(records), 1):.1f}")


def print_results(
    resident: Mapping[str, float], before: Mapping[str, int], after: Mapping[str, int], iterations: int, message: str
) -> None:
    print(f"{iterations} iterations; {message}")
    for name, mb in sorted(resident.items()):
        print(f"max. resident MB, {name:<22} {mb:.0f}")
    for name, size in after.items():
        print(f"KiB per iteration, {name:<20} {(size - before[name]) / 1024 / max(iterations, 1):.1f}")


def stored_bytes(machines: ManyMachines) -> dict[str, int]:
    """Bytes by store."""
    engine, memory = (name.rpartition("/")[2] for name in (machines.database, machines.memory))
    sizes = {name: machines.postgres.sql(name, f"SELECT pg_database_size('{name}')") for name in (engine, memory)}
    redis = machines.stores.run("redis-cli", "-h", machines.stores.address, "info", "memory")
    used = next(line.partition(":")[2] for line in redis.splitlines() if line.startswith("used_memory:"))
    return {
        "Prefect's database": int(sizes[engine]),
        "memory's database": int(sizes[memory]),
        "Redis": int(used),
        "S3": sum(machines.objects().values()),
        "the git remote": sum(path.stat().st_size for path in machines.remote.rglob("*") if path.is_file()),
    }


def resident_memory(machines: ManyMachines) -> dict[str, float]:
    """Resident megabytes of each program: of its largest process; of PostgreSQL all, with shared pages counted once."""
    by_program = defaultdict[str, list[float]](list)
    for machine in (machines.stores, *machines.servers.values(), *(host.machine for host in machines.hosts.values())):
        for process in machine_processes(machine.init):
            with suppress(psutil.Error):
                words = " ".join(process.cmdline())
                name = next((title for part, title in PROGRAMS.items() if part in words), "")
                by_program[name].append(process.memory_full_info().pss / 2**20)
    return {name: sum(megabytes) if name == "PostgreSQL" else max(megabytes) for name, megabytes in by_program.items() if name}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=20)
    if missing := missing_programs():
        sys.exit(f"this machine lacks what the benchmark needs: {missing}")
    measure(parser.parse_args().iterations)
