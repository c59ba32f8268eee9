"""What a team runs on many machines: PostgreSQL, Redis, S3, a git remote, two servers behind a balancer, hosts of workers.

Each has its own machine, except the stores, which share one. Worker hosts share no disk: each mounts its own at the same path.
"""

import json
import os
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil

from deployments.demo_model import Script, ScriptedModel, environment
from tasks.engine.embedded import QUIET
from tasks.repository.git import git
from tests.fakes.namespaces import Machine, Network, why_impossible
from tests.fakes.postgres import Postgres, server_programs
from tests.fakes.processes import ROOT, variable_of
from tests.fakes.repositories import make_repository

PREFECT, HELMSMAN = (Path(sys.executable).with_name(name) for name in ("prefect", "helmsman"))
GIT_DAEMON = "git", "daemon", "--reuseaddr", "--export-all", "--enable=receive-pack"
START_SECONDS = 100
PATIENCE = 150
BLOCK = "s3-bucket/results"
ACCESS = {"AWS_ACCESS_KEY_ID": "helmsman", "AWS_SECRET_ACCESS_KEY": "not-a-secret", "AWS_DEFAULT_REGION": "us-east-1"}
SILENCE_SECONDS, SETTLED_SECONDS = 45, 4
"""Instead of 90 and 30: tests wait for a heartbeat that does not come."""
PORTS = {"redis": 6379, "s3": 9000, "git": 9418, "prefect": 4200}
"""On machines of our own, where nothing else listens."""

DEPLOY = """
from prefect.client.orchestration import get_client
from prefect_aws import AwsClientParameters, AwsCredentials, S3Bucket
from deployments.deploy import update_own_automations, deploy
access = AwsCredentials(aws_access_key_id="{key}", aws_secret_access_key="{secret}", region_name="us-east-1",
    aws_client_parameters=AwsClientParameters(endpoint_url="{s3}"))
access.get_s3_client().create_bucket(Bucket="helmsman")
S3Bucket(bucket_name="helmsman", bucket_folder="results", credentials=access).save("results")
deploy("helmsman", as_json=True)
with get_client(sync_client=True) as client:
    update_own_automations(client, silence_seconds={silence}, settled_seconds={settled})
"""
LIST = """
import boto3, json
pages = boto3.client("s3", endpoint_url="{s3}").get_paginator("list_objects_v2").paginate(Bucket="helmsman")
print(json.dumps({{found["Key"]: found["Size"] for page in pages for found in page.get("Contents", [])}}))
"""
BALANCER = """
defaults
  mode http
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  option redispatch
frontend prefect
  bind {address}:{port}
  default_backend servers
backend servers
  option httpchk GET /api/health
  default-server check inter 500 fall 2 rise 1
{servers}
"""


@dataclass
class Host:
    """A machine with a worker: own home, clone, state and PREFECT_HOME, at the same paths on each."""

    machine: Machine
    own: Path
    """Its disk, seen from outside."""
    variables: dict[str, str]
    log: Path

    @property
    def name(self) -> str:
        return self.machine.name

    @property
    def home(self) -> Path:
        return self.own / "home"

    def start_worker(self) -> None:
        words = PREFECT, "worker", "start", "--pool", "helmsman", "--type", "process", "--name", f"worker-{self.name}"
        self.machine.start(*words, log=self.log, **self.variables, PREFECT_WORKER_QUERY_SECONDS="1")

    def drivers(self, run: str) -> list[psutil.Process]:
        """Processes of a flow run on this machine."""
        return [
            process for process in machine_processes(self.machine.init) if variable_of(process, "PREFECT__FLOW_RUN_ID") == run
        ]

    def said(self) -> str:
        return self.log.read_text(errors="replace")


