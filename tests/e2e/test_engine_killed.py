"""An embedded engine that is killed, and what commands show of an interruption."""

import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from tasks.engine.embedded import MODULE
from tests.e2e.conftest import Undisturbed
from tests.fakes.command_line import CommandLine
from tests.fakes.loop_bench import PATIENCE, Bench, Process
from tests.fakes.processes import Ended, eventually, is_supervisor, processes, wait_for_end
from tests.fakes.two_sessions import LOOP, TWO_WHOLE_SESSIONS

pytestmark = [pytest.mark.feature("E3"), pytest.mark.timeout(300)]

AT_ONCE = 10.0


def engines(bench: Bench) -> set[int]:
    """Numbers of the processes that are the engine itself, not its supervisor."""
    return {process.pid for process in processes("HOME", str(bench.home)) if _is_engine(process)}


def _is_engine(process: psutil.Process) -> bool:
    try:
        return MODULE in process.cmdline() and not is_supervisor(process)
    except psutil.Error:  # it has just ended
        return False


def kill_engine(bench: Bench, *, but: int = 0) -> int:
    """As soon as there is one, except for one that is dead already. Returns its number."""
    assert eventually(lambda: bool(engines(bench) - {but}), PATIENCE)
    (number,) = engines(bench) - {but}
    os.kill(number, signal.SIGKILL)
    return number


def ended_at_once(driver: Process) -> Ended:
    begun = time.monotonic()
    run = wait_for_end(driver)
    assert time.monotonic() - begun < AT_ONCE
    return run


@pytest.mark.slow
def test_a_loop_whose_embedded_engine_is_killed_starts_it_again_and_ends_as_if_undisturbed(
    embedded_bench: Bench, undisturbed: Undisturbed
) -> None:
    embedded_bench.hold()
    driver = embedded_bench.run()
    embedded_bench.wait_until_held()
    kill_engine(embedded_bench)
    embedded_bench.release()
    run = wait_for_end(driver)
    assert run.exit_code == 0, run
    assert embedded_bench.ending() == undisturbed.ending
    assert embedded_bench.sessions() == TWO_WHOLE_SESSIONS
    assert embedded_bench.is_quiet(), embedded_bench.processes()


@pytest.mark.slow
def test_a_loop_whose_embedded_engine_cannot_restart_ends_with_the_command_to_resume(
    embedded_bench: Bench, undisturbed: Undisturbed
) -> None:
    embedded_bench.hold()
    driver = embedded_bench.run()
    embedded_bench.wait_until_held()
    kill_engine(embedded_bench, but=kill_engine(embedded_bench))
    embedded_bench.release()
    run = ended_at_once(driver)
    assert "with signal 9" in run.errors
    assert f"helmsman resume {LOOP}" in run.errors
    resumed = wait_for_end(embedded_bench.helmsman("resume", LOOP))
    assert resumed.exit_code == 0, resumed
    assert embedded_bench.ending() == undisturbed.ending
    assert embedded_bench.is_quiet(), embedded_bench.processes()


@pytest.mark.slow
def test_an_embedded_engine_that_is_killed_while_it_starts_is_reported_at_once_with_its_end_and_its_folder(
    embedded_bench: Bench, tmp_path: Path
) -> None:
    driver = embedded_bench.run()
    kill_engine(embedded_bench)
    run = ended_at_once(driver)
    assert "with signal 9" in run.errors
    assert str(tmp_path / "prefect") in run.errors
    assert f"helmsman resume {LOOP}" in run.errors
    assert "120 s" not in run.errors


KEPT = f"refs/helmsman/{LOOP}/salvage/1-1"


def output_of(bench: Bench, command: str, *arguments: str) -> str:
    run = CommandLine(bench.folder, bench.variables).run(command, *arguments, "--repo", bench.repository)
    assert run.exit_code == 0, run
    return run.output


@pytest.mark.slow
def test_after_a_kill_status_resume_and_log_name_the_interrupted_call_and_the_saved_work(loop_bench: Bench) -> None:
    loop_bench.hold()
    wait_for_end(loop_bench.driver("kill", "execute", "middle"))
    loop_bench.release()
    assert "✘ interrupted in step execute of iteration 1, last active at " in output_of(loop_bench, "status", LOOP)
    assert "✘ interrupted" in output_of(loop_bench, "list")
    resumed = wait_for_end(loop_bench.helmsman("resume", LOOP))
    assert resumed.errors.startswith("interrupted in step execute of iteration 1, last active at "), resumed
    told = f"iteration 1 attempt 1 was interrupted: work kept at {KEPT} (2 files)"
    assert told in resumed.errors
    log = output_of(loop_bench, "log", LOOP)
    assert log.index(told) < log.index("#1 (attempt 2)")
    assert f"salvaged   {KEPT}" in output_of(loop_bench, "status", LOOP)
