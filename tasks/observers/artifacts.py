"""Artifacts of a loop in the engine's UI: summary, dashboard, tables and a progress bar.

The page of the loop's run shows each of them once, in its latest version.
An observer: errors are logged in one line.
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
from helmsman.render.lines import iteration_lines, result_name
from helmsman.texts import plural
from tasks.engine.embedded import is_embedded
from tasks.engine.runs import run_id
from tasks.system.secrets import redact, without_secrets

ANSWER_SECONDS = 10
"""Timeout of one request to the engine; Prefect's own is a minute."""


def log_iteration(record: IterationRecord) -> None:
    """Log an iteration. Call in the loop's own run, since a run's log does not include nested runs."""
    for line in iteration_lines(record):
        get_run_logger().info("%s", redact(line))


def with_named_state(record: IterationRecord) -> IterationRecord:
    """Wrap the record in a state named like `2 of 8 checks green`, to tell red and green iterations apart in the UI.

    Prefect ends the run in that state and returns the record to the caller of the flow.
    """
    return cast("Any", State(type=StateType.COMPLETED, name=result_name(record), data=record))


@dataclass
class ArtifactCache:
    """Artifacts of one loop, or of a group, in a run."""

    ids: dict[str, UUID] | None = None
    """By key. None: artifacts that another process created for the same run are not read yet."""
    shown: dict[str, tuple[str | float, str]] = field(default_factory=dict[str, tuple[str | float, str]])
    """Last written content by key, to skip unchanged artifacts."""
    last: IterationRecord | None = None
    """Record of the last known iteration."""


_caches: dict[tuple[UUID, str], ArtifactCache] = defaultdict(ArtifactCache)
"""By run and loop."""


def publish_artifacts(state: LoopState, record: IterationRecord | None = None) -> None:
    """Publish a loop's state. Call in its own run, with `record` if it is new and already part of `state`.

    The embedded engine has no UI: artifacts for a later server are written only when the loop ends or asks a person.
    """
    cache = _caches[run_id(), state.loop]
    cache.last = record or cache.last
    if is_embedded() and state.ending is None and state.gate is None:
        return
    try:
        config = state.config  # the stored state has it unredacted
        safe = {name: without_secrets(getattr(config, name)) for name in type(config).model_fields}
        redacted = without_secrets(state).model_copy(update={"config": config.model_copy(update=safe)})
        with _client() as client:
            for page in pages_of(redacted, without_secrets(cache.last)):  # before anything is truncated
                _write_artifact(client, cache, state.loop, page)
    except Exception as error:  # noqa: BLE001 - an observer may fail in any way; it never stops a loop
        cache.ids = None  # an artifact may have been deleted; read them again
        get_run_logger().warning("the artifacts of loop %s are out of date: %s", state.loop, _one_line(error))


def publish_group(result: ParallelResult) -> None:
    """Publish the state of a group of loops. Call in the group's own run."""
    cache, progress = _caches[run_id(), result.group], f"{result.completed} of {plural(len(result.loops), 'loop')} completed"
    try:
        with _client() as client:
            _write_artifact(client, cache, result.group, Page("loops", group_page(result), progress))
    except Exception as error:  # noqa: BLE001 - as for a single loop
        cache.ids = None
        get_run_logger().warning("the artifact of group %s is out of date: %s", result.group, _one_line(error))


def _write_artifact(client: SyncPrefectClient, cache: ArtifactCache, loop: str, page: Page) -> None:
    """Create or update an artifact. Its key starts with the page's name: the UI cuts long keys, and loop ids are similar."""
    key, page = f"{page.name}-{loop}", without_secrets(page)
    if cache.ids is None:
        run_filter = ArtifactFilter.model_validate({"flow_run_id": {"any_": [run_id()]}})
        artifacts = client.read_artifacts(artifact_filter=run_filter, limit=50)
        cache.ids = {
            artifact.key: artifact.id
            for artifact in artifacts
            if artifact.key and artifact.key == f"{artifact.key.partition('-')[0]}-{loop}"
        }
        cache.shown.clear()
    content = (page.data, page.description)
    if key not in cache.ids:
        new_artifact = ArtifactCreate(key=key, type=page.kind, data=page.data, description=page.description, flow_run_id=run_id())
        cache.ids[key] = client.create_artifact(new_artifact).id
    elif cache.shown.get(key) != content:  # without the client's event, which would contain the whole content again
        update = {"data": page.data, "description": page.description}
        client.request("PATCH", "/artifacts/{id}", path_params={"id": cache.ids[key]}, json=update)
    cache.shown[key] = content


@contextmanager
def _client() -> Generator[SyncPrefectClient]:
    with (
        temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}),  # the next call makes up for a failed one
        get_client(httpx_settings={"timeout": ANSWER_SECONDS}, sync_client=True) as client,
    ):
        yield client


def _one_line(error: Exception) -> str:
    return " ".join(redact(f"{type(error).__name__}: {error}").split())[:300]
