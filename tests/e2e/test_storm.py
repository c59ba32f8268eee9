"""A short storm over real loops: whatever dies, fills up, jumps or refuses, each comes to the end that was known beforehand.

The long one is `python -m bench.storm`. What needs root or a compiler is left out where there is none, with words.
"""

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.storm import SERVER_KILLED, Plan, Storm
from bench.weather.faults import (
    CLOCK,
    FULL_DISK,
    KILL_AFTER_WORK,
    KILL_AGENT,
    KILL_AT_WORK,
    KILL_DRIVER,
    LONGEST_CALL,
    REFUSED,
    clock_library,
)
from bench.weather.judging import totals
from bench.weather.loops import KINDS, Kind, script
from deployments.demo_model import ScriptedModel
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.processes import eventually
from tests.fakes.requirements import missing

pytestmark = [pytest.mark.timeout(400), pytest.mark.slow]

KIND = {kind.name: kind for kind in KINDS}
NOTHING_WRONG = {"lost work": 0, "repeated agent calls": 0, "stray processes": 0, "wrong outcomes": 0}
AT_A_TIME = 3
AWAY = 2.0
EARLY = 20
"""Lines of the journal: within the first iteration or soon after it."""


def two_steps() -> Kind:
    return KIND["two-steps"]


@pytest.fixture
def storm(tmp_path: Path, prefect_server: PrefectServer) -> Generator[Storm]:
    with ScriptedModel(script) as model:
        clock = None if missing("compiler") else clock_library(tmp_path)
        yield Storm(tmp_path, prefect_server, 1, model, clock, latest=EARLY)


def weathered(storm: Storm, plans: Sequence[Plan]) -> None:
    storm.over(plans, AT_A_TIME)
    assert totals(storm.judged) == NOTHING_WRONG, [one for one in storm.judged if not one.clean]


@contextmanager
def bad_server(storm: Storm) -> Generator[None]:
    """While the block runs, the engine dies once and comes back: after a kill at work, which needs a loop that came so far."""

    def strike() -> None:
        eventually(lambda: storm.struck[KILL_AT_WORK.name] > 0, LONGEST_CALL)
        storm.strike_server(AWAY)

    thread = threading.Thread(target=strike, name="bad-server")
    thread.start()
    try:
        yield
    finally:
        thread.join()


@pytest.mark.feature("E3")
def test_loops_whose_driver_agent_engine_and_remote_fail_lose_repeat_and_leave_nothing_and_end_as_they_must(storm: Storm) -> None:
    plans = (
        Plan(two_steps(), (KILL_AT_WORK, KILL_AFTER_WORK)),
        Plan(KIND["liar"], (KILL_AGENT, KILL_DRIVER)),
        Plan(KIND["merges"], (REFUSED,)),
        Plan(KIND["asks"], (KILL_DRIVER,)),
        Plan(KIND["hopeless"], (KILL_AFTER_WORK,)),
    )
    with bad_server(storm):
        weathered(storm, plans)
    struck = {KILL_AT_WORK.name, KILL_AFTER_WORK.name, REFUSED.name, SERVER_KILLED}
    assert struck <= storm.struck.keys()


@pytest.mark.feature("E3", "X4")
@pytest.mark.needs("disks")
def test_loops_whose_disk_is_full_for_a_while_go_on_as_they_say_and_have_lost_nothing(storm: Storm) -> None:
    weathered(storm, (Plan(two_steps(), (FULL_DISK,)), Plan(two_steps(), (FULL_DISK,))))
    assert storm.struck[FULL_DISK.name] == 2


@pytest.mark.feature("X4")
@pytest.mark.needs("compiler")
def test_a_loop_whose_clock_jumps_by_hours_or_years_ends_as_any_other(storm: Storm) -> None:
    weathered(storm, (Plan(two_steps(), (CLOCK,)),))
    assert storm.struck[CLOCK.name] == 1
