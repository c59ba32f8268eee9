"""Stories without a check of their own: what ticks them, from the first line of the run to a person's answer."""

import json
from pathlib import Path

import pytest

from deployments.demo_model import bash, by_call, call, say
from tasks.repository.git import git
from tests.fakes.command_line import ScriptedCommandLine, scripted_command_line
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.repositories import make_repository

pytestmark = [pytest.mark.timeout(300), pytest.mark.feature("M8")]  # the first test of a worker also starts the engine

STORIES = [
    {"id": f"US-00{n}", "title": f"Say {what}", "passes": False} for n, what in enumerate(("one", "two", "three", "four"), 1)
]
FILES = {
    "words.py": "def zero():\n    return 0\n",
    "test_words.py": (
        "import unittest\n\nimport words\n\n\nclass WordsTest(unittest.TestCase):\n"
        "    def test_zero(self):\n        self.assertEqual(words.zero(), 0)\n"
    ),
    "prd.json": json.dumps({"userStories": STORIES}, indent=2),
}
COUNTED = say("---RALPH_STATUS---\nSTATUS: IN_PROGRESS\nTASKS_COMPLETED_THIS_LOOP: 1\nEXIT_SIGNAL: false\n---END_RALPH_STATUS---")
COMMENT = call(bash("echo '# a comment' >> words.py; git commit -qam 'Work'"))
SHOWN = call(
    bash(
        "printf '\\n\\ndef one():\\n    return 1\\n' >> words.py;"
        "printf '\\n    def test_us_001_one(self):\\n        self.assertEqual(words.one(), 1)\\n' >> test_words.py;"
        "git commit -qam 'Say one'"
    )
)
NOTED = call(
    bash(
        "printf '\\n\\ndef two():\\n    return 2\\n' >> words.py; git commit -qam 'Say two';"
        "echo 'Done: US-002: it says two' >> .helmsman/progress.md"
    )
)


def ticked(helmsman: ScriptedCommandLine) -> list[bool]:
    return [story["passes"] for story in json.loads(git(helmsman.repository, "show", "helmsman/loop:prd.json"))["userStories"]]


@pytest.mark.slow
def test_a_counter_ticks_nothing_a_test_that_names_the_story_does_and_so_does_a_person(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    make_repository(tmp_path / "repository", FILES)
    script = by_call([[COMMENT, COUNTED], [SHOWN, COUNTED], [NOTED, COUNTED]])
    with scripted_command_line(tmp_path, prefect_server.url, script) as helmsman:
        told = helmsman.run_loop("It counts", "--check", "python3 -m unittest", "--plan", "prd.json", "--max-iterations", "4")
        assert told.exit_code == 4, told.output
        records = helmsman.run_json("log", "loop")
        before = ticked(helmsman)
        approved = helmsman.run("approve", "loop", "--repo", helmsman.repository)
        helmsman.run("resume", "loop", "--repo", helmsman.repository)
        after = ticked(helmsman)
    first_lines = told.output.partition("#1 ")[0]
    assert "4 of 4 items have no check: a person will be asked" in first_lines
    assert [(record["item"]["item"], bool(record["tick"])) for record in records] == [
        ("US-001", False), ("US-001", True), ("US-002", False),
    ]  # fmt: skip
    assert "Only the agent says that item US-002 of the plan (Say two) is done. Is it?" in told.output
    assert approved.exit_code == 0, approved.errors
    assert (before, after) == ([True, False, False, False], [True, True, False, False])
