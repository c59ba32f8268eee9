"""`helmsman report`: a page is written whole or not at all, where it was asked for, and says where it is."""

from pathlib import Path

import pytest

from deployments.show import PAGE, report
from tasks.repository.git import Repository, git, open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import state_ref, write_state
from tests.fakes.command_line import offline_command_line
from tests.fakes.repositories import make_repository
from tests.unit.full_records import full_record, full_state

pytestmark = pytest.mark.feature("H4")

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


def test_the_page_is_written_and_its_path_is_all_that_is_printed(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report(repository.top, LOOP, tmp_path / "morning.html")
    assert capsys.readouterr().out == f"{tmp_path / 'morning.html'}\n"
    html = (tmp_path / "morning.html").read_text(encoding="utf-8")
    assert html.startswith("<!DOCTYPE html>")
    assert html.count('<summary class="row">') == 3
    assert state_ref(LOOP) in html


def test_without_a_file_it_goes_into_the_loops_own_folder_and_never_into_the_checkout(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    report(repository.top, LOOP, None)
    assert capsys.readouterr().out == f"{loop_folder(repository, LOOP).root / PAGE}\n"
    assert (loop_folder(repository, LOOP).root / PAGE).is_file()
    assert git(repository.top, "status", "--porcelain", "--ignored") == ""


def test_the_command_writes_the_page(repository: Repository, tmp_path: Path) -> None:
    helmsman = offline_command_line(tmp_path)
    written = helmsman.run("report", LOOP, "--repo", repository.top, "-o", "page.html")
    assert (written.exit_code, written.output) == (0, f"{tmp_path / 'page.html'}\n"), written.errors
    printed = helmsman.run("report", LOOP, "--repo", repository.top, "-o", "-", PYTHONIOENCODING="ascii")
    assert printed.output == (tmp_path / "page.html").read_text(encoding="utf-8")
    refused = helmsman.run("report", "nonesuch", "--repo", repository.top)
    assert (refused.exit_code, LOOP in refused.errors) == (2, True)
