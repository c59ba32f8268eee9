"""The judge in a real loop: killed while it deliberates."""

import signal
import threading
from pathlib import Path

import pytest

from deployments.demo_model import Request, Turn
from helmsman.records.decision import Outcome
from tasks.repository.git import open_repository
from tasks.repository.state_ref import show_state
from tests.fakes.command_line import scripted_command_line
from tests.fakes.faults import Fault
from tests.fakes.pathologies import CHECK, FIX, GOAL, MET, Agent, done, repository, script
from tests.fakes.prefect_server import PrefectServer

pytestmark = [pytest.mark.timeout(300), pytest.mark.feature("V7")]  # the first test of a worker also starts the engine

PATIENCE = 60
AGENT = Agent("does it at once", [(FIX, done("It is done."))], honest=True, verdicts=[MET])


class Court:
    """A scripted model whose judge keeps silent until it is let go."""

    def __init__(self) -> None:
        self.asked, self.silent = threading.Event(), threading.Event()
        self.silent.set()
        self.times = 0
        self._answer = script(AGENT)

    def __call__(self, request: Request) -> Turn:
        turn = self._answer(request)
        if "format" not in request.body.get("output_config", {}):
            return turn
        self.times += 1
        self.asked.set()
        return Fault(text=turn.text, tools=turn.tools, usage=turn.usage, delay=120) if self.silent.is_set() else turn


@pytest.mark.feature("E3")
def test_a_loop_killed_while_its_judge_deliberates_asks_the_judge_again_and_no_agent(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    court = Court()
    repository(tmp_path / "repository", AGENT)
    with scripted_command_line(tmp_path, prefect_server.url, court) as helmsman:
        driver = helmsman.start("run", GOAL, "--check", CHECK, "--name", "loop", "--yes", "--repo", helmsman.repository)
        assert court.asked.wait(PATIENCE)
        driver.send_signal(signal.SIGKILL)
        driver.communicate()
        court.silent.clear()
        resumed = helmsman.run("resume", "loop", "--repo", helmsman.repository, "--json")
        assert resumed.exit_code == 0, resumed.errors
        state = show_state(open_repository(helmsman.repository), "loop").state
        assert (state.outcome, state.iteration) == (Outcome.COMPLETED, 1)
        assert len({request.call for request in helmsman.model.requests if request.body.get("tools")}) == 1
        assert court.times == 2
