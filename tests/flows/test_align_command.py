"""`helmsman align` in a terminal: whoever sits there is asked, and no run waits for anybody."""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from deployments.demo_model import Turn, say
from helmsman.records.alignment import ALIGNMENT, Alignment
from tasks.loop.alignment_file import read_alignment
from tasks.system.paths import state_home
from tests.fakes.command_line import trust_repositories
from tests.fakes.judge_api import JudgeApi
from tests.fakes.processes import Ended
from tests.fakes.terminal import Terminal
from tests.flows.test_align import KNOWS, ROOT
from tests.unit.test_alignment import GOOD

pytestmark = pytest.mark.feature("M1")
COMMAND = f"""
import sys
from pathlib import Path
from deployments.align import align_goal
sys.exit(align_goal(Path(sys.argv[1]), "export the rows", None, {ALIGNMENT!r}, yes=False, as_json=False))
"""


def typed(api: JudgeApi, engine_url: str, repository: Path, keys: str) -> Ended:
    """The command in a terminal in which somebody types beforehand."""
    key = {"ANTHROPIC_API_KEY": "sk-ant-of-the-test", "ANTHROPIC_BASE_URL": api.url}
    variables = {**os.environ, **key, "PREFECT_API_URL": engine_url, "PYTHONPATH": str(ROOT)}
    with Terminal.running([sys.executable, "-P", "-c", COMMAND, repository], repository.parent, variables) as terminal:
        shown = terminal.run_typed(keys)
    return replace(shown, output=shown.output.replace("\r\n", "\n"))


def aligned(engine_url: str, repository: Path, turns: Sequence[Turn], keys: str) -> tuple[Ended, Alignment, list[str]]:
    """What was shown, what is written, and what the model was asked."""
    trust_repositories(state_home(), repository)
    with JudgeApi(turns) as api:
        ended = typed(api, engine_url, repository, keys)
        prompts = [asked.prompt for asked in api.requests]
    written = read_alignment(repository / ALIGNMENT)
    assert written is not None, ended
    return ended, written, prompts


def asking(*questions: str) -> Turn:
    return say(json.dumps(GOOD | {"blockingQuestions": questions}))


@pytest.mark.slow
def test_whoever_sits_there_is_asked_one_by_one_until_nothing_is_open(engine_url: str, repository: Path) -> None:
    first = asking("Which separator?", "Which \x1b[2Jcolumns?")
    ended, written, prompts = aligned(engine_url, repository, [first, KNOWS], "a tab\n-\n")
    assert ended.exit_code == 0, ended
    assert "1. Which separator?" in ended.output
    assert "2. Which [2Jcolumns?" in ended.output
    assert "\x1b[2J" not in ended.output
    assert "then: helmsman run" in ended.output
    assert [one.answer for one in written.answered] == ["a tab", ""]
    assert len(prompts) == 2
    assert "Which separator?\na tab" in prompts[1]
