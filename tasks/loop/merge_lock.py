"""One merge at a time: a slot of the engine's for all machines, and a lock of the kernel's for all processes of this one.

Both are politeness: they spare loops checks that a faster one would make void. What keeps the branch right is that it moves by
compare-and-swap, so whoever has waited long enough goes ahead without them.
"""

import os
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress

import httpx
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate
from prefect.concurrency.sync import concurrency
from prefect.exceptions import ObjectAlreadyExists, PrefectHTTPStatusError
from prefect.logging import get_run_logger

from helmsman.errors import Cancelled
from tasks.engine.embedded import is_embedded
from tasks.memory import project_of
from tasks.repository.git import Repository
from tasks.system.lock import locked_within
from tasks.system.paths import helmsman_folder

Stop = Callable[[], bool]

LEASE_SECONDS = 60
"""After its holder's last word; the least that the engine allows. It is renewed while the holder lives."""
PATIENCE_SECONDS = 30 * 60.0
"""Until the merge is tried beside others, which costs time and spoils nothing: a merge takes as long as the checks do."""
ONE_TRY_SECONDS = 3.0  # how long the engine is asked at a stretch: in between a cancel is heard
NAP_SECONDS = 0.2
SLOTS = "helmsman-merge-"  # how the names of the engine's limits begin
_AWAY = httpx.HTTPError, PrefectHTTPStatusError, RuntimeError


@contextmanager
def merging_alone(repository: Repository, stop: Stop) -> Generator[None]:
    """While the block runs nobody else merges in this project, as far as that can be had. Raises Cancelled."""
    until = time.monotonic() + PATIENCE_SECONDS
    with ExitStack() as held:
        if not is_embedded():
            hold_slot(held, slot_of(repository), until, stop)
        path = helmsman_folder(repository.common) / "merge.lock"
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        held.callback(os.close, handle)
        _wait(lambda: locked_within(handle, NAP_SECONDS), f"the lock {path}", until, stop)
        yield


def slot_of(repository: Repository) -> str:
    """The name of the engine's limit: the same for every clone of a project."""
    return f"{SLOTS}{project_of(repository)}"


def hold_slot(held: ExitStack, name: str, until: float, stop: Stop) -> None:
    """Take the engine's only slot of that name. Its lease ends with its holder, however that one dies."""
    try:
        with get_client(sync_client=True) as client, suppress(ObjectAlreadyExists):
            client.create_global_concurrency_limit(GlobalConcurrencyLimitCreate(name=name, limit=1))
        _wait(lambda: _taken(held, name), f"the slot {name}", until, stop)
    except _AWAY as error:  # an engine that is away holds nobody up
        get_run_logger().warning("the engine gave no slot %s, merging without it: %s", name, error)


def _taken(held: ExitStack, name: str) -> bool:
    slot = concurrency(
        name,
        timeout_seconds=ONE_TRY_SECONDS,
        lease_duration=LEASE_SECONDS,
        strict=True,
        raise_on_lease_renewal_failure=False,  # the branch is safe without it
    )
    try:
        slot.__enter__()
    except TimeoutError:
        return False
    held.callback(give_back, slot, name)
    return True


def give_back(slot: AbstractContextManager[object], name: str) -> None:
    try:
        slot.__exit__(None, None, None)
    except _AWAY as error:  # its lease ends by itself
        get_run_logger().warning("the slot %s was not given back: %s", name, error)


def _wait(take: Callable[[], bool], what: str, until: float, stop: Stop) -> None:
    """Until it is taken, or the time is over."""
    while not take():
        if stop():
            raise Cancelled("cancelled while waiting for other loops that merge")
        if time.monotonic() >= until:
            get_run_logger().warning("%s stays taken; merging without it", what)
            return
