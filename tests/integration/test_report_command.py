"""`helmsman report`: a page is written whole or not at all, where it was asked for, and says where it is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deployments.show import PAGE, report
from helmsman.errors import OperatorError
from helmsman.render.report import MOST_DETAILED
from tasks.places import loop_folder
from tasks.repository.git import Repository, git, open_repository
from tasks.repository.state_ref import (
    _stream,  # pyright: ignore[reportPrivateUsage] - hundreds of writes in one go
    state_ref,
    write_state,
)
from tests.fakes.command_line import looking, make_repository
from tests.unit.full_records import full_record, full_state

pytestmark = pytest.mark.feature("H4")

LOOP = "mend-it"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """With one loop of three iterations."""
    make_repository(tmp_path / "repository")
    opened = open_repository(tmp_path / "repository")
    over = None
    for number in (1, 2, 3):
        record = full_record(iteration=number, attempt=1)
        over = write_state(opened, full_state(iteration=number), over=over, record=record, subject="next")
    return opened


def keep_many(repository: Repository, number: int) -> None:
    """More iterations, by the importer that writes them one by one otherwise."""
    over = git(repository.common, "rev-parse", state_ref(LOOP)).strip()
    state, record = full_state(), full_record(attempt=1)
    parts = (
        _stream(state_ref(LOOP), state, over if at == 4 else None, record.model_copy(update={"iteration": at}), f"iteration {at}")
        for at in range(4, number + 1)
    )
    git(repository.common, "fast-import", "--quiet", "--date-format=raw-permissive", stdin=b"".join(parts))


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


def test_a_dash_prints_the_page_and_nothing_else(
    repository: Repository, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    report(repository.top, LOOP, Path("-"))
    report(repository.top, LOOP, tmp_path / "same.html")
    printed = capsysbinary.readouterr().out
    assert printed.startswith((tmp_path / "same.html").read_bytes())
    assert printed.count(b"<!DOCTYPE html>") == 1


def test_a_page_is_replaced_as_a_whole_and_leaves_nothing_beside_it(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "page.html").write_text("yesterday's")
    report(repository.top, LOOP, tmp_path / "out" / "page.html")
    report(repository.top, LOOP, tmp_path / "out" / "page.html")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["page.html"]
    assert "yesterday" not in (tmp_path / "out" / "page.html").read_text()


def test_a_place_that_cannot_hold_a_page_is_told_and_stays_as_it_is(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, words in (("folder", "expected: a file"), ("pipe", "expected: a file"), ("nowhere/page.html", "-o FILE")):
        with pytest.raises(OperatorError, match="the report cannot be written") as told:
            report(repository.top, LOOP, tmp_path / name)
        assert words in str(told.value)
        assert name in str(told.value)
    assert (tmp_path / "folder").is_dir()
    assert (tmp_path / "pipe").is_fifo()
    assert not (tmp_path / "nowhere").exists()


def test_a_name_that_no_file_can_have_is_told(repository: Repository, tmp_path: Path) -> None:
    for name in ("x" * 300, "."):
        with pytest.raises(OperatorError, match="the report cannot be written"):
            report(repository.top, LOOP, tmp_path / name)


def test_a_loop_that_is_not_there_is_refused_and_nothing_is_written(repository: Repository, tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match=f"one of: {LOOP}"):
        report(repository.top, "nonesuch", tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_a_clone_that_fetched_the_state_has_the_same_page(repository: Repository, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(repository.top), "clone")
    git(tmp_path / "clone", "fetch", "--quiet", "origin", f"{state_ref(LOOP)}:{state_ref(LOOP)}")
    report(repository.top, LOOP, tmp_path / "here.html")
    report(tmp_path / "clone", LOOP, tmp_path / "there.html")
    assert (tmp_path / "here.html").read_bytes() == (tmp_path / "there.html").read_bytes()


def test_of_a_long_loop_the_newest_are_shown_and_all_are_drawn(repository: Repository, tmp_path: Path) -> None:
    keep_many(repository, MOST_DETAILED + 40)
    report(repository.top, LOOP, tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert html.count('<summary class="row">') == MOST_DETAILED
    assert "40 earlier attempts only in the charts" in html
    assert f'<span class="number">{MOST_DETAILED + 40}</span>' in html
    assert '<span class="number">41</span>' in html
    assert '<span class="number">40</span>' not in html


def test_half_a_page_is_never_seen(repository: Repository, tmp_path: Path) -> None:
    """Where the disk is full, which a limit on the size of files stands for, the page of yesterday stays."""
    page = tmp_path / "page.html"
    page.write_text("yesterday's")
    limited = f"""
import resource, signal
from pathlib import Path
from deployments.show import report
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
report(Path({str(repository.top)!r}), {LOOP!r}, Path({str(page)!r}))
"""
    ended = subprocess.run([sys.executable, "-B", "-c", limited], capture_output=True, text=True, check=False, timeout=60)
    assert "the report cannot be written" in ended.stderr
    assert page.read_text() == "yesterday's"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "repository"]


def test_the_command_writes_the_page(repository: Repository, tmp_path: Path) -> None:
    helmsman = looking(tmp_path)
    written = helmsman.run("report", LOOP, "--repo", repository.top, "-o", "page.html")
    assert (written.exit_code, written.output) == (0, f"{tmp_path / 'page.html'}\n"), written.errors
    printed = helmsman.run("report", LOOP, "--repo", repository.top, "-o", "-", PYTHONIOENCODING="ascii")
    assert printed.output == (tmp_path / "page.html").read_text(encoding="utf-8")
    refused = helmsman.run("report", "nonesuch", "--repo", repository.top)
    assert (refused.exit_code, LOOP in refused.errors) == (2, True)
