"""Section 4: the embedded engine answers the processes of its own loop only."""

import os
from collections.abc import Generator
from pathlib import Path

import httpx
import psutil
import pytest

from deployments.demo_model import Request, Turn, bash, call, say
from tasks.engine.embedded import LOGIN, MODULE
from tasks.repository.git import open_repository
from tasks.repository.state_ref import read_state
from tests.fakes.command_line import ScriptedCommandLine, scripted_command_line
from tests.fakes.prefect_database import copy_database
from tests.fakes.processes import eventually, is_supervisor, processes, wait_for_end
from tests.fakes.repositories import make_repository

pytestmark = [pytest.mark.feature("X2", "X6"), pytest.mark.timeout(300)]

ASKING = ("--check", "test -e answer", "--set", "gates.ask=true", "--set", "gates.plan=true", "--yes")
ENVIRONMENTS = "for one in /proc/[0-9]*/environ; do grep -qszF \"HOME=$HOME\" $one && tr '\\0' '\\n' < $one; done > ~/seen"
"""What an agent finds out that reads the environment of every process of its user."""
PATIENCE = 100


def script(request: Request) -> Turn:
    return (call(bash(f"{ENVIRONMENTS}; echo 42 > answer")), say("<promise>COMPLETE</promise>"))[min(request.turn, 1)]


@pytest.fixture
def helmsman(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[ScriptedCommandLine]:
    """A command line whose loops start an engine of their own."""
    make_repository(tmp_path / "repository", {})
    copy_database(tmp_path / "prefect")
    with scripted_command_line(tmp_path, "", script, warm=False) as made:
        monkeypatch.setenv("HELMSMAN_HOME", made.variables["HELMSMAN_HOME"])  # who reads its signed state is the same user
        yield made


def engine_of(helmsman: ScriptedCommandLine) -> str:
    """The address of its API, as any process of this user finds it."""
    found = processes("HOME", str(helmsman.folder / "home"))
    (server,) = (one for one in found if MODULE in one.cmdline() and not is_supervisor(one))
    return f"http://127.0.0.1:{server.cmdline()[-1]}/api"


def asks(helmsman: ScriptedCommandLine) -> bool:
    try:
        return read_state(open_repository(helmsman.repository), "loop")[0].gate is not None
    except Exception:  # noqa: BLE001 - the loop is not there yet
        return False


@pytest.mark.slow
def test_a_process_without_the_login_neither_approves_nor_cancels_through_the_embedded_engine(
    helmsman: ScriptedCommandLine,
) -> None:
    loop = helmsman.start("run", "reach it", *ASKING, "--name", "loop", "--repo", helmsman.repository)
    assert eventually(lambda: asks(helmsman), PATIENCE), wait_for_end(loop)
    with httpx.Client(base_url=engine_of(helmsman), trust_env=False, timeout=30) as stranger:
        assert stranger.get("/health").is_success
        nobody = "00000000-0000-0000-0000-000000000000"
        for login in ({}, {"Authorization": "Basic aGVsbXNtYW46"}, {"Authorization": "Basic YWRtaW46YWRtaW4="}):
            for path in ("/flow_runs/filter", f"/flow_runs/{nobody}/resume", f"/flow_runs/{nobody}/set_state"):
                assert stranger.post(path, json={}, headers=login).status_code == httpx.codes.UNAUTHORIZED
    assert asks(helmsman)
    approved = helmsman.run("approve", "loop", "--repo", helmsman.repository, "--by", "Ada")
    assert approved.exit_code == 0, approved
    told = wait_for_end(loop)
    assert told.exit_code == 0, told
    seen = (helmsman.folder / "home" / "seen").read_text()
    assert "HELMSMAN_DEPTH=" in seen
    assert "AUTH_STRING" not in seen


@pytest.mark.slow
def test_a_login_of_the_operators_own_server_is_left_alone(helmsman: ScriptedCommandLine) -> None:
    """It belongs to another server, and the embedded one has its own."""
    own = {LOGIN: "ada:of-the-team", "PREFECT_SERVER_API_AUTH_STRING": "ada:of-the-team"}
    loop = helmsman.start("run", "reach it", *ASKING, "--name", "loop", "--repo", helmsman.repository, **own)
    assert eventually(lambda: asks(helmsman), PATIENCE), wait_for_end(loop)
    guess = httpx.post(f"{engine_of(helmsman)}/flow_runs/filter", json={}, auth=("ada", "of-the-team"), trust_env=False)
    assert guess.status_code == httpx.codes.UNAUTHORIZED
    assert helmsman.run("reject", "loop", "--repo", helmsman.repository, **own).exit_code == 0
    assert wait_for_end(loop).exit_code == 3
    assert not [one for one in processes("HOME", str(helmsman.folder / "home")) if psutil.pid_exists(one.pid)], os.getpid()
