"""Chat, mail and webhooks by Prefect's notification blocks. A failed notification is logged."""

import logging
import re
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from helmsman.plain import clean
from tasks.system.secrets import redact

_ADDRESS = re.compile(r"\S*://\S*")
"""A webhook's URL is a secret."""
_log = logging.getLogger(__name__)


def notify(blocks: Iterable[str], subject: str, body: str) -> None:
    """Notify each block, named by type and name: `slack-webhook/ops`."""
    from prefect.blocks.abstract import NotificationBlock
    from prefect.blocks.core import Block

    import_module("prefect.blocks.notifications")  # needed to load its blocks by name
    for name in blocks:
        try:
            loaded = Block.load(name)
            if not isinstance(loaded, NotificationBlock):
                raise TypeError(f"{type(loaded).__name__} is not a notification block")  # noqa: TRY301 - reported like any other
            block: Any = loaded  # outside of an event loop its coroutines run synchronously
            with block.raise_on_failure():
                block.notify(body=redact(body), subject=redact(subject))
        except Exception as error:  # noqa: BLE001 - third-party code may raise anything; a notification is optional
            why = _ADDRESS.sub("[address]", clean(getattr(error, "log", "") or str(error)))[:300]
            _log.warning("the notification block %s could not be notified: %s: %s", clean(name), type(error).__name__, why)
