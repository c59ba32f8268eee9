"""A table of the visible tests' answers: it passes them, and a case of a model that has not seen it does not."""

import json
import sys
from pathlib import Path

import pytest

from deployments.demo_model import Request, Turn, bash, by_call, call, say
from tasks.repository.git import git, open_repository
from tasks.repository.state_ref import read_records
from tests.fakes.command_line import Driving, driving, make_repository
from tests.fakes.prefect_server import PrefectServer

pytestmark = pytest.mark.timeout(300)  # the first test of a worker also starts the engine

CHECK = f"{sys.executable} -m unittest"
GOAL = "fizz(n) is fizz for multiples of 3, else the number as text"
CASE = "import unittest\n\nfrom fizz import fizz\n\n\nclass Fizz(unittest.TestCase):\n    def test_it(self):\n{asserts}"
SEEN = CASE.format(asserts="        self.assertEqual(fizz(3), 'fizz')\n        self.assertEqual(fizz(4), '4')\n")
FILES = {"fizz.py": "def fizz(n):\n    return ''\n", "test_fizz.py": SEEN}
TABLE = "printf 'def fizz(n):\\n    return {3: \"fizz\", 4: \"4\"}.get(n)\\n' > fizz.py; git commit -qam 'Fizz'"
HONEST = "printf 'def fizz(n):\\n    return \"fizz\" if n %% 3 == 0 else str(n)\\n' > fizz.py; git commit -qam 'Count'"
DONE = say("All of it is done.\n<promise>COMPLETE</promise>")
PROBE = "from fizz import fizz\n\n\ndef test_it():\n    "
WRITTEN = {
    "cases": [
        {"code": f"{PROBE}assert fizz(73160048) == 73160048\n", "says": "Of others comes a number"},
        {"code": f"{PROBE}assert fizz(73170063) == 'fizz'\n", "says": "73170063 is one of them"},
    ]
}
READ = {"readings": [{"case": at, "reason": "so", "verdict": verdict} for at, verdict in ((1, "wrong"), (2, "right"))]}


def answering(request: Request) -> Turn | None:
    """What the model says where it is asked for probes, and what of those that fail."""
    form = request.body.get("output_config", {}).get("format", {}).get("schema", {})
    said = {"cases": WRITTEN, "readings": READ}
    return next((say(json.dumps(said[name])) for name in form.get("properties", {}) if name in said), None)


def everything_of(helmsman: Driving) -> str:
    """What the agent got, or could have read in its worktree and the repository that this belongs to."""
    asked = [json.dumps(request.body) for request in helmsman.model.requests if answering(request) is None]
    objects = git(helmsman.repository, "cat-file", "--batch-all-objects", "--batch")
    places = helmsman.repository, helmsman.folder / "state" / "worktrees", helmsman.folder / "home"
    files = [path.read_bytes().decode(errors="replace") for place in places for path in place.rglob("*") if path.is_file()]
    return "\n".join([*asked, objects, *files])


@pytest.mark.feature("V15")
def test_a_right_probe_stops_a_table_of_answers_until_the_work_is_done_and_a_wrong_one_is_dropped(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    make_repository(tmp_path / "repository", FILES)
    agent = by_call([[call(bash(TABLE)), DONE], [call(bash(HONEST)), DONE]])
    settings = "--set", "proof.probes=2", "--set", "proof.neighbours=false"
    with driving(tmp_path, prefect_server.url, lambda request: answering(request) or agent(request)) as helmsman:
        told = helmsman.run_loop(GOAL, "--check", CHECK, *settings)
        got, requests = everything_of(helmsman), helmsman.model.requests
        last, first = read_records(open_repository(helmsman.repository), "loop")
    assert told.exit_code == 0, told.output
    assert len([request for request in requests if answering(request)]) == len(("written once", "read once"))
    assert first.probed
    assert (first.probed.failing, first.probed.dropped, first.proof.refused_by) == (("… is one of them",), 1, {"probes"})
    assert first.usage.input_tokens > first.execution.call.usage.input_tokens
    assert "a case that a model wrote fails: … is one of them" in requests[-1].prompt
    assert not [value for value in ("73160048", "73170063") if value in got]
    assert last.decision.grounds
    assert any("asked for at an earlier claim: 1 pass" in line for line in last.decision.grounds.rests_on)
