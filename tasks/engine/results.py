"""Where the engine keeps what steps returned: whether it can be reached, and whether a step's result is there.

Which storage it is says the engine: PREFECT_DEFAULT_RESULT_STORAGE_BLOCK, else the server's default, else a folder of this
machine, which no other machine sees.
"""

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from uuid import uuid4

from prefect.filesystems import LocalFileSystem
from prefect.results import ResultStore, get_result_store
from prefect.settings import get_current_settings

from helmsman.errors import TransientError
from helmsman.records.state import LoopState

PROBE = "helmsman-probe"
"""What is written and read at the start of every driver of a loop that travels; one object, always the same."""


def require_results(loop: str) -> bool:
    """Whether results lie in storage that other machines share. Raises TransientError where that cannot be used."""
    store = _store()
    chosen = get_current_settings().results.default_storage_block is not None
    if isinstance(store.result_storage, LocalFileSystem) and not chosen:  # the engine's last resort; a block may be a shared disk
        return False
    with _blaming_storage(loop):
        store.write(uuid4().hex, key=PROBE)
        store.read(PROBE)
    return True


def step_key(state: LoopState, step: str) -> str:
    """Under what the result of a step is kept."""
    return f"helmsman-{state.uid}-{state.due:05d}-{state.attempt}-{step}"


def is_kept(state: LoopState, step: str) -> bool:
    """Whether the result of this attempt's step is known to the engine. Raises TransientError as `require_results` does."""
    with _blaming_storage(state.loop):
        return _store().exists(stored_as(step_key(state, step)))


_version = cache(version)


def stored_as(key: str) -> str:
    """The key as the storage has it. A result names its classes, and those of another version may be elsewhere or gone."""
    return f"{key}-{_version('helmsman')}"


def _store() -> ResultStore:
    """The flow's storage, looked into: the flow's own store knows nothing of what tasks have put there."""
    return ResultStore(result_storage=get_result_store().result_storage)


@contextmanager
def _blaming_storage(loop: str) -> Generator[None]:
    try:
        yield
    except Exception as error:  # every kind of storage has errors of its own
        block = get_current_settings().results.default_storage_block
        raise TransientError(
            "the storage for the results of steps cannot be used, so that a machine that takes over would repeat them",
            expected=f"to write and read {PROBE} in {block or 'the default result storage of the Prefect server'}",
            found=f"{type(error).__name__}: {error}"[:500],
            remedy="look at the storage and at the block's credentials (docs/operations.md tells how both are made); "
            f"then go on with the loop: helmsman resume {loop}",
        ) from error
