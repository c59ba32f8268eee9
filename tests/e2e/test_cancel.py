"""A loop stopped from outside in the middle of its agent's work."""

import signal
from collections.abc import Callable, Mapping

import pytest

from helmsman.records.decision import Outcome
from helmsman.records.result import EXIT_CODES
from tests.e2e.conftest import Undisturbed
from tests.fakes.loop_bench import Bench, Process, one_call_more
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.processes import eventually, wait_for_end
from tests.fakes.two_sessions import LOOP, TWO_WHOLE_SESSIONS

pytestmark = pytest.mark.timeout(300)  # the first test of a worker also starts the engine

AGENT_GONE_SECONDS = 10


def by_command(loop_bench: Bench, _driver: Process, _server: PrefectServer) -> Process:
    return loop_bench.helmsman("cancel", LOOP)


def by_interrupt(_bench: Bench, driver: Process, _server: PrefectServer) -> None:
    driver.send_signal(signal.SIGINT)


def by_termination(_bench: Bench, driver: Process, _server: PrefectServer) -> None:
    driver.send_signal(signal.SIGTERM)


def by_engine(loop_bench: Bench, _driver: Process, server: PrefectServer) -> None:
    (run,) = server.loop_runs(loop_bench.state.uid)
    server.set_state(run["id"], "CANCELLING")


WAYS: Mapping[str, Callable[[Bench, Process, PrefectServer], Process | None]] = {
    "the command": by_command,
    "Ctrl-C": by_interrupt,
    "a service manager": by_termination,
    "the engine's API": by_engine,
}


@pytest.mark.slow
@pytest.mark.feature("E9")
@pytest.mark.parametrize("way", WAYS)
def test_a_cancel_ends_the_agent_within_seconds_and_keeps_its_work_for_a_resume(
    way: str, loop_bench: Bench, undisturbed: Undisturbed, prefect_server: PrefectServer
) -> None:
    loop_bench.hold()
    driver = loop_bench.run()
    loop_bench.wait_until_held()
    assert loop_bench.tagged()
    command = WAYS[way](loop_bench, driver, prefect_server)
    assert eventually(lambda: not loop_bench.tagged(), AGENT_GONE_SECONDS), loop_bench.tagged()
    run = wait_for_end(driver)
    assert run.exit_code == EXIT_CODES[Outcome.CANCELLED], run.errors
    assert command is None or wait_for_end(command).exit_code == 0
    assert (loop_bench.state.outcome, loop_bench.state.iteration) == (Outcome.CANCELLED, 0)
    assert loop_bench.salvaged() == {"1-1": {"one.txt", "two.txt"}}
    assert loop_bench.is_quiet(), loop_bench.processes()
    loop_bench.release()
    resumed = wait_for_end(loop_bench.helmsman("resume", LOOP))
    assert resumed.exit_code == 0, resumed.errors
    assert loop_bench.ending() == one_call_more(undisturbed.ending)
    assert loop_bench.sessions() == [(1, 3), *TWO_WHOLE_SESSIONS]
    ends = [run["state_type"] for run in prefect_server.loop_runs(loop_bench.state.uid)]
    assert ends == ["CANCELLED", "COMPLETED"]
    assert loop_bench.is_quiet(), loop_bench.processes()
