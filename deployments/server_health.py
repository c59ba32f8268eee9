"""What a configured Prefect server has lost of what loops rely on: automations, and slots whose holders are dead."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import count

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import GlobalConcurrencyLimitUpdate
from prefect.client.schemas.responses import GlobalConcurrencyLimitResponse
from prefect.exceptions import ObjectNotFound

from deployments.deploy import CRASHED_RUN, SILENT_RUN, SWEEP, declare_ours
from deployments.leftovers import Finding
from tasks.loop.merge_lock import SLOTS

FORGOTTEN = timedelta(hours=6)
"""Since a slot was taken or given back. A lease ends a minute after its holder, but a server that is started again forgets the
leases that it kept in memory and not the slots; and no merge waits so long, since its checks run out of time before."""
PAGE = 200
"""The most that the server gives at once."""


def server_findings(now: datetime) -> list[Finding]:
    """Both findings, or one that says why there is none."""
    try:
        with get_client(sync_client=True) as client:
            return [_automations(client), _slots(client, now)]
    except httpx.HTTPError as error:
        return [Finding("automations", "warn", f"the server does not tell: {error}", "look at the server's log")]


def _automations(client: SyncPrefectClient) -> Finding:
    try:
        client.read_deployment_by_name(SWEEP)
    except ObjectNotFound:
        return Finding("automations", "ok", "none: nothing is deployed there")
    names = (SILENT_RUN, CRASHED_RUN)
    missing = [name for name in names if not client.read_automations_by_name(name)]
    if not missing:
        return Finding("automations", "ok", "runs that crash are started again")
    told = f"missing: {'; '.join(missing)}"
    return Finding("automations", "warn", told, "helmsman doctor --fix declares them again, as helmsman deploy does", _declare)


def _slots(client: SyncPrefectClient, now: datetime) -> Finding:
    taken = [
        limit.name
        for limit in limits(client)
        if limit.name.startswith(SLOTS) and limit.active_slots and limit.updated and now - limit.updated > FORGOTTEN
    ]
    if not taken:
        return Finding("slots", "ok", "none is held by the dead")
    told = f"taken for more than {FORGOTTEN}: {', '.join(taken)}"
    return Finding("slots", "warn", told, "helmsman doctor --fix frees them; merges wait for nothing", partial(_free, taken))


def limits(client: SyncPrefectClient, page: int = PAGE) -> Iterator[GlobalConcurrencyLimitResponse]:
    """All that the server has, everybody's, a page at a time."""
    for offset in count(step=page):
        found = client.read_global_concurrency_limits(limit=page, offset=offset)
        yield from found
        if len(found) < page:
            return


def _declare() -> str:
    with get_client(sync_client=True) as client:
        return f"declared {'; '.join(declare_ours(client))}"


def _free(names: Sequence[str]) -> str:
    with get_client(sync_client=True) as client:
        for name in names:
            with suppress(ObjectNotFound):  # gone by now, and its slots with it
                client.update_global_concurrency_limit(name, GlobalConcurrencyLimitUpdate(active_slots=0))
    return f"freed {', '.join(names)}"
