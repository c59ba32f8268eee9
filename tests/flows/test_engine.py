"""What the engine shows and stores: names, states, tags, one driver per loop, and the addresses that a loop listens on."""

import socket
from urllib.parse import urlsplit

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterTags
from prefect.client.schemas.objects import FlowRun, StateType

from flows.loop import loop
from helmsman.errors import OperatorError
from helmsman.records.request import LoopRequest
from tasks.agents.hooks import hook_server
from tasks.engine.runs import flush
from tasks.repository.git import open_repository
from tasks.repository.loop_context import loop_folder
from tasks.system.lock import exclusive_driver
from tests.fakes.loop_bench import STEPS
from tests.fakes.processes import eventually
from tests.fakes.scripted_agent import PROMISE, says
from tests.flows.conftest import Drive

SOLVE = "echo 42 > answer"


def _runs(uid: str) -> list[FlowRun]:
    flush()
    with get_client(sync_client=True) as client:
        return client.read_flow_runs(flow_run_filter=FlowRunFilter(tags=FlowRunFilterTags(all_=[f"uid:{uid}"])))


def _task_names(run: FlowRun) -> set[str]:
    """As far as the server knows: its recorder writes task runs down once a second."""
    with get_client(sync_client=True) as client:
        tasks = client.read_task_runs(flow_run_filter=FlowRunFilter(id={"any_": [run.id]}))  # pyright: ignore[reportArgumentType]
    return {task.name for task in tasks}


@pytest.mark.feature("E1")
def test_runs_and_tasks_are_named_by_loop_number_and_step(drive: Drive) -> None:
    driven = drive([says(), says(PROMISE, shell=SOLVE)], name="auth-fix")
    runs = {run.name: run for run in _runs(driven.state.uid)}
    assert set(runs) == {"auth-fix", "auth-fix #1", "auth-fix #2"}
    named = {f"#2 {step}" for step in STEPS}
    assert eventually(lambda: _task_names(runs["auth-fix #2"]) == named), _task_names(runs["auth-fix #2"])


@pytest.mark.feature("E1")
def test_the_flow_run_ends_in_a_state_that_says_why(drive: Drive) -> None:
    driven = drive([says()], limits={"iterations": 1})
    top = next(run for run in _runs(driven.state.uid) if run.name == "loop")
    assert top.state is not None
    assert (top.state.type, top.state.name) == (StateType.FAILED, "Stopped")
    assert driven.state.ending is not None
    assert driven.state.ending.rule in (top.state.message or "")


@pytest.mark.feature("E10")
def test_a_second_driver_is_refused_with_the_holder(drive: Drive) -> None:
    driven = drive([says()], limits={"iterations": 1})
    repository = open_repository(driven.repository)
    request = LoopRequest(repository=str(driven.repository), loop="loop", reopen=True, settings={"limits": {"iterations": 2}})
    with exclusive_driver(loop_folder(repository, "loop").lock, "loop"), pytest.raises(OperatorError, match="process"):
        loop(request)


@pytest.mark.slow
@pytest.mark.feature("E6")
def test_a_stopped_loop_continues_only_after_its_limit_is_raised(drive: Drive) -> None:
    driven = drive([says(), says(PROMISE, shell=SOLVE)], limits={"iterations": 1})
    with pytest.raises(OperatorError, match=r"limits\.iterations"):
        loop(LoopRequest(repository=str(driven.repository), loop="loop", reopen=True))
    raised = LoopRequest(repository=str(driven.repository), loop="loop", reopen=True, settings={"limits": {"iterations": 3}})
    assert loop(raised, return_state=True).is_completed()


ELSEWHERE = ("127.0.0.2", "::1")
"""Whoever listens on all addresses also answers here."""


def answers_at(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=10).close()
    except OSError:
        return False
    return True


@pytest.mark.feature("X2")
def test_the_embedded_engine_and_the_hooks_answer_at_one_address_of_loopback(engine_url: str) -> None:
    with hook_server(lambda _: {}) as hooks:
        for url in (engine_url, hooks.url):
            port = urlsplit(url).port
            assert port
            assert answers_at("127.0.0.1", port)
            assert not [address for address in ELSEWHERE if answers_at(address, port)]
