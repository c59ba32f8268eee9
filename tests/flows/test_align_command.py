"""`helmsman align` in a terminal: whoever sits there is asked, and no run waits for anybody."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from deployments.demo_model import Turn, say
from helmsman.records.alignment import ALIGNMENT, Alignment
from tasks.loop.alignment_file import read_alignment
from tasks.system.paths import state_home
from tests.fakes.bench import Ended
from tests.fakes.command_line import trusted
from tests.fakes.judge_api import JudgeApi
from tests.flows.test_align import KNOWS, ROOT
from tests.unit.test_alignment import GOOD

pytestmark = pytest.mark.feature("M1")
COMMAND = f"""
import sys
from pathlib import Path
from deployments.align import align_goal
sys.exit(align_goal(Path(sys.argv[1]), "export the rows", None, {ALIGNMENT!r}, yes=False, as_json=False))
"""
PATIENCE = 100


def typed(api: JudgeApi, engine_url: str, repository: Path, keys: str) -> Ended:
    """The command in a terminal in which somebody types beforehand."""
    ours, theirs = pty.openpty()
    key = {"ANTHROPIC_API_KEY": "sk-ant-of-the-test", "ANTHROPIC_BASE_URL": api.url}
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", COMMAND, repository],
        cwd=repository.parent,
        env={**os.environ, **key, "PREFECT_API_URL": engine_url, "PYTHONPATH": str(ROOT), "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    os.write(ours, keys.encode())
    shown = b"".join(pieces(ours)).decode(errors="replace")
    os.close(ours)
    return Ended(process.wait(PATIENCE), shown.replace("\r\n", "\n"), "")


def pieces(terminal: int) -> Iterator[bytes]:
    with suppress(OSError):  # so Linux tells that the last one who wrote has gone
        while piece := os.read(terminal, 65536):
            yield piece


def aligned(engine_url: str, repository: Path, turns: Sequence[Turn], keys: str) -> tuple[Ended, Alignment, list[str]]:
    """What was shown, what is written, and what the model was asked."""
    trusted(state_home(), repository)
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
    assert [one.answer for one in written.gaps.answered] == ["a tab", ""]
    assert len(prompts) == 2
    assert "Which separator?\na tab" in prompts[1]


@pytest.mark.slow
def test_what_was_answered_is_kept_where_the_rest_is_left_open(engine_url: str, repository: Path) -> None:
    first = asking("Which separator?", "Which columns?", "Which order?")
    ended, written, prompts = aligned(engine_url, repository, [first], "\nall of them\n\x04")
    assert ended.exit_code == 4, ended
    assert "answer in ALIGNMENT.md" in ended.output
    assert [one.answer for one in written.gaps.questions] == [None, "all of them", None]
    assert len(prompts) == 1
