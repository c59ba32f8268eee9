"""A short storm over real loops: whatever dies, fills up, jumps or refuses, each comes to the end that was known beforehand.

The long one is `python -m bench.storm`. What needs root or a compiler is left out where there is none, with words.
"""

import os
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
    REFUSED,
    can_mount,
    clock_library,
)
from bench.weather.judging import totals
from bench.weather.loops import KINDS, Kind, script
from deployments.demo.model import ScriptedModel
from tests.fakes.prefect_server import PrefectServer

pytestmark = pytest.mark.timeout(400)

KIND = {kind.name: kind for kind in KINDS}
NOTHING_WRONG = {"lost work": 0, "repeated agent calls": 0, "stray processes": 0, "wrong outcomes": 0}
AT_A_TIME = 3
BEFORE_SERVER_DIES = 5.0
AWAY = 2.0
EARLY = 20
"""Lines of the journal: within the first iteration or soon after it."""


def two_steps() -> Kind:
    return KIND["two-steps"]


@pytest.fixture
def storm(tmp_path: Path, prefect_server: PrefectServer) -> Generator[Storm]:
    with ScriptedModel(script) as model:
        yield Storm(tmp_path, prefect_server, 1, model, clock_library(tmp_path), latest=EARLY)


def weathered(storm: Storm, plans: Sequence[Plan]) -> None:
    storm.over(plans, AT_A_TIME)
    assert totals(storm.judged) == NOTHING_WRONG, [one for one in storm.judged if not one.clean]


@contextmanager
def bad_server(storm: Storm) -> Generator[None]:
    """While the block runs, the engine dies once and comes back."""
    timer = threading.Timer(BEFORE_SERVER_DIES, storm.strike_server, (AWAY,))
    timer.start()
    yield
    timer.join()


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
def test_loops_whose_disk_is_full_for_a_while_go_on_as_they_say_and_have_lost_nothing(storm: Storm) -> None:
    if not can_mount(storm.folder):
        pytest.skip("only root may make a small disk to be filled up")
    weathered(storm, (Plan(two_steps(), (FULL_DISK,)), Plan(two_steps(), (FULL_DISK,))))
    assert storm.struck[FULL_DISK.name] == 2


@pytest.mark.feature("X4")
def test_a_loop_whose_clock_jumps_by_hours_or_years_ends_as_any_other(storm: Storm) -> None:
    if storm.clock is None:
        missing = "a clock that jumps is compiled: apt-get install gcc libc6-dev"
        pytest.fail(missing) if os.environ.get("CI") == "true" else pytest.skip(missing)
    weathered(storm, (Plan(two_steps(), (CLOCK,)),))
    assert storm.struck[CLOCK.name] == 1
