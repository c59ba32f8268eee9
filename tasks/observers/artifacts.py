"""What a loop shows in the engine's UI: summary, dashboard, tables and a progress bar.

On the page of the loop's own run each of them is there once and always the latest. What tells of one iteration stands on the page
of that iteration as well, as a further version under the same key. An observer: what goes wrong is one line in the log.
"""

from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import ArtifactCreate
from prefect.client.schemas.filters import ArtifactFilter, FlowRunFilter
from prefect.client.schemas.objects import State, StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.exceptions import PrefectHTTPStatusError
from prefect.logging import get_run_logger
from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings

from helmsman.records.iteration import IterationRecord
from helmsman.records.request import ParallelResult
from helmsman.records.state import LoopState
from helmsman.render.artifacts import Page, group_page, pages_of
from helmsman.render.lines import brought, summary_lines
from helmsman.texts import plural
from tasks.engine.runs import run_id
from tasks.system.secrets import redact, without_secrets

ANSWER_SECONDS = 10
"""For one answer of the engine; Prefect itself would wait a minute."""
SHELVES_REMEMBERED = 4


def log_iteration(record: IterationRecord) -> None:
    """Call in the loop's own run: the log of a run has nothing of the runs inside it."""
    for line in summary_lines(record):
        get_run_logger().info("%s", redact(line))


def named_by_checks(record: IterationRecord) -> IterationRecord:
    """What an iteration's flow returns: the record in a state named `2 of 8 checks green`, so that red ones differ from green.

    Prefect ends the run in that state and hands the record to whoever called the flow.
    """
    return cast("Any", State(type=StateType.COMPLETED, name=brought(record), data=record))


@dataclass
class Shelf:
    """The artifacts of one loop in a run."""

    has_readers: bool
    """Whether the engine has a UI to read them in."""
    ids: dict[str, list[UUID]] = field(default_factory=dict[str, list[UUID]])
    """By key those that show how the loop stands now: the run's own, and the newest version."""
    shown: dict[str, tuple[str | float, str]] = field(default_factory=dict[str, tuple[str | float, str]])
    """By key what was written last; the same is not written again."""
    last: IterationRecord | None = None
    """The last iteration that was heard of."""

    def due(self, state: LoopState, record: IterationRecord | None) -> bool:
        """Without a UI nobody looks while the loop runs: what a later UI shows is written when it ends or a person is asked."""
        self.last = record or self.last
        return self.has_readers or state.ending is not None or state.gate is not None


_shelves: dict[tuple[UUID, str], Shelf] = {}
"""By run and loop, as a chain drives its loops in one run. What another process made of the same run is asked for once."""


def publish_artifacts(state: LoopState, record: IterationRecord | None = None) -> None:
    """Show how a loop stands. Call in its own run, after `record` was folded into `state`, or without it where none is new."""
    try:
        run = run_id()
        known = _shelves.get((run, state.loop))
        if known and not known.due(state, record):
            return
        with (
            temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}),  # what is not written now is written next time
            get_client(httpx_settings={"timeout": ANSWER_SECONDS}, sync_client=True) as client,
        ):
            shelf = _shelf(client, run, state.loop)
            if shelf.due(state, record):
                bring_up_to_date(client, shelf, run, state, record)
    except Exception as error:  # noqa: BLE001 - an observer may fail in any way; it never stops a loop
        _shelves.pop((run_id(), state.loop), None)  # an artifact may have been deleted: next time it is asked what is there
        get_run_logger().warning("the artifacts of loop %s are not up to date: %s", state.loop, _in_a_line(error))


def publish_group(result: ParallelResult) -> None:
    """Show how a group of loops stands. Call in the group's own run."""
    try:
        run = run_id()
        with (
            temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}),
            get_client(httpx_settings={"timeout": ANSWER_SECONDS}, sync_client=True) as client,
        ):
            stands = f"{result.completed} of {plural(len(result.loops), 'loop')} completed"
            page = Page("loops", group_page(result), stands)
            _put(client, _shelf(client, run, result.group), page, _key(page.name, result.group), run, None)
    except Exception as error:  # noqa: BLE001 - as for a single loop
        get_run_logger().warning("the artifact of group %s is not up to date: %s", result.group, _in_a_line(error))


