"""Output of commands: closed pipes, full disks, and files that cannot be written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deployments.output import fields, print_result, write_file
from helmsman.errors import OperatorError, TransientError

FULL = Path("/dev/full")


def written(path: Path, text: str = "new", *, force: bool = True) -> None:
    write_file(path, text, "the page", "name another one", force=force)


def test_an_existing_file_is_replaced_only_with_force_and_no_draft_stays(tmp_path: Path) -> None:
    page = tmp_path / "page"
    written(page, "yesterday's", force=False)
    with pytest.raises(OperatorError, match=r"already exists[^\n]*\n(.*\n)*.*--force"):
        written(page, force=False)
    assert page.read_text() == "yesterday's"
    written(page)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"page": "new"}


@pytest.mark.parametrize("force", [True, False])
def test_an_unwritable_path_is_reported_and_unchanged(tmp_path: Path, force: bool) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe", "nowhere/page", "x" * 300, "."):
        with pytest.raises(OperatorError, match=r"the page cannot be written\n(.*\n)*.*name another one") as told:
            written(tmp_path / name, force=force)
        assert str(tmp_path / name) in str(told.value)
    assert ((tmp_path / "folder").is_dir(), (tmp_path / "pipe").is_fifo()) == (True, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe"]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OperatorError, match="already exists"):
        written(tmp_path / "link", force=False)
    written(tmp_path / "link")
    assert ((tmp_path / "link").is_symlink(), (tmp_path / "elsewhere").exists()) == (False, False)


@pytest.mark.parametrize("force", [True, False])
def test_a_file_is_never_half_written(tmp_path: Path, force: bool) -> None:
    """Where the disk is full, which a limit on the size of files stands for, what was there stays."""
    page = tmp_path / "page"
    if force:
        page.write_text("yesterday's")
    limited = f"""
import resource, signal
from pathlib import Path
from deployments.output import write_file
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
write_file(Path({str(page)!r}), "x" * 1000, "the page", "make room", force={force})
"""
    ended = subprocess.run([sys.executable, "-B", "-c", limited], capture_output=True, text=True, check=False, timeout=60)
    assert "the page cannot be written" in ended.stderr
    assert [path.read_text() for path in tmp_path.iterdir()] == (["yesterday's"] if force else [])


@pytest.mark.skipif(not FULL.exists(), reason="this system has no full disk to write to")
def test_a_full_output_device_is_reported_and_not_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    with FULL.open("w") as full, monkeypatch.context() as here:
        here.setattr("sys.stdout", full)
        with pytest.raises(TransientError, match="No space left"):
            print_result({}, ["much " * 100_000], as_json=False)


def test_a_value_of_several_lines_is_labelled_once_and_an_empty_one_not_at_all() -> None:
    rows = (("text", "one\n\n\x1b[2Jtwo"), ("nothing", ""), ("tests", ("a", "b")))
    assert list(fields(rows)) == ["text       one", "            [2Jtwo", "tests      a", "           b"]
