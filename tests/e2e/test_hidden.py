"""A table of the visible tests' answers: the visible checks pass, a hidden one does not, and the agent never sees it."""

import json
from pathlib import Path

import pytest

from deployments.demo_model import bash, by_call, call, say
from tasks.repository.git import git
from tests.fakes.command_line import ScriptedCommandLine, scripted_command_line
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.repositories import make_repository

pytestmark = pytest.mark.timeout(300)  # the first test of a worker also starts the engine

CHECK = "python3 -m unittest"
CASES = "import unittest\n\nfrom fizz import fizz\n\n\nclass {name}(unittest.TestCase):\n    def test_it(self):\n{asserts}"
SEEN = CASES.format(name="Fizz", asserts="        self.assertEqual(fizz(3), 'fizz')\n        self.assertEqual(fizz(4), '4')\n")
UNSEEN = CASES.format(name="Sesame7316", asserts="        self.assertEqual(fizz(9), 'fizz')\n")
FILES = {"fizz.py": "def fizz(n):\n    return ''\n", "test_fizz.py": SEEN}
TABLE = "printf 'def fizz(n):\\n    return {3: \"fizz\", 4: \"4\"}.get(n)\\n' > fizz.py; git commit -qam 'Fizz'"
HONEST = "printf 'def fizz(n):\\n    return \"fizz\" if n %% 3 == 0 else str(n)\\n' > fizz.py; git commit -qam 'Count'"
DONE = say("All of it is done.\n<promise>COMPLETE</promise>")


def everything_of(helmsman: ScriptedCommandLine) -> str:
    """What the agent got, or could have read in its worktree and the repository that this belongs to."""
    asked = [json.dumps(request.body) for request in helmsman.model.requests]
    objects = git(helmsman.repository, "cat-file", "--batch-all-objects", "--batch")
    places = helmsman.repository, helmsman.folder / "state" / "worktrees", helmsman.folder / "home"
    files = [path.read_bytes().decode(errors="replace") for place in places for path in place.rglob("*") if path.is_file()]
    return "\n".join([*asked, objects, *files])


@pytest.mark.feature("V14")
def test_a_table_of_the_tests_answers_is_refused_by_a_hidden_check_that_the_agent_never_sees(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    make_repository(tmp_path / "repository", FILES)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "test_sesame.py").write_text(UNSEEN)
    script = by_call([[call(bash(TABLE)), DONE], [call(bash(HONEST)), DONE]])
    hidden = "--hidden", f"{CHECK} test_sesame", "--hidden-folder", tmp_path / "own"
    with scripted_command_line(tmp_path, prefect_server.url, script) as helmsman:
        told = helmsman.run_loop("fizz(n) is fizz for multiples of 3, else the number", "--check", CHECK, *hidden)
        log = helmsman.run("log", "loop", "--repo", helmsman.repository).output
        got, prompts = everything_of(helmsman), [request.prompt for request in helmsman.model.requests]
    assert told.exit_code == 0, told.output
    assert "a hidden check fails: hidden 1" in log
    assert "a hidden check fails: hidden 1" in prompts[-1]
    assert "sesame" not in got.lower()
    assert str(tmp_path / "own") not in got
