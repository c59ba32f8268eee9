"""Why work was rolled back, where a person looks for it: in the report and in the status."""

from pathlib import Path

import pytest

from deployments.show import show_status
from helmsman.records.control import RolledBack
from helmsman.records.decision import Decision, Outcome
from helmsman.render.report import html_report
from tasks.repository.state_ref import replace_state
from tests.fakes.repositories import NOW, LoopWork, make_repository, start_loop
from tests.unit.builders import record

pytestmark = pytest.mark.feature("S17")
WHY = "2 iterations in a row made it worse:\x1b[2J completion is 20%"
SHOWN = "2 iterations in a row made it worse: [2J completion is 20%"
FAILED = RolledBack(iteration=4, ref="refs/helmsman/x/failed/4-1", commit="f" * 40, back_to="a" * 40, why=WHY)
ENDING = Decision(kind="stop", rule="limits.iterations", reason="5 of 5", at=NOW, outcome=Outcome.STOPPED)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LoopWork:
    monkeypatch.setenv("HELMSMAN_HOME", str(tmp_path / "home"))
    return start_loop(make_repository(tmp_path / "repository"), tmp_path / "worktree")


def test_the_report_says_why_work_was_taken_off_and_after_which_iteration(work: LoopWork) -> None:
    ended = work.state.model_copy(update={"failed": FAILED, "ending": ENDING})
    text = html_report(ended, [record(ENDING)], "refs/helmsman/x/state")
    assert f"<code>refs/helmsman/x/failed/4-1</code> after iteration 4: {SHOWN}<" in text


def test_the_status_says_why_work_was_taken_off(work: LoopWork, capsys: pytest.CaptureFixture[str]) -> None:
    replace_state(work.context.repository, work.state, work.state.model_copy(update={"failed": FAILED}), "it fell")
    show_status(work.context.repository.top, work.state.loop, as_json=False)
    assert f"undone     refs/helmsman/x/failed/4-1: {SHOWN}\n" in capsys.readouterr().out
