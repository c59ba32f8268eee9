"""Reading a journal that another process writes: each event once, whatever happens to the file."""

import itertools
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.records.events import ToolCalled
from helmsman.render.activity import LoggedEvent
from tasks.observers.follow import AT_ONCE, FIRST_LOOK, Follower
from tasks.system.journal import LONGEST_JOURNAL, journal_to
from tests.unit.builders import NOW

pytestmark = pytest.mark.feature("H4")


def tool(detail: str) -> ToolCalled:
    return ToolCalled(tool="Bash", detail=detail)


def details(news: Sequence[LoggedEvent]) -> list[str]:
    return [told.event.detail for told in news if isinstance(told.event, ToolCalled)]


def line(detail: str) -> bytes:
    return f"{NOW.isoformat()} {tool(detail).model_dump_json()}\n".encode()


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


@given(st.lists(st.text(max_size=20), max_size=8), st.lists(st.integers(0, 600)))
def test_each_event_of_a_growing_journal_is_read_once_and_in_order(words: list[str], cuts: list[int]) -> None:
    whole = b"".join(map(line, words))
    borders = sorted({0, *(min(cut, len(whole)) for cut in cuts), len(whole)})
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "journal.jsonl").open("ab", buffering=0) as file:
        follower, told = Follower(Path(file.name)), list[str]()
        for begin, end in itertools.pairwise(borders):
            file.write(whole[begin:end])
            told += details(follower.read_new())
        follower.close()
    assert told == words


def test_nothing_is_lost_or_read_twice_when_the_journal_is_rotated(journal: Path) -> None:
    write, follower, told = journal_to(journal), Follower(journal), list[int]()
    for number in range(7):
        write(tool(f"{number}{'x' * (LONGEST_JOURNAL // 3)}"))
        write(tool(str(number)))
        if number != 3:  # one look is missed, and the journal is turned over meanwhile
            told += [int(detail) for detail in details(follower.read_new()) if "x" not in detail]
    follower.close()
    assert journal.with_suffix(".1.jsonl").exists()
    assert told == list(range(7))


def test_the_first_look_takes_only_the_end_and_no_half_line(journal: Path) -> None:
    journal.write_bytes(line("x" * FIRST_LOOK) + line("old") + line("x" * (FIRST_LOOK - 300)) + line("new"))
    follower = Follower(journal)
    assert [detail for detail in details(follower.read_new()) if "x" not in detail] == ["old", "new"]
    follower.close()
    journal.write_bytes(line("too long ago") + line("x" * FIRST_LOOK) + line("new"))
    follower = Follower(journal)
    assert details(follower.read_new()) == ["new"]
    follower.close()


def test_a_journal_that_is_not_there_yet_is_read_from_its_beginning_later(journal: Path) -> None:
    follower = Follower(journal)
    assert follower.read_new() == []
    journal.write_bytes(line("one"))
    assert details(follower.read_new()) == ["one"]
    journal.unlink()
    assert follower.read_new() == []
    journal.write_bytes(line("two"))
    assert details(follower.read_new()) == ["two"]
    follower.close()


@pytest.mark.parametrize(
    "rubbish",
    [
        b"\n",
        b"\xff\xfe\n",
        b"{}\n",
        b"2026-11-22T12:00:00 {}\n",
        line("naive").replace(b"+00:00", b""),
        b"yesterday " + line("x"),
    ],
)
def test_a_foreign_line_is_skipped(rubbish: bytes, journal: Path) -> None:
    journal.write_bytes(line("one") + rubbish + line("two"))
    follower = Follower(journal)
    assert details(follower.read_new()) == ["one", "two"]
    follower.close()


def test_an_endless_line_is_dropped_and_later_ones_are_read(journal: Path) -> None:
    journal.write_bytes(b"")
    follower, endless = Follower(journal), line("x" * 2 * AT_ONCE)
    assert follower.read_new() == []
    with journal.open("ab", buffering=0) as file:
        for begin in range(0, len(endless), AT_ONCE):
            file.write(endless[begin : begin + AT_ONCE])
            assert follower.read_new() == []
        file.write(line("one"))
    assert details(follower.read_new()) == ["one"]
    follower.close()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_pipe_or_a_folder_in_its_place_keeps_nobody_waiting(make: object, journal: Path) -> None:
    assert callable(make)
    make(journal)
    follower = Follower(journal)
    assert follower.read_new() == []
    follower.close()
