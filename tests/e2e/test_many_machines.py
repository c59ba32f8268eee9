"""A machine is cut off in mid-iteration: another one goes on, nothing is repeated, and the first can write no more."""

from collections.abc import Generator
from pathlib import Path

import pytest

from deployments.demo_model import Request, Turn, bash, call, say
from helmsman.records.decision import Outcome
from tasks.repository.git import git, open_repository, read_ref
from tasks.repository.state_ref import read_records, show_state, state_ref
from tests.fakes.many_machines import PATIENCE, ManyMachines, many_machines
from tests.fakes.processes import eventually

pytestmark = [pytest.mark.timeout(600), pytest.mark.slow, pytest.mark.feature("D4"), pytest.mark.needs("machines")]

LOOP = "travels"
CHECK = "test -s one.txt -a -s two.txt && {{ touch {home}/checking; while test -e {home}/hold; do sleep 0.1; done; }}"
"""Once the work is done, it takes as long as the machine has a file `hold`. Its own HOME is the clean checkout's."""
SESSIONS = {
    1: (call(bash("echo one > one.txt")), say("Half of it is done.")),
    2: (call(bash("echo two > two.txt")), say("All of it is done.\n<promise>COMPLETE</promise>")),
}
SOON = 60
"""Seconds within which a driver whose link is back has heard that it drives no more, on a busy machine."""


def script(request: Request) -> Turn:
    turns = SESSIONS[2 if "Iteration 2 of " in request.prompt else 1]
    return turns[min(request.turn, len(turns) - 1)]


@pytest.fixture
def machines(tmp_path: Path) -> Generator[ManyMachines]:
    with many_machines(tmp_path, script, "a", "b") as made:
        yield made


def remembered(machines: ManyMachines) -> int:
    """Iterations that memory knows of."""
    return int(machines.postgres.sql(machines.memory.rpartition("/")[2], "SELECT count(*) FROM helmsman_episodes"))


def test_a_machine_that_is_cut_off_loses_its_loop_to_another_and_nothing_is_repeated(machines: ManyMachines) -> None:
    hosts, remote = machines.hosts, open_repository(machines.remote)
    for host in hosts.values():
        (host.home / "hold").touch()
    settings, check = {"steering": {"stop_seconds": 0}}, CHECK.format(home=machines.place / "home")
    run = machines.start(goal="one.txt and two.txt hold something", checks=[check], loop=LOOP, settings=settings)
    assert eventually(lambda: any((host.home / "checking").exists() for host in hosts.values()), PATIENCE), machines.log()
    first, second = sorted(hosts.values(), key=lambda host: not (host.home / "checking").exists())
    paid, begun = machines.sessions(), show_state(remote, LOOP).state
    assert paid == [len(turns) for turns in SESSIONS.values()]
    assert (begun.host, begun.iteration) == (first.name, 1)

    first.machine.disconnect()
    machines.kill_server("one")
    (second.home / "hold").unlink()
    assert eventually(lambda: machines.run_of(run)["state_type"] in {"COMPLETED", "FAILED"}, PATIENCE), machines.log()
    ended, states = machines.run_of(run), machines.states(run)
    assert (ended["state_type"], ended["run_count"]) == ("COMPLETED", 2), machines.log()
    assert states[states.index("Crashed") :][:2] == ["Crashed", "AwaitingRetry"]
    state, commit, *_ = show_state(remote, LOOP)
    assert (state.outcome, state.iteration, state.attempt, state.host) == (Outcome.COMPLETED, 2, 1, second.name)
    assert [record.iteration for record in read_records(remote, LOOP)] == [2, 1]
    assert git(machines.remote, "ls-tree", "--name-only", state.branch).split() == ["one.txt", "two.txt"]
    assert (machines.sessions(), remembered(machines)) == (paid, 2)
    assert first.drivers(run), "the first driver is still at it, and knows of nothing"

    (first.home / "hold").unlink()
    first.machine.reconnect()
    assert eventually(lambda: not first.drivers(run), SOON), machines.log()
    assert "that machine drives it now" in first.said(), machines.log()
    words = "git", "-C", machines.place / "repository", "push", "origin", f"{state_ref(LOOP)}:{state_ref(LOOP)}"
    with pytest.raises(AssertionError, match=r"non-fast-forward|fetch first"):
        first.machine.run(*words, HOME=str(machines.place))
    assert read_ref(remote.common, state_ref(LOOP)) == commit
    assert (machines.states(run), machines.sessions(), remembered(machines)) == (states, paid, 2)
