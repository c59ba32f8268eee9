"""Where results lie, and what they tell a machine that takes a loop over."""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from uuid import uuid4

import pytest
from prefect import flow, results
from prefect.filesystems import LocalFileSystem
from prefect.settings import PREFECT_DEFAULT_RESULT_STORAGE_BLOCK, temporary_settings

from helmsman.config import CheckConfig, LimitsConfig, LoopConfig, RemoteConfig
from helmsman.errors import TransientError
from helmsman.records.state import LoopState
from tasks.engine.step import is_kept, require_results, step
from tasks.loop.steps import by_step, by_verification
from tests.fakes.repositories import loop_state

pytestmark = pytest.mark.feature("D4")

SHARED, BROKEN = "local-file-system/shared", "local-file-system/broken"
CONFIG = LoopConfig(goal="g", allow_no_checks=True, remote=RemoteConfig(push=True))
STATE = loop_state("c", loop="l", uid="u", config=CONFIG)


@pytest.fixture
def blocks(engine_url: str, tmp_path: Path) -> Iterator[None]:
    """A disk that all machines share, and one that is full of something else."""
    (tmp_path / "a-file").touch()
    LocalFileSystem(basepath=str(tmp_path / "shared")).save("shared", overwrite=True, _sync=True)  # pyright: ignore[reportCallIssue, reportUnusedCoroutine]
    LocalFileSystem(basepath=str(tmp_path / "a-file")).save("broken", overwrite=True, _sync=True)  # pyright: ignore[reportCallIssue, reportUnusedCoroutine]
    results._default_storages.clear()  # it keeps blocks of the same name  # pyright: ignore[reportPrivateUsage]
    yield
    results._default_storages.clear()  # pyright: ignore[reportPrivateUsage]


def cached_steps(storage: str | None) -> tuple[bool, bool, bool]:
    """Whether results are shared, and which of two steps is known, in a flow that has done only the first."""

    @step(by_step)
    def prompt(repository: str, state: LoopState) -> str:
        return f"{repository} {state.loop}"

    @flow
    def looking() -> tuple[bool, bool, bool]:
        shared = require_results(STATE.loop)
        prompt("repository", STATE)
        return shared, is_kept(STATE, "prompt"), is_kept(STATE, "execute")

    with temporary_settings({PREFECT_DEFAULT_RESULT_STORAGE_BLOCK: storage}):
        return looking()


@pytest.mark.usefixtures("blocks")
def test_a_step_is_known_by_its_result_in_the_configured_storage_for_the_version_that_made_it(tmp_path: Path) -> None:
    assert cached_steps(SHARED) == (True, True, False)
    assert (tmp_path / "shared" / f"helmsman-u-00001-1-prompt-{version('helmsman')}").is_file()


@pytest.mark.usefixtures("blocks")
def test_an_unusable_storage_is_reported_before_any_work() -> None:
    with pytest.raises(TransientError, match="the storage for the results of steps cannot be used") as caught:
        cached_steps(BROKEN)
    assert BROKEN in str(caught.value)
    assert f"helmsman resume {STATE.loop}" in caught.value.remedy


def test_a_verdict_of_an_interrupted_iteration_is_used_again_only_for_the_same_checks(engine_url: str) -> None:
    judged = list[LoopConfig]()

    @step(by_verification)
    def judge(_repository: str, state: LoopState) -> int:
        judged.append(state.config)
        return len(judged)

    @flow
    def verdicts(configs: list[LoopConfig]) -> list[int]:
        uid = uuid4().hex
        return [judge("repository", loop_state("c", loop="l", uid=uid, config=config)) for config in configs]

    more = CONFIG.model_copy(update={"limits": LimitsConfig(iterations=99)})
    other = CONFIG.model_copy(update={"checks": (CheckConfig(command="make"),)})
    assert verdicts([CONFIG, more, other, CONFIG]) == [1, 1, 2, 1]
