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


def server_finding(name: str, now: datetime) -> Finding:
    """One of the two, or why there is none."""
    try:
        with get_client(sync_client=True) as client:
            return _automations(client) if name == "automations" else _slots(client, now)
    except httpx.HTTPError as error:
        return Finding("warn", f"the server does not tell: {error}", "look at the server's log")


def _automations(client: SyncPrefectClient) -> Finding:
    try:
        client.read_deployment_by_name(SWEEP)
    except ObjectNotFound:
        return Finding("ok", "none: nothing is deployed there")
    missing = [name for name in (SILENT_RUN, CRASHED_RUN) if not client.read_automations_by_name(name)]
    if not missing:
        return Finding("ok", "runs that crash are started again")
    remedy = "helmsman doctor --fix declares them again, as helmsman deploy does"
    return Finding("warn", f"missing: {'; '.join(missing)}", remedy, _declare)


def _slots(client: SyncPrefectClient, now: datetime) -> Finding:
    taken = [
        limit.name
        for limit in limits(client)
        if limit.name.startswith(SLOTS) and limit.active_slots and limit.updated and now - limit.updated > FORGOTTEN
    ]
    if not taken:
        return Finding("ok", "none is held by the dead")
    remedy = "helmsman doctor --fix frees them; merges wait for nothing"
    return Finding("warn", f"taken for more than {FORGOTTEN}: {', '.join(taken)}", remedy, partial(_free, taken))


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
