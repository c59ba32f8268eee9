"""Answers as files: the first counts, and what a power cut left of one is in nobody's way."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from helmsman.records.gates import Answer, Choice, GateKind
from tasks.people.answer_box import find, put, put_aside
from tasks.whole_files import write_whole

NOW = datetime(2026, 11, 22, 5, 0, tzinfo=UTC)
YES = Answer(gate="plan-0-1", kind=GateKind.PLAN, choice=Choice.APPROVE, via="command line", at=NOW)
NO = YES.model_copy(update={"choice": Choice.STOP})


def test_the_first_answer_counts(tmp_path: Path) -> None:
    assert put(tmp_path / "answers", YES)
    assert not put(tmp_path / "answers", NO)
    assert find(tmp_path / "answers", YES.gate) == YES
    assert [path.name for path in (tmp_path / "answers").iterdir()] == [f"{YES.gate}.json"]


@pytest.mark.parametrize("torn", ["", "{", YES.model_dump_json()[:40]])
def test_an_answer_that_cannot_be_read_is_in_nobodys_way(tmp_path: Path, torn: str) -> None:
    (tmp_path / f"{YES.gate}.json").write_text(torn)
    assert put(tmp_path, YES)
    assert find(tmp_path, YES.gate) == YES
    (aside,) = tmp_path.glob("*-refused-*")
    assert aside.read_text() == torn


def test_an_answer_that_is_gone_is_put_aside_by_doing_nothing(tmp_path: Path) -> None:
    put(tmp_path, YES)
    put_aside(tmp_path, YES.gate)
    put_aside(tmp_path, YES.gate)
    assert put(tmp_path, NO)


def test_what_cannot_be_written_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", "before")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_whole(tmp_path / "folder", "x")
    with pytest.raises(UnicodeEncodeError):
        write_whole(tmp_path / "a", "\ud800")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "folder"]
    assert (tmp_path / "a").read_text() == "before"


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("theirs")
    (tmp_path / "a").symlink_to("outside")
    write_whole(tmp_path / "a", b"ours")
    assert ((tmp_path / "a").read_text(), (tmp_path / "outside").read_text()) == ("ours", "theirs")
