"""`helmsman deploy`: work pool, deployments and automations on the configured Prefect server. Doing it again changes nothing.

For the doctor: what such a server has lost of what loops rely on, automations, and slots whose holders are dead.
"""

import os
import sys
import tempfile
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from string import Template
from typing import Any
from uuid import UUID, uuid4

import httpx
import yaml
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import GlobalConcurrencyLimitUpdate, WorkPoolCreate
from prefect.events.schemas.automations import AutomationCore
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound
from prefect.workers.process import ProcessWorker
from pydantic import ValidationError

from deployments.leftovers import Finding
from deployments.output import answer
from helmsman.config.layers import display
from helmsman.errors import OperatorError, TransientError
from helmsman.plain import clean
from tasks.engine.embedded import configured_api, engine
from tasks.loop.run import SLOTS
from tasks.loop.sweep import SETTLED_SECONDS
from tasks.system.environment import ours
from tasks.system.process import run

SILENCE_SECONDS = 90.0
"""Three heartbeats of a run under a worker: prefect.yaml has them sent every 30 s, the shortest that Prefect knows."""
MARGIN_SECONDS = 2.0  # by which a sweep comes after a crash is settled, not just before
SILENT_RUN = "helmsman: a run that is silent has crashed"
CRASHED_RUN = "helmsman: after a crash the sweep looks whether the run may go on"
AUTOMATIONS = Path(__file__).with_name("automations.yaml")
MEANING = {"description", "trigger", "actions"}  # what an automation does; whether it is switched on is the operator's choice


def automations(
    sweep: UUID, silence_seconds: float = SILENCE_SECONDS, settled_seconds: float = SETTLED_SECONDS, notify: UUID | None = None
) -> tuple[AutomationCore, ...]:
    """What the engine does for runs under a worker, each known by its name.

    `sweep` is the deployment of that name, `notify` a notification block of the server.
    """
    seconds = {"silence": f"{silence_seconds:g}", "settled": settled_seconds, "due": settled_seconds + MARGIN_SECONDS}
    text = Template(AUTOMATIONS.read_text(encoding="utf-8")).substitute(seconds, sweep=sweep, block=notify)
    told = yaml.safe_load(text)
    return tuple(map(AutomationCore.model_validate, [*told["automations"], *(told["notifying"] if notify else ())]))


def declare(client: SyncPrefectClient, wanted: Iterable[AutomationCore]) -> None:
    """Have exactly these under their names. One that is as it should be is not touched: a changed one begins its waits anew."""
    for automation in wanted:
        found = client.read_automations_by_name(automation.name)
        for surplus in found[1:]:
            client.delete_automation(surplus.id)
        if not found:
            client.create_automation(automation)
        elif found[0].model_dump(include=MEANING) != automation.model_dump(include=MEANING):
            client.update_automation(found[0].id, automation.model_copy(update={"enabled": found[0].enabled}))


SWEEP = "sweep/sweep"
PROCESS = "process"
LONGEST_SECONDS = 300.0  # for Prefect's own command: it imports every flow
HERE = Path(__file__).parent


def deploy(pool: str, *, as_json: bool, notify: str = "") -> int:
    """Create what is missing, bring the rest up to date, and say what to do next.

    `notify`: a notification block that is told when a loop asks a person, as `slack-webhook/ops`; empty: nobody is.
    """
    url = configured_api(ours())
    if url is None:
        raise OperatorError(
            "no Prefect server is configured, so there is nowhere to deploy to",
            remedy="start one: prefect server start; then: prefect config set PREFECT_API_URL=http://127.0.0.1:4200/api",
        )
    wanted = new_pool(pool)
    with engine() as engine_is_up:
        engine_is_up()
        with _server() as client:
            if notify:
                _block(client, notify)  # before anything is changed
            try:  # one that is there is left as its operator made it, of whatever type
                kind = client.read_work_pool(pool).type
            except ObjectNotFound:
                with suppress(ObjectAlreadyExists):  # somebody deploys beside us
                    client.create_work_pool(wanted)
                kind = client.read_work_pool(pool).type
        names = _deploy_all(pool)
        with _server() as client:
            automated = declare_ours(client, notify)
    told = {"server": url, "pool": pool, "pool_type": kind, "deployments": names, "automations": automated}
    lines = (
        f"server       {clean(url)}",
        f"work pool    {clean(pool)} ({clean(kind)})",
        *(f"deployment   {name}" for name in names),
        *(f"automation   {name}" for name in automated),
        "",
        f"Next, on the machine that holds the repositories:  prefect worker start --pool {pool}",
        'and start a loop:  prefect deployment run loop/loop --param request=\'{"repository": "DIR", "goal": "..."}\'',
        "docs/deployments.md tells of schedules, other machines and what happens when one dies.",
    )
    answer(told, lines, as_json=as_json)
    return 0


def project() -> tuple[Path, Mapping[str, Any]]:
    """The folder that holds the flows, and what prefect.yaml says of them. A wheel carries that file beside this one."""
    found = next(file for file in (HERE / "prefect.yaml", HERE.parent / "prefect.yaml") if file.is_file())
    return HERE.parent, yaml.safe_load(found.read_text(encoding="utf-8"))


