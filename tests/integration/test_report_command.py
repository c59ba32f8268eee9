"""`helmsman report`: where the page is written, and the reason of a rollback in report and status."""

from pathlib import Path

import pytest

from deployments.show import PAGE, report, show_status
from helmsman.records.control import RolledBack
from helmsman.render.report import html_report
from tasks.repository.git import Repository, git, open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import replace_state, write_state
from tests.fakes.command_line import offline_command_line
from tests.fakes.repositories import LoopWork, make_repository, start_loop
from tests.unit.full_records import full_record, full_state

LOOP = "mend-it"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """With one loop of three iterations."""
    make_repository(tmp_path / "repository", {})
    opened = open_repository(tmp_path / "repository")
    over = None
    for number in (1, 2, 3):
        record = full_record(iteration=number, attempt=1)
        over = write_state(opened, full_state(iteration=number), over=over, record=record, subject="next")
    return opened


@pytest.mark.feature("H4")
def test_by_default_it_is_written_to_the_loops_folder_and_not_to_the_checkout(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    report(repository.top, LOOP, None)
    assert capsys.readouterr().out == f"{loop_folder(repository, LOOP).root / PAGE}\n"
    assert (loop_folder(repository, LOOP).root / PAGE).is_file()
    assert git(repository.top, "status", "--porcelain", "--ignored") == ""


@pytest.mark.feature("H4")
def test_the_command_writes_the_page(repository: Repository, tmp_path: Path) -> None:
    helmsman = offline_command_line(tmp_path)
    written = helmsman.run("report", LOOP, "--repo", repository.top, "-o", "page.html")
    assert (written.exit_code, written.output) == (0, f"{tmp_path / 'page.html'}\n"), written.errors
    printed = helmsman.run("report", LOOP, "--repo", repository.top, "-o", "-", PYTHONIOENCODING="ascii")
    assert printed.output == (tmp_path / "page.html").read_text(encoding="utf-8")
    refused = helmsman.run("report", "nonesuch", "--repo", repository.top)
    assert (refused.exit_code, LOOP in refused.errors) == (2, True)


WHY = "2 iterations in a row made it worse:\x1b[2J completion is 20%"
SHOWN = "2 iterations in a row made it worse: [2J completion is 20%"
FAILED = RolledBack(iteration=4, ref="refs/helmsman/x/failed/4-1", commit="f" * 40, back_to="a" * 40, why=WHY)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LoopWork:
    monkeypatch.setenv("HELMSMAN_HOME", str(tmp_path / "home"))
    return start_loop(make_repository(tmp_path / "repository"), tmp_path / "worktree")


@pytest.mark.feature("S17")
def test_status_and_report_show_the_reason_of_a_rollback(work: LoopWork, capsys: pytest.CaptureFixture[str]) -> None:
    after = work.state.model_copy(update={"failed": FAILED})
    replace_state(work.context.repository, work.state, after, "it fell")
    show_status(work.context.repository.top, work.state.loop, as_json=False)
    assert f"undone     refs/helmsman/x/failed/4-1: {SHOWN}\n" in capsys.readouterr().out
    assert f"<code>refs/helmsman/x/failed/4-1</code> after iteration 4: {SHOWN}<" in html_report(after, [], "refs/x")