@dataclass
class ManyMachines:
    folder: Path
    model: ScriptedModel
    stores: Machine
    postgres: Postgres
    servers: dict[str, Machine]
    url: str
    s3: str
    remote: Path
    database: str
    """Of the servers."""
    memory: str
    hosts: dict[str, Host] = field(default_factory=dict[str, Host])
    place: Path = Path()
    """Of the disk, on each host."""

    def asked(self, method: str, where: str, what: Any = None) -> Any:
        """The response of a server behind the balancer; retries until one responds."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                with self.stores.network(), httpx.Client(base_url=self.url, timeout=20, trust_env=False) as api:
                    return api.request(method, where, json=what).raise_for_status().json()
            except httpx.HTTPError:
                assert time.monotonic() < until, f"no server responds to {where}"
                time.sleep(0.5)

    def start(self, **request: Any) -> str:
        """Have the deployment start a loop in the clone that each host has. Returns the id of its run."""
        deployment = self.asked("GET", "/deployments/name/loop/loop")["id"]
        parameters = {"request": {"repository": str(self.place / "repository"), **request}}
        wanted = {"state": {"type": "SCHEDULED"}, "parameters": parameters}
        return str(self.asked("POST", f"/deployments/{deployment}/create_flow_run", wanted)["id"])

    def run_of(self, run: str) -> Mapping[str, Any]:
        return self.asked("GET", f"/flow_runs/{run}")

    def states(self, run: str) -> list[str]:
        found = self.asked("GET", f"/flow_run_states/?flow_run_id={run}")
        return [state["name"] for state in sorted(found, key=lambda state: state["timestamp"])]

    def sessions(self) -> list[int]:
        """How many requests each session of an agent made, in order of appearance."""
        return [count for _, count in sorted(Counter(request.call for request in self.model.requests).items())]

    def kill_server(self, name: str) -> None:
        for process in machine_processes(self.servers[name].init):
            with suppress(psutil.Error):
                process.send_signal(signal.SIGKILL)

    def objects(self) -> dict[str, int]:
        """Keys of the results that are stored, and their sizes in bytes."""
        return dict(json.loads(self.stores.run(sys.executable, "-c", LIST.format(s3=self.s3), **ACCESS)))

    def log(self) -> str:
        files = sorted((self.folder / "logs").glob("*"))
        return "\n".join(f"== {file.name}\n{file.read_text(errors='replace')[-3000:]}" for file in files)


def missing_programs() -> str:
    """Why this machine cannot run it; empty if it can."""
    missing = [name for name in ("redis-server", "haproxy") if _find_program(name) is None]
    if server_programs() is None:
        missing.append("postgresql")
    return f"{', '.join(missing)} not installed" if missing else why_impossible()


@contextmanager
def many_machines(folder: Path, script: Script, *hosts: str) -> Generator[ManyMachines]:
    """Run all of it; it ends with the block or with the process."""
    (folder / "logs").mkdir(parents=True)
    with ExitStack() as stack:
        network = stack.enter_context(Network(folder))
        stores = network.machine("stores")
        with stores.network():
            model = stack.enter_context(ScriptedModel(script, stores.address))
        found = server_programs()
        assert found is not None
        (folder / "postgres").mkdir()
        _allow_traversal(folder)
        postgres = Postgres(found, folder / "postgres", stores)
        s3 = f"http://{stores.address}:{PORTS['s3']}"
        _start_stores(folder, stores, postgres)
        database = postgres.database("prefect")
        variables = server_variables(database.replace("postgresql://", "postgresql+asyncpg://"), stores.address)
        _migrate(stores, variables, folder)
        servers = {name: network.machine(name) for name in ("one", "two")}
        url = _start_servers(folder, stores, servers, variables)
        remote = folder / "remotes" / "work.git"
        made = ManyMachines(folder, model, stores, postgres, servers, url, s3, remote, database, postgres.database())
        made.place = folder / "host"
        made.place.mkdir()
        for name in hosts:
            made.hosts[name] = _host(made, network, name)
        _wait_until_up(made)
        for host in made.hosts.values():
            host.start_worker()
        _deploy(made, made.hosts[hosts[0]])
        yield made


def server_variables(database: str, redis: str) -> dict[str, str]:
    """The settings of a server that is one of several, as Prefect documents them; docs/operations.md has the same."""
    return {
        **{name: value for name, value in QUIET.items() if "LOGGING" not in name},
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": database,
        "PREFECT_SERVER_DATABASE_MIGRATE_ON_START": "false",
        "PREFECT_MESSAGING_BROKER": "prefect_redis.messaging",
        "PREFECT_MESSAGING_CACHE": "prefect_redis.messaging",
        "PREFECT_SERVER_EVENTS_CAUSAL_ORDERING": "prefect_redis.ordering",
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect_redis.lease_storage",
        "PREFECT_SERVER_WORKER_CHANNEL_CLEANUP_QUEUE_STORAGE": "prefect_redis.cleanup_queue",
        "PREFECT_REDIS_MESSAGING_URL": f"redis://{redis}:{PORTS['redis']}/0",
        "PREFECT_REDIS_WORKER_CLEANUP_QUEUE_URL": f"redis://{redis}:{PORTS['redis']}/0",
        "PREFECT_SERVER_DOCKET_URL": f"redis://{redis}:{PORTS['redis']}/1",
        "PREFECT_SERVER_EVENTS_PROACTIVE_GRANULARITY": "PT1S",  # tests do not wait longer than they must
        "PREFECT_SERVER_EVENTS_EXPIRED_BUCKET_BUFFER": "PT5S",
    }


def _start_stores(folder: Path, stores: Machine, postgres: Postgres) -> None:
    address, logs = stores.address, folder / "logs"
    kept = "--save", "", "--appendonly", "no", "--protected-mode", "no", "--dir", str(folder)
    stores.start("redis-server", "--bind", address, "--port", str(PORTS["redis"]), *kept, log=logs / "redis")
    stores.start(sys.executable, "-m", "moto.server", "-H", address, "-p", str(PORTS["s3"]), log=logs / "s3", **ACCESS)
    make_repository(folder / "origin", {})
    (folder / "remotes").mkdir()
    git(folder, "clone", "--quiet", "--bare", "origin", "remotes/work.git")
    where = f"--listen={address}", f"--port={PORTS['git']}", f"--base-path={folder / 'remotes'}"
    stores.start(*GIT_DAEMON, *where, log=logs / "git", HOME=str(folder))
    postgres.start()


def _migrate(stores: Machine, variables: Mapping[str, str], folder: Path) -> None:
    own = {**variables, "HOME": str(folder), "PREFECT_HOME": str(folder / "prefect-migrate")}
    stores.run(PREFECT, "server", "database", "upgrade", "--yes", **own)


def _start_servers(folder: Path, stores: Machine, servers: Mapping[str, Machine], variables: Mapping[str, str]) -> str:
    """The address of the balancer before both."""
    port = PORTS["prefect"]
    for name, machine in servers.items():
        home = folder / f"server-{name}"
        home.mkdir()
        own = {**variables, "HOME": str(home), "PREFECT_HOME": str(home)}
        start_server(machine, port, folder / "logs" / f"server-{name}", own)
    listed = "\n".join(f"  server {name} {machine.address}:{port}" for name, machine in servers.items())
    config = folder / "haproxy.cfg"
    config.write_text(BALANCER.format(address=stores.address, port=port, servers=listed))
    stores.start("haproxy", "-db", "-f", config, log=folder / "logs" / "balancer")
    return f"http://{stores.address}:{port}/api"


def start_server(machine: Machine, port: int, log: Path, variables: Mapping[str, str]) -> None:
    machine.start(PREFECT, "server", "start", "--host", "0.0.0.0", "--port", str(port), log=log, **variables)


def _host(made: ManyMachines, network: Network, name: str) -> Host:
    own, place = made.folder / "hosts" / name, made.place
    (own / "home").mkdir(parents=True)
    git(own, "clone", "--quiet", str(made.remote), "repository")
    git(own / "repository", "remote", "set-url", "origin", f"git://{made.stores.address}:{PORTS['git']}/work.git")
    machine = network.machine(name, own, place)
    variables = {
        **{key: value for key, value in QUIET.items() if "LOGGING" not in key},
        **environment(made.model.url, place / "home"),
        "HELMSMAN_HOME": str(place / "state"),
        "HELMSMAN_REMOTE__PUSH": "true",
        "HELMSMAN_STATE_KEY": "one secret of all machines of this test",
        "HELMSMAN_MEMORY_URL": made.memory,
        "PREFECT_HOME": str(place / "prefect"),
        "PREFECT_API_URL": made.url,
        "PREFECT_DEFAULT_RESULT_STORAGE_BLOCK": BLOCK,
        "PYTHONPATH": str(ROOT),
    }
    return Host(machine, own, variables, made.folder / "logs" / f"worker-{name}")


def _wait_until_up(made: ManyMachines) -> None:
    until = time.monotonic() + START_SECONDS
    for machine in made.servers.values():
        while not _answers(machine):
            assert time.monotonic() < until, made.log()
            time.sleep(0.2)


def _answers(machine: Machine) -> bool:
    with suppress(httpx.HTTPError), machine.network():
        return httpx.get(f"http://{machine.address}:{PORTS['prefect']}/api/health", timeout=5, trust_env=False).is_success
    return False


def _deploy(made: ManyMachines, host: Host) -> None:
    words = {"key": ACCESS["AWS_ACCESS_KEY_ID"], "secret": ACCESS["AWS_SECRET_ACCESS_KEY"], "s3": made.s3}
    code = DEPLOY.format(**words, silence=SILENCE_SECONDS, settled=SETTLED_SECONDS)
    variables = {key: value for key, value in host.variables.items() if "RESULT_STORAGE" not in key}
    host.machine.run(sys.executable, "-P", "-c", code, **variables)


def machine_processes(init: int) -> list[psutil.Process]:
    """All processes of a machine but the first."""
    namespace = _namespace(init)
    return [process for process in psutil.process_iter() if process.pid != init and _namespace(process.pid) == namespace]


def _namespace(process: int) -> str:
    with suppress(OSError):
        return str(Path(f"/proc/{process}/ns/pid").readlink())
    return f"gone: {process}"


def _find_program(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


def _allow_traversal(folder: Path) -> None:
    """PostgreSQL runs as another user, who must be able to come to its folder."""
    for part in (folder, *folder.parents):
        if part.stat().st_uid == os.getuid() and not part.stat().st_mode & 0o001:
            part.chmod(part.stat().st_mode | 0o011)