def placed(described: Mapping[str, Any], folder: Path, pool: str) -> dict[str, Any]:
    """The deployments for another work pool, with the folder spelled out from which a worker takes the flows."""
    pull = [{"prefect.deployments.steps.set_working_directory": {"directory": str(folder)}}]
    deployments = [{**one, "work_pool": {**one.get("work_pool", {}), "name": pool}} for one in described["deployments"]]
    return {**described, "pull": pull, "deployments": deployments}


def declare_ours(client: SyncPrefectClient, notify: str = "", **seconds: float) -> list[str]:
    """Create or repair our automations, once the sweep is deployed. Returns their names.

    The one that notifies stays as it is where `notify` is empty: who deploys after an upgrade need not say it again.
    """
    block = _block(client, notify) if notify else None
    wanted = automations(client.read_deployment_by_name(SWEEP).id, notify=block, **seconds)
    declare(client, wanted)
    return [automation.name for automation in wanted]


def _block(client: SyncPrefectClient, name: str) -> UUID:
    """Id of a notification block, named by type and name. Raises OperatorError where there is none."""
    kind, _, own = name.partition("/")
    try:
        return client.read_block_document_by_name(own, kind).id
    except ObjectNotFound as error:
        raise OperatorError(
            "--notify names no block of the server",
            expected="TYPE/NAME of a notification block, for example slack-webhook/ops",
            found=display(name),
            remedy="make one in the UI under Blocks, or name one of: prefect block ls",
        ) from error


@contextmanager
def _server() -> Generator[SyncPrefectClient]:
    try:
        with get_client(sync_client=True) as client:
            yield client
    except httpx.HTTPError as error:
        raise TransientError("the Prefect server refuses or has gone away", found=str(error)[:500]) from error


def new_pool(name: str) -> WorkPoolCreate:
    """The work pool, should there be none of that name. Raises OperatorError for a name that Prefect allows to none."""
    try:
        return WorkPoolCreate(name=name, type=PROCESS, base_job_template=ProcessWorker.get_default_base_job_template())
    except ValidationError as error:
        raise OperatorError(
            "--pool is not a valid name for a work pool",
            expected="a name without / % & > <",
            found=display(name),
            remedy="pass another --pool, or omit it",
        ) from error


def _deploy_all(pool: str) -> list[str]:
    """Have Prefect read our flows, as `prefect deploy --all` does. Returns the names of the deployments."""
    folder, described = project()
    wanted = placed(described, folder, pool)
    with tempfile.TemporaryDirectory(prefix="helmsman-deploy-") as scratch:
        file = Path(scratch) / "prefect.yaml"
        file.write_text(yaml.safe_dump(wanted), encoding="utf-8")
        command = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(file)]
        environment, tag = {**os.environ, "PWD": str(folder)}, f"deploy-{uuid4().hex}"
        ended = run(command, cwd=folder, env=environment, tag=tag, deadline=LONGEST_SECONDS, merge_stderr=True)
    if ended.exit_code != 0:
        words = "\n".join(clean(line) for line in (ended.head + ended.tail).splitlines()[-20:])
        raise TransientError("Prefect could not deploy the flows", found=words, remedy="look at the server's log")
    return [f"{one['entrypoint'].rpartition(':')[2]}/{one['name']}" for one in wanted["deployments"]]


FORGOTTEN = timedelta(hours=6)
"""Since a slot was taken or given back. A lease ends a minute after its holder, but a server that is started again forgets the
leases that it kept in memory and not the slots; and no merge waits so long, since its checks run out of time before."""
MOST_LIMITS = 200  # that are looked at, as many as the server gives at once


def server_finding(name: str, now: datetime) -> Finding:
    """Automations that are gone, or slots that the dead hold; or why nothing is known of that."""
    try:
        with get_client(sync_client=True) as client:
            if name == "automations":
                client.read_deployment_by_name(SWEEP)
                missing = [name for name in (SILENT_RUN, CRASHED_RUN) if not client.read_automations_by_name(name)]
            else:
                limits = client.read_global_concurrency_limits(limit=MOST_LIMITS, offset=0)
                held = (one for one in limits if one.name.startswith(SLOTS) and one.active_slots)
                missing = [one.name for one in held if one.updated and now - one.updated > FORGOTTEN]
    except ObjectNotFound:
        return Finding("ok", "none: nothing is deployed")
    except httpx.HTTPError as error:
        return Finding("warn", f"the server does not say: {error}", "look at the server's log")
    if name == "automations" and missing:
        return Finding("warn", f"missing: {'; '.join(missing)}", "helmsman deploy declares them again")
    if not missing:
        return Finding("ok", "crashed runs are restarted" if name == "automations" else "no dead process holds one")

    def free() -> str:
        with get_client(sync_client=True) as client:
            for slot in missing:
                with suppress(ObjectNotFound):  # gone by now, and its slots with it
                    client.update_global_concurrency_limit(slot, GlobalConcurrencyLimitUpdate(active_slots=0))
        return f"freed {', '.join(missing)}"

    told, remedy = ", ".join(missing), "helmsman doctor --fix frees them; merges wait for nothing"
    return Finding("warn", f"taken for more than {FORGOTTEN}: {told}", remedy, free)
