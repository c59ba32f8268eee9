"""Artifacts of a loop in the engine's UI: summary, dashboard, tables and a progress bar.

The page of the loop's run shows each of them once, in its latest version.
An observer: errors are logged in one line.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import ArtifactCreate
from prefect.client.schemas.filters import ArtifactFilter
from prefect.client.schemas.objects import State, StateType
from prefect.logging import get_run_logger
from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings

from helmsman.records.events import Event, MemoryNoted, ObserverFailed
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


def log_events() -> Callable[[Event], None]:
    """Listener that logs in this run what a terminal shows between iterations: a run's page has only its log."""
    log = get_run_logger()

    def log_event(event: Event) -> None:
        match event:
            case ObserverFailed():
                log.warning("%s", event.why)
            case MemoryNoted():
                log.info("%s", "\n".join(event.lines))
            case _:
                pass

    return log_event


def with_named_state(record: IterationRecord) -> IterationRecord:
    """Wrap the record in a state named like `2 of 8 checks green`, to tell red and green iterations apart in the UI.

    Prefect ends the run in that state and returns the record to the caller of the flow.
    """
    return cast("Any", State(type=StateType.COMPLETED, name=result_name(record), data=record))


_last_records: dict[tuple[UUID, str], IterationRecord] = {}
"""Record of the last known iteration, by run and loop."""


def publish_artifacts(state: LoopState, record: IterationRecord | None = None) -> None:
    """Publish a loop's state. Call in its own run, with `record` if it is new and already part of `state`.

    The embedded engine has no UI: artifacts for a later server are written only when the loop ends or asks a person.
    """
    place = run_id(), state.loop
    if record is not None:
        _last_records[place] = record
    if is_embedded() and state.ending is None and state.gate is None:
        return
    try:
        config = state.config  # the stored state has it unredacted
        safe = {name: without_secrets(getattr(config, name)) for name in type(config).model_fields}
        redacted = without_secrets(state).model_copy(update={"config": config.model_copy(update=safe)})
        # before anything is truncated
        _write_artifacts(state.loop, pages_of(redacted, without_secrets(_last_records.get(place))))
    except Exception as error:  # noqa: BLE001 - an observer may fail in any way; it never stops a loop
        get_run_logger().warning("the artifacts of loop %s are out of date: %s", state.loop, _one_line(error))


def publish_group(result: ParallelResult) -> None:
    """Publish the state of a group of loops. Call in the group's own run."""
    progress = f"{result.completed} of {plural(len(result.loops), 'loop')} completed"
    try:
        _write_artifacts(result.group, [Page("loops", group_page(result), progress)])
    except Exception as error:  # noqa: BLE001 - as for a single loop
        get_run_logger().warning("the artifact of group %s is out of date: %s", result.group, _one_line(error))


def _write_artifacts(loop: str, pages: Sequence[Page]) -> None:
    """Create or update changed artifacts. Keys start with the page's name: the UI cuts long keys, and loop ids are similar."""
    by_key = {f"{page.name}-{loop}": without_secrets(page) for page in pages}
    fields = {"flow_run_id": {"any_": [run_id()]}, "key": {"any_": [*by_key]}}
    with _client() as client:
        found = client.read_artifacts(artifact_filter=ArtifactFilter.model_validate(fields))
        existing = {artifact.key: artifact for artifact in found}
        for key, page in by_key.items():
            artifact, data, description = existing.get(key), page.data, page.description
            if artifact is None:
                new = ArtifactCreate(key=key, type=page.kind, data=data, description=description, flow_run_id=run_id())
                client.create_artifact(new)
            elif (artifact.data, artifact.description) != (data, description):
                # without the client's event, which would contain the whole content again
                update = {"data": data, "description": description}
                client.request("PATCH", "/artifacts/{id}", path_params={"id": artifact.id}, json=update)


@contextmanager
def _client() -> Generator[SyncPrefectClient]:
    with (
        temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}),  # the next call makes up for a failed one
        get_client(httpx_settings={"timeout": ANSWER_SECONDS}, sync_client=True) as client,
    ):
        yield client


def _one_line(error: Exception) -> str:
    return " ".join(redact(f"{type(error).__name__}: {error}").split())[:300]
