"""`helmsman deploy`: work pool, deployments and automations on the configured Prefect server. It is idempotent."""

import os
import shlex
import sys
import tempfile
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from string import Template
from typing import Any
from uuid import UUID, uuid4

import httpx
import yaml
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.events.schemas.automations import AutomationCore
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound
from prefect.workers.process import ProcessWorker
from pydantic import ValidationError

from deployments.output import print_result
from helmsman.config.layers import display
from helmsman.errors import OperatorError, TransientError
from helmsman.plain import clean
from tasks.engine.embedded import configured_api, engine
from tasks.loop.sweep import SETTLED_SECONDS
from tasks.system.environment import own_environment
from tasks.system.process import run

SILENCE_SECONDS = 90.0
"""Three heartbeats of a run under a worker: prefect.yaml sets their interval to 30 s, Prefect's minimum."""
MARGIN_SECONDS = 2.0  # delay of a sweep after a crash counts as settled
SILENT_RUN = "helmsman: a run that is silent has crashed"
CRASHED_RUN = "helmsman: after a crash the sweep looks whether the run may go on"
AUTOMATIONS = Path(__file__).with_name("automations.yaml")
COMPARED_FIELDS = {"description", "trigger", "actions"}  # the operator may change the other fields, such as `enabled`


def automations(
    sweep: UUID, silence_seconds: float = SILENCE_SECONDS, settled_seconds: float = SETTLED_SECONDS, notify: UUID | None = None
) -> tuple[AutomationCore, ...]:
    """Automations for runs under a worker, identified by their names.

    `sweep`: id of that deployment. `notify`: id of a notification block of the server.
    """
    seconds = {"silence": f"{silence_seconds:g}", "settled": settled_seconds, "due": settled_seconds + MARGIN_SECONDS}
    text = Template(AUTOMATIONS.read_text(encoding="utf-8")).substitute(seconds, sweep=sweep, block=notify)
    content = yaml.safe_load(text)
    return tuple(map(AutomationCore.model_validate, [*content["automations"], *(content["notifying"] if notify else ())]))


def update_automations(client: SyncPrefectClient, wanted: Iterable[AutomationCore]) -> None:
    """Create, update or deduplicate automations by name. Unchanged ones are not touched: an update restarts their timers."""
    for automation in wanted:
        existing = client.read_automations_by_name(automation.name)
        for surplus in existing[1:]:
            client.delete_automation(surplus.id)
        if not existing:
            client.create_automation(automation)
        elif existing[0].model_dump(include=COMPARED_FIELDS) != automation.model_dump(include=COMPARED_FIELDS):
            client.update_automation(existing[0].id, automation.model_copy(update={"enabled": existing[0].enabled}))


SWEEP = "sweep/sweep"
PROCESS = "process"
LONGEST_SECONDS = 300.0  # timeout of Prefect's own command, which imports every flow
HERE = Path(__file__).parent


def deploy(pool: str, *, as_json: bool, notify: str = "") -> int:
    """Create what is missing, update the rest, and print the next steps.

    `notify`: notification block for questions and failed runs, such as `slack-webhook/ops`; empty: none.
    """
    url = configured_api(own_environment())
    if url is None:
        raise OperatorError(
            "no Prefect server is configured, so there is nowhere to deploy to",
            remedy="start one: prefect server start; then: prefect config set PREFECT_API_URL=http://127.0.0.1:4200/api",
        )
    wanted = new_pool(pool)
    with engine() as engine_is_up:
        engine_is_up()
        with _server_client() as client:
            if notify:
                _block_id(client, notify)  # fail before anything is changed
            try:  # an existing pool is left as its operator created it, of any type
                kind = client.read_work_pool(pool).type
            except ObjectNotFound:
                with suppress(ObjectAlreadyExists):  # another process deploys at the same time
                    client.create_work_pool(wanted)
                kind = client.read_work_pool(pool).type
        names = _deploy_all(pool)
        with _server_client() as client:
            automated = update_own_automations(client, notify)
    report = {"server": url, "pool": pool, "pool_type": kind, "deployments": names, "automations": automated}
    lines = (
        f"server       {clean(url)}",
        f"work pool    {clean(pool)} ({clean(kind)})",
        *(f"deployment   {name}" for name in names),
        *(f"automation   {name}" for name in automated),
        "",
        f"Next, on the machine that holds the repositories:  prefect worker start --pool {shlex.quote(pool)}",
        'and start a loop:  prefect deployment run loop/loop --param request=\'{"repository": "DIR", "goal": "..."}\'',
        "docs/deployments.md describes schedules, other machines and what happens when one dies.",
    )
    print_result(report, lines, as_json=as_json)
    return 0


