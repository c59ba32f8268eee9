"""Chat, mail and webhooks by Prefect's notification blocks. A failed notification is reported."""

import re
from collections.abc import Collection, Iterable
from importlib import import_module
from typing import Any
from uuid import UUID

from helmsman.plain import clean
from tasks.system.journal import report_problem
from tasks.system.secrets import redact

AUTOMATION = "helmsman: a loop asks a person"
"""The automation of `helmsman deploy --notify`."""
_ADDRESS = re.compile(r"\S*://\S*")
"""A webhook's URL is a secret."""


def notify(blocks: Iterable[str], subject: str, body: str, *, skip: Collection[UUID] = ()) -> None:
    """Notify each block, named by type and name: `slack-webhook/ops`. `skip`: ids of blocks to leave out."""
    from prefect.blocks.abstract import NotificationBlock
    from prefect.blocks.core import Block

    import_module("prefect.blocks.notifications")  # needed to load its blocks by name
    for name in blocks:
        try:
            loaded = Block.load(name)
            if not isinstance(loaded, NotificationBlock):
                raise TypeError(f"{type(loaded).__name__} is not a notification block")  # noqa: TRY301 - reported like any other
            block: Any = loaded  # outside of an event loop its coroutines run synchronously
            if block._block_document_id in skip:  # noqa: SLF001 - Prefect has no public name for it
                continue
            with block.raise_on_failure():
                block.notify(body=redact(body), subject=redact(subject))
        except Exception as error:  # noqa: BLE001 - third-party code may raise anything; a notification is optional
            why = _ADDRESS.sub("[address]", clean(getattr(error, "log", "") or str(error)))[:300]
            report_problem(f"the notification block {clean(name)} could not be notified: {type(error).__name__}: {why}")


def blocks_of_server() -> frozenset[UUID]:
    """Ids of the blocks that the server itself notifies of this run's questions and failure."""
    import httpx
    from prefect.client.orchestration import get_client
    from prefect.events.actions import SendNotification
    from prefect.exceptions import PrefectHTTPStatusError

    from tasks.engine.runs import is_under_a_worker

    if not is_under_a_worker():
        return frozenset()
    try:
        with get_client(sync_client=True) as client:
            found = [one for one in client.read_automations_by_name(AUTOMATION) if one.enabled]
    except (httpx.HTTPError, PrefectHTTPStatusError):  # rather twice than never
        return frozenset()
    return frozenset(act.block_document_id for one in found for act in one.actions if isinstance(act, SendNotification))
