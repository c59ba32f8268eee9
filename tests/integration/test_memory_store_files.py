"""Files of the SQLite store: daily copies, damage and restoration."""

import os
import resource
import sqlite3
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from helmsman.errors import TransientError
from tasks.memory import Store, open_store, search
from tests.fakes.requirements import need
from tests.integration.memory_processes import at_once, output_of, process
from tests.integration.memory_stores import DAY, NOW, lesson

pytestmark = [pytest.mark.slow, pytest.mark.feature("L6")]

LESSONS = 300
OPEN = """
with open_store(url, NOW + 2 * DAY) as store:
    print(len(store.lessons()), len(store.warnings))
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "memory" / "memory.db"


def url(file: Path) -> str:
    return f"sqlite:///{file}"


def fill(file: Path, now: datetime = NOW, first: int = 0) -> None:
    with open_store(url(file), now) as store, store.change() as change:
        for number in range(first, first + LESSONS):
            change.put_lesson(lesson(f"n{number:05d}", f"The kiln needs glaze{number} " + "and some patience " * 20))


def lesson_count(store: Store) -> int:
    return len(store.lessons(limit=10 * LESSONS))


def copied_store(file: Path) -> None:
    """A store with a copy of the next day, and later lessons."""
    fill(file)
    with open_store(url(file), NOW + DAY):
        pass
    fill(file, NOW + DAY, first=LESSONS)


def damage_pages(file: Path) -> None:
    """Damage pages in the middle, like a bad disk."""
    with file.open("r+b") as handle:
        for page in range(2, file.stat().st_size // 4096 - 1, 3):
            handle.seek(page * 4096)
            handle.write(os.urandom(4096))


def erase(file: Path) -> None:
    file.write_bytes(b"\x00" * file.stat().st_size)


def emptied(file: Path) -> None:
    """Truncate the file, like a file system that lost its end."""
    os.truncate(file, 0)


DAMAGES: list[Callable[[Path], None]] = [damage_pages, erase, emptied]


def test_a_store_of_a_newer_version_stays_unchanged(file: Path) -> None:
    fill(file)
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE helmsman_memory SET value = '99' WHERE name = 'version'")
    connection.close()
    before = file.read_bytes()
    with pytest.raises(TransientError, match="newer version"), open_store(url(file), NOW + DAY):
        pass
    assert file.read_bytes() == before


def whole_words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.casefold().split()))


def test_lessons_of_an_older_version_are_indexed_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr(search, "terms", whole_words)
        with open_store(url(file), NOW) as store, store.change() as change:
            change.put_lesson(lesson("old", "Rounding invoices"))
            change.put_lesson(lesson("retired", "Rounding invoices", retired="of no use"))
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE helmsman_memory SET value = '1' WHERE name = 'version'")
    connection.close()
    for _ in range(2):
        with open_store(url(file), NOW + DAY) as store:
            assert store.warnings == ()
            assert [one.lesson.id for one in store.search("round the invoice")] == ["old"]


def test_a_copy_is_made_once_a_day_and_the_newest_are_kept(file: Path) -> None:
    for day in range(9):
        for _ in range(2):
            with open_store(url(file), NOW + day * DAY) as store:
                with store.change() as change:
                    change.put_lesson(lesson(f"day{day}"))
                assert store.warnings == ()
    names = [f"memory.db.backup-2026-11-{day}" for day in range(30, 23, -1)]
    with open_store(url(file), NOW + 8 * DAY) as store:
        assert list(store.stats().backups) == names
    with open_store(url(file.with_name(names[0])), NOW) as copy:  # made at the day's first opening
        assert sorted(one.id for one in copy.lessons()) == [f"day{day}" for day in range(8)]


@pytest.mark.parametrize("damaged", DAMAGES, ids=lambda deed: deed.__name__)
def test_damage_is_detected_on_opening_and_the_last_good_copy_restored(file: Path, damaged: Callable[[Path], None]) -> None:
    copied_store(file)
    damaged(file)
    spoilt = file.read_bytes()
    with open_store(url(file), NOW + 2 * DAY) as store:
        (warning,) = store.warnings
        assert lesson_count(store) == LESSONS
        assert [one.lesson.id for one in store.search("glaze7")] == ["n00007"]
        with store.change() as change:
            change.put_lesson(lesson())
    assert "was damaged" in warning
    assert "the copy of 2026-11-23 was restored: later lessons may be missing" in warning
    aside = file.with_name("memory.db.damaged-20261124T100000")
    assert aside.name in warning
    assert aside.read_bytes() == spoilt
    with open_store(url(file), NOW + 2 * DAY) as store:
        assert store.warnings == ()
        assert lesson_count(store) == LESSONS + 1


def test_without_a_good_copy_an_empty_store_is_created(file: Path) -> None:
    copied_store(file)
    for copy in file.parent.glob("*.backup-*"):
        copy.write_bytes(b"no copy either")
    damage_pages(file)
    with open_store(url(file), NOW + DAY) as store:
        (warning,) = store.warnings
        assert store.lessons() == []
        with store.change() as change:
            change.put_lesson(lesson())
        assert [one.lesson.id for one in store.search("migrations")] == ["a"]
    assert "there was no good copy, so an empty store was created" in warning


def test_a_damaged_copy_is_skipped_for_an_older_good_one(file: Path) -> None:
    copied_store(file)
    with open_store(url(file), NOW + 2 * DAY):
        pass
    damage_pages(file.with_name("memory.db.backup-2026-11-24"))
    damage_pages(file)
    with open_store(url(file), NOW + 3 * DAY) as store:
        assert "the copy of 2026-11-23 was restored" in store.warnings[0]
        assert lesson_count(store) == LESSONS


def test_damage_found_by_a_query_is_repaired_on_the_next_opening(file: Path) -> None:
    copied_store(file)
    with open_store(url(file), NOW + DAY) as store:
        assert store.warnings == ()
        damage_pages(file)
        with pytest.raises(TransientError, match="the last good copy is restored"):
            store.lessons()
    with open_store(url(file), NOW + DAY) as store:
        assert "was damaged" in store.warnings[0]
        assert lesson_count(store) == LESSONS


def test_the_log_of_a_damaged_store_is_never_replayed_into_its_copy(file: Path) -> None:
    """A killed process leaves its log, and then the file is damaged."""
    copied_store(file)
    code = """
