"""Checks that were green before any work prove nothing about the work: what a loop says then, from start to end."""

import re
from pathlib import Path

import pytest

from deployments.demo_model import bash, by_call, call, say
from tasks.repository.git import git
from tests.fakes.command_line import scripted_command_line
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.repositories import make_repository

pytestmark = pytest.mark.timeout(300)  # the first test of a worker also starts the engine

GOAL = "Add a function words.reverse(text), with a test"
CHECK = "python3 -m unittest"
FILES = {
    "words.py": "def upper(text):\n    return text.upper()\n",
    "test_words.py": (
        "import unittest\n\nimport words\n\n\nclass WordsTest(unittest.TestCase):\n"
        "    def test_upper(self):\n        self.assertEqual(words.upper('a'), 'A')\n"
    ),
}
REVERSE = "printf '\\n\\ndef reverse(text):\\n    return text[::-1]\\n' >> words.py; git commit -qam 'Add reverse'"
DONE = say("All of it is done.\n<promise>COMPLETE</promise>")


@pytest.mark.feature("V9")
def test_a_loop_in_which_nothing_was_done_ends_as_nothing_changed(tmp_path: Path, prefect_server: PrefectServer) -> None:
    make_repository(tmp_path / "repository", FILES)
    with scripted_command_line(tmp_path, prefect_server.url, by_call([[DONE], [DONE]])) as helmsman:
        told = helmsman.run_loop(GOAL, "--check", CHECK)
        result, explained = helmsman.run_json("status", "loop"), helmsman.run("explain", "loop", "--repo", helmsman.repository)
    assert told.exit_code == 7, told.output
    assert "outcome    ○ nothing changed" in told.output
    assert (result["outcome"], result["rule"], result["iterations"]) == ("nothing_changed", "completion.nothing_changed", 2)
    assert "nothing differs from the start" in result["reason"]
    assert "nothing differs from the start" in explained.output
    assert "the tree is the same as at the start of this loop" in helmsman.model.requests[-1].prompt


@pytest.mark.slow
@pytest.mark.feature("V9")
def test_work_that_no_test_shows_is_first_sent_back_and_then_ends_as_unproven(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    make_repository(tmp_path / "repository", FILES)
    script = by_call([[call(bash(REVERSE)), DONE], [DONE]])
    with scripted_command_line(tmp_path, prefect_server.url, script) as helmsman:
        told = helmsman.run_loop(GOAL, "--check", CHECK)
        log = helmsman.run("log", "loop", "--repo", helmsman.repository).output
        report = helmsman.run("report", "loop", "--output", "-", "--repo", helmsman.repository).output
        result = helmsman.run_json("status", "loop")
        accepted = helmsman.run("answer", "loop", "accept", "--repo", helmsman.repository)
    assert told.exit_code == 6, told.output
    assert "outcome    ? unproven" in told.output
    assert (result["outcome"], result["rule"], result["iterations"]) == ("unproven", "completion.no_proof", 2)
    sentence = "every check was green before the change, and no new test fails without it"
    told_by = {"console": told.output, "log": log, "report": report, "status": result["reason"]}
    assert [name for name, said in told_by.items() if sentence not in re.sub(r"\s+", " ", said)] == []
    prompt = " ".join(helmsman.model.requests[-1].prompt.split())
    assert "every check was green before the change, and no new test fails without it" in prompt
    assert "commit one that fails without it" in prompt
    assert git(helmsman.repository, "log", "-1", "--format=%s", "helmsman/loop") == "Add reverse\n"
    assert "next       helmsman answer loop accept  # You accept the work as done." in told.output
    assert "helmsman resume loop" not in told.output
    assert accepted.exit_code == 0, accepted.errors
