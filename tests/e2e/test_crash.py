"""A loop whose driver is killed at any step or stopped from outside, and how it continues."""

import signal
from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from helmsman.records.decision import Outcome
from helmsman.records.result import EXIT_CODES
from tests.e2e.conftest import Undisturbed
from tests.fakes.loop_bench import STEPS, Bench, Process, one_call_more
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.processes import eventually, wait_for_end
from tests.fakes.two_sessions import LOOP, TWO_WHOLE_SESSIONS

pytestmark = pytest.mark.timeout(300)  # the first test of a worker also starts the engine

FIRST = "baseline"
"""The step before the first iteration."""
MOMENTS = (pytest.param("start", marks=pytest.mark.slow), "middle", pytest.param("end", marks=pytest.mark.slow))
AT_WORK = ("execute", "middle")
"""The one moment at which an agent's call is in flight."""


def steps_of(*attempts: tuple[int, int], only: tuple[str, ...] = STEPS) -> Counter[tuple[int, int, str]]:
    return Counter((iteration, attempt, step) for iteration, attempt in attempts for step in only)


@pytest.mark.feature("E3")
def test_an_undisturbed_loop_takes_two_iterations_and_keeps_what_the_agent_left_uncommitted(undisturbed: Undisturbed) -> None:
    ending = undisturbed.ending
    assert (ending.outcome, ending.iterations, ending.agent_calls, ending.records) == (Outcome.COMPLETED, 2, 2, (2, 1))
    assert ending.commits == ("The rest", "helmsman: keep what iteration 1 left uncommitted", "Half of it")
    assert set(undisturbed.calls) == {FIRST, *STEPS}


@pytest.mark.feature("E3")
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_loop_killed_in_each_of_its_steps_one_after_the_other_repeats_none_and_ends_as_if_undisturbed(
    moment: str, loop_bench: Bench, undisturbed: Undisturbed, prefect_server: PrefectServer
) -> None:
    for step in (FIRST, *STEPS):
        if (step, moment) != AT_WORK:
            dies(loop_bench, step, moment, str(undisturbed.calls[step] // 2))
    assert_resumes_like(undisturbed, loop_bench)
    assert {run["state_type"] for run in prefect_server.runs(loop_bench.state.uid)} == {"CRASHED", "COMPLETED"}


@pytest.mark.slow
@pytest.mark.feature("E3")
def test_a_loop_killed_between_an_agent_s_end_and_the_note_of_it_does_not_call_it_again(
    loop_bench: Bench, undisturbed: Undisturbed
) -> None:
    dies(loop_bench, "execute", "unnoted")
    assert_resumes_like(undisturbed, loop_bench)


def dies(loop_bench: Bench, *moment: str) -> None:
    killed = wait_for_end(loop_bench.driver("kill", *moment))
    assert killed.exit_code == -signal.SIGKILL, (moment, killed)
    assert loop_bench.is_quiet(), (moment, loop_bench.processes())


def assert_resumes_like(undisturbed: Undisturbed, loop_bench: Bench) -> None:
    """Nothing is repeated but the step that was cut off, no call of the agent, and nothing is left behind."""
    resumed = wait_for_end(loop_bench.helmsman("resume", LOOP))
    assert resumed.exit_code == 0, resumed
    assert loop_bench.ending() == undisturbed.ending
    assert loop_bench.sessions() == TWO_WHOLE_SESSIONS
    assert set(loop_bench.finished_steps().values()) == {1}
    assert loop_bench.salvaged() == {}
    assert loop_bench.is_quiet(), loop_bench.processes()


@pytest.mark.slow
@pytest.mark.feature("E3")
def test_a_loop_killed_during_an_agent_call_saves_the_work_and_restarts_the_call(
    loop_bench: Bench, undisturbed: Undisturbed
) -> None:
    loop_bench.hold()
    dies(loop_bench, *AT_WORK)
    loop_bench.release()
    resumed = wait_for_end(loop_bench.helmsman("resume", LOOP))
    assert resumed.exit_code == 0, resumed
    assert loop_bench.ending() == one_call_more(undisturbed.ending)
    cut_off, *anew = loop_bench.sessions()
    assert cut_off in {(1, 3), (1, 4)}  # a tool call for which nobody answers is denied; the CLI may still say so to its model
    assert anew == TWO_WHOLE_SESSIONS
    before = steps_of((1, 1), only=(FIRST, "orient", "plan", "prompt"))
    assert loop_bench.finished_steps() == before + steps_of((1, 2), (2, 1))
    assert loop_bench.salvaged() == {"1-1": {"one.txt", "two.txt"}}
    assert loop_bench.is_quiet(), loop_bench.processes()


@pytest.mark.slow
@pytest.mark.feature("E3", "A4")
def test_a_loop_killed_during_the_stop_checks_saves_the_work_and_restarts_the_call(
    loop_bench: Bench, undisturbed: Undisturbed
) -> None:
    dies(loop_bench, "execute", "gate")
    resumed = wait_for_end(loop_bench.helmsman("resume", LOOP))
    assert resumed.exit_code == 0, resumed
    assert loop_bench.ending() == one_call_more(undisturbed.ending)
    cut_off, *anew = loop_bench.sessions()
    assert cut_off == (1, 4)
    assert anew == TWO_WHOLE_SESSIONS
    assert loop_bench.salvaged() == {"1-1": {"one.txt", "two.txt"}}


@pytest.mark.slow
@pytest.mark.feature("E3")
def test_a_killed_driver_takes_its_embedded_engine_along_and_a_resume_starts_another(
    embedded_bench: Bench, undisturbed: Undisturbed
) -> None:
    embedded_bench.hold()
    driver = embedded_bench.run()
    embedded_bench.wait_until_held()
    assert any("tasks.engine.server" in process for process in embedded_bench.processes())
    driver.kill()
    assert wait_for_end(driver).exit_code == -signal.SIGKILL
    assert embedded_bench.is_quiet(), embedded_bench.processes()
    embedded_bench.release()
    resumed = wait_for_end(embedded_bench.helmsman("resume", LOOP))
    assert resumed.exit_code == 0, resumed
    assert embedded_bench.ending() == one_call_more(undisturbed.ending)
    assert embedded_bench.is_quiet(), embedded_bench.processes()


@pytest.mark.slow
@pytest.mark.feature("E3")
def test_a_loop_continues_when_the_engine_is_killed_and_restarts(
    loop_bench: Bench, undisturbed: Undisturbed, prefect_server: PrefectServer
) -> None:
    loop_bench.hold()
    driver = loop_bench.run()
    loop_bench.wait_until_held()
    prefect_server.kill()
    loop_bench.release()
    prefect_server.start()
    run = wait_for_end(driver)
    assert run.exit_code == 0, run.errors
    assert loop_bench.ending() == undisturbed.ending
    assert loop_bench.sessions() == TWO_WHOLE_SESSIONS
    assert {run["state_type"] for run in prefect_server.runs(loop_bench.state.uid)} == {"COMPLETED"}
    assert loop_bench.is_quiet(), loop_bench.processes()


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
