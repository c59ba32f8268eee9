"""What judge and research wrote down outlives the worktree."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from helmsman.records.proof import JudgeMemory, Rejection
from tasks.loop.prepare import copy_notes
from tests.fakes.repositories import make_repository, start_loop

pytestmark = pytest.mark.feature("V8")

NOW = datetime(2026, 11, 22, tzinfo=UTC)
REJECTED = Rejection(iteration=1, consecutive=1, at=NOW, reason="too short")


def test_notes_of_judge_and_research_are_kept_with_the_loop(tmp_path: Path) -> None:
    work = start_loop(make_repository(tmp_path / "top"), tmp_path / "tree")
    (work.path / ".helmsman").mkdir(exist_ok=True)
    (work.path / ".helmsman" / "research.md").write_text("## APPROACH\nby hand\n")
    judged = JudgeMemory(feedback=(REJECTED,), notes=("#1 rejected: look at names",))
    copy_notes(work.context, work.state.model_copy(update={"judge": judged}))
    kept = {path.name: path.read_text() for path in work.context.folder.notes.iterdir()}
    assert set(kept) == {"JUDGE_FEEDBACK.md", "JUDGE_EVOLUTION.md", "research.md"}
    assert "too short" in kept["JUDGE_FEEDBACK.md"]
    assert "look at names" in kept["JUDGE_EVOLUTION.md"]
    assert kept["research.md"] == "## APPROACH\nby hand\n"
