"""Answers as files: the first counts, and what a power cut left of one is in nobody's way."""

import errno
from datetime import UTC, datetime
from pathlib import Path

import pytest

from helmsman.errors import HelmsmanError, TransientError
from helmsman.records.gates import Answer, Choice, GateKind
from tasks.approvals.answers import find_answer, signed_answer, store_answer
from tasks.system.files import write_atomic

NOW = datetime(2026, 11, 22, 5, 0, tzinfo=UTC)
YES = Answer(gate="plan-0-1", kind=GateKind.PLAN, choice=Choice.APPROVE, via="command line", at=NOW)
UID = "u1"
NO = YES.model_copy(update={"choice": Choice.STOP})
BROKEN = Path("/proc/self/mem")
"""Reading its begin is an input/output error. A process that hides its environment may not read it unless it is root's."""


def test_the_first_answer_counts(tmp_path: Path) -> None:
    assert store_answer(tmp_path / "answers", UID, YES) == YES
    assert store_answer(tmp_path / "answers", UID, NO) == YES
    assert find_answer(tmp_path / "answers", UID, YES.gate) == YES
    assert [path.name for path in (tmp_path / "answers").iterdir()] == [f"{YES.gate}.json"]


@pytest.mark.parametrize("torn", ["", "{", YES.model_dump_json()[:40]])
def test_an_answer_that_cannot_be_read_is_in_nobodys_way(tmp_path: Path, torn: str) -> None:
    (tmp_path / f"{YES.gate}.json").write_text(torn)
    assert store_answer(tmp_path, UID, YES) == YES
    assert find_answer(tmp_path, UID, YES.gate) == YES
    (aside,) = tmp_path.glob("*-refused-*")
    assert aside.read_text() == torn


def _breaks() -> bool:
    try:
        BROKEN.read_bytes()
    except OSError as error:
        return error.errno == errno.EIO
    return False


def test_an_answer_that_the_disk_withholds_for_once_still_counts(tmp_path: Path) -> None:
    if not _breaks():
        pytest.skip(f"reading {BROKEN} is no input/output error here")
    (tmp_path / "theirs").symlink_to(BROKEN)
    (tmp_path / f"{YES.gate}.json").symlink_to("theirs")
    for look in (lambda: store_answer(tmp_path, UID, NO), lambda: find_answer(tmp_path, UID, YES.gate)):
        with pytest.raises(TransientError, match="Input/output error"):
            look()
    write_atomic(tmp_path / "theirs", signed_answer(UID, YES))
    assert find_answer(tmp_path, UID, YES.gate) == YES


def test_an_unreadable_answer_is_named_and_kept(tmp_path: Path) -> None:
    (tmp_path / f"{YES.gate}.json").mkdir()
    with pytest.raises(HelmsmanError, match=f"{YES.gate}.json"):
        store_answer(tmp_path, UID, YES)
    assert [path.name for path in tmp_path.iterdir()] == [f"{YES.gate}.json"]


def test_a_failed_write_keeps_the_old_file_and_leaves_no_other(tmp_path: Path) -> None:
    write_atomic(tmp_path / "a", "before")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_atomic(tmp_path / "folder", "x")
    with pytest.raises(UnicodeEncodeError):
        write_atomic(tmp_path / "a", "\ud800")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "folder"]
    assert (tmp_path / "a").read_text() == "before"


def test_a_link_is_replaced_and_its_target_is_unchanged(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("theirs")
    (tmp_path / "a").symlink_to("outside")
    write_atomic(tmp_path / "a", b"ours")
    assert ((tmp_path / "a").read_text(), (tmp_path / "outside").read_text()) == ("ours", "theirs")
