"""What judge and research wrote down outlives the worktree, and the next loop's judge begins with the last of it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from helmsman.records.proof import JudgeMemory, Rejection
from helmsman.records.request import LoopRequest
from tasks.loop.prepare import keep_notes
from tasks.loop.start import open_loop
from tasks.repository.git import open_repository
from tasks.repository.state_ref import replace_state
from tests.fakes.repositories import begin, make_repository

pytestmark = pytest.mark.feature("V8")

NOW = datetime(2026, 11, 22, tzinfo=UTC)
REJECTED = Rejection(iteration=1, consecutive=1, at=NOW, reason="too short")


def test_notes_of_judge_and_research_are_kept_with_the_loop(tmp_path: Path) -> None:
    work = begin(make_repository(tmp_path / "top"), tmp_path / "tree")
    (work.path / ".helmsman").mkdir(exist_ok=True)
    (work.path / ".helmsman" / "research.md").write_text("## APPROACH\nby hand\n")
    judged = JudgeMemory(feedback=(REJECTED,), notes=("#1 rejected: look at names",))
    keep_notes(work.place, work.state.model_copy(update={"judge": judged}))
    kept = {path.name: path.read_text() for path in work.place.folder.notes.iterdir()}
    assert set(kept) == {"JUDGE_FEEDBACK.md", "JUDGE_EVOLUTION.md", "research.md"}
    assert "too short" in kept["JUDGE_FEEDBACK.md"]
    assert "look at names" in kept["JUDGE_EVOLUTION.md"]
    assert kept["research.md"] == "## APPROACH\nby hand\n"


def test_the_judge_of_the_next_loop_begins_with_the_last_ten_principles_and_no_loop_without_a_judge_does(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top")

    def opened(name: str, *criteria: str) -> JudgeMemory:
        judge = {"judge": {"criteria": list(criteria)}} if criteria else {}
        request = LoopRequest(repository=str(top), goal="g", checks=("true",), loop=name, settings=judge)
        state = open_loop(request, name, NOW)
        notes = tuple(f"#{number} approved: principle {number}" for number in range(12))
        after = state.model_copy(update={"judge": state.judge.model_copy(update={"notes": notes})})
        if name == "first":
            replace_state(open_repository(top), state, after, "judged")
        return state.judge

    assert opened("first", "It reads well.").notes == ()
    assert opened("second", "It reads well.").notes == tuple(
        f"earlier: #{number} approved: principle {number}" for number in range(2, 12)
    )
    assert opened("third").notes == ()
