"""An agent that cannot go on says so, another session sees it too, and the loop ends for a person with the reason."""

from pathlib import Path

import pytest

from deployments.demo_model import by_call, say
from tests.fakes.command_line import scripted_command_line
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.repositories import make_repository

pytestmark = [pytest.mark.timeout(300), pytest.mark.feature("V17")]  # the first test of a worker also starts the engine

WHY = "A person has to connect the terminal."
SAYS = say(f"I looked at all of it.\n\nBLOCKED: {WHY}")


def test_a_loop_whose_agent_is_blocked_ends_as_that_with_the_reason_wherever_a_person_looks(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    make_repository(tmp_path / "repository", {"app.py": "1\n"})
    with scripted_command_line(tmp_path, prefect_server.url, by_call([[SAYS], [SAYS]])) as helmsman:
        told = helmsman.run_loop("Print on the terminal", "--check", "false")
        result = helmsman.run_json("status", "loop")
        seen = [helmsman.run(*view, "--repo", helmsman.repository).output for view in VIEWS]
    assert told.exit_code == 8, told.output
    assert "outcome    ⊘ blocked" in told.output
    assert "helmsman approve loop --guidance TEXT" in told.output
    assert (result["outcome"], result["rule"], result["iterations"]) == ("blocked", "agent.blocked", 2)
    assert [WHY in view for view in (told.output, result["reason"], *seen)] == [True] * (2 + len(VIEWS))
    assert "The last session said that it is blocked" in helmsman.model.requests[-1].prompt
    assert all(request.turn == 0 for request in helmsman.model.requests)  # nobody is sent back to work


VIEWS = (("log", "loop"), ("explain", "loop"), ("report", "loop", "--output", "-"), ("status", "loop"))
