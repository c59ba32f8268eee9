"""What a loop shows in the engine's UI: summary, dashboard, tables and a progress bar.

On the page of the loop's own run each of them is there once and always the latest.
An observer: what goes wrong is one line in the log.
"""

from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import ArtifactCreate
from prefect.client.schemas.filters import ArtifactFilter
from prefect.client.schemas.objects import State, StateType
from prefect.logging import get_run_logger
from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings

from helmsman.records.iteration import IterationRecord
from helmsman.records.request import ParallelResult
from helmsman.records.state import LoopState
from helmsman.render.artifacts import Page, group_page, pages_of
from helmsman.render.lines import brought, iteration_lines
from helmsman.texts import plural
from tasks.engine.embedded import is_embedded
from tasks.engine.runs import run_id
from tasks.system.secrets import redact, without_secrets

ANSWER_SECONDS = 10
"""For one answer of the engine; Prefect itself would wait a minute."""


def log_iteration(record: IterationRecord) -> None:
    """Call in the loop's own run: the log of a run has nothing of the runs inside it."""
    for line in iteration_lines(record):
        get_run_logger().info("%s", redact(line))


def named_by_checks(record: IterationRecord) -> IterationRecord:
    """What an iteration's flow returns: the record in a state named `2 of 8 checks green`, so that red ones differ from green.

    Prefect ends the run in that state and hands the record to whoever called the flow.
    """
    return cast("Any", State(type=StateType.COMPLETED, name=brought(record), data=record))


@dataclass
class Shelf:
    """The artifacts of one loop, or of a group, in a run."""

    ids: dict[str, UUID] | None = None
    """By key. None: the engine was not asked yet what another process made of the same run."""
    shown: dict[str, tuple[str | float, str]] = field(default_factory=dict[str, tuple[str | float, str]])
    """By key what was written last; the same is not written again."""
    last: IterationRecord | None = None
    """The last iteration that was heard of."""


_shelves: dict[tuple[UUID, str], Shelf] = defaultdict(Shelf)
"""By run and loop."""


def publish_artifacts(state: LoopState, record: IterationRecord | None = None) -> None:
    """Show how a loop stands. Call in its own run, after `record` was folded into `state`, or without it where none is new.

    The embedded engine has no UI: what a later one shows is written when the loop ends or a person is asked.
    """
    shelf = _shelves[run_id(), state.loop]
    shelf.last = record or shelf.last
    if is_embedded() and state.ending is None and state.gate is None:
        return
    try:
        config = state.config  # which what is stored has as it is
        safe = {name: without_secrets(getattr(config, name)) for name in type(config).model_fields}
        shown = without_secrets(state).model_copy(update={"config": config.model_copy(update=safe)})
        with _client() as client:
            for page in pages_of(shown, without_secrets(shelf.last)):  # before anything is cut
                _put(client, shelf, state.loop, page)
    except Exception as error:  # noqa: BLE001 - an observer may fail in any way; it never stops a loop
        shelf.ids = None  # an artifact may have been deleted
        get_run_logger().warning("the artifacts of loop %s are out of date: %s", state.loop, _in_a_line(error))


def publish_group(result: ParallelResult) -> None:
    """Show how a group of loops stands. Call in the group's own run."""
    shelf, stands = _shelves[run_id(), result.group], f"{result.completed} of {plural(len(result.loops), 'loop')} completed"
    try:
        with _client() as client:
            _put(client, shelf, result.group, Page("loops", group_page(result), stands))
    except Exception as error:  # noqa: BLE001 - as for a single loop
        shelf.ids = None
        get_run_logger().warning("the artifact of group %s is out of date: %s", result.group, _in_a_line(error))


def _put(client: SyncPrefectClient, shelf: Shelf, loop: str, page: Page) -> None:
    """Its key says first what it is: pages cut long keys, and ids of loops begin alike."""
    key, page = f"{page.name}-{loop}", without_secrets(page)
    if shelf.ids is None:
        mine = ArtifactFilter.model_validate({"flow_run_id": {"any_": [run_id()]}})
        found = client.read_artifacts(artifact_filter=mine, limit=50)
        shelf.ids = {one.key: one.id for one in found if one.key and one.key == f"{one.key.partition('-')[0]}-{loop}"}
        shelf.shown.clear()
    wanted = (page.data, page.description)
    if key not in shelf.ids:
        made = ArtifactCreate(key=key, type=page.kind, data=page.data, description=page.description, flow_run_id=run_id())
        shelf.ids[key] = client.create_artifact(made).id
    elif shelf.shown.get(key) != wanted:  # without the client's own event of it, which would hold all of the content once more
        changed = {"data": page.data, "description": page.description}
        client.request("PATCH", "/artifacts/{id}", path_params={"id": shelf.ids[key]}, json=changed)
    shelf.shown[key] = wanted


@contextmanager
def _client() -> Generator[SyncPrefectClient]:
    with (
        temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}),  # what is not written now is written next time
        get_client(httpx_settings={"timeout": ANSWER_SECONDS}, sync_client=True) as client,
    ):
        yield client


def _in_a_line(error: Exception) -> str:
    return " ".join(redact(f"{type(error).__name__}: {error}").split())[:300]
