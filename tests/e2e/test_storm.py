"""Real loops under fault injection reach their expected end.

`python -m bench.storm` runs many more. Tests that need root or a compiler are skipped without them.
"""

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.fault_injection.faults import (
    CLOCK_JUMP,
    FULL_DISK,
    KILL_AFTER_WORK,
    KILL_AGENT,
    KILL_DRIVER,
    KILL_DURING_WORK,
    MAX_CALL,
    REMOTE_REFUSES,
    clock_library,
)
from bench.fault_injection.loops import KINDS, Kind, real_agent_script
from bench.fault_injection.verdict import totals
from bench.storm import ENGINE_KILLED, Plan, Storm
from deployments.demo_model import ScriptedModel
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.processes import eventually
from tests.fakes.requirements import missing

pytestmark = [pytest.mark.timeout(400), pytest.mark.slow]

KIND = {kind.name: kind for kind in KINDS}
NOTHING_WRONG = {"lost work": 0, "repeated agent calls": 0, "stray processes": 0, "wrong outcomes": 0}
AT_A_TIME = 3
ABSENCE_SECONDS = 2.0
FIRST_LINES = 20
"""Journal lines of about the first iteration."""


def two_steps() -> Kind:
    return KIND["two-steps"]


@pytest.fixture
def storm(tmp_path: Path, prefect_server: PrefectServer) -> Generator[Storm]:
    with ScriptedModel(real_agent_script) as model:
        clock = None if missing("compiler") else clock_library(tmp_path)
        yield Storm(tmp_path, prefect_server, 1, model, clock, max_journal_lines=FIRST_LINES)


def run_plans(storm: Storm, plans: Sequence[Plan]) -> None:
    storm.run(plans, AT_A_TIME)
    assert totals(storm.verdicts) == NOTHING_WRONG, [verdict for verdict in storm.verdicts if not verdict.is_clean]


@contextmanager
def engine_killed_once(storm: Storm) -> Generator[None]:
    """Kill and restart the engine once during the block, after the first kill of a working driver."""

    def kill() -> None:
        eventually(lambda: storm.injected[KILL_DURING_WORK.name] > 0, MAX_CALL)
        storm.kill_server(ABSENCE_SECONDS)

    thread = threading.Thread(target=kill, name="engine-killer")
    thread.start()
    try:
        yield
    finally:
        thread.join()


@pytest.mark.feature("E3")
def test_loops_survive_failures_of_driver_agent_engine_and_remote(storm: Storm) -> None:
    plans = (
        Plan(two_steps(), (KILL_DURING_WORK, KILL_AFTER_WORK)),
        Plan(KIND["liar"], (KILL_AGENT, KILL_DRIVER)),
        Plan(KIND["merges"], (REMOTE_REFUSES,)),
        Plan(KIND["asks"], (KILL_DRIVER,)),
        Plan(KIND["hopeless"], (KILL_AFTER_WORK,)),
    )
    with engine_killed_once(storm):
        run_plans(storm, plans)
    expected = {KILL_DURING_WORK.name, KILL_AFTER_WORK.name, REMOTE_REFUSES.name, ENGINE_KILLED}
    assert expected <= storm.injected.keys()


@pytest.mark.feature("E3", "X4")
@pytest.mark.needs("disks")
def test_loops_lose_nothing_when_the_disk_is_full_for_a_while(storm: Storm) -> None:
    run_plans(storm, (Plan(two_steps(), (FULL_DISK,)), Plan(two_steps(), (FULL_DISK,))))
    assert storm.injected[FULL_DISK.name] == 2


@pytest.mark.feature("X4")
@pytest.mark.needs("compiler")
def test_a_loop_ends_correctly_when_the_clock_jumps_by_hours_or_years(storm: Storm) -> None:
    run_plans(storm, (Plan(two_steps(), (CLOCK_JUMP,)),))
    assert storm.injected[CLOCK_JUMP.name] == 1