def project() -> tuple[Path, Mapping[str, Any]]:
    """The folder of the flows, and the content of prefect.yaml. A wheel contains that file next to this one."""
    path = next(file for file in (HERE / "prefect.yaml", HERE.parent / "prefect.yaml") if file.is_file())
    return HERE.parent, yaml.safe_load(path.read_text(encoding="utf-8"))


def with_work_pool(content: Mapping[str, Any], folder: Path, pool: str) -> dict[str, Any]:
    """Content of prefect.yaml with another work pool, and the folder from which a worker loads the flows."""
    pull = [{"prefect.deployments.steps.set_working_directory": {"directory": str(folder)}}]
    deployments = [
        {**deployment, "work_pool": {**deployment.get("work_pool", {}), "name": pool}} for deployment in content["deployments"]
    ]
    return {**content, "pull": pull, "deployments": deployments}


def update_own_automations(client: SyncPrefectClient, notify: str = "", **seconds: float) -> list[str]:
    """Create or repair our automations after the sweep is deployed. Returns their names.

    If `notify` is empty, the notifying automation is left as it is, so that an upgrade need not repeat the option.
    """
    block = _block_id(client, notify) if notify else None
    wanted = automations(client.read_deployment_by_name(SWEEP).id, notify=block, **seconds)
    update_automations(client, wanted)
    return [automation.name for automation in wanted]


def _block_id(client: SyncPrefectClient, name: str) -> UUID:
    """Id of a notification block given as TYPE/NAME. Raises OperatorError if it does not exist."""
    kind, _, block_name = name.partition("/")
    try:
        return client.read_block_document_by_name(block_name, kind).id
    except ObjectNotFound as error:
        raise OperatorError(
            "--notify names a block that the server does not have",
            expected="TYPE/NAME of a notification block, for example slack-webhook/ops",
            found=display(name),
            remedy="create one in the UI under Blocks, or choose one: prefect block ls",
        ) from error


@contextmanager
def _server_client() -> Generator[SyncPrefectClient]:
    try:
        with get_client(sync_client=True) as client:
            yield client
    except httpx.HTTPError as error:
        raise TransientError("the Prefect server rejected the request or is unreachable", found=str(error)[:500]) from error


def new_pool(name: str) -> WorkPoolCreate:
    """Definition of a new work pool. Raises OperatorError for a name that Prefect does not allow."""
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
    """Deploy our flows with `prefect deploy --all`. Returns the names of the deployments."""
    folder, content = project()
    changed = with_work_pool(content, folder, pool)
    with tempfile.TemporaryDirectory(prefix="helmsman-deploy-") as scratch:
        file = Path(scratch) / "prefect.yaml"
        file.write_text(yaml.safe_dump(changed), encoding="utf-8")
        command = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(file)]
        environment, tag = {**os.environ, "PWD": str(folder)}, f"deploy-{uuid4().hex}"
        ended = run(command, cwd=folder, env=environment, tag=tag, deadline=LONGEST_SECONDS, merge_stderr=True)
    if ended.exit_code != 0:
        output = "\n".join(clean(line) for line in (ended.head + ended.tail).splitlines()[-20:])
        raise TransientError("Prefect could not deploy the flows", found=output, remedy="look at the server's log")
    return [f"{deployment['entrypoint'].rpartition(':')[2]}/{deployment['name']}" for deployment in changed["deployments"]]
