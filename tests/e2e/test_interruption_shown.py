"""After a kill a person learns what was cut off, when, in which step, and where its work is kept."""

import pytest

from tests.fakes.command_line import CommandLine
from tests.fakes.loop_bench import Bench
from tests.fakes.processes import wait_for_end
from tests.fakes.two_sessions import LOOP

pytestmark = [pytest.mark.feature("E3"), pytest.mark.timeout(300)]

KEPT = f"refs/helmsman/{LOOP}/salvage/1-1"


def shown(bench: Bench, command: str, *arguments: str) -> str:
    run = CommandLine(bench.folder, bench.variables).run(command, *arguments, "--repo", bench.repository)
    assert run.exit_code == 0, run
    return run.output


@pytest.mark.slow
def test_after_a_kill_status_resume_and_log_say_what_was_cut_off_and_where_its_work_is_kept(loop_bench: Bench) -> None:
    loop_bench.hold()
    wait_for_end(loop_bench.driver("kill", "execute", "middle"))
    loop_bench.release()
    assert "✘ interrupted in step execute of iteration 1, last active at " in shown(loop_bench, "status", LOOP)
    assert "✘ interrupted" in shown(loop_bench, "list")
    resumed = wait_for_end(loop_bench.helmsman("resume", LOOP))
    assert resumed.errors.startswith("interrupted in step execute of iteration 1, last active at "), resumed
    told = f"iteration 1 attempt 1 was interrupted: work kept at {KEPT} (2 files)"
    assert told in resumed.errors
    log = shown(loop_bench, "log", LOOP)
    assert log.index(told) < log.index("#1 (attempt 2)")
    assert f"salvaged   {KEPT}" in shown(loop_bench, "status", LOOP)