def _without_secrets(state: LoopState) -> LoopState:
    """The state as it may be shown, its configuration included, which what is stored has as it is."""
    config = state.config
    safe = {name: without_secrets(getattr(config, name)) for name in type(config).model_fields}
    return without_secrets(state).model_copy(update={"config": config.model_copy(update=safe)})


def bring_up_to_date(
    client: SyncPrefectClient, shelf: Shelf, run: UUID, state: LoopState, record: IterationRecord | None
) -> None:
    """Write what has changed, and a version for the page of the iteration."""
    iteration = _iteration_run(client, run, record) if record else None
    for page in pages_of(_without_secrets(state), without_secrets(record or shelf.last)):  # before anything is cut
        _put(client, shelf, page, _key(page.name, state.loop), run, iteration)


def _shelf(client: SyncPrefectClient, run: UUID, loop: str) -> Shelf:
    """`loop`: or a group."""
    if (run, loop) not in _shelves:
        mine = ArtifactFilter.model_validate({"flow_run_id": {"any_": [run]}})
        made = client.read_artifacts(artifact_filter=mine, limit=50)
        keys = {artifact.key: [artifact.id] for artifact in made if artifact.key}
        known = {key: ids for key, ids in keys.items() if key == _key(key.partition("-")[0], loop)}
        for oldest in list(_shelves)[: 1 - SHELVES_REMEMBERED]:
            _shelves.pop(oldest)
        _shelves[run, loop] = Shelf(_has_ui(client), known)
    return _shelves[run, loop]


def _key(name: str, loop: str) -> str:
    """What it is comes first: pages cut long keys, and ids of loops begin alike."""
    return f"{name}-{loop}"


def _has_ui(client: SyncPrefectClient) -> bool:
    """As far as it tells: one that keeps its settings to itself is none of ours, and has one."""
    try:
        settings = client.request("GET", "/admin/settings").json()
    except PrefectHTTPStatusError:
        return True
    return bool(settings.get("server", {}).get("ui", {}).get("enabled", True))


def _iteration_run(client: SyncPrefectClient, run: UUID, record: IterationRecord) -> UUID | None:
    """The flow run of that iteration; of several attempts the last."""
    named = {"any_": [f"{record.loop} #{record.iteration}"]}
    wanted = FlowRunFilter.model_validate({"parent_flow_run_id": {"any_": [run]}, "name": named})
    newest = client.read_flow_runs(flow_run_filter=wanted, sort=FlowRunSort.START_TIME_DESC, limit=1)
    return newest[0].id if newest else None


def _put(client: SyncPrefectClient, shelf: Shelf, page: Page, key: str, run: UUID, iteration: UUID | None) -> None:
    page = without_secrets(page)
    ids, wanted = shelf.ids.get(key, []), (page.data, page.description)
    version_of = iteration if page.of_iteration else None
    if not ids:
        ids = [_created(client, page, key, run)]
    elif shelf.shown.get(key) != wanted:
        _updated(client, page, ids[:1] if version_of else ids)  # what an earlier iteration came to stays as it was
    if version_of:
        ids = [ids[0], _created(client, page, key, version_of)]
    shelf.ids[key], shelf.shown[key] = ids, wanted


def _created(client: SyncPrefectClient, page: Page, key: str, run: UUID) -> UUID:
    wanted = ArtifactCreate(key=key, type=page.kind, data=page.data, description=page.description, flow_run_id=run)
    return client.create_artifact(wanted).id


def _updated(client: SyncPrefectClient, page: Page, ids: list[UUID]) -> None:
    """Without the client's own event of it, which would hold all of the content once more."""
    for artifact in ids:
        changed = {"data": page.data, "description": page.description}
        client.request("PATCH", "/artifacts/{id}", path_params={"id": artifact}, json=changed)


def _in_a_line(error: Exception) -> str:
    return " ".join(redact(f"{type(error).__name__}: {error}").split())[:300]