import os, signal
with open_store(url, NOW + DAY) as store:
    with store.change() as change:
        change.put_lesson(lesson("in the log"))
    os.kill(os.getpid(), signal.SIGKILL)
"""
    process(code, url(file)).communicate(timeout=100)
    assert file.with_name("memory.db-wal").read_bytes()
    erase(file)
    with open_store(url(file), NOW + 2 * DAY) as store:
        assert "was damaged" in store.warnings[0]
        assert lesson_count(store) == LESSONS
        assert store.lesson("in the log") is None
    with sqlite3.connect(file) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_a_damaged_index_of_words_is_rebuilt_without_loss(file: Path) -> None:
    fill(file)
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE helmsman_lesson_words_data SET block = randomblob(length(block)) WHERE id > 10")
    connection.close()
    with open_store(url(file), NOW + DAY) as store:
        assert "rebuilt from its lessons" in store.warnings[0]
        assert lesson_count(store) == LESSONS
        assert [one.lesson.id for one in store.search("glaze7")] == ["n00007"]


def test_concurrent_processes_restore_a_damaged_store_once(file: Path, tmp_path: Path) -> None:
    copied_store(file)
    damage_pages(file)
    answers = [answer.split() for answer in at_once(OPEN, url(file), 4, tmp_path)]
    assert {lessons for lessons, _ in answers} == {str(LESSONS)}
    assert sum(int(warnings) for _, warnings in answers) == 1
    assert len([one for one in file.parent.glob("*.damaged-*") if not one.name.endswith("-wal")]) == 1


def test_a_missing_store_is_created_again_and_its_copies_are_named(file: Path) -> None:
    copied_store(file)
    file.unlink()
    with open_store(url(file), NOW + DAY) as store:
        assert store.lessons() == []
        assert "replace it with memory.db.backup-2026-11-23" in store.warnings[0]


def test_a_read_only_folder_is_an_error(file: Path) -> None:
    """Root without its override capability is like any user."""
    fill(file)
    before = {one: one.read_bytes() for one in file.parent.iterdir()}
    file.parent.chmod(0o500)
    tried = """
from helmsman.errors import TransientError
try:
    with open_store(url, NOW) as store, store.change() as change:
        change.put_lesson(lesson())
except TransientError as error:
    print(error.remedy)
"""
    need(*(["setpriv"] if os.geteuid() == 0 else []))
    humble = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    try:
        assert "writable" in output_of(process(tried, url(file), user=humble))
    finally:
        file.parent.chmod(0o700)
    assert {one: one.read_bytes() for one in file.parent.iterdir()} == before


def _limited(code: str, file: Path, size: int) -> str:
    limit = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {resource.RLIM_INFINITY}))\n"
    return output_of(process("from helmsman.errors import TransientError\n" + limit + code, url(file)))


def test_a_full_disk_stops_a_change_without_damage(file: Path) -> None:
    fill(file)
    code = """
with open_store(url, NOW) as store:
    try:
        with store.change() as change:
            for number in range(4000):
                change.put_lesson(lesson(f"more{number}", "glaze " * 90))
    except TransientError as error:
        print(error.fault, len(store.lessons()))
"""
    assert _limited(code, file, file.stat().st_size + 50_000) == f"world {LESSONS}"
    with open_store(url(file), NOW + DAY) as store:
        assert (store.warnings, lesson_count(store)) == ((), LESSONS)


def test_a_full_disk_stops_the_daily_copy_with_a_warning(file: Path) -> None:
    fill(file)
    before = sorted(one.name for one in file.parent.glob("*.backup-*"))
    code = """
with open_store(url, NOW + DAY) as store:
    print(len(store.lessons()), *store.warnings)
"""
    answer = _limited(code, file, file.stat().st_size // 2)
    assert answer.startswith(f"{LESSONS} the memory store could not be copied today")
    assert sorted(one.name for one in file.parent.glob("*.backup-*")) == before
    assert list(file.parent.glob("*.partial-*")) == []


def test_a_disk_too_full_to_restore_leaves_all_files_unchanged(file: Path) -> None:
    copied_store(file)
    damage_pages(file)
    before = {one.name for one in file.parent.iterdir()}
    code = """
try:
    with open_store(url, NOW + 2 * DAY) as store:
        print("open")
except TransientError as error:
    print(error.fault)
"""
    assert _limited(code, file, 20_000) == "world"
    assert {one.name for one in file.parent.iterdir() if not one.name.endswith(("-wal", "-shm"))} == before
    with open_store(url(file), NOW + 2 * DAY) as store:
        assert lesson_count(store) == LESSONS
